// SPDX-License-Identifier: Apache-2.0
//
// Explorations whose tasks fail, beside one another and beside a device of threads: the process has
// one graph of failures, and whoever forgets one asks nothing of queues that another thread ends.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "contract/support/sink.hpp"
#include "support/program_runner.hpp"
#include "thalweg/explore.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using Block = Array<std::uint32_t>;

Future<void> fails(const Stream& stream, const Block& block) {
  return stream.host("fails", {writes(block)}, [] { throw std::runtime_error("broken"); });
}

std::uint64_t findings_of_one() {
  ExploreOptions options;
  options.runs_max = scaled(500);
  return must(explore(options,
                      [](ExploreRun& run) {
                        const Stream stream = must(Stream::create(run.device()));
                        for (int i = 0; i != 2; ++i) {
                          Block x = must(Block::create(stream, 4));
                          Block y = must(Block::create(stream, 4));
                          Future<void> first = fails(stream, x);
                          must(stream.fill(x, 3u));
                          must(stream.copy(y, x));
                          Future<void> second = fails(stream, x);
                          x = {};
                          y = {};
                          run.check(!second.get() && !first.get(), "both fail");
                        }
                        must(stream.synchronize());
                      }))
      .findings.size();
}

TEST(SideBySide, ExplorationsWhoseTasksFail) {
  const contract::Sink sink;
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    const Device device = must(Device::open("cpu?workers=1"));
    const Stream stream = must(Stream::create(device));
    while (!stop) {
      Block block = must(Block::create(stream, 4));
      Future<void> failed = fails(stream, block);
      block = {};
      EXPECT_FALSE(failed.get());
      static_cast<void>(device.poll());
    }
  });
  std::vector<std::thread> explorers;
  std::atomic<std::uint64_t> findings{0};
  for (int i = 0; i != 3; ++i)
    explorers.emplace_back([&findings] { findings += findings_of_one(); });
  for (std::thread& explorer : explorers) explorer.join();
  stop = true;
  other.join();
  EXPECT_EQ(findings, 0u);
  EXPECT_TRUE(sink.errors().empty());
}

}  // namespace
}  // namespace thalweg::test
