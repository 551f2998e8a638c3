// SPDX-License-Identifier: Apache-2.0
//
// The table of misuses: devices, events, timelines and futures.

#include <string_view>

#include "contract/support/misuse.hpp"

namespace thalweg::contract {
namespace {

constexpr const char* kInvalid = "invalid_handle";
constexpr const char* kArgument = "invalid_argument";
constexpr const char* kContext = "context_mismatch";

std::vector<Misuse> bad_names() {
  std::vector<Misuse> list;
  const auto add = [&list](std::string_view name, std::string answer) {
    list.push_back(misuse("the name `" + std::string(name.substr(0, 40)) + "`", std::move(answer),
                          [name](Hands&) { return refusal(Device::open(name)); }));
  };
  for (const std::string_view name :
       {std::string_view(), std::string_view("\0cpu", 4), std::string_view("cpu\0", 4)})
    add(name, "not_found");
  for (const char* const name : {"?", "CPU", " cpu", "cpu ", "cpu&workers=1", "no such backend"})
    add(name, "not_found");
  for (const char* const name : {"cpu?workers",
                                 "cpu?workers=",
                                 "cpu?=1",
                                 "cpu?&",
                                 "cpu?workers=1&",
                                 "cpu??workers=1",
                                 "cpu?workers=0",
                                 "cpu?workers=-1",
                                 "cpu?workers=257",
                                 "cpu?workers=18446744073709551617",
                                 "cpu?workers=1.5",
                                 "cpu?workers=0x1",
                                 "cpu?workers=1&workers=1",
                                 "cpu?size=3",
                                 "cpu?helping=maybe",
                                 "cpu?memory=0",
                                 "cpu?memory=1TiB",
                                 "cpu?memory=18446744073709551615GiB",
                                 "cpu?memory=-1",
                                 "cpu?random_delay_us=1000001"})
    add(name, kArgument);
  static const std::string vast(1'000'000, '&');
  add(vast, "not_found");
  return list;
}

std::vector<Misuse> bad_options() {
  const auto with = [](const char* what, std::string answer, auto change) {
    return misuse(what, std::move(answer), [change](Hands&) {
      DeviceOptions options;
      change(options);
      return refusal(Device::open("cpu?workers=1", options));
    });
  };
  const auto alloc = [](void*, std::uint64_t, std::uint64_t) -> void* { return nullptr; };
  const auto release = [](void*, void*, std::uint64_t) {};
  return {
      with("a storage that cannot free", kArgument,
           [alloc](DeviceOptions& options) { options.device_storage.alloc = alloc; }),
      with("a storage of the host that cannot alloc", kArgument,
           [release](DeviceOptions& options) { options.host_storage.free = release; }),
      with("a delay of an hour", kArgument,
           [](DeviceOptions& options) { options.random_delay_us = 3'600'000'000; }),
      with("a limit of 2^64 - 1 bytes", "none",
           [](DeviceOptions& options) { options.memory_limit_bytes = kMost; }),
      misuse("a storage that has nothing", "out_of_memory",
             [alloc, release](Hands&) {
               DeviceOptions options;
               options.device_storage = {alloc, release, nullptr};
               const Device device = need(Device::open("cpu?workers=1", options));
               return refusal(Buffer::create(need(Stream::create(device)), 64));
             }),
  };
}

MISUSE_TABLE(devices) {
  const auto nothing = [](auto ask, std::string answer) {
    return std::vector<Misuse>{
        misuse("a default device", answer, [ask](Hands&) { return ask(Device()); }),
        misuse("a moved-from device", answer, [ask](Hands& h) { return ask(leave(h.device)); })};
  };
  const auto entry = [nothing](std::string name, auto ask, std::string right, std::string invalid) {
    return answering(
               std::move(name), [ask](Hands& h) { return ask(h.device); }, std::move(right))
        .with(nothing(ask, std::move(invalid)));
  };
  using D = const Device&;
  return {
      answering(
          "backends", [](Hands&) { return text(backends().empty()); }, "false")
          .unseen("It takes nothing."),
      refusing("Device::open", [](Hands&) { return refusal(Device::open("cpu?workers=1")); })
          .with(bad_names())
          .with(bad_options()),
      refusing("Device::synchronize",
               [](Hands& h) { return refusal(h.device.synchronize(h.deadline)); })
          .with(bad_devices())
          .with({misuse("a deadline before now", "none",
                        [](Hands& h) {
                          return refusal(h.device.synchronize(std::chrono::nanoseconds::min()));
                        })})
          .inside("wait_forbidden")
          .blocked([](Hands& h) { return refusal(h.device.synchronize(h.deadline)); }),
      // Of a device of its own: the others go on with theirs.
      refusing("Device::close",
               [](Hands&) {
                 const Result<Device> own = Device::open("cpu?workers=1");
                 return own ? refusal(own->close(kLimit)) : refusal(own);
               })
          .with({misuse("a default device", "invalid_handle",
                        [](Hands&) { return refusal(Device().close()); }),
                 misuse("a moved-from device", "invalid_handle",
                        [](Hands& h) {
                          h.device_left.emplace(std::move(h.device));
                          return refusal(h.device.close());
                        }),
                 misuse("a deadline before now", "none",
                        [](Hands&) {
                          return refusal(need(Device::open("cpu?workers=1"))
                                             .close(std::chrono::nanoseconds::min()));
                        })}),
      entry(
          named("Device::failures"), [](D d) { return text(d.failures().empty()); }, "true",
          "true"),
      entry(
          named("Device::failure_scope"),
          [](D d) { return text(name(d.failure_scope()) == "task"); }, "true", "true"),
      entry(
          named("Device::poll"),
          [](D d) {
            static_cast<void>(d.poll());
            return text(d.valid() || d.poll());
          },
          "true", "true"),
      entry(
          named("Device::trim"), [](D d) { return text(d.trim(kMost)); }, "0", "0"),
      entry(
          named("Device::priority_range"), [](D d) { return text(d.priority_range().contains(0)); },
          "true", "true"),
      entry(
          named("Device::statistics"), [](D d) { return text(d.statistics().submissions != 0); },
          "true", "false")
          .in_child("false"),
      entry(
          named("Device::memory_usage"),
          [](D d) { return text(d.memory_usage().allocations != 0); }, "true", "false")
          .in_child("false"),
      entry(
          named("Device::host_memory_usage"),
          [](D d) { return text(d.host_memory_usage().allocations != 0); }, "true", "false")
          .in_child("false"),
      entry(
          named("Device::wait_ledger"),
          [](D d) { return text(!d.valid() && !d.wait_ledger().empty()); }, "false", "false"),
      entry(
          named("Device::name"), [](D d) { return text(d.name().empty()); }, "false", "true"),
      entry(
          named("Device::backend"), [](D d) { return text(d.backend().empty()); }, "false", "true"),
      entry(
          named("Device::id"), [](D d) { return text(static_cast<bool>(d.id())); }, "true",
          "false"),
      entry(
          named("Device::valid"), [](D d) { return text(d.valid()); }, "true", "false"),
      entry(
          named("Device::operator=="), [](D d) { return text(d == Device()); }, "false", "true"),
      entry(
          named("Device::core"), [](D d) { return text(d.core() != nullptr); }, "true", "false"),
      answering(
          "Device::Device",
          [](Hands& h) {
            return text(Device(Ref<detail::DeviceCore>::share(h.device.core())).valid());
          },
          "true")
          .with({misuse(
              "a null reference", kInvalid,
              [](Hands&) { return refusal(Device(Ref<detail::DeviceCore>()).synchronize()); })}),
  };
}

MISUSE_TABLE(events) {
  const std::vector<Misuse> never{spoil("an event that was never recorded", "event_not_recorded",
                                        [](Hands& h) { h.event = need(Event::create(h.device)); })};
  const auto states = [](const Event& event) {
    return text(static_cast<std::uint64_t>(event.query()));
  };
  const std::string done = text(static_cast<std::uint64_t>(EventState::done));
  const std::string lost = text(static_cast<std::uint64_t>(EventState::lost));
  const std::string not_recorded = text(static_cast<std::uint64_t>(EventState::not_recorded));
  return {
      refusing("Event::create", [](Hands& h) { return refusal(Event::create(h.device)); })
          .with(bad_devices()),
      refusing("TimedEvent::create", [](Hands& h) { return refusal(TimedEvent::create(h.device)); })
          .with(bad_devices()),
      answering(
          "Event::query", [states](Hands& h) { return states(h.event); }, done)
          .with({misuse("a default event", lost, [states](Hands&) { return states(Event()); }),
                 misuse("a moved-from event", lost,
                        [states](Hands& h) { return states(leave(h.event)); }),
                 misuse("an event that was never recorded", not_recorded,
                        [states](Hands& h) { return states(need(Event::create(h.device))); })})
          .in_child(lost),
      refusing("Event::on_complete",
               [](Hands& h) { return refusal(h.event.on_complete(std::move(h.function))); })
          .with(bad_events())
          .with(no_functions())
          .with(never),
      refusing("Event::wait", [](Hands& h) { return refusal(h.event.wait(h.deadline)); })
          .with(bad_events())
          .blocked([](Hands& h) { return refusal(h.held_event.wait(h.deadline)); }),
      answering(
          "Event::valid", [](Hands& h) { return text(h.event.valid()); }, "true")
          .with({misuse("a default event", "false", [](Hands&) { return text(Event().valid()); }),
                 misuse("a moved-from event", "false",
                        [](Hands& h) { return text(leave(h.event).valid()); })}),
      answering(
          "Event::core", [](Hands& h) { return text(h.event.core() != nullptr); }, "true")
          .with({misuse("a default event", "false",
                        [](Hands&) { return text(Event().core() != nullptr); }),
                 misuse("a moved-from event", "false",
                        [](Hands& h) { return text(leave(h.event).core() != nullptr); })}),
      refusing(
          "elapsed", [](Hands& h) { return refusal(elapsed(h.timed, h.timed)); },
          "none|timing_disabled")
          .with({misuse("from a default event", kInvalid,
                        [](Hands& h) { return refusal(elapsed(TimedEvent(), h.timed)); }),
                 misuse("to a moved-from event", kInvalid,
                        [](Hands& h) {
                          const TimedEvent kept = h.timed;
                          return refusal(elapsed(kept, leave(h.timed)));
                        }),
                 misuse("to another device's event", kContext,
                        [](Hands& h) { return refusal(elapsed(h.timed, h.sibling->timed)); }),
                 misuse("from another backend's event", "context_mismatch|backend_mismatch",
                        [](Hands& h) { return refusal(elapsed(h.foreign->timed, h.timed)); }),
                 misuse("an event that was never recorded", "event_not_recorded|timing_disabled",
                        [](Hands& h) {
                          return refusal(elapsed(h.timed, need(TimedEvent::create(h.device))));
                        })}),
  };
}

MISUSE_TABLE(timelines) {
  return {
      refusing("Timeline::create",
               [](Hands& h) { return refusal(Timeline::create(h.device, kMost)); })
          .with(bad_devices()),
      refusing("Timeline::signal",
               [](Hands& h) { return refusal(h.timeline.signal(h.timeline.value())); })
          .with(bad_timelines())
          .with({misuse("a value below the present one", kArgument,
                        [](Hands& h) { return refusal(h.timeline.signal(0)); }),
                 misuse("a value below the last there is", kArgument,
                        [](Hands& h) {
                          const Timeline last = need(Timeline::create(h.device, kMost));
                          return refusal(last.signal(kMost - 1));
                        })}),
      refusing("Timeline::wait", [](Hands& h) { return refusal(h.timeline.wait(1, h.deadline)); })
          .with(bad_timelines())
          .with({misuse("the last number there is, and no time", "timeout",
                        [](Hands& h) {
                          return refusal(h.timeline.wait(kMost, std::chrono::nanoseconds(0)));
                        }),
                 misuse("the last number there is, reached", "none",
                        [](Hands& h) {
                          const Timeline last = need(Timeline::create(h.device, kMost));
                          return refusal(last.wait(kMost));
                        })})
          .blocked([](Hands& h) { return refusal(h.gate->timeline().wait(1, h.deadline)); }),
      answering(
          "Timeline::value", [](Hands& h) { return text(h.timeline.value()); }, "1")
          .with({misuse("a default timeline", "0", [](Hands&) { return text(Timeline().value()); }),
                 misuse("a moved-from timeline", "0",
                        [](Hands& h) { return text(leave(h.timeline).value()); })}),
      answering(
          "Timeline::valid", [](Hands& h) { return text(h.timeline.valid()); }, "true")
          .with({misuse("a default timeline", "false",
                        [](Hands&) { return text(Timeline().valid()); }),
                 misuse("a moved-from timeline", "false",
                        [](Hands& h) { return text(leave(h.timeline).valid()); })}),
      answering(
          "Timeline::core", [](Hands& h) { return text(h.timeline.core() != nullptr); }, "true")
          .with({misuse("a default timeline", "false",
                        [](Hands&) { return text(Timeline().core() != nullptr); }),
                 misuse("a moved-from timeline", "false",
                        [](Hands& h) { return text(leave(h.timeline).core() != nullptr); })}),
  };
}

// What a future answers that holds nothing, or a refusal.
template <class Ask>
std::vector<Misuse> empty_futures(Ask ask, const std::string& empty, const std::string& refused) {
  return {misuse("a default future", empty,
                 [ask](Hands&) {
                   Future<void> none;
                   return ask(none);
                 }),
          misuse("a moved-from future", empty, [ask](Hands& h) { return ask(leave(h.future)); }),
          misuse("a moved-from refusal", empty,
                 [ask](Hands&) {
                   Future<void> future(Error(ErrorKind::internal, "made by the test"));
                   return ask(leave(future));
                 }),
          misuse("a future that was taken", empty,
                 [ask](Hands& h) {
                   static_cast<void>(refusal(h.future.get(kLimit)));
                   return ask(h.future);
                 }),
          misuse("a refusal", refused,
                 [ask](Hands&) {
                   Future<void> future(Error(ErrorKind::internal, "made by the test"));
                   return ask(future);
                 }),
          misuse("a null reference", empty, [ask](Hands&) {
            Future<void> future{Ref<detail::FutureState<void>>()};
            return ask(future);
          })};
}

MISUSE_TABLE(futures) {
  using F = Future<void>&;
  const auto get = [](F future) { return refusal(future.get(kLimit)); };
  const auto drained = [](F future) { return refusal(drain(future, kLimit)); };
  const auto asked = [](F future) { return text(future.ready()) + " " + text(future.valid()); };
  const auto ask = [asked](Hands& h) { return asked(h.future); };
  const auto called = [](F future) {
    int count = 0;
    const std::string answer = refusal(future.on_complete([&count] { ++count; }));
    return answer + " " + std::to_string(count);
  };
  return {
      refusing("Future::get",
               [](Hands& h) {
                 const std::string answer = refusal(h.values.get(h.deadline));
                 return answer == "none" ? refusal(h.future.get(h.deadline)) : answer;
               })
          .with(empty_futures(get, kInvalid, "internal"))
          .blocked([](Hands& h) { return refusal(h.held_future.get(h.deadline)); }),
      refusing("drain", [](Hands& h) { return refusal(drain(h.future, h.deadline)); })
          .with(empty_futures(drained, "none", "internal"))
          .blocked([](Hands& h) { return refusal(drain(h.held_future, h.deadline)); }),
      refusing("Future::on_complete",
               [](Hands& h) { return refusal(h.future.on_complete(std::move(h.function))); })
          .with(no_functions())
          .with(empty_futures(called, "none 1", "none 1"))
          .with({misuse("a default future and no function", kArgument,
                        [](Hands&) { return refusal(Future<void>().on_complete({})); }),
                 misuse("a default future and a function that throws", "none",
                        [](Hands&) {
                          set_error_sink([](const Error&) {});
                          std::string answer = "thrown";
                          try {
                            answer = refusal(Future<void>().on_complete([] { throw 1; }));
                          } catch (int) {
                          }
                          set_error_sink({});
                          return answer;
                        })}),
      answering("Future::ready", ask, "true true")
          .with(empty_futures(asked, "true false", "true true")),
      answering("Future::valid", ask, "true true")
          .with(empty_futures(asked, "true false", "true true")),
      answering(
          "Future::Future(Error)",
          [](Hands&) {
            Future<void> future(Error(ErrorKind::internal, "made by the test"));
            return refusal(future.get());
          },
          "internal")
          .with({misuse("a moved-from error", kInvalid,
                        [](Hands&) {
                          Error error(ErrorKind::internal, "made by the test");
                          return refusal(Future<void>(leave(error)).get());
                        })}),
      answering(
          "Future::Future(Ref)",
          [](Hands&) { return text(Future<void>(Ref<detail::FutureState<void>>()).valid()); },
          "false")
          .with(empty_futures(get, kInvalid, "internal")),
      answering(
          "Future::operator=",
          [asked](Hands& h) {
            Future<void> other;
            other = std::move(h.future);
            return asked(h.future);
          },
          "true false")
          .with({misuse("itself", "true true",
                        [asked](Hands& h) {
                          Future<void>& same = h.future;
                          h.future = std::move(same);
                          return asked(h.future);
                        }),
                 misuse("itself, with a refusal", "internal",
                        [get](Hands&) {
                          Future<void> future(Error(ErrorKind::internal, "made by the test"));
                          Future<void>& same = future;
                          future = std::move(same);
                          return get(future);
                        })}),
  };
}

}  // namespace
}  // namespace thalweg::contract
