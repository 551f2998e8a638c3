// SPDX-License-Identifier: Apache-2.0
//
// The last handle to anything goes wherever the program's code runs: in a host function, a kernel,
// a callback, the error sink, and with what any of them has captured. Nothing of it stays.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/failures.hpp"
#include "support/device_watch.hpp"
#include "support/failing_program.hpp"
#include "support/refusal.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

// Counts what ran. Every callable holds it: it says as well when they are all gone.
using Tally = std::shared_ptr<std::atomic<int>>;

// A handle that several may drop, the first one for all of them.
struct Shared {
  virtual ~Shared() = default;
  virtual void drop() = 0;
};

template <class T>
struct SharedHandle final : Shared {
  explicit SharedHandle(T taken) : handle(std::make_unique<T>(std::move(taken))) {}
  void drop() override { handle.reset(); }
  std::unique_ptr<T> handle;
};

template <class T>
std::shared_ptr<Shared> shared(T handle) {
  return std::make_shared<SharedHandle<T>>(std::move(handle));
}

// A handle with work on it that has not begun: `stream` is held.
struct Kind {
  const char* name;
  std::shared_ptr<Shared> (*make)(const Stream& stream, const Tally& ran, bool fails);
};

auto adds_one(const Tally& ran, bool fails) {
  return kernel("adds_one", [ran, fails](Cell at, std::span<int> v) {
    if (fails) throw std::runtime_error("broken");
    v[at.x] += 1;
  });
}

const Kind kKinds[] = {
    {"device",
     [](const Stream& stream, const Tally&, bool) { return shared<Device>(stream.device()); }},
    {"stream", [](const Stream& stream, const Tally&, bool) { return shared<Stream>(stream); }},
    {"buffer",
     [](const Stream& stream, const Tally& ran, bool fails) {
       auto buffer = must(Array<int>::create(stream, 8));
       must(stream.fill(buffer, 1));
       must(stream.launch(adds_one(ran, fails), 8, buffer));
       return shared(std::move(buffer));
     }},
    {"event",
     [](const Stream& stream, const Tally&, bool) {
       Event event = must(Event::create(stream.device()));
       must(stream.record(event));
       return shared(std::move(event));
     }},
    {"future",
     [](const Stream& stream, const Tally& ran, bool fails) {
       return shared(stream.host("future", {}, [ran, fails] {
         if (fails) throw std::runtime_error("broken");
       }));
     }},
    {"kernel",
     [](const Stream& stream, const Tally& ran, bool fails) {
       auto code = adds_one(ran, fails);
       must(stream.launch(code, 8, must(Array<int>::create(stream, 8))));
       return shared(std::move(code));
     }},
    {"timeline",
     [](const Stream& stream, const Tally&, bool) {
       Timeline timeline = must(Timeline::create(stream.device()));
       must(stream.signal(timeline, 1));
       must(stream.wait(timeline, 1));
       return shared(std::move(timeline));
     }},
    {"host array",
     [](const Stream& stream, const Tally& ran, bool fails) {
       auto memory = must(HostArray<int>::create(stream, 8));
       auto buffer = must(Array<int>::create(stream, 8));
       must(stream.fill(buffer, 1));
       must(stream.launch(adds_one(ran, fails), 8, buffer));
       must(stream.copy(memory, buffer));
       return shared(std::move(memory));
     }},
};

using Drop = std::function<void()>;

// Has `drop` called when `stream` goes on. Afterwards the place holds it, and nobody else.
struct Place {
  const char* name;
  void (*take)(const Stream& stream, Drop drop);
};

