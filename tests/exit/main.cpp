// SPDX-License-Identifier: Apache-2.0
//
// exit_program HOW DEVICE - ends as HOW says in the middle of everything: work in flight and behind
// a closed gate, failures that nobody heard of, handles with static duration and in main, threads
// that submit. Its status is 7 when that went well. tests/exit_test.py runs it.

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

constexpr int kFine = 7;
constexpr unsigned kAlarm_s = 60;

// One of each, with work on it that goes on for a while, fails, or never begins.
struct Program {
  explicit Program(const char* name)
      : device(must(Device::open(name))), gate(must(Timeline::create(device))) {
    for (Stream& stream : streams) stream = must(Stream::create(device));
    const auto& [busy, failing, held] = streams;
    must(held.wait(gate, 1));
    for (int i = 0; i != 100; ++i) {
      auto x = must(Array<int>::create(busy, 1 << 12));
      must(busy.fill(x, i));
      must(busy.launch(adds_one, 1 << 12, x));
      if (i % 10 != 0) continue;
      auto bad = must(Array<int>::create(failing, 1 << 10));
      auto worse = must(Array<int>::create(failing, 1 << 10));
      must(failing.launch(breaks, 1 << 10, bad));
      must(failing.copy(worse, bad));
      must(held.launch(breaks, 1 << 10, must(Array<int>::create(held, 1 << 10))));
      must(held.copy(x, must(Array<int>::create(held, 1 << 12))));
      futures.push_back(failing.host("skipped", {reads(worse)}, [] {}));
      futures.push_back(failing.host("throws", {}, [] { throw std::runtime_error("broken"); }));
      futures.push_back(held.host("never", {updates(x)}, [device = device] {}));
      must(futures.back().on_complete([stream = held] {}));
      for (Array<int>* const each : {&x, &bad, &worse}) arrays.push_back(std::move(*each));
    }
    must(held.record(event));
  }

  Kernel<void (*)(Cell, std::span<int>)> adds_one =
      kernel("adds_one", +[](Cell at, std::span<int> v) { v[at.x] += 1; });
  Kernel<void (*)(Cell, std::span<int>)> breaks =
      kernel("breaks", +[](Cell, std::span<int>) { throw std::runtime_error("broken"); });
  Device device;
  Timeline gate;
  std::array<Stream, 3> streams;
  Event event = must(Event::create(device));
  std::vector<Array<int>> arrays;
  std::vector<Future<void>> futures;
};

// Goes when static objects do.
std::optional<Program> global;

// What submits while the process ends. It must not use the handles that go then.
void keep_submitting(const Program& program) {
  std::thread([stream = program.streams[0], breaks = program.breaks] {
    const auto x = must(Array<int>::create(stream, 8));
    for (;;) {
      static_cast<void>(stream.launch(breaks, 8, x));
      static_cast<void>(stream.host("more", {}, [] {}));
      std::this_thread::yield();
    }
  }).detach();
}

// Waits for something that ends the process elsewhere.
[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

int end(std::string_view how, const char* device) {
  static std::optional<Program> local;
  const Program automatic(device);
  global.emplace(device);
  local.emplace(device);
  keep_submitting(*global);
  if (how == "return") return kFine;
  if (how == "exit") std::exit(kFine);
  if (how == "quick_exit") std::quick_exit(kFine);
  if (how == "_exit") _exit(kFine);
  if (how == "thread") std::thread([] { std::exit(kFine); }).join();
  const Stream stream = must(Stream::create(automatic.device));
  if (how == "task") static_cast<void>(stream.host("exits", {}, [] { std::exit(kFine); }));
  if (how == "kernel") must(stream.launch(kernel("exits", [](Cell) { std::exit(kFine); }), 1));
  if (how == "callback") must(stream.host("h", {}, [] {}).on_complete([] { std::exit(kFine); }));
  if (how == "sink") {
    static std::atomic<bool> first{true};
    set_error_sink([](const Error&) {
      if (first.exchange(false)) std::exit(kFine);
    });
    must(stream.launch(kernel("throws", [](Cell) { throw 1; }), 1));
  }
  if (how == "work_at_exit") {
    std::atexit([] {
      const Device late = must(Device::open("cpu?workers=1"));
      const Stream last = must(Stream::create(late));
      const auto x = must(Array<int>::create(last, 8));
      must(last.fill(x, 1));
      if (must(last.read(x).get())[0] != 1) _exit(1);
    });
    std::exit(kFine);
  }
  wait_for_the_end();
}

}  // namespace
}  // namespace thalweg::test

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("exit_program HOW DEVICE\n", stderr);
    return 1;
  }
  alarm(thalweg::test::kAlarm_s);
  thalweg::set_error_sink([](const thalweg::Error&) {});
  return thalweg::test::end(arguments[1], arguments[2]);
}
