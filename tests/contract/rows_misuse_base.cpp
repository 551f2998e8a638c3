// SPDX-License-Identifier: Apache-2.0
//
// The table of misuses: what programs use of base/.

#include <limits>

#include "contract/support/misuse.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg::contract {
namespace {

using std::chrono::nanoseconds;

constexpr const char* kInvalid = "invalid_handle";

std::string nanos(nanoseconds time) { return std::to_string(time.count()); }

// What a deadline comes to.
template <class Rep, class Period>
Use within(std::chrono::duration<Rep, Period> time) {
  return [time](Hands&) { return nanos(*Deadline(time).within()); };
}

MISUSE_TABLE(deadlines) {
  using Seconds = std::chrono::duration<double>;
  using Hours = std::chrono::duration<std::int64_t, std::ratio<3600>>;
  const std::string most = nanos(nanoseconds::max());
  const std::string least = nanos(nanoseconds::min());
  return {
      answering("Deadline::Deadline", within(nanoseconds(1)), "1")
          .with({misuse("not a number", "0",
                        within(Seconds(std::numeric_limits<double>::quiet_NaN()))),
                 misuse("no end", most, within(Seconds(std::numeric_limits<double>::infinity()))),
                 misuse("no beginning", least,
                        within(Seconds(-std::numeric_limits<double>::infinity()))),
                 misuse("the most hours", most, within(Hours::max())),
                 misuse("the least hours", least, within(Hours::min()))}),
      answering(
          "Deadline::within", [](Hands&) { return text(Deadline().within().has_value()); }, "false")
          .unseen("It takes nothing, and a Deadline always holds something."),
  };
}

// A clock that goes by itself.
class OwnClock final : public Clock {
 public:
  nanoseconds now() const noexcept override { return nanoseconds(5); }
};

void set_fire(Alarm& alarm) {
  alarm.fire = [](Alarm& fired) noexcept { fired.when = nanoseconds(-1); };
}

// Ends with every alarm out of the clock.
std::string alarms(Hands& h, bool added) {
  const std::uint64_t waiting = h.clock->alarms();
  h.clock->advance(nanoseconds(1000));
  const bool fired = h.alarm.when == nanoseconds(-1);
  static_cast<void>(h.clock->remove(h.alarm));
  return text(added) + " " + std::to_string(waiting) + " " + (fired ? "fired" : "silent") + " " +
         std::to_string(h.clock->alarms());
}

bool add(Hands& h, nanoseconds when) {
  set_fire(h.alarm);
  h.alarm.when = when;
  return h.clock->add(h.alarm);
}

MISUSE_TABLE(clocks) {
  const std::string own = "false false 5";
  const auto ask_own = [](Hands& h) {
    const OwnClock clock;
    set_fire(h.alarm);
    const bool added = clock.add(h.alarm);
    const bool removed = clock.remove(h.alarm);
    return text(added) + " " + text(removed) + " " + nanos(clock.now());
  };
  const auto advance = [](std::vector<nanoseconds> moves) {
    return [moves](Hands& h) {
      for (const nanoseconds by : moves) h.clock->advance(by);
      return nanos(h.clock->now());
    };
  };
  const auto began = [](nanoseconds start) {
    return [start](Hands& h) {
      // A wait with a deadline adds it to the present moment.
      const auto clock = std::make_shared<VirtualClock>(start);
      const Device device =
          need(Device::open("cpu?workers=1", {.clock = std::shared_ptr<const Clock>(clock)}));
      const Timeline timeline = need(Timeline::create(device));
      static_cast<void>(h);
      return refusal(timeline.wait(1, nanoseconds(0))) + " " + nanos(clock->now());
    };
  };
  const std::string most = nanos(nanoseconds::max());
  const char* const right = "true 1 fired 0";
  const auto add_rightly = [](Hands& h) { return alarms(h, add(h, nanoseconds(9))); };
  return {
      answering("Clock::now", ask_own, own).unseen("It takes nothing."),
      answering("Clock::add", ask_own, own).unseen("A clock that goes by itself adds nothing."),
      answering("Clock::remove", ask_own, own).unseen("A clock that goes by itself has no alarms."),
      answering(
          "VirtualClock::VirtualClock",
          [](Hands&) { return nanos(VirtualClock(nanoseconds(3)).now()); }, "3")
          .with({misuse("the last moment", "timeout " + most, began(nanoseconds::max())),
                 misuse("a moment before the first", "timeout 0", began(nanoseconds::min()))}),
      answering(
          "VirtualClock::now", [](Hands& h) { return nanos(h.clock->now()); }, "0")
          .unseen("It takes nothing."),
      answering("VirtualClock::advance", advance({nanoseconds(2)}), "2")
          .with({misuse("nothing", "0", advance({nanoseconds(0)})),
                 misuse("back", "5", advance({nanoseconds(5), nanoseconds(-3)})),
                 misuse("back to the beginning of time", "0", advance({nanoseconds::min()})),
                 misuse("past the end of time", most,
                        advance({nanoseconds(5), nanoseconds::max(), nanoseconds::max()}))})
          .in_child("0"),
      answering("VirtualClock::add", add_rightly, right)
          .with({misuse("twice", "false 1 fired 0",
                        [](Hands& h) {
                          const bool first = add(h, nanoseconds(9));
                          return alarms(h, h.clock->add(h.alarm) || !first);
                        }),
                 misuse("twice, with others around", "false 3 fired 0",
                        [](Hands& h) {
                          Alarm before;
                          Alarm behind;
                          set_fire(before);
                          set_fire(behind);
                          before.when = nanoseconds(8);
                          behind.when = nanoseconds(10);
                          h.clock->add(before);
                          const bool first = add(h, nanoseconds(9));
                          h.clock->add(behind);
                          return alarms(h, h.clock->add(h.alarm) || !first);
                        }),
                 misuse("to a second clock", "false 1 fired 0",
                        [](Hands& h) {
                          const VirtualClock second;
                          add(h, nanoseconds(9));
                          return alarms(h, second.add(h.alarm));
                        }),
                 misuse("without a function", "false 0 silent 0",
                        [](Hands& h) {
                          h.alarm.when = nanoseconds(9);
                          return alarms(h, h.clock->add(h.alarm));
                        }),
                 misuse("for a moment that is over", "true 0 fired 0",
                        [](Hands& h) { return alarms(h, add(h, nanoseconds(0))); }),
                 misuse("for the last moment", "true 1 silent 0",
                        [](Hands& h) { return alarms(h, add(h, nanoseconds::max())); })})
          .in_child("false 0 silent 0"),
      answering(
          "VirtualClock::remove",
          [](Hands& h) {
            add(h, nanoseconds(9));
            return text(h.clock->remove(h.alarm));
          },
          "true")
          .with({misuse("an alarm that was never added", "false",
                        [](Hands& h) { return text(h.clock->remove(h.alarm)); }),
                 misuse("twice", "false",
                        [](Hands& h) {
                          add(h, nanoseconds(9));
                          h.clock->remove(h.alarm);
                          return text(h.clock->remove(h.alarm));
                        }),
                 misuse("an alarm that has fired", "false",
                        [](Hands& h) {
                          add(h, nanoseconds(9));
                          h.clock->advance(nanoseconds(9));
                          return text(h.clock->remove(h.alarm));
                        }),
                 misuse("another clock's alarm", "false false 2",
                        [](Hands& h) {
                          const VirtualClock second;
                          Alarm before;
                          set_fire(before);
                          before.when = nanoseconds(8);
                          h.clock->add(before);
                          add(h, nanoseconds(9));
                          const bool last = second.remove(h.alarm);
                          const bool first = second.remove(before);
                          const std::string left = std::to_string(h.clock->alarms());
                          h.clock->advance(nanoseconds(10));
                          return text(last) + " " + text(first) + " " + left;
                        })})
          .in_child("false"),
      answering(
          "VirtualClock::alarms", [](Hands& h) { return std::to_string(h.clock->alarms()); }, "0")
          .unseen("It takes nothing."),
  };
}

MISUSE_TABLE(scopes) {
  const auto active = [](Hands&) {
    const NoWaitScope outer;
    {
      const NoWaitScope inner;
    }
    return text(NoWaitScope::active());
  };
  const char* const why =
      "It takes nothing; that one is destroyed by the thread that made it is "
      "the program's affair.";
  return {answering("NoWaitScope::NoWaitScope", active, "true").unseen(why),
          answering("NoWaitScope::active", active, "true").unseen(why)};
}

MISUSE_TABLE(errors) {
  const auto spoilt = [](auto ask, std::string answer) {
    return std::vector<Misuse>{misuse("a moved-from error", std::move(answer), [ask](Hands&) {
      Error error(ErrorKind::timeout, "made by the test");
      return ask(leave(error));
    })};
  };
  const auto entry = [spoilt](std::string name, auto ask, std::string right, std::string left) {
    return answering(
               std::move(name), [ask](Hands&) { return ask(Error(ErrorKind::timeout, "text")); },
               std::move(right))
        .with(spoilt(ask, std::move(left)));
  };
  using E = const Error&;
  const auto kind = [](E e) { return std::string(name(e.kind())); };
  const auto words = [](E e) { return std::string(e.message()); };
  const auto chain = [](Hands&) {
    Error error(ErrorKind::internal, "root");
    for (int i = 0; i != 200'000; ++i)
      error = Error(ErrorKind::internal, "follows").caused_by(error);
    return std::string(name(error.root().kind()));
  };
  const char* const left = "The error was moved from.";
  return {
      answering(
          "Error::Error", [kind](Hands&) { return kind(Error(ErrorKind::timeout, {})); }, "timeout")
          .with({misuse(
              "a kind that is none", "unknown",
              [kind](Hands&) { return kind(Error(static_cast<ErrorKind>(200), "text")); })}),
      entry(named("Error::kind"), kind, "timeout", kInvalid),
      entry(named("Error::message"), words, "text", left),
      entry(
          named("Error::site"), [](E e) { return text(e.site().line() != 0); }, "true", "false"),
      entry(
          named("Error::cause"), [](E e) { return text(e.cause() != nullptr); }, "false", "false"),
      entry(
          named("Error::root"), [kind](E e) { return kind(e.root()); }, "timeout", kInvalid),
      entry(
          named("Error::with_context"), [words](E e) { return words(e.with_context({})); },
          ": text", std::string(": ") + left),
      entry(
          named("Error::at"), [kind](E e) { return kind(e.at(std::source_location::current())); },
          "timeout", kInvalid),
      entry(
          named("Error::caused_by"), [kind](E e) { return kind(e.caused_by(e)); }, "timeout",
          kInvalid)
          .with({misuse("a chain of 200'000", "internal", chain)}),
      entry(
          named("Error::to_string"), [](E e) { return text(e.to_string().empty()); }, "false",
          "false"),
      entry(
          named("Error::failures"), [](E e) { return text(e.failures().empty()); }, "true", "true"),
      entry(
          named("Error::to_json"), [](E e) { return text(e.to_json().empty()); }, "false", "false"),
      answering(
          "unwritten",
          [](Hands&) {
            std::vector<FailureReport> reports{
                {FailureId{1}, Error(ErrorKind::timeout, "The root."), {}, 0, 0, {}, 0}};
            return refusal(Result<void>(unwritten(std::move(reports))));
          },
          "unwritten")
          .unseen("The runtime makes it, of reports that it has."),
      answering(
          "name(ErrorKind)", [](Hands&) { return std::string(name(ErrorKind::internal)); },
          "internal")
          .with({misuse("a number that is no kind", "unknown",
                        [](Hands&) { return std::string(name(static_cast<ErrorKind>(255))); })}),
      answering(
          "name(WaitReason)", [](Hands&) { return std::string(name(WaitReason::map)); }, "map")
          .with({misuse("a number that is no reason", "unknown",
                        [](Hands&) { return std::string(name(static_cast<WaitReason>(255))); })}),
      answering(
          "Result::Result(Base)",
          [](Hands&) { return refusal(Result<int>(tl::expected<int, Error>(1))); }, "none")
          .unseen("As tl::expected: a value is asked for before it is taken."),
      answering(
          "Result::Result(Error)",
          [](Hands&) { return refusal(Result<int>(Error(ErrorKind::timeout, "text"))); }, "timeout")
          .with({misuse("a moved-from error", kInvalid,
                        [](Hands&) {
                          Error error(ErrorKind::timeout, "text");
                          return refusal(Result<int>(leave(error)));
                        })}),
      answering(
          "must", [](Hands&) { return std::to_string(must(Result<int>(1))); }, "1")
          .unseen("It ends the program, and says so."),
  };
}

MISUSE_TABLE(values) {
  const auto negative = [](Grid grid) { return text(grid.negative()); };
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  const char* const why = "It takes nothing.";
  const auto grid = [](Hands&) {
    const Grid made(2, 3, 4);
    return std::to_string(made.extent().x) + std::to_string(made.extent().z) +
           text(made.negative()) + text(made.site().line() != 0);
  };
  const char* const right = "24falsetrue";
  return {
      answering("Grid::Grid(Int)", grid, right)
          .with(
              {misuse("below zero", "true", [=](Hands&) { return negative(Grid(-1)); }),
               misuse("the least number", "true", [=](Hands&) { return negative(Grid(kLeast)); })}),
      answering("Grid::Grid(X, Y)", grid, right)
          .with({misuse("below zero", "true", [=](Hands&) { return negative(Grid(1, -1)); })}),
      answering("Grid::Grid(X, Y, Z)", grid, right)
          .with({misuse("below zero", "true", [=](Hands&) { return negative(Grid(1U, 1, -1)); })}),
      answering("Grid::Grid(Extent)", grid, right)
          .with({misuse("the most there is", "false",
                        [=](Hands&) { return negative(Grid(Extent{kMost, kMost, kMost})); })}),
      answering(
          "launchable", [](Hands&) { return text(launchable({16, 1, 1})); }, "true")
          .with({misuse("a product that overflows to none", "false",
                        [](Hands&) {
                          return text(
                              launchable({std::uint64_t{1} << 32, std::uint64_t{1} << 32, 1}));
                        }),
                 misuse("the most there is", "false",
                        [](Hands&) { return text(launchable({kMost, kMost, kMost})); }),
                 misuse("the most layers of no cells", "false",
                        [](Hands&) { return text(launchable({0, 0, kMost})); })}),
      answering("Grid::extent", grid, right).unseen(why),
      answering("Grid::site", grid, right).unseen(why),
      answering("Grid::negative", grid, right).unseen(why),
      answering(
          "PriorityRange::contains", [](Hands&) { return text(PriorityRange{1, -1}.contains(0)); },
          "true")
          .with({misuse("the least number", "false",
                        [](Hands&) {
                          return text(
                              PriorityRange{1, -1}.contains(std::numeric_limits<int>::min()));
                        }),
                 misuse("a range that is upside down", "false",
                        [](Hands&) { return text(PriorityRange{-1, 1}.contains(0)); })}),
      answering(
          "UniqueFunction::UniqueFunction",
          [](Hands& h) { return text(static_cast<bool>(h.function)); }, "true")
          .with({misuse("a null pointer", "false",
                        [](Hands&) {
                          const UniqueFunction null(static_cast<int (*)()>(nullptr));
                          return text(static_cast<bool>(null));
                        }),
                 misuse("an empty std::function", "false",
                        [](Hands&) {
                          const UniqueFunction null{std::function<int()>()};
                          return text(static_cast<bool>(null));
                        })}),
      answering(
          "UniqueFunction::operator bool",
          [](Hands& h) { return text(static_cast<bool>(h.function)); }, "true")
          .with({misuse("a moved-from one", "false",
                        [](Hands& h) { return text(static_cast<bool>(leave(h.function))); })}),
      answering(
          "UniqueFunction::operator()",
          [](Hands& h) {
            h.function();
            return std::to_string(*h.ran);
          },
          "1")
          .with({misuse("an empty one", "0",
                        [](Hands& h) {
                          UniqueFunction()();
                          return std::to_string(*h.ran);
                        }),
                 misuse("a moved-from one", "0",
                        [](Hands& h) {
                          leave(h.function)();
                          return std::to_string(*h.ran);
                        })}),
  };
}

// Hooks are the process's: set by one use at a time, and taken out again.
MISUSE_TABLE(hooks) {
  const auto sink = [](Hands&) {
    set_error_sink([](const Error&) { set_error_sink({}); });
    detail::to_error_sink(Error(ErrorKind::internal, "made by the test"));
    return std::string("set");
  };
  const auto log = [](Hands&) {
    set_log_hook([](LogLevel, std::string_view) { set_log_hook({}); });
    detail::log(LogLevel::debug, "made by the test");
    set_log_hook({});
    return std::string("set");
  };
  return {
      answering("set_error_sink", sink, "set")
          .with({misuse("a sink that throws", "none",
                        [](Hands& h) {
                          set_error_sink([](const Error&) { throw 1; });
                          const auto throws = kernel("throws", [](Cell) { throw 2; });
                          const std::string answer = refusal(h.stream.launch(throws, 1));
                          need(h.stream.synchronize(kLimit));
                          set_error_sink({});
                          return answer;
                        })})
          .one_thread(),
      answering("set_log_hook", log, "set")
          .with({misuse("a hook that throws", "set",
                        [](Hands&) {
                          set_log_hook([](LogLevel, std::string_view) { throw 1; });
                          detail::log(LogLevel::debug, "made by the test");
                          set_log_hook({});
                          return std::string("set");
                        })})
          .one_thread(),
  };
}

}  // namespace
}  // namespace thalweg::contract
