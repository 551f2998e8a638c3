// SPDX-License-Identifier: Apache-2.0
//
// Every function of the table, in every place it can be called from.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "contract/support/foreign_backend.hpp"
#include "contract/support/misuse.hpp"
#include "thalweg/base/log.hpp"

namespace thalweg::contract {
namespace {

bool is_one_of(const std::string& answer, const std::string& answers) {
  return ("|" + answers + "|").find("|" + answer + "|") != std::string::npos;
}

// What a use answered on another thread.
struct Told {
  std::string answer;
  std::atomic<bool> done{false};
};

// A use of an entry, made once wherever it is called. It keeps what it uses.
class OneUse {
 public:
  OneUse(const Entry& entry, const Handles& handles)
      : use_(entry.use()), hands_(std::make_shared<Hands>(handles, nullptr, nullptr)) {}

  void operator()() const {
    if (told_->done) return;
    told_->answer = use_(*hands_);
    told_->done = true;
  }

  bool done() const { return told_->done; }
  const std::string& answer() const { return told_->answer; }
  void drop() { hands_.reset(); }

 private:
  Use use_;
  std::shared_ptr<Hands> hands_;
  std::shared_ptr<Told> told_ = std::make_shared<Told>();
};

// A place makes a call of each entry somewhere, and says what is the answer there.
struct Place {
  std::string name;
  bool in_task = false;
  std::function<void(const Handles&, const OneUse&)> make;
};

void check_place(const Device& device, const Place& place) {
  const Handles handles(device);
  for (const Entry& entry : whole_table()) {
    const OneUse use(entry, handles);
    place.make(handles, use);
    // A device without threads goes on in calls.
    ASSERT_TRUE(comes_true([&] {
      if (!use.done()) static_cast<void>(handles.device.poll());
      return use.done();
    })) << entry.name()
        << " " << place.name << " does not come back.";
    const std::string& right = place.in_task ? entry.inside() : entry.right();
    EXPECT_TRUE(is_one_of(use.answer(), right))
        << entry.name() << " " << place.name << ": " << use.answer() << ", and not " << right;
    set_error_sink({});
    need(handles.device.synchronize(kLimit));
  }
}

// Calls when the last copy of it goes.
class AtEnd {
 public:
  explicit AtEnd(const OneUse& use) : end_(nullptr, [use](void*) { use(); }) {}
  void operator()() const {}

 private:
  std::shared_ptr<void> end_;
};

}  // namespace

// Misuses of every function: the documented refusal or answer, and nothing has changed.
CONTRACT_ROW(G9, AMisuseIsRefusedAndChangesNothing) {
  const Handles handles(device());
  const Opened second = second_device();
  const Handles sibling(second.device);
  const Handles foreign(need(open_foreign()));
  for (const Entry& entry : whole_table()) entry.check_misuses(handles, &sibling, &foreign);
}

// A call that would have to wait, with a deadline that is over and where waits are forbidden.
CONTRACT_ROW(G9Waits, AWaitThatIsOverOrForbiddenChangesNothing) {
  const Handles handles(device());
  for (const Entry& entry : whole_table()) entry.check_blocked(handles);
}

// In a NoWaitScope all that need not wait goes on.
CONTRACT_ROW(G9Scope, InANoWaitScope) {
  check_place(device(), {"in a NoWaitScope", false, [](const Handles&, const OneUse& use) {
                           const NoWaitScope no_wait;
                           use();
                         }});
}

CONTRACT_ROW(G9Host, InAHostFunction) {
  check_place(device(), {"in a host function", true, [](const Handles& handles, const OneUse& use) {
                           static_cast<void>(handles.stream.host("place", {}, use));
                         }});
}

// The end of a callable comes in its task too.
CONTRACT_ROW(G9HostEnd, InTheDestructorOfAHostFunction) {
  check_place(device(), {"in a destructor", true, [](const Handles& handles, const OneUse& use) {
                           static_cast<void>(handles.stream.host("place", {}, AtEnd(use)));
                         }});
}

CONTRACT_ROW(G9Kernel, InAKernel) {
  check_place(device(), {"in a kernel", true, [](const Handles& handles, const OneUse& use) {
                           const auto place = kernel("place", [use](Cell) { use(); });
                           need(handles.stream.launch(place, 1));
                         }});
}

// A kernel that throws tells the sink, in its task.
CONTRACT_ROW(G9Sink, InTheErrorSink) {
  check_place(device(), {"in the error sink", true, [](const Handles& handles, const OneUse& use) {
                           set_error_sink([use](const Error&) { use(); });
                           need(handles.stream.launch(kernel("throws", [](Cell) { throw 1; }), 1));
                         }});
}

CONTRACT_ROW(G9Callback, InACallback) {
  ASSERT_TRUE(backend().any_thread);
  check_place(device(), {"in a callback", false, [](const Handles& handles, const OneUse& use) {
                           need(handles.event.on_complete(use));
                         }});
}

// A deleter of adopted memory: where the last handle goes, and behind work, on a thread of the
// runtime's.
CONTRACT_ROW(G9Deleter, InADeleter) {
  static std::array<int, 4> memory{};
  check_place(device(), {"in a deleter", false, [](const Handles& handles, const OneUse& use) {
                           static_cast<void>(need(Array<int>::adopt(handles.device, memory, use)));
                         }});
}

CONTRACT_ROW(G9DeleterBehind, InADeleterBehindWork) {
  ASSERT_TRUE(backend().any_thread);
  static std::array<int, 4> memory{};
  check_place(device(), {"in a late deleter", false, [](const Handles& handles, const OneUse& use) {
                           const Gate gate(handles.device);
                           gate.hold(handles.other);
                           const auto array = need(Array<int>::adopt(handles.device, memory, use));
                           need(handles.other.fill(array, 1));
                         }});
}

namespace {

// The last handles of a device, dropped by a use when nobody else holds any.
struct Last {
  std::optional<Handles> handles;
  std::atomic<bool> alone{false};

