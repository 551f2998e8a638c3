// SPDX-License-Identifier: Apache-2.0
//
// The table of misuses: memory, views of it, and the host's own use of it.

#include <array>

#include "contract/support/misuse.hpp"

namespace thalweg::contract {
namespace {

constexpr const char* kInvalid = "invalid_handle";
constexpr const char* kArgument = "invalid_argument";
constexpr const char* kSize = "invalid_size";
constexpr const char* kNoMemory = "out_of_memory";
constexpr std::uint64_t kImportMost = std::uint64_t{1} << 56;

// Sizes and alignments that an allocation of `make(hands, size, options)` refuses.
template <class Make>
std::vector<Misuse> bad_requests(Make make, std::uint64_t element_bytes) {
  const auto of = [make](std::uint64_t count, std::uint64_t alignment) {
    return [make, count, alignment](Hands& h) {
      return refusal(make(h, count, AllocationOptions{alignment, "misuse"}));
    };
  };
  std::vector<Misuse> list{
      misuse("no bytes", "none", of(0, 0)),
      misuse("2^60 bytes", kNoMemory, of((std::uint64_t{1} << 60) / element_bytes, 0)),
      misuse("2^63 bytes", "out_of_memory|invalid_size",
             of((std::uint64_t{1} << 63) / element_bytes, 0)),
      misuse("as many bytes as there are numbers", "invalid_size|out_of_memory",
             of(kMost / element_bytes, 0)),
      misuse("an alignment of 3", kArgument, of(4, 3)),
      misuse("an alignment of 8192", kArgument, of(4, 8192)),
      misuse("an alignment of 2^63", kArgument, of(4, std::uint64_t{1} << 63)),
      misuse("an alignment of 2^64 - 1", kArgument, of(4, kMost)),
      misuse("an alignment of 3, and no bytes", kArgument, of(0, 3)),
  };
  if (element_bytes != 1) {
    list.push_back(misuse("a product that overflows", kSize, of(kMost, 0)));
    list.push_back(misuse("a product of 2^64", kSize, of(kMost / element_bytes + 1, 0)));
  }
  return list;
}

std::array<int, 4>& program_memory() {
  static std::array<int, 4> memory{};
  return memory;
}

Result<Buffer> adopt(Hands& h, void* address, std::uint64_t size_bytes) {
  return Buffer::adopt(h.device, address, size_bytes, std::move(h.function));
}

template <class T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

MISUSE_TABLE(buffers) {
  const auto no_handle = [](auto ask, std::string answer) {
    return std::vector<Misuse>{
        misuse("a default buffer", answer, [ask](Hands&) { return ask(Buffer()); }),
        misuse("a moved-from buffer", answer, [ask](Hands& h) {
          Buffer buffer = h.array.buffer();
          return ask(leave(buffer));
        })};
  };
  const auto size = [](const Buffer& buffer) { return text(buffer.size_bytes()); };
  const auto id = [](const Buffer& buffer) { return text(static_cast<bool>(buffer.id())); };
  const auto valid = [](const Buffer& buffer) { return text(buffer.valid()); };
  const auto core = [](const Buffer& buffer) { return text(buffer.core() != nullptr); };
  const auto ref = [](const Buffer& buffer) { return text(static_cast<bool>(buffer.ref())); };
  const auto create = [](Hands& h, std::uint64_t bytes, const AllocationOptions& options) {
    return Buffer::create(h.stream, bytes, options);
  };
  return {
      refusing("Buffer::create",
               [create](Hands& h) { return refusal(create(h, 64, {4096, "right"})); })
          .with(bad_streams())
          .with(bad_requests(create, 1)),
      refusing("Buffer::adopt",
               [](Hands& h) { return refusal(adopt(h, program_memory().data(), 16)); })
          .with(bad_devices())
          .with({
              misuse("null with a size", kArgument,
                     [](Hands& h) { return refusal(adopt(h, nullptr, 1)); }),
              misuse("null and 2^64 - 1 bytes", kArgument,
                     [](Hands& h) { return refusal(adopt(h, nullptr, kMost)); }),
              misuse("null without a size", "none",
                     [](Hands& h) { return refusal(adopt(h, nullptr, 0)); }),
              misuse("no bytes of the device's own", "none",
                     [](Hands& h) { return refusal(adopt(h, h.mapped.data(), 0)); }),
              misuse(
                  "more than 2^56 bytes", kSize,
                  [](Hands& h) { return refusal(adopt(h, &program_memory(), kImportMost + 1)); }),
              misuse("2^64 - 1 bytes", kSize,
                     [](Hands& h) { return refusal(adopt(h, &program_memory(), kMost)); }),
              misuse("bytes that leave the address space", kSize,
                     [](Hands& h) { return refusal(adopt(h, pointer<int>(kMost - 7), 9)); }),
              misuse("the device's own bytes", "invalid_argument|skipped",
                     [](Hands& h) {
                       if (h.mapped.size() == 0) return std::string("skipped");
                       return refusal(adopt(h, h.mapped.data(), 4));
                     }),
              misuse("bytes around the device's own", "invalid_argument|skipped",
                     [](Hands& h) {
                       if (h.mapped.size() == 0) return std::string("skipped");
                       return refusal(adopt(h, h.mapped.data() - 1, 12));
                     }),
          }),
      answering(
          "Buffer::size_bytes", [size](Hands& h) { return size(h.array.buffer()); }, "64")
          .with(no_handle(size, "0")),
      answering(
          "Buffer::id", [id](Hands& h) { return id(h.array.buffer()); }, "true")
          .with(no_handle(id, "false")),
      answering(
          "Buffer::valid", [valid](Hands& h) { return valid(h.array.buffer()); }, "true")
          .with(no_handle(valid, "false")),
      answering(
          "Buffer::core", [core](Hands& h) { return core(h.array.buffer()); }, "true")
          .with(no_handle(core, "false")),
      answering(
          "Buffer::ref", [ref](Hands& h) { return ref(h.array.buffer()); }, "true")
          .with(no_handle(ref, "false")),
      answering(
          "Buffer::Buffer", [size](Hands& h) { return size(Buffer(h.array.buffer().ref())); }, "64")
          .with({misuse("a null reference", "0",
                        [size](Hands&) { return size(Buffer(Ref<detail::AllocationCore>())); })}),
  };
}

// What a view is worth shows where it is used.
std::string used(const Stream& stream, const View<int>& view) {
  return refusal(stream.fill(view, 1));
}

MISUSE_TABLE(views) {
  using V = View<int>;
  const auto use = [](Hands& h) { return used(h.stream, h.view); };
  const auto counts = [](const V& view) {
    return text(view.count()) + " " + text(view.size_bytes());
  };
  const auto nothing = [](auto ask, std::string answer) {
    return std::vector<Misuse>{
        misuse("a default view", answer, [ask](Hands&) { return ask(View<int>()); }),
        misuse("a moved-from view", answer, [ask](Hands& h) { return ask(leave(h.view)); })};
  };
  return {
      refusing("View::View(Ref, uint64_t, uint64_t)",
               [](Hands& h) { return used(h.stream, V(h.array.buffer().ref(), 0, kElements)); })
          .with({misuse("a null reference", kInvalid,
                        [](Hands& h) {
                          return used(h.stream, V(Ref<detail::AllocationCore>(), 0, kElements));
                        }),
                 misuse("a null reference, and no elements", kInvalid,
                        [](Hands& h) {
                          return used(h.stream, V(Ref<detail::AllocationCore>(), 0, 0));
                        })}),
      refusing("View::View(Buffer, uint64_t, uint64_t)", use)
          .with(bad_views())
          .with(mapped_views())
          .with({misuse("no elements at the end", "none",
                        [](Hands& h) { return used(h.stream, V(h.array.buffer(), 64, 0)); }),
                 misuse("no elements behind the end", kArgument,
                        [](Hands& h) { return used(h.stream, V(h.array.buffer(), 68, 0)); }),
                 misuse("no elements, misaligned", kArgument,
                        [](Hands& h) { return used(h.stream, V(h.array.buffer(), 1, 0)); }),
                 misuse("a default buffer", kInvalid,
                        [](Hands& h) { return used(h.stream, V(Buffer(), 0, kElements)); })}),
      refusing("View::operator View",
               [](Hands& h) {
                 const View<const int> view = h.view;
                 return sent(h.stream.read(view));
               })
          .with(bad_views()),
      refusing("View::subview", [](Hands& h) { return used(h.stream, h.view.subview(1, 15)); })
          .with({misuse("a first element behind the end", kArgument,
                        [](Hands& h) { return used(h.stream, h.view.subview(17, 0)); }),
                 misuse("an element too many", kArgument,
                        [](Hands& h) { return used(h.stream, h.view.subview(1, 16)); }),
                 misuse("a sum that overflows", kArgument,
                        [](Hands& h) { return used(h.stream, h.view.subview(1, kMost)); }),
                 misuse("a first element of 2^64 - 1", kArgument,
                        [](Hands& h) { return used(h.stream, h.view.subview(kMost, 1)); }),
                 misuse("no elements at the end", "none",
                        [](Hands& h) { return used(h.stream, h.view.subview(16, 0)); }),
                 misuse("a product that overflows back into the memory", kArgument,
                        [](Hands& h) {
                          // 2^62 elements of 4 bytes are 2^64 bytes: 0 of them.
                          const V vast(h.array.buffer(), 0, kMost);
                          return used(h.stream, vast.subview(std::uint64_t{1} << 62, 1));
                        }),
                 misuse("an offset that overflows back into the memory", kArgument,
                        [](Hands& h) {
                          const V vast(h.array.buffer(), kMost - 3, kMost);
                          return used(h.stream, vast.subview(1, 1));
                        }),
                 misuse("a part of a default view", kInvalid,
                        [](Hands& h) { return used(h.stream, V().subview(0, 0)); })}),
      answering(
          "View::count", [counts](Hands& h) { return counts(h.view); }, "16 64")
          .with(nothing(counts, "0 0")),
      answering(
          "View::size_bytes", [counts](Hands& h) { return counts(h.view); }, "16 64")
          .with(nothing(counts, "0 0"))
          .with({misuse("2^62 elements", "0",
                        [](Hands& h) {
                          return text(V(h.array.buffer(), 0, std::uint64_t{1} << 62).size_bytes());
                        })}),
      answering(
          "View::offset_bytes", [](Hands& h) { return text(h.view.offset_bytes()); }, "0")
          .with(nothing([](const V& view) { return text(view.offset_bytes()); }, "0")),
      answering(
          "View::core", [](Hands& h) { return text(h.view.core() != nullptr); }, "true")
          .with(nothing([](const V& view) { return text(view.core() != nullptr); }, "false")),
      answering(
          "View::ref", [](Hands& h) { return text(static_cast<bool>(h.view.ref())); }, "true")
          .with(
              nothing([](const V& view) { return text(static_cast<bool>(view.ref())); }, "false")),
  };
}

// Array and HostArray have the same functions but for adopt() and map().
struct ArrayNames {
  std::string create, view, part, count, size_bytes, buffer, valid;
};

template <class A>
Table arrays(const ArrayNames& names, A Handles::* member) {
  const auto array = [member](Hands& h) -> A& { return h.*member; };
  const auto create = [](Hands& h, std::uint64_t count, const AllocationOptions& options) {
    return A::create(h.stream, count, options);
  };
  const auto spoilt = [array](auto ask, std::string answer) {
    return std::vector<Misuse>{
        misuse("a default array", answer, [ask](Hands&) { return ask(A()); }),
        misuse("a moved-from array", answer, [=](Hands& h) { return ask(leave(array(h))); })};
  };
  const auto counts = [](const A& one) {
    return text(one.count()) + " " + text(one.size_bytes()) + " " + text(one.valid()) + " " +
           text(one.buffer().size_bytes());
  };
  const auto ask = [=](Hands& h) { return counts(array(h)); };
  const auto fill = [](Hands& h, const View<int>& view) { return used(h.stream, view); };
  return {
      refusing(names.create, [create](Hands& h) { return refusal(create(h, 16, {0, "right"})); })
          .with(bad_streams())
          .with(bad_requests(create, sizeof(int)))
          .with({misuse("elements that want more alignment than there is", kArgument,
                        [](Hands& h) {
                          struct alignas(8192) Wide {
                            int value;
                          };
                          if constexpr (std::is_same_v<A, Array<int>>) {
                            return refusal(Array<Wide>::create(h.stream, 1));
                          } else {
                            return refusal(HostArray<Wide>::create(h.stream, 1));
                          }
                        })}),
      refusing(names.view, [=](Hands& h) { return fill(h, array(h).view()); })
          .with({misuse("a default array", kInvalid, [=](Hands& h) { return fill(h, A().view()); }),
                 misuse("a moved-from array", kInvalid,
                        [=](Hands& h) { return fill(h, leave(array(h)).view()); })}),
      refusing(names.part, [=](Hands& h) { return fill(h, array(h).view(1, 15)); })
          .with({misuse("a default array", "invalid_handle",
                        [=](Hands& h) { return fill(h, A().view(0, 0)); }),
                 misuse("a first element behind the end", kArgument,
                        [=](Hands& h) { return fill(h, array(h).view(17, 0)); }),
                 misuse("an element too many", kArgument,
                        [=](Hands& h) { return fill(h, array(h).view(1, 16)); }),
                 misuse("a sum that overflows", kArgument,
                        [=](Hands& h) { return fill(h, array(h).view(kMost, 2)); })}),
      answering(names.count, ask, "16 64 true 64").with(spoilt(counts, "0 0 false 0")),
      answering(names.size_bytes, ask, "16 64 true 64").with(spoilt(counts, "0 0 false 0")),
      answering(names.buffer, ask, "16 64 true 64").with(spoilt(counts, "0 0 false 0")),
      answering(names.valid, ask, "16 64 true 64").with(spoilt(counts, "0 0 false 0")),
  };
}

MISUSE_TABLE(device_arrays) {
  Table table = arrays<Array<int>>(
      {named("Array::create"), named("Array::view()"), named("Array::view(uint64_t, uint64_t)"),
       named("Array::count"), named("Array::size_bytes"), named("Array::buffer"),
       named("Array::valid")},
      &Handles::array);
  table.push_back(
      refusing("Array::adopt",
               [](Hands& h) {
                 return refusal(
                     Array<int>::adopt(h.device, program_memory(), std::move(h.function)));
               })
          .with(bad_devices())
          .with({misuse("null with a size", kArgument,
                        [](Hands& h) {
                          const std::span<int> none(static_cast<int*>(nullptr), 4);
                          return refusal(Array<int>::adopt(h.device, none, std::move(h.function)));
                        }),
                 misuse("more elements than memory has", kSize,
                        [](Hands& h) {
                          const std::span<int> vast(program_memory().data(), kImportMost);
                          return refusal(Array<int>::adopt(h.device, vast, std::move(h.function)));
                        }),
                 misuse("misaligned elements", kArgument, [](Hands& h) {
                   // The address is adopted as it is; it shows where it is used.
                   const auto address = reinterpret_cast<std::uintptr_t>(&program_memory());
                   const std::span<int> odd(pointer<int>(address + 2), 2);
                   const auto array = Array<int>::adopt(h.device, odd);
                   return array ? used(h.stream, array->view()) : refusal(array);
                 })}));
  return table;
}

MISUSE_TABLE(host_arrays) {
  Table table = arrays<HostArray<int>>(
      {named("HostArray::create"), named("HostArray::view()"),
       named("HostArray::view(uint64_t, uint64_t)"), named("HostArray::count"),
       named("HostArray::size_bytes"), named("HostArray::buffer"), named("HostArray::valid")},
      &Handles::host);
  const std::vector<Misuse> arrays{
      spoil("a default array", kInvalid, [](Hands& h) { h.host = {}; }),
      spoil("a moved-from array", kInvalid, [](Hands& h) { leave(h.host); }),
      spoil("an array that is mapped to write", kArgument, [](Hands& h) {
        if (auto open = map(h.host, for_writing)) h.mapped_too = *std::move(open);
      })};
  table.push_back(refusing("HostArray::map", [](Hands& h) {
                    return refusal(h.host.map(for_reading, h.deadline));
                  }).with(arrays));
  table.push_back(refusing("HostArray::try_map", [](Hands& h) {
                    return refusal(h.host.try_map(for_reading));
                  }).with(arrays));
  return table;
}

// Tiles: 4 columns of 4 rows in 16 elements.
std::vector<Misuse> bad_tiles() {
  using V = View2D<int>;
  const auto made = [](const char* what, std::string answer, auto make) {
    return misuse(what, std::move(answer),
                  [make](Hands& h) { return refusal(h.stream.fill(make(h), 1)); });
  };
  const auto of = [](std::uint64_t offset, std::uint64_t width, std::uint64_t height,
                     std::uint64_t pitch) {
    return [=](Hands& h) { return V(h.array.buffer().ref(), offset, width, height, pitch); };
  };
  constexpr std::uint64_t k2to32 = std::uint64_t{1} << 32;
  return {
      made("a default tile", kInvalid, [](Hands&) { return V(); }),
      made("a moved-from tile", kInvalid,
           [](Hands& h) {
             V tile = h.view.tile(0, 4, 4, 4);
             return leave(tile);
           }),
      made("a tile of a default view", kInvalid,
           [](Hands&) { return View<int>().tile(0, 0, 0, 0); }),
      made("a row too many", kArgument, of(0, 4, 5, 4)),
      made("a last element too many", kArgument, of(4, 4, 4, 4)),
      made("misaligned rows", kArgument, of(2, 2, 2, 4)),
      made("an offset behind the memory", kArgument, of(std::uint64_t{1} << 60, 1, 1, 1)),
      made("an offset at the last address", kArgument, of(kMost - 3, 2, 2, 4)),
      made("2^64 elements", kArgument, of(0, k2to32, k2to32, k2to32)),
      made("2^64 bytes", kArgument, of(0, k2to32, k2to32 / 4, k2to32)),
      made("a pitch whose bytes overflow", kArgument, of(0, 1, 2, std::uint64_t{1} << 62)),
      made("rows whose bytes overflow back into the memory", kArgument,
           of(0, 1, 5, std::uint64_t{1} << 60)),
      made("a pitch of 2^64 - 1", kArgument, of(0, 1, 2, kMost)),
      made("rows that overlap, written", kArgument, of(0, 4, 2, 3)),
      made("rows that are one, written", kArgument, of(0, 4, 4, 0)),
      made("no columns", "none", of(0, 0, kMost, kMost)),
      made("no rows", "none", of(0, kMost, 0, kMost)),
      made("no elements behind the memory", kArgument, of(68, 0, 4, 4)),
      made("another device's tile", "context_mismatch",
           [](Hands& h) { return h.sibling->view.tile(0, 4, 4, 4); }),
      made("another backend's tile", "backend_mismatch",
           [](Hands& h) { return h.foreign->view.tile(0, 4, 4, 4); }),
      made("a tile the host has mapped a part of", kArgument,
           [](Hands& h) {
             if (auto open = map(h.view.subview(15, 1), for_update))
               h.mapped_too = *std::move(open);
             return h.view.tile(0, 4, 4, 4);
           }),
  };
}

// Of any class that gives tiles.
std::vector<Misuse> outside_tiles() {
  const auto made = [](const char* what, std::uint64_t first, std::uint64_t width,
                       std::uint64_t height, std::uint64_t pitch) {
    return misuse(what, kArgument, [=](Hands& h) {
      const std::string view = refusal(h.stream.fill(h.view.tile(first, width, height, pitch), 1));
      const std::string array =
          refusal(h.stream.fill(h.array.tile(first, width, height, pitch), 1));
      const std::string host = refusal(h.stream.fill(h.host.tile(first, width, height, pitch), 1));
      return view == array && view == host ? view : view + " " + array + " " + host;
    });
  };
  return {made("a row too many", 0, 4, 5, 4),
          made("a column too many", 1, 4, 4, 4),
          made("a first element behind the end", 17, 0, 0, 0),
          made("a first element of 2^64 - 1", kMost, 1, 1, 1),
          made("a pitch that overflows", 0, 1, 3, std::uint64_t{1} << 63),
          made("2^64 - 1 rows", 0, 1, kMost, 1),
          made("2^64 - 1 columns", 1, kMost, 1, 1)};
}

MISUSE_TABLE(tiles) {
  using V = View2D<int>;
  const auto sizes = [](const V& tile) {
    return text(tile.width()) + " " + text(tile.height()) + " " + text(tile.core() != nullptr) +
           " " + text(static_cast<bool>(tile.ref()));
  };
  const auto ask = [sizes](Hands& h) { return sizes(h.view.tile(0, 4, 4, 4)); };
  const auto nothing = [sizes] {
    return std::vector<Misuse>{
        misuse("a default tile", "0 0 false false", [sizes](Hands&) { return sizes(V()); }),
        misuse("a moved-from tile", "0 0 false false", [sizes](Hands& h) {
          V tile = h.view.tile(0, 4, 4, 4);
          return sizes(leave(tile));
        })};
  };
  const auto plain = [](Hands& h) {
    const V tile = h.view.tile(1, 2, 2, 4);
    return text(tile.pitch()) + " " + text(tile.offset_bytes());
  };
  const auto part = [](std::uint64_t x, std::uint64_t y, std::uint64_t width,
                       std::uint64_t height) {
    return [=](Hands& h) {
      return refusal(h.stream.fill(h.view.tile(0, 4, 4, 4).subview(x, y, width, height), 1));
    };
  };
  const char* const why = "A plain number, checked where the tile is used.";
  return {
      refusing(
          "View2D::View2D",
          [](Hands& h) { return refusal(h.stream.fill(V(h.array.buffer().ref(), 0, 4, 4, 4), 1)); })
          .with(bad_tiles()),
      refusing("View2D::operator View2D",
               [](Hands& h) {
                 const View2D<const int> tile = h.view.tile(0, 4, 4, 4);
                 return sent(h.stream.read(tile));
               })
          .with({misuse("a default tile", kInvalid,
                        [](Hands& h) {
                          const View2D<const int> tile = V();
                          return sent(h.stream.read(tile));
                        })}),
      refusing("View2D::subview", part(1, 1, 3, 3))
          .with({misuse("a column too many", kArgument, part(1, 0, 4, 4)),
                 misuse("a row too many", kArgument, part(0, 1, 4, 4)),
                 misuse("a column of 2^64 - 1", kArgument, part(kMost, 0, 1, 1)),
                 misuse("a row of 2^64 - 1", kArgument, part(0, kMost, 1, 1)),
                 misuse("as many columns as there are numbers", kArgument, part(1, 0, kMost, 1)),
                 misuse("no columns behind the end", kArgument, part(5, 0, 0, 0)),
                 misuse("no columns at the end", "none", part(4, 4, 0, 0)),
                 misuse("a product that overflows back into the memory", kArgument,
                        [](Hands& h) {
                          const V vast(h.array.buffer().ref(), 0, 4, kMost, std::uint64_t{1} << 60);
                          return refusal(h.stream.fill(vast.subview(0, 4, 1, 1), 1));
                        })}),
      answering("View2D::width", ask, "4 4 true true").with(nothing()),
      answering("View2D::height", ask, "4 4 true true").with(nothing()),
      answering("View2D::core", ask, "4 4 true true").with(nothing()),
      answering("View2D::ref", ask, "4 4 true true").with(nothing()),
      answering("View2D::pitch", plain, "4 4").unseen(why),
      answering("View2D::offset_bytes", plain, "4 4").unseen(why),
      refusing("View::tile",
               [](Hands& h) { return refusal(h.stream.fill(h.view.tile(1, 3, 4, 4), 1)); })
          .with(outside_tiles()),
      refusing("Array::tile",
               [](Hands& h) { return refusal(h.stream.fill(h.array.tile(1, 3, 4, 4), 1)); })
          .with(outside_tiles()),
      refusing("HostArray::tile",
               [](Hands& h) { return refusal(h.stream.fill(h.host.tile(1, 3, 4, 4), 1)); })
          .with(outside_tiles()),
  };
}

// Where memory of the device has no address for the host, all of it is `unsupported`.
std::vector<Misuse> mappings() {
  std::vector<Misuse> list = bad_views();
  list.push_back(
      spoil("a view that is mapped to write", "invalid_argument|unsupported", [](Hands& h) {
        if (auto open = map(h.view.subview(15, 1), for_writing)) h.mapped_too = *std::move(open);
      }));
  for (Misuse& misuse : list)
    if (misuse.answer == kArgument) misuse.answer += "|unsupported";
  return list;
}

MISUSE_TABLE(mapped) {
  const auto first = [](const Mapped<int>& one) {
    return text(one.data() == nullptr) + " " + text(one.size()) + " " +
           text(one.begin() == one.end()) + " " + text(one.span().size());
  };
  const std::string closed = "true 0 true 0";
  const auto ask = [first](Hands& h) {
    // Where nothing can be mapped there is none to ask.
    return h.mapped.data() == nullptr ? "false 16 false 16" : first(h.mapped);
  };
  const auto closings = [first, closed] {
    return std::vector<Misuse>{
        misuse("a default one", closed, [first](Hands&) { return first(Mapped<int>()); }),
        misuse("a moved-from one", closed, [first](Hands& h) { return first(leave(h.mapped)); }),
        misuse("a closed one", closed, [first](Hands& h) {
          h.mapped.unmap();
          return first(h.mapped);
        })};
  };
  const char* const open = "false 16 false 16";
  return {
      answering("Mapped::data", ask, open).with(closings()),
      answering("Mapped::size", ask, open).with(closings()),
      answering("Mapped::begin", ask, open).with(closings()),
      answering("Mapped::end", ask, open).with(closings()),
      answering("Mapped::span", ask, open).with(closings()),
      answering(
          "Mapped::operator[]",
          [](Hands& h) {
            if (h.mapped.size() != 0) h.mapped[15] = 1;
            return std::string("written");
          },
          "written")
          .unseen("As std::span's: the index is less than size()."),
      answering(
          "Mapped::operator=",
          [first](Hands& h) {
            Mapped<int> other;
            other = std::move(h.mapped);
            return first(h.mapped);
          },
          closed)
          .with({misuse("itself", open,
                        [ask](Hands& h) {
                          Mapped<int>& same = h.mapped;
                          h.mapped = std::move(same);
                          return ask(h);
                        }),
                 misuse("a moved-from one", closed,
                        [first](Hands& h) {
                          Mapped<int> from;
                          h.mapped_too = std::move(leave(from));
                          return first(h.mapped_too);
                        })}),
      answering(
          "Mapped::unmap",
          [first](Hands& h) {
            h.mapped.unmap();
            return first(h.mapped);
          },
          closed)
          .with({misuse("twice", closed,
                        [first](Hands& h) {
                          h.mapped.unmap();
                          h.mapped.unmap();
                          return first(h.mapped);
                        }),
                 misuse("a default one", closed,
                        [first](Hands&) {
                          Mapped<int> none;
                          none.unmap();
                          return first(none);
                        })}),
      answering(
          "Mapped::Mapped",
          [first](Hands& h) { return first(Mapped<int>(h.array.buffer().ref(), {nullptr, 0}, 0)); },
          closed)
          .with({misuse("a null reference", closed,
                        [first](Hands&) {
                          return first(Mapped<int>(Ref<detail::AllocationCore>(), {nullptr, 7}, 0));
                        }),
                 misuse("a ticket that nobody gave", closed,
                        [first](Hands& h) {
                          return first(Mapped<int>(h.array.buffer().ref(), {nullptr, kMost}, 0));
                        })}),
      refusing(
          "map", [](Hands& h) { return refusal(map(h.view, for_reading, h.deadline)); },
          "none|unsupported")
          .with(mappings())
          .with({misuse("no elements", "none|unsupported",
                        [](Hands& h) { return refusal(map(h.view.subview(16, 0), for_writing)); }),
                 misuse("a deadline before now", "none|unsupported",
                        [](Hands& h) {
                          return refusal(map(h.view, for_reading, std::chrono::nanoseconds::min()));
                        })})
          .blocked([](Hands& h) { return refusal(map(h.held_view, for_reading, h.deadline)); },
                   "timeout|unsupported")
          .forbidden("wait_forbidden|unsupported"),
      refusing(
          "try_map", [](Hands& h) { return refusal(try_map(h.view, for_reading)); },
          "none|unsupported")
          .with(mappings())
          .blocked([](Hands& h) { return refusal(try_map(h.held_view, for_reading)); },
                   "not_ready|unsupported")
          .forbidden("not_ready|unsupported"),
  };
}

}  // namespace
}  // namespace thalweg::contract
