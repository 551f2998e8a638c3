// SPDX-License-Identifier: Apache-2.0
//
// The table of misuses: streams, pools of them, kernels and tasks.

#include <array>
#include <limits>

#include "contract/support/misuse.hpp"

namespace thalweg::contract {
namespace {

constexpr const char* kInvalid = "invalid_handle";
constexpr const char* kArgument = "invalid_argument";
constexpr const char* kContext = "context_mismatch";
constexpr const char* kBackend = "backend_mismatch";
constexpr const char* kSize = "invalid_size";
constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

template <class T>
std::vector<T> operator+(std::vector<T> a, std::vector<T> b) {
  for (T& one : b) a.push_back(std::move(one));
  return a;
}

std::vector<Misuse> bad_priorities() {
  const auto of = [](int priority) {
    return [priority](Hands& h) { return refusal(Stream::with_priority(h.device, priority)); };
  };
  return {misuse("the least number", kArgument, of(kLow)),
          misuse("the greatest number", kArgument, of(kHigh)),
          misuse("one below the greatest priority", kArgument,
                 [of](Hands& h) { return of(h.device.priority_range().greatest - 1)(h); }),
          misuse("one above the least priority", kArgument,
                 [of](Hands& h) { return of(h.device.priority_range().least + 1)(h); })};
}

MISUSE_TABLE(making_streams) {
  const auto adopt = [](Hands& h, std::uintptr_t handle, Ownership ownership) {
    return refusal(Stream::adopt(h.device, {handle}, ownership));
  };
  return {
      refusing("Stream::create", [](Hands& h) { return refusal(Stream::create(h.device)); })
          .with(bad_devices())
          .with({misuse(
                     "a priority of 2^31 - 1", kArgument,
                     [](Hands& h) { return refusal(Stream::create(h.device, {kHigh, "misuse"})); }),
                 misuse("a name of a million letters", "none",
                        [](Hands& h) {
                          const std::string name(1'000'000, 'n');
                          return refusal(Stream::create(h.device, {0, name}));
                        })}),
      refusing("Stream::with_priority",
               [](Hands& h) { return refusal(Stream::with_priority(h.device, 0)); })
          .with(bad_devices())
          .with(bad_priorities()),
      refusing(
          "Stream::adopt",
          [adopt](Hands& h) { return adopt(h, h.stream.raw().value, Ownership::borrowed); },
          "none|unsupported")
          .with(
              {misuse("a default device", kInvalid,
                      [](Hands& h) {
                        return refusal(Stream::adopt(Device(), h.stream.raw(), Ownership::owned));
                      }),
               misuse("no queue", "not_found|unsupported",
                      [adopt](Hands& h) { return adopt(h, 0, Ownership::borrowed); }),
               misuse("a queue that nobody made", "not_found|unsupported",
                      [adopt](Hands& h) { return adopt(h, ~std::uintptr_t{0}, Ownership::owned); }),
               misuse(
                   "an owner too many", "invalid_argument|unsupported",
                   [adopt](Hands& h) { return adopt(h, h.stream.raw().value, Ownership::owned); }),
               misuse("an ownership that is none", "invalid_argument|unsupported",
                      [adopt](Hands& h) {
                        return adopt(h, h.stream.raw().value, static_cast<Ownership>(77));
                      }),
               misuse("another device's queue", "not_found|unsupported",
                      [adopt](Hands& h) {
                        return adopt(h, h.sibling->stream.raw().value, Ownership::borrowed);
                      }),
               misuse("another device's queue, owned", "not_found|unsupported",
                      [adopt](Hands& h) {
                        return adopt(h, h.sibling->stream.raw().value, Ownership::owned);
                      })}),
      answering(
          "Stream::with_stop_token",
          [](Hands& h) { return text(h.stream.with_stop_token({}).is_same_queue(h.stream)); },
          "true")
          .with({misuse("a default stream", "false",
                        [](Hands&) { return text(Stream().with_stop_token({}).valid()); }),
                 misuse("a source that is gone", "true",
                        [](Hands& h) {
                          auto source = std::make_unique<std::stop_source>();
                          const Stream s = h.stream.with_stop_token(source->get_token());
                          source.reset();
                          return text(s.valid());
                        })}),
  };
}

void add_all(Cell, std::array<char, 256>, std::array<char, 256>, std::array<char, 256>,
             std::array<char, 256>, std::array<char, 256>, std::array<char, 256>,
             std::array<char, 256>, std::array<char, 256>, std::array<char, 256>,
             std::array<char, 256>, std::array<char, 256>, std::array<char, 256>,
             std::array<char, 256>, std::array<char, 256>, std::array<char, 256>,
             std::array<char, 256>, std::array<char, 256>) {}

template <std::size_t... I>
std::string too_many_arguments(const Stream& stream, std::index_sequence<I...>) {
  const std::array<char, 256> scalar{};
  return refusal(stream.launch(kernel("add_all", &add_all), 1, (static_cast<void>(I), scalar)...));
}

std::vector<Misuse> bad_grids() {
  const auto on = [](const char* what, auto... counts) {
    return misuse(what, kSize, [=](Hands& h) {
      return refusal(h.stream.launch(*h.add, Grid(counts...), h.view));
    });
  };
  constexpr std::uint64_t k2to20 = 1 << 20;
  constexpr std::uint64_t k2to32 = std::uint64_t{1} << 32;
  return {on("-1 cells", -1),
          on("the least number of cells", std::numeric_limits<std::int64_t>::min()),
          on("2 x -1 cells", 2, -1),
          on("-1 x -1 x 1 cells", -1, -1, 1),
          on("0 x 0 x -1 cells", 0, 0, -1),
          on("2^64 - 1 cells", kMost),
          on("2^40 + 1 cells", (std::uint64_t{1} << 40) + 1),
          on("2^60 cells", k2to20, k2to20, k2to20),
          on("2^64 cells", k2to32, k2to32 / 2, 2),
          on("2^64 + 2^32 cells, a product of 2^32", k2to32 + 1, k2to32),
          on("2^32 rows", 1, k2to32),
          on("2^32 layers of no cells", 0, 1, k2to32)};
}

MISUSE_TABLE(launches) {
  return {
      refusing("Stream::launch",
               [](Hands& h) { return refusal(h.stream.launch(*h.add, 16, h.view)); })
          .with(bad_streams())
          .with(streams_of_others())
          .with(bad_views())
          .with(views_of_others())
          .with(mapped_views())
          .with(bad_grids())
          .with({spoil("a moved-from kernel", kInvalid, [](Hands& h) { leave(*h.add); }),
                 spoil("a null pointer to a function", kArgument,
                       [](Hands& h) {
                         h.add =
                             kernel("null", static_cast<void (*)(Cell, std::span<int>)>(nullptr));
                       }),
                 misuse("an empty std::function", kArgument,
                        [](Hands& h) {
                          return refusal(
                              h.stream.launch(kernel("e", std::function<void(Cell)>()), 1));
                        }),
                 misuse("an empty std::function and no cells", kArgument,
                        [](Hands& h) {
                          return refusal(
                              h.stream.launch(kernel("e", std::function<void(Cell)>()), 0));
                        }),
                 misuse("more than 4096 bytes of arguments", kSize,
                        [](Hands& h) {
                          return too_many_arguments(h.stream, std::make_index_sequence<17>());
                        }),
                 misuse("no cells", "none",
                        [](Hands& h) { return refusal(h.stream.launch(*h.add, 0, h.view)); })}),
      refusing(
          "Stream::launch_indirect",
          [](Hands& h) { return refusal(h.stream.launch_indirect(*h.add, h.extent, h.view)); },
          "none|unsupported")
          .with(bad_streams())
          .with({spoil("a view of elements of no array", kInvalid, [](Hands& h) { h.view = {}; }),
                 spoil("a moved-from kernel", kInvalid, [](Hands& h) { leave(*h.add); }),
                 misuse("a default grid", kInvalid,
                        [](Hands& h) {
                          return refusal(
                              h.stream.launch_indirect(*h.add, View<const Extent>(), h.view));
                        }),
                 misuse("a misaligned grid", kArgument,
                        [](Hands& h) {
                          const View<Extent> odd(h.array.buffer(), 4, 1);
                          return refusal(h.stream.launch_indirect(*h.add, odd, h.view));
                        }),
                 misuse("a grid behind its memory", kArgument,
                        [](Hands& h) {
                          const View<Extent> outside(h.array.buffer(), 48, 1);
                          return refusal(h.stream.launch_indirect(*h.add, outside, h.view));
                        }),
                 misuse("no grid", kSize,
                        [](Hands& h) {
                          return refusal(
                              h.stream.launch_indirect(*h.add, h.extent.subview(0, 0), h.view));
                        }),
                 misuse("two grids", kSize,
                        [](Hands& h) {
                          const View<Extent> two(h.array.buffer(), 0, 2);
                          return refusal(h.stream.launch_indirect(*h.add, two, h.view));
                        }),
                 misuse("another device's grid", kContext,
                        [](Hands& h) {
                          const View<Extent> theirs(h.sibling->array.buffer(), 0, 1);
                          return refusal(h.stream.launch_indirect(*h.add, theirs, h.view));
                        }),
                 misuse("another backend's grid", kBackend,
                        [](Hands& h) {
                          const View<Extent> theirs(h.foreign->array.buffer(), 0, 1);
                          return refusal(h.stream.launch_indirect(*h.add, theirs, h.view));
                        })}),
      answering(
          "IndirectGrid::IndirectGrid",
          [](Hands& h) { return text(IndirectGrid(h.extent).extent().count()); }, "1")
          .with({misuse(
              "a default view", "0",
              [](Hands&) { return text(IndirectGrid(View<const Extent>()).extent().count()); })}),
      answering(
          "IndirectGrid::extent",
          [](Hands& h) { return text(IndirectGrid(h.extent).extent().count()); }, "1")
          .unseen("It takes nothing."),
      answering(
          "IndirectGrid::site",
          [](Hands& h) { return text(IndirectGrid(h.extent).site().line() != 0); }, "true")
          .unseen("It takes nothing."),
      refusing("kernel",
               [](Hands& h) {
                 const auto nothing = kernel("nothing", [](Cell) {});
                 return refusal(h.stream.launch(nothing, 1));
               })
          .with({misuse(
                     "a name without a text", "none",
                     [](Hands& h) { return refusal(h.stream.launch(kernel({}, [](Cell) {}), 1)); }),
                 misuse("a name of a million letters", "none",
                        [](Hands& h) {
                          const auto named = kernel(std::string(1'000'000, 'n'), [](Cell) {});
                          return refusal(h.stream.launch(named, 1));
                        })}),
      answering(
          "Kernel::Kernel", [](Hands& h) { return text(h.add->name()); }, "add")
          .with({misuse("a null reference", kInvalid,
                        [](Hands& h) {
                          return refusal(
                              h.stream.launch(AddKernel(Ref<AddKernel::Code>()), 1, h.view));
                        })}),
      answering(
          "Kernel::name", [](Hands& h) { return text(h.add->name()); }, "add")
          .with({misuse("a moved-from kernel", "",
                        [](Hands& h) { return text(leave(*h.add).name()); })}),
      answering(
          "Kernel::code", [](Hands& h) { return text(h.add->code() != nullptr); }, "true")
          .with({misuse("a moved-from kernel", "false",
                        [](Hands& h) { return text(leave(*h.add).code() != nullptr); })}),
  };
}

MISUSE_TABLE(spans) {
  const auto shape = [](Hands&) {
    int values[4] = {1, 2, 3, 4};
    const Span2D<int> span(values, 2, 2, 2);
    return text(static_cast<std::uint64_t>(span(1, 1))) + " " + text(span.width()) + " " +
           text(span.height()) + " " + text(span.pitch()) + " " +
           text(span.row(1).data() == span.data() + 2);
  };
  const char* const right = "4 2 2 2 true";
  const char* const why = "A plain value, as std::span: what it names is the kernel's own.";
  return {answering("Span2D::Span2D", shape, right).unseen(why),
          answering("Span2D::operator()", shape, right).unseen(why),
          answering("Span2D::row", shape, right).unseen(why),
          answering("Span2D::width", shape, right).unseen(why),
          answering("Span2D::height", shape, right).unseen(why),
          answering("Span2D::pitch", shape, right).unseen(why),
          answering("Span2D::data", shape, right).unseen(why)};
}

MISUSE_TABLE(outs) {
  const auto sizes = [](Hands&) {
    int value = 0;
    const Out<int> out(&value, 1);
    out[0] = 7;
    return text(static_cast<std::uint64_t>(value)) + " " + text(out.size()) + " " +
           text(out.end() - out.begin() == 1) + text(out.data() == &value);
  };
  const char* const right = "7 1 truetrue";
  const char* const why = "A plain value, as std::span: what it names is the kernel's own.";
  return {answering("Out::Out", sizes, right).unseen(why),
          answering("Out::operator[]", sizes, right).unseen(why),
          answering("Out::data", sizes, right).unseen(why),
          answering("Out::size", sizes, right).unseen(why),
          answering("Out::begin", sizes, right).unseen(why),
          answering("Out::end", sizes, right).unseen(why)};
}

struct Three {
  char bytes[3];
};
struct Many {
  char bytes[32];
};

std::span<const int> values() {
  static const std::vector<int> list(kElements, 3);
  return list;
}

MISUSE_TABLE(transfers) {
  const std::vector<Misuse> handles =
      bad_streams() + streams_of_others() + bad_views() + views_of_others() + mapped_views();
  // A count is compared before the range is looked at.
  const auto counted = [&handles](Entry entry) {
    Entry all = std::move(entry).with(handles);
    for (const char* const what : {"a view of 2^61 elements", "a view that ends at 2^64"})
      all = std::move(all).but(what, kSize);
    return all;
  };
  const std::span<const int> null(static_cast<const int*>(nullptr), kElements);
  const std::span<const int> none;
  return {
      refusing("Stream::fill", [](Hands& h) { return refusal(h.stream.fill(h.view, 1)); })
          .with(handles)
          .with({misuse("elements of 3 bytes", "unsupported",
                        [](Hands& h) {
                          const View<Three> view(h.array.buffer(), 0, 1);
                          return refusal(h.stream.fill(view, Three{}));
                        }),
                 misuse("elements of 32 bytes", "unsupported",
                        [](Hands& h) {
                          const View<Many> view(h.array.buffer(), 0, 1);
                          return refusal(h.stream.fill(view, Many{}));
                        }),
                 misuse("no elements of another device", kContext,
                        [](Hands& h) {
                          return refusal(h.stream.fill(h.sibling->view.subview(0, 0), 1));
                        })}),
      counted(refusing("Stream::copy",
                       [](Hands& h) { return refusal(h.stream.copy(h.view, h.second)); }))
          .but("another device's stream", "context_mismatch")
          .but("another device's view", "none|unsupported")
          .with(
              {misuse("from a default view", kInvalid,
                      [](Hands& h) { return refusal(h.stream.copy(h.view, View<int>())); }),
               misuse("from another backend's view", kBackend,
                      [](Hands& h) { return refusal(h.stream.copy(h.view, h.foreign->view)); }),
               misuse("between two views of another backend", kBackend,
                      [](Hands& h) {
                        return refusal(h.stream.copy(h.foreign->view, h.foreign->second));
                      }),
               misuse("between two views of another device", kContext,
                      [](Hands& h) {
                        return refusal(h.stream.copy(h.sibling->view, h.sibling->second));
                      }),
               misuse("onto itself", kArgument,
                      [](Hands& h) { return refusal(h.stream.copy(h.view, h.view)); }),
               misuse("up by one", kArgument,
                      [](Hands& h) {
                        return refusal(h.stream.copy(h.view.subview(1, 15), h.view.subview(0, 15)));
                      }),
               misuse("down by one", kArgument,
                      [](Hands& h) {
                        return refusal(h.stream.copy(h.view.subview(0, 15), h.view.subview(1, 15)));
                      }),
               misuse("between halves that meet", "none",
                      [](Hands& h) {
                        return refusal(h.stream.copy(h.view.subview(0, 8), h.view.subview(8, 8)));
                      }),
               misuse("no elements onto themselves", "none",
                      [](Hands& h) {
                        return refusal(h.stream.copy(h.view.subview(3, 0), h.view.subview(3, 0)));
                      }),
               misuse("more than there are", kSize,
                      [](Hands& h) {
                        return refusal(h.stream.copy(h.view, h.second.subview(0, 15)));
                      }),
               misuse("bytes that two buffers have adopted", kArgument,
                      [](Hands& h) {
                        static std::array<int, 12> memory{};
                        const std::span<int> all(memory);
                        const auto low = need(Array<int>::adopt(h.device, all.first(8)));
                        const auto high = need(Array<int>::adopt(h.device, all.last(8)));
                        return refusal(h.stream.copy(low, high));
                      })}),
      counted(refusing("Stream::upload(To, span)",
                       [](Hands& h) { return refusal(h.stream.upload(h.view, values())); }))
          .with({misuse(
                     "fewer than there are", kSize,
                     [](Hands& h) { return refusal(h.stream.upload(h.view, values().first(15))); }),
                 misuse("none", kSize,
                        [none](Hands& h) { return refusal(h.stream.upload(h.view, none)); }),
                 misuse("null with a size", kArgument,
                        [null](Hands& h) { return refusal(h.stream.upload(h.view, null)); }),
                 misuse("none into none", "none",
                        [none](Hands& h) {
                          return refusal(h.stream.upload(h.view.subview(0, 0), none));
                        })}),
      counted(refusing("Stream::upload(To, vector)",
                       [](Hands& h) {
                         std::vector<int> ints = h.ints;
                         const std::string answer =
                             refusal(h.stream.upload(h.view, std::move(ints)));
                         // On refusal the elements are the caller's still.
                         return answer != "none" && ints.size() != h.ints.size() ? "lost" : answer;
                       }))
          .with({spoil("fewer than there are", kSize, [](Hands& h) { h.ints.resize(15); }),
                 spoil("none", kSize, [](Hands& h) { h.ints.clear(); })}),
      refusing("Stream::upload(vector)",
               [](Hands& h) { return refusal(h.stream.upload(std::vector<int>(h.ints))); })
          .with(bad_streams())
          .with({spoil("no elements", "none", [](Hands& h) { h.ints.clear(); })}),
      counted(refusing("Stream::upload_borrowed",
                       [](Hands& h) { return sent(h.stream.upload_borrowed(h.view, values())); }))
          .with(
              {misuse("more than there are", kSize,
                      [](Hands& h) {
                        return sent(h.stream.upload_borrowed(h.view.subview(0, 15), values()));
                      }),
               misuse("null with a size", kArgument,
                      [null](Hands& h) { return sent(h.stream.upload_borrowed(h.view, null)); })}),
      refusing("Stream::read", [](Hands& h) { return sent(h.stream.read(h.view)); })
          .with(bad_streams() + streams_of_others() + bad_views() + views_of_others() +
                mapped_views())
          .with({misuse("no elements", "none",
                        [](Hands& h) { return sent(h.stream.read(h.view.subview(16, 0))); }),
                 misuse("2^40 elements of no memory", kArgument,
                        [](Hands& h) {
                          const Buffer empty = need(Buffer::create(h.stream, 0));
                          return sent(h.stream.read(View<int>(empty, 0, std::uint64_t{1} << 40)));
                        })}),
  };
}

// A list of accesses is as long as the braces it is made of.
template <std::size_t... I>
std::string touched(Hands& h, std::index_sequence<I...>) {
  return refusal(h.stream.touch({(static_cast<void>(I), reads(h.view))...}));
}
template <std::size_t... I>
std::string hosted(Hands& h, std::index_sequence<I...>) {
  return sent(
      h.stream.host("f", {(static_cast<void>(I), reads(h.view))...}, std::move(h.function)));
}
template <std::size_t... I>
std::string native(Hands& h, std::index_sequence<I...>) {
  return refusal(
      h.stream.native({(static_cast<void>(I), reads(h.view))...},
                      [ran = h.ran](NativeHandle, std::span<const NativeBytes>) { ++*ran; }));
}
using TooMany = std::make_index_sequence<257>;
using JustAsMany = std::make_index_sequence<256>;

MISUSE_TABLE(foreign_work) {
  using NativeFunction = void (*)(NativeHandle, std::span<const NativeBytes>);
  const std::vector<Misuse> handles =
      bad_streams() + streams_of_others() + bad_views() + views_of_others() + mapped_views();
  const auto nothing = [](NativeHandle, std::span<const NativeBytes>) {};
  return {
      refusing("Stream::host",
               [](Hands& h) {
                 return sent(h.stream.host("f", {updates(h.view)}, std::move(h.function)));
               })
          .with(handles)
          .with(no_functions())
          .with({misuse("257 accesses", kSize, [](Hands& h) { return hosted(h, TooMany()); }),
                 misuse("256 accesses", "none", [](Hands& h) { return hosted(h, JustAsMany()); }),
                 misuse("a name of a million letters", "none",
                        [](Hands& h) {
                          return sent(h.stream.host(std::string(1'000'000, 'n'), {},
                                                    std::move(h.function)));
                        })}),
      refusing(
          "Stream::native",
          [](Hands& h) {
            return refusal(h.stream.native(
                {updates(h.view)},
                [ran = h.ran](NativeHandle, std::span<const NativeBytes>) { ++*ran; }));
          },
          "none|unsupported")
          .with(handles)
          .with({misuse("a null pointer to a function", kArgument,
                        [](Hands& h) {
                          return refusal(h.stream.native({}, static_cast<NativeFunction>(nullptr)));
                        }),
                 misuse("an empty std::function", kArgument,
                        [](Hands& h) {
                          return refusal(h.stream.native(
                              {},
                              std::function<void(NativeHandle, std::span<const NativeBytes>)>()));
                        }),
                 misuse("257 accesses", kSize, [](Hands& h) { return native(h, TooMany()); })}),
      refusing("Stream::touch", [](Hands& h) { return refusal(h.stream.touch({updates(h.view)})); })
          .with(handles)
          .with({misuse("257 accesses", kSize, [](Hands& h) { return touched(h, TooMany()); }),
                 misuse("no accesses", "none",
                        [](Hands& h) { return refusal(h.stream.touch({})); })}),
      refusing("reads", [](Hands& h) { return refusal(h.stream.touch({reads(h.view)})); })
          .with(bad_views()),
      refusing("writes", [](Hands& h) { return refusal(h.stream.touch({writes(h.view)})); })
          .with(bad_views()),
      refusing(
          "updates",
          [nothing](Hands& h) { return refusal(h.stream.native({updates(h.view)}, nothing)); },
          "none|unsupported")
          .with(bad_views()),
      refusing("orders", [](Hands& h) { return refusal(h.stream.touch({orders(h.view)})); })
          .with(bad_views()),
  };
}

MISUSE_TABLE(order) {
  const std::vector<Misuse> foreign_streams{
      spoil("another backend's stream", kBackend, [](Hands& h) { h.stream = h.foreign->stream; })};
  return {
      refusing("Stream::signal",
               [](Hands& h) { return refusal(h.stream.signal(h.timeline, h.timeline.value())); })
          .with(bad_streams())
          .with(bad_timelines())
          .with(foreign_streams)
          .with({misuse("a value below the present one", kArgument,
                        [](Hands& h) { return refusal(h.stream.signal(h.timeline, 0)); }),
                 spoil("another backend's timeline", kBackend,
                       [](Hands& h) { h.timeline = h.foreign->timeline; })}),
      refusing(
          "Stream::on_complete",
          [](Hands& h) { return refusal(h.stream.on_complete(h.task, std::move(h.function))); })
          .with(bad_streams())
          .with(no_functions())
          .with({spoil("a default task", kArgument, [](Hands& h) { h.task = {}; }),
                 spoil("another stream", kArgument, [](Hands& h) { h.stream = h.other; }),
                 spoil("another device's task", kArgument,
                       [](Hands& h) { h.task = h.sibling->task; }),
                 spoil("another backend's task", kArgument,
                       [](Hands& h) { h.task = h.foreign->task; }),
                 spoil("a task that is not yet", kArgument,
                       [](Hands& h) {
                         h.task = Task(h.task.queue(), {h.task.serial().value + 1'000'000});
                       }),
                 spoil("a task 2^48", kArgument,
                       [](Hands& h) { h.task = Task(h.task.queue(), {kSerialMax + 1}); }),
                 spoil("a task 2^64 - 1", kArgument,
                       [](Hands& h) { h.task = Task(h.task.queue(), {kMost}); })}),
      refusing("Stream::record", [](Hands& h) { return refusal(h.stream.record(h.event)); })
          .with(bad_streams())
          .with(bad_events())
          .with(streams_of_others())
          .with({spoil("another device's event", kContext,
                       [](Hands& h) { h.event = h.sibling->event; }),
                 spoil("another backend's event", kBackend,
                       [](Hands& h) { h.event = h.foreign->event; }),
                 misuse("a default timed event", kInvalid,
                        [](Hands& h) { return refusal(h.stream.record(TimedEvent())); })}),
      refusing("Stream::wait_event", [](Hands& h) { return refusal(h.stream.wait_event(h.event)); })
          .with(bad_streams())
          .with(bad_events())
          .with(foreign_streams)
          .with({spoil("another backend's event", kBackend,
                       [](Hands& h) { h.event = h.foreign->event; }),
                 misuse("an event that was never recorded", "none",
                        [](Hands& h) {
                          return refusal(h.stream.wait_event(need(Event::create(h.device))));
                        })}),
      refusing("Stream::wait(Stream)", [](Hands& h) { return refusal(h.stream.wait(h.other)); })
          .with(bad_streams())
          .with(foreign_streams)
          .with({misuse("for a default stream", kInvalid,
                        [](Hands& h) { return refusal(h.stream.wait(Stream())); }),
                 misuse("for another backend's stream", kBackend,
                        [](Hands& h) { return refusal(h.stream.wait(h.foreign->stream)); }),
                 misuse("for itself", "none",
                        [](Hands& h) { return refusal(h.stream.wait(Stream(h.stream))); })}),
      refusing("Stream::wait(Timeline, uint64_t)",
               [](Hands& h) { return refusal(h.stream.wait(h.timeline, 1)); })
          .with(bad_streams())
          .with(bad_timelines())
          .with(foreign_streams)
          .with({spoil("another backend's timeline", kBackend,
                       [](Hands& h) { h.timeline = h.foreign->timeline; }),
                 misuse("for the last number there is", "none",
                        [](Hands& h) {
                          const Timeline last = need(Timeline::create(h.device, kMost - 1));
                          const std::string answer = refusal(h.stream.wait(last, kMost));
                          need(last.signal(kMost));
                          return answer;
                        })}),
      refusing("Stream::synchronize",
               [](Hands& h) { return refusal(h.stream.synchronize(h.deadline)); })
          .with(bad_streams())
          .inside("wait_forbidden")
          .blocked([](Hands& h) { return refusal(h.held.synchronize(h.deadline)); }),
      refusing("Stream::wait_for_room",
               [](Hands& h) { return refusal(h.stream.wait_for_room(h.deadline, 4096)); })
          .with(bad_streams())
          .with(
              {misuse("2^64 - 1 bytes without a limit", "none",
                      [](Hands& h) {
                        return refusal(h.stream.wait_for_room(std::chrono::nanoseconds(0), kMost));
                      }),
               misuse("2^64 - 1 bytes and a limit of one", "none",
                      [](Hands& h) {
                        // A stream with nothing enqueued takes a task however large it is.
                        const Stream small = need(Stream::create(h.device, {.room_bytes = 1}));
                        return refusal(small.wait_for_room(std::chrono::nanoseconds(0), kMost));
                      }),
               misuse("a limit of 2^64 - 1 bytes", "none",
                      [](Hands& h) {
                        const Stream vast = need(Stream::create(h.device, {.room_bytes = kMost}));
                        need(vast.fill(h.view, 1));
                        return refusal(vast.wait_for_room(std::chrono::nanoseconds(0), kMost / 2));
                      })})
          .blocked([](Hands& h) { return refusal(h.held_small.wait_for_room(h.deadline, kMost)); }),
  };
}

MISUSE_TABLE(asking_streams) {
  const auto nothing = [](auto ask, std::string answer) {
    return std::vector<Misuse>{
        misuse("a default stream", answer, [ask](Hands&) { return ask(Stream()); }),
        misuse("a moved-from stream", answer, [ask](Hands& h) { return ask(leave(h.stream)); })};
  };
  const auto entry = [nothing](std::string name, auto ask, std::string right, std::string invalid) {
    return answering(
               std::move(name), [ask](Hands& h) { return ask(h.stream); }, std::move(right))
        .with(nothing(ask, std::move(invalid)));
  };
  using S = const Stream&;
  return {
      entry(
          named("Stream::raw"), [](S s) { return text(s.raw() == NativeHandle{} || s.valid()); },
          "true", "true"),
      entry(
          named("Stream::is_same_queue"), [](S s) { return text(s.is_same_queue(s)); }, "true",
          "false"),
      entry(
          named("Stream::device"), [](S s) { return text(s.device().valid()); }, "true", "false"),
      entry(
          named("Stream::priority"),
          [](S s) { return text(static_cast<std::uint64_t>(s.priority())); }, "0", "0"),
      entry(
          named("Stream::id"), [](S s) { return text(static_cast<bool>(s.id())); }, "true",
          "false"),
      entry(
          named("Stream::name"), [](S s) { return text(s.name()); }, "", ""),
      entry(
          named("Stream::valid"), [](S s) { return text(s.valid()); }, "true", "false"),
      entry(
          named("Stream::core"), [](S s) { return text(s.core() != nullptr); }, "true", "false"),
  };
}

MISUSE_TABLE(pools) {
  const auto create = [](std::size_t size) {
    return [size](Hands& h) { return refusal(StreamPool::create(h.device, size)); };
  };
  const auto sizes = [](const StreamPool& pool) {
    return text(pool.next().valid()) + " " + text(pool.size()) + " " + text(pool.valid());
  };
  const auto ask = [sizes](Hands& h) { return sizes(h.pool); };
  const std::vector<Misuse> nothing{
      misuse("a default pool", "false 0 false", [sizes](Hands&) { return sizes(StreamPool()); }),
      misuse("a moved-from pool", "false 0 false",
             [sizes](Hands& h) { return sizes(leave(h.pool)); })};
  return {
      refusing("StreamPool::create", create(2))
          .with(bad_devices())
          .with({misuse("no streams", kSize, create(0)),
                 misuse("4097 streams", kSize, create(4097)),
                 misuse("2^64 - 1 streams", kSize, create(kMost)),
                 misuse("a priority that is none", kArgument,
                        [](Hands& h) {
                          return refusal(StreamPool::create(h.device, 2, {kHigh, "misuse"}));
                        })}),
      answering("StreamPool::next", ask, "true 2 true").with(nothing),
      answering("StreamPool::size", ask, "true 2 true").with(nothing),
      answering("StreamPool::valid", ask, "true 2 true").with(nothing),
  };
}

MISUSE_TABLE(tasks) {
  const auto numbers = [](Hands&) {
    const Task task(QueueId{7}, Serial{8});
    return text(task.queue().value) + " " + text(task.serial().value);
  };
  const char* const why = "A plain value. What names no task is refused where it is used.";
  return {answering("Task::Task", numbers, "7 8").unseen(why),
          answering("Task::queue", numbers, "7 8").unseen(why),
          answering("Task::serial", numbers, "7 8").unseen(why)};
}

}  // namespace
}  // namespace thalweg::contract