  void drop() {
    while (!alone) std::this_thread::yield();
    handles.reset();
  }
};

}  // namespace

// The last handle goes where no thread of the device's own could wait for the device's end.
CONTRACT_ROW(G9Drop, TheLastHandleMayGoAnywhere) {
  ASSERT_TRUE(backend().own_threads);
  using Drop = std::function<void()>;
  const std::vector<std::pair<std::string, std::function<void(const Handles&, const Drop&)>>>
      places{
          {"a host function",
           [](const Handles& h, const Drop& drop) {
             static_cast<void>(h.stream.host("drop", {reads(h.view)}, drop));
           }},
          {"a kernel",
           [](const Handles& h, const Drop& drop) {
             need(h.stream.launch(kernel("drop", [drop](Cell) { drop(); }), 1));
           }},
          {"a callback",
           [](const Handles& h, const Drop& drop) { need(h.event.on_complete(drop)); }},
          {"a callback of a task",
           [](const Handles& h, const Drop& drop) { need(h.stream.on_complete(h.task, drop)); }},
          {"the error sink",
           [](const Handles& h, const Drop& drop) {
             set_error_sink([drop](const Error&) { drop(); });
             need(h.stream.launch(kernel("throws", [](Cell) { throw 1; }), 1));
           }},
      };
  for (const auto& [name, make] : places) {
    Opened opened = second_device();
    const std::shared_ptr<Control> control = opened.control;
    const auto last = std::make_shared<Last>();
    last->handles.emplace(std::exchange(opened.device, Device()));
    make(*last->handles, [last] { last->drop(); });
    last->alone = true;
    EXPECT_TRUE(comes_true([&control] { return control->driver_destroyed(); })) << name;
    set_error_sink({});
  }
}

// The same handles on two threads.
CONTRACT_ROW(G9Threads, OnTwoThreads) {
  ASSERT_TRUE(backend().any_thread);
  constexpr int kRounds = 10;
  const Handles handles(device());
  for (const Entry& entry : whole_table()) {
    if (!entry.threads()) continue;
    std::array<std::string, 2> wrong;
    on_threads(2, [&](int thread) {
      for (int round = 0; round != kRounds; ++round) {
        Hands hands(handles, nullptr, nullptr);
        const std::string answer = entry.use()(hands);
        if (!is_one_of(answer, entry.right())) wrong[static_cast<std::size_t>(thread)] = answer;
      }
    });
    for (const std::string& answer : wrong)
      EXPECT_EQ(answer, "") << entry.name() << " on two threads, and not " << entry.right();
    need(handles.device.synchronize(kLimit));
  }
}

namespace {

// What a child tells, in memory that both see.
struct Report {
  std::atomic<std::size_t> entry{0};
  char faults[4096] = {};

  void add(const std::string& text) {
    const std::size_t used = std::strlen(faults);
    const std::size_t room = sizeof(faults) - 1 - used;
    std::memcpy(faults + used, text.data(), std::min(text.size(), room));
  }
};

class SharedReport {
 public:
  SharedReport() {
    void* const page =
        mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    report_ = new (page) Report;
  }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;
  ~SharedReport() { munmap(report_, sizeof(Report)); }
  Report& operator*() const noexcept { return *report_; }
  Report* operator->() const noexcept { return report_; }

 private:
  Report* report_;
};

constexpr unsigned kChild_s = 20;

void use_all(const Table& table, std::vector<std::unique_ptr<Hands>>& hands, Report& report) {
  const auto compare = [&report](const Entry& entry, const std::string& answer,
                                 const std::string& expected, const char* how) {
    if (!is_one_of(answer, expected))
      report.add(entry.name() + how + ": " + answer + ", and not " + expected + "\n");
  };
  for (std::size_t i = 0; i != table.size(); ++i) {
    report.entry = i;
    const Entry& entry = table[i];
    try {
      compare(entry, entry.use()(*hands[i]), entry.in_child(), "");
      // It would wait for ever for a thread that is not there.
      hands[i]->deadline = {};
      if (entry.blocked()) compare(entry, entry.blocked()(*hands[i]), "unavailable", ", blocked");
    } catch (const std::exception& thrown) {
      report.add(entry.name() + " throws " + thrown.what() + "\n");
    }
  }
  report.entry = table.size();
  hands.clear();
}

}  // namespace

// A forked child has none of the runtime's threads: every call answers, and every handle goes.
CONTRACT_ROW(G9Fork, InAForkedChild) {
  const Table table = whole_table();
  const SharedReport report;
  {
    const Handles handles(device());
    std::vector<std::unique_ptr<Hands>> hands;
    for (const Entry& entry : table) {
      hands.push_back(std::make_unique<Hands>(handles, nullptr, nullptr));
      if (entry.blocked()) hands.back()->hold();
    }
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(kChild_s);
      use_all(table, hands, *report);
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "Status " << status << " at "
        << (report->entry < table.size() ? table[report->entry].name() : "the end");
    EXPECT_STREQ(report->faults, "");
    // The parent goes on as if nothing had been.
    need(handles.stream.fill(handles.view, 2));
    EXPECT_EQ(refusal(handles.stream.synchronize(kLimit)), "none");
  }
}

}  // namespace thalweg::contract