const Place kPlaces[] = {
    {"a host function",
     [](const Stream& stream, Drop drop) {
       static_cast<void>(stream.host("drop", {}, std::move(drop)));
     }},
    {"a host function's captures",
     [](const Stream& stream, Drop drop) {
       static_cast<void>(stream.host("drop", {}, [drop = std::move(drop)] {}));
     }},
    {"a kernel",
     [](const Stream& stream, Drop drop) {
       must(stream.launch(kernel("drop", [drop = std::move(drop)](Cell) { drop(); }), 1));
     }},
    {"a kernel's captures",
     [](const Stream& stream, Drop drop) {
       must(stream.launch(kernel("drop", [drop = std::move(drop)](Cell) {}), 1));
     }},
    {"a callback of an event",
     [](const Stream& stream, Drop drop) {
       const Event event = must(Event::create(stream.device()));
       must(stream.record(event));
       must(event.on_complete(std::move(drop)));
     }},
    {"a callback of a future",
     [](const Stream& stream, Drop drop) {
       must(stream.host("done", {}, [] {}).on_complete(std::move(drop)));
     }},
    {"a callback of a task",
     [](const Stream& stream, Drop drop) {
       const Task task = must(stream.launch(kernel("task", [](Cell) {}), 1));
       must(stream.on_complete(task, std::move(drop)));
     }},
    {"a deleter",
     [](const Stream& stream, Drop drop) {
       static std::vector<int> memory(8);
       const auto buffer = must(Array<int>::adopt(stream.device(), memory, std::move(drop)));
       must(stream.fill(buffer, 1));
     }},
    {"the error sink",
     [](const Stream& stream, Drop drop) {
       set_error_sink([drop = std::move(drop)](const Error&) { drop(); });
       must(stream.launch(kernel("throws", [](Cell) { throw std::runtime_error("told"); }), 1));
     }},
    {"the error sink, of what nobody heard",
     [](const Stream& stream, Drop drop) {
       set_error_sink([drop = std::move(drop)](const Error&) { drop(); });
       const auto bad = must(Array<int>::create(stream, 8));
       must(stream.launch(
           kernel("throws", [](Cell, Out<int>) { throw std::runtime_error("told"); }), 8, bad));
       must(stream.fill(bad, 1));
     }},
};

class LastHandles : public testing::TestWithParam<const char*> {
 protected:
  ~LastHandles() override { set_error_sink({}); }

  // Of a device apart: it is no handle to the one under test.
  const Device other_ = must(Device::open("cpu?workers=1"));
};

// Empty, or what stays. The kind is made before the place has its turn, or behind it.
std::string drop_last(const char* device, const Device& other, const Kind& kind, const Place& place,
                      bool behind, bool fails) {
  const QuietSink quiet;
  const Tally ran = std::make_shared<std::atomic<int>>(0);
  const DeviceWatch watch;
  const Timeline gate = must(Timeline::create(other));
  {
    const auto last = std::make_shared<std::shared_ptr<Shared>>();
    const Drop drop = [ran, last] {
      if (*last) (*last)->drop();
      ++*ran;
    };
    const Stream stream = must(Stream::create(watch.open(device)));
    must(stream.wait(gate, 1));
    if (!behind) *last = kind.make(stream, ran, fails);
    place.take(stream, drop);
    if (behind) *last = kind.make(stream, ran, fails);
  }
  must(gate.signal(1));
  if (!watch.ends()) return "Something of the device stays.";
  set_error_sink({});
  if (!comes_true([&ran] { return ran.use_count() == 1; })) return "A closure stays.";
  if (runtime::Failures::instance().any()) return "A byte of nobody's is bad.";
  return "";
}

TEST_P(LastHandles, MayGoAnywhere) {
  for (const Kind& kind : kKinds)
    for (const Place& place : kPlaces)
      for (const bool behind : {false, true})
        for (const bool fails : {false, true})
          EXPECT_EQ(drop_last(GetParam(), other_, kind, place, behind, fails), "")
              << "The last " << kind.name << " in " << place.name << (behind ? ", behind it" : "")
              << (fails ? ", failing" : "");
}

INSTANTIATE_TEST_SUITE_P(Cpu, LastHandles,
                         testing::Values("cpu?workers=1", "cpu?workers=1&helping=off",
                                         "cpu?workers=4"));

}  // namespace
}  // namespace thalweg::test
