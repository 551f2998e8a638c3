// SPDX-License-Identifier: Apache-2.0
//
// thalweg/stream.hpp - a handle to one queue of a device.
//
// Tasks of one stream run in the order of their submission. Tasks of different streams run as they
// like, except that a task waits for the earlier tasks it conflicts with: those that write bytes it
// touches, or touch bytes it writes. The runtime finds them from the accesses; nobody places
// events. "Earlier" is the order of submission: where a stage reads what the stage before made of
// its neighbours, submit that stage for all parts first.
//
// A Stream is a shared handle: a copy is another handle to the same queue. When the last one goes,
// what is enqueued still runs, and nobody waits for it.
//
// Threads:    const methods from any thread, each call atomic; one Stream object must not be
//             assigned or destroyed while another thread uses that object.
// Blocking:   synchronize() and wait_for_room() wait for the device. Nothing else here does.
// Errors:     a submission that returns an error did not happen. All of them can give
//             invalid_handle (moved from, default made), context_mismatch (a handle of another
//             device), backend_mismatch (of another backend), invalid_argument (a range outside its
//             memory, or bytes that the host has mapped), out_of_memory (on the host,
//             for the task itself or for what an upload stages), queue_full (the limit of
//             StreamOptions::room_bytes), device_lost.

#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <new>
#include <source_location>
#include <span>
#include <stop_token>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "thalweg/buffer.hpp"
#include "thalweg/device.hpp"
#include "thalweg/event.hpp"
#include "thalweg/future.hpp"
#include "thalweg/indirect.hpp"
#include "thalweg/kernel.hpp"
#include "thalweg/task.hpp"
#include "thalweg/timeline.hpp"

namespace thalweg {

namespace detail {
THALWEG_EXPORT Error no_host_memory(std::uint64_t size_bytes, Site site);

struct DeclaredAccess {
  TileParts view;
  AccessMode mode = AccessMode::read;
};
}  // namespace detail

// What a host function touches: `{reads(a), writes(b)}`, of a View, an Array or a View2D. Made in
// the call; the views must live until the call returns.
template <AnyView V>
detail::DeclaredAccess reads(const V& view) noexcept {
  return {detail::parts_of(view), AccessMode::read};
}
template <AnyView V>
detail::DeclaredAccess writes(const V& view) noexcept {
  static_assert(!std::is_const_v<ElementOf<V>>, "A View<const T> can only be read.");
  return {detail::parts_of(view).as_written(), AccessMode::write};
}
template <AnyView V>
detail::DeclaredAccess updates(const V& view) noexcept {
  static_assert(!std::is_const_v<ElementOf<V>>, "A View<const T> can only be read.");
  return {detail::parts_of(view).as_written(), AccessMode::read_write};
}
// Orders with every other access to the bytes of the view, and touches none. All `orders` of one
// memory are ordered with one another, those of empty views too.
template <AnyView V>
detail::DeclaredAccess orders(const V& view) noexcept {
  return {detail::parts_of(view), AccessMode::token};
}

using Accesses = std::initializer_list<detail::DeclaredAccess>;

namespace detail {
THALWEG_EXPORT std::vector<NativeBytes> native_bytes(Accesses accesses);
}  // namespace detail

class [[nodiscard]] THALWEG_EXPORT Stream {
 public:
  using Site = std::source_location;

  Stream() noexcept = default;

  // A queue of its own on `device`.
  // Errors: invalid_argument, when the priority is out of range; out_of_memory, when the device has
  //         no queue left.
  static Result<Stream> create(const Device& device, const StreamOptions& options = {},
                               Site site = Site::current());
  static Result<Stream> with_priority(const Device& device, int priority,
                                      Site site = Site::current());

  // A handle to the native queue `handle` of `device`: of the queue that is known by it, or, where
  // the backend takes over queues made by its own means, of a new one for it. A borrowed queue is
  // the program's to destroy, after the last handle is gone and what is enqueued has passed; an
  // owned one is destroyed with the last handle. On cpu the handles are those that raw() gave.
  // Errors: not_found, when there is no such queue; invalid_argument, when it is to be owned and
  //         has an owner.
  static Result<Stream> adopt(const Device& device, NativeHandle handle, Ownership ownership,
                              const StreamOptions& options = {}, Site site = Site::current());

  // A handle to the same queue whose tasks end with `cancelled`, and do nothing, when a stop is
  // requested before their turn has come. That holds for launches, fills, copies, uploads, reads,
  // host functions and native work; records, signals and waits are never stopped. A task that has
  // begun runs to its end. One that is skipped, because it reads bad bytes, is `unwritten`, stopped
  // or not. The bytes a stopped task would have written are unwritten, with `cancelled` as the
  // root.
  Stream with_stop_token(std::stop_token stop) const;

  // Runs `kernel` on every cell of `grid`, with a View or Array for each span or Out parameter, a
  // View2D for each Span2D or Out2D, and a value for each scalar. No cells are fine.
  // Errors: invalid_size, when a count is below zero, there are more than 2^40 cells, y or z is
  //         2^32 or more, or the arguments have more than 4096 bytes.
  template <class F, class... Args>
  Result<Task> launch(const Kernel<F>& kernel, const Grid& grid, const Args&... args) const;

  // As launch(), over a grid that the device reads from a View or Array of one Extent when the
  // launch's turn comes: this is a read of those bytes, ordered like any other. The kernel may
  // write them: the grid is read before its first cell.
  // Errors: invalid_size, unless the view has one element. A grid that launch() would refuse is
  //         found later: no cell runs, and the task fails.
  template <class F, class... Args>
  Result<Task> launch_indirect(const Kernel<F>& kernel, const IndirectGrid& grid,
                               const Args&... args) const;

  // Sets each element of `to`, a View, an Array or a View2D, to `value`.
  // Errors: unsupported, unless an element has 1, 2, 4, 8 or 16 bytes.
  template <AnyView V>
  Result<Task> fill(const V& to, const ElementOf<V>& value, Site site = Site::current()) const {
    static_assert(!std::is_const_v<ElementOf<V>>, "A View<const T> can only be read.");
    return fill_bytes(detail::parts_of(to), &value, site);
  }

  // Copies all elements: between Views or Arrays of one count, between two View2D of one width and
  // height, or between a View2D and the width * height elements of a View, which are its rows one
  // after the other.
  // One of the two may be memory of another device of the same backend.
  // Errors: invalid_size, when the counts differ; unsupported, where the backend does not copy
  //         between its devices; invalid_argument, when a byte is in both. Of two
  //         View2D with different pitches in one memory that lie between one another, more than
  //         2^20 rows count as all the bytes from the first to the last.
  template <AnyView To, AnyView From>
    requires std::same_as<ElementOf<To>, std::remove_const_t<ElementOf<From>>>
  Result<Task> copy(const To& to, const From& from, Site site = Site::current()) const {
    return copy_bytes(detail::parts_of(to), detail::parts_of(from), site);
  }

  // Uploads `from`, which is copied before the call returns. The counts are equal; of a View2D
  // `from` holds the rows one after the other.
  template <AnyView To>
  Result<Task> upload(const To& to, std::span<const ElementOf<To>> from,
                      Site site = Site::current()) const {
    return upload_copy(detail::parts_of(to), from.data(), from.size(), site);
  }

  // Uploads `from`, which is taken. The counts are equal; on refusal `from` is as it was.
  template <AnyView To>
  Result<Task> upload(const To& to, std::vector<ElementOf<To>>&& from,
                      Site site = Site::current()) const {
    using Owner = detail_Owner<ElementOf<To>>;
    auto owner = make_ref<Owner>(std::move(from));
    const auto& values = owner->values;
    auto result = upload_kept(detail::parts_of(to), values.data(), values.size(), owner, site);
    if (!result) from = std::move(owner->values);
    return result;
  }

  // A new array whose home is this stream, with the elements of `from`.
  template <class T>
  Result<Array<T>> upload(std::vector<T>&& from, Site site = Site::current()) const {
    THALWEG_TRY_ASSIGN(Array<T> to, Array<T>::create(*this, from.size(), {}, site));
    THALWEG_TRY(upload(to, std::move(from), site));
    return to;
  }

  // Uploads `from` without a copy: it stays as it is until the future is ready.
  template <AnyView To>
  Future<void> upload_borrowed(const To& to, std::span<const ElementOf<To>> from,
                               Site site = Site::current()) const {
    auto state = make_ref<detail::FutureState<void>>();
    if (auto sent = upload_watched(detail::parts_of(to), from.data(), from.size(), *state, site);
        !sent)
      return std::move(sent).error();
    return Future<void>(std::move(state));
  }

  // Reads the elements back into memory the future owns; of a View2D the rows one after the other.
  template <AnyView From>
  Future<std::vector<std::remove_const_t<ElementOf<From>>>> read(
      const From& from, Site site = Site::current()) const {
    using Values = std::vector<std::remove_const_t<ElementOf<From>>>;
    const detail::TileParts parts = detail::parts_of(from);
    if (auto checked = check_view(parts, site); !checked) return std::move(checked).error();
    auto state = make_ref<detail::FutureState<Values>>();
    try {
      state->value.resize(parts.count());
    } catch (const std::exception&) {
      return detail::no_host_memory(parts.count() * parts.element_bytes, site);
    }
    if (auto sent = read_watched(parts, state->value.data(), *state, site); !sent)
      return std::move(sent).error();
    return Future<Values>(std::move(state));
  }

  // Runs `function` on a thread of the host in its turn. It runs inside a NoWaitScope, may submit,
  // and occupies a worker while it runs. What it throws becomes task_failed in the future.
  Future<void> host(std::string_view name, Accesses accesses, UniqueFunction function,
                    Site site = Site::current()) const;

  // Work that is not the runtime's own, in its turn and ordered by its accesses: `function` gets
  // the native queue and the bytes of each access, in their order: of a View2D those from its first
  // to its last element. On cpu it does the work itself,
  // on a worker, inside a NoWaitScope. On a backend with native queues it is called before native()
  // returns and enqueues work on the queue. What it throws becomes task_failed, a
  // failure of the bytes that it writes. It must not destroy or synchronize the queue.
  // Errors: invalid_argument for a null function.
  template <std::invocable<NativeHandle, std::span<const NativeBytes>> F>
  Result<Task> native(Accesses accesses, F&& function, Site site = Site::current()) const {
    if (detail::is_null_callable<std::decay_t<F>>(function))
      return native_packed(accesses, {}, site);
    return native_packed(
        accesses,
        [function = std::forward<F>(function), queue = raw(),
         bytes = detail::native_bytes(accesses)]() mutable {
          function(queue, std::span<const NativeBytes>(bytes));
        },
        site);
  }

  // Declares work that the program enqueued on raw() itself, between this and the call before: what
  // comes later on any stream is ordered after it. Called before such work, it orders the work
  // after all that its accesses conflict with.
  Result<Task> touch(Accesses accesses, Site site = Site::current()) const;

  // Raises `timeline` to `value` when everything enqueued before has passed. A value below the
  // timeline's at that time is reported to the error sink, and the timeline stays.
  // Errors: invalid_argument, when `value` is below the present one.
  Result<void> signal(const Timeline& timeline, std::uint64_t value,
                      Site site = Site::current()) const;

  // Runs `function` once, when `task` of this stream has passed, on a thread of the runtime, inside
  // a NoWaitScope. Callbacks run one after the other: a long one delays the rest.
  // Errors: invalid_argument for an empty function or a task of another stream.
  Result<void> on_complete(const Task& task, UniqueFunction function,
                           Site site = Site::current()) const;

  // Marks the end of what is enqueued now. The event belongs to this stream's device.
  Result<void> record(const Event& event, Site site = Site::current()) const;

  // What is enqueued from now on waits for the event's latest record; never recorded: no wait. The
  // event, the stream or the timeline waited for may be another device's of the same backend;
  // otherwise backend_mismatch.
  Result<void> wait_event(const Event& event, Site site = Site::current()) const;

  // What is enqueued from now on waits for what is enqueued on `other` now. Nothing on the same
  // queue.
  Result<void> wait(const Stream& other, Site site = Site::current()) const;

  // What is enqueued from now on waits until `timeline` has reached `value`.
  Result<void> wait(const Timeline& timeline, std::uint64_t value,
                    Site site = Site::current()) const;

  // Waits on the host until everything enqueued on this queue so far has passed, and for no more:
  // not for work put on raw() that no touch() came behind.
  // Work that failed is not reported here but by what reads its data.
  // Errors: timeout; wait_forbidden; device_lost.
  Result<void> synchronize(Deadline deadline = {}, Site site = Site::current()) const;

  // Waits on the host until a task that brings `size_bytes` with it (arguments, an upload) fits the
  // stream's StreamOptions::room_bytes. Where several threads submit, another one may be faster
  // with its task: try again. Returns at once for a stream without a limit.
  // Errors: timeout; wait_forbidden; device_lost.
  Result<void> wait_for_room(Deadline deadline = {}, std::uint64_t size_bytes = 0,
                             Site site = Site::current()) const;

  // The device's own handle of the queue. The caller does not destroy it. Work put on it is not the
  // runtime's until touch() says so: synchronize(), record(), and waits for this stream may be over
  // before it, and so may reads of what it writes. native() does both at once.
  NativeHandle raw() const noexcept;

  // Whether both are handles to one queue. Two invalid handles are not.
  bool is_same_queue(const Stream& other) const noexcept;

  // An invalid Device for an invalid handle.
  Device device() const noexcept;
  int priority() const noexcept;
  QueueId id() const noexcept;
  std::string_view name() const noexcept;
  bool valid() const noexcept { return static_cast<bool>(core_); }
  detail::QueueCore* core() const noexcept { return core_.get(); }

 private:
  template <class T>
  struct detail_Owner final : Counted {
    explicit detail_Owner(std::vector<T>&& taken) noexcept : values(std::move(taken)) {}
    std::vector<T> values;
  };

  explicit Stream(Ref<detail::QueueCore> core) noexcept : core_(std::move(core)) {}

  const std::stop_token* stop() const noexcept { return stop_.stop_possible() ? &stop_ : nullptr; }
  Result<Task> native_packed(Accesses accesses, UniqueFunction function, Site site) const;

  Result<void> check_shape(const detail::TileParts& view, Site site) const;
  Result<void> check_view(const detail::TileParts& view, Site site) const;
  Result<Task> fill_bytes(const detail::TileParts& to, const void* element, Site site) const;
  Result<Task> copy_bytes(const detail::TileParts& to, const detail::TileParts& from,
                          Site site) const;
  Result<Task> upload_copy(const detail::TileParts& to, const void* from, std::uint64_t count,
                           Site site) const;
  Result<Task> upload_kept(const detail::TileParts& to, const void* from, std::uint64_t count,
                           Ref<Counted> keep, Site site) const;
  Result<void> upload_watched(const detail::TileParts& to, const void* from, std::uint64_t count,
                              detail::FutureBase& future, Site site) const;
  Result<void> read_watched(const detail::TileParts& from, void* to, detail::FutureBase& future,
                            Site site) const;
  Result<void> submit_watched(neutral::Task& task, detail::FutureBase& future) const;
  // With room for so many accesses more than the arguments have.
  template <std::size_t More, class F, class SomeGrid, class... Args>
  Result<Task> launch_on(const Kernel<F>& kernel, const SomeGrid& grid, const Args&... args) const;
  Result<Task> launch_packed(const KernelCode* code, const Grid& grid,
                             std::span<const Access> accesses,
                             std::span<const std::byte> packed) const;

  // The last access is that of the extent.
  Result<Task> launch_packed(const KernelCode* code, const IndirectGrid& grid,
                             std::span<const Access> accesses,
                             std::span<const std::byte> packed) const;

  // The error of a launch with a view that is not well formed.
  Error launch_misuse(const KernelCode* code, Site site,
                      std::span<const detail::TileParts> views) const;

  Ref<detail::QueueCore> core_;
  std::stop_token stop_;
};

namespace detail {

// Whether the view names memory, is aligned, and counts bytes. Its range is checked by the runtime.
inline bool well_formed(const ViewParts& view) noexcept {
  std::uint64_t bytes = 0;
  return view.memory != nullptr && view.offset_bytes != kOutside &&
         // The alignment is a power of two.
         ((view.memory->address + view.offset_bytes) & (view.alignment_bytes - 1)) == 0 &&
         !__builtin_mul_overflow(view.count, std::uint64_t{view.element_bytes}, &bytes);
}

inline Access access_of(const ViewParts& view, AccessMode mode) noexcept {
  return {view.memory, view.offset_bytes, view.count * view.element_bytes, 1, 0, mode};
}

constexpr AccessMode mode_of(ParameterKind kind) noexcept {
  return kind == ParameterKind::write        ? AccessMode::write
         : kind == ParameterKind::read_write ? AccessMode::read_write
                                             : AccessMode::read;
}

// What a launch collects from its arguments. The accesses are made in place: room for `Views` of
// them is all that is written.
template <std::size_t Views, std::size_t PackedBytes>
struct Packing {
  alignas(8) std::byte packed[PackedBytes == 0 ? 1 : PackedBytes];
  alignas(Access) std::byte accesses[sizeof(Access) * (Views == 0 ? 1 : Views)];
  std::size_t count = 0;
  bool well_formed = true;
};

// Checks that an argument fits a parameter, with words for those who pass another one.
template <class P, class Arg>
constexpr void check_argument() noexcept {
  using Traits = ParameterTraits<P>;
  if constexpr (Traits::is_view && Traits::is_tile != Viewable2D<Arg>) {
    static_assert(
        !Traits::is_tile,
        "This parameter of the kernel, a Span2D or an Out2D, takes a View2D: View::tile() "
        "makes one.");
    static_assert(
        !Viewable2D<Arg>,
        "This parameter of the kernel, a std::span or an Out, takes a View or an Array; a "
        "View2D is taken as Span2D or Out2D.");
  } else if constexpr (Traits::is_view && !AnyView<Arg>) {
    static_assert(AnyView<Arg>, "This parameter of the kernel takes a View or an Array.");
  } else if constexpr (Traits::is_view) {
    using Given = ElementOf<Arg>;
    using Wanted = typename Traits::Element;
    static_assert(std::is_same_v<std::remove_const_t<Given>, std::remove_const_t<Wanted>>,
                  "The elements of the view are of another type than the kernel's parameter.");
    static_assert(std::is_const_v<Wanted> || !std::is_const_v<Given>,
                  "The kernel writes this parameter, and a View<const T> can only be read.");
  } else {
    static_assert(std::is_convertible_v<const Arg&, P>,
                  "This parameter of the kernel is a scalar of another type.");
  }
}

// A view as the kernel's parameter uses it.
template <class P, AnyView V>
TileParts view_for(const V& view) noexcept {
  const TileParts parts = parts_of(view);
  return ParameterTraits<P>::parameter.kind == ParameterKind::read ? parts : parts.as_written();
}

// Packs one argument at byte `At`.
template <class P, std::size_t At, class Arg, class Pack>
void pack(const Arg& arg, Pack& pack) noexcept {
  using Traits = ParameterTraits<P>;
  check_argument<P, Arg>();
  if constexpr (!Traits::is_view) {
    const P value = static_cast<P>(arg);
    std::memcpy(pack.packed + At, &value, sizeof(P));
  } else if constexpr (Traits::is_tile && Viewable2D<Arg>) {
    constexpr AccessMode kMode = mode_of(Traits::parameter.kind);
    const TileParts tile = view_for<P>(arg);
    if (!well_formed(tile)) [[unlikely]] {
      pack.well_formed = false;
      return;
    }
    const TileArgument rows{tile.memory->address + tile.offset_bytes, tile.width, tile.height,
                            tile.pitch};
    std::memcpy(pack.packed + At, &rows, sizeof(rows));
    new (pack.accesses + sizeof(Access) * pack.count++) Access(access_of(tile, kMode));
  } else if constexpr (!Traits::is_tile && Viewable<Arg>) {
    const ViewParts view = ViewTraits<Arg>::parts(arg);
    if (!well_formed(view)) [[unlikely]] {
      pack.well_formed = false;
      return;
    }
    const BufferArgument bytes{view.memory->address + view.offset_bytes, view.count};
    std::memcpy(pack.packed + At, &bytes, sizeof(bytes));
    new (pack.accesses + sizeof(Access) * pack.count++)
        Access(access_of(view, mode_of(Traits::parameter.kind)));
  }
}

// The views among the arguments, for an error message.
template <class P, class Arg>
void add_view(const Arg& arg, TileParts*& next) noexcept {
  if constexpr (AnyView<Arg>) *next++ = view_for<P>(arg);
}

// What the launches of a kernel do with their arguments.
template <class Code, class Indices = std::make_index_sequence<Code::kCount>>
struct Arguments;

template <class Code, std::size_t... I>
struct Arguments<Code, std::index_sequence<I...>> {
  using Parameters = typename Code::Parameters;
  static constexpr std::size_t kPackedBytes = Code::kOffsets.back();
  using Views = std::array<TileParts, Code::kCount + 1>;

  template <class Pack, class... Args>
  static void pack_all(Pack& packing, const Args&... args) noexcept {
    (pack<std::tuple_element_t<I, Parameters>, Code::kOffsets[I]>(args, packing), ...);
  }

  // Returns how many there are.
  template <class... Args>
  static std::size_t list_views(Views& views, const Args&... args) noexcept {
    TileParts* next = views.data();
    (add_view<std::tuple_element_t<I, Parameters>>(args, next), ...);
    return static_cast<std::size_t>(next - views.data());
  }
};

}  // namespace detail

template <class F, class... Args>
Result<Task> Stream::launch(const Kernel<F>& kernel, const Grid& grid, const Args&... args) const {
  return launch_on<0>(kernel, grid, args...);
}

template <class F, class... Args>
Result<Task> Stream::launch_indirect(const Kernel<F>& kernel, const IndirectGrid& grid,
                                     const Args&... args) const {
  return launch_on<1>(kernel, grid, args...);
}

template <std::size_t More, class F, class SomeGrid, class... Args>
Result<Task> Stream::launch_on(const Kernel<F>& kernel, const SomeGrid& grid,
                               const Args&... args) const {
  using Code = typename Kernel<F>::Code;
  static_assert(sizeof...(Args) == Code::kCount,
                "A launch takes one argument for each parameter of the kernel but the Cell.");
  if constexpr (sizeof...(Args) == Code::kCount) {
    using Arguments = detail::Arguments<Code>;
    detail::Packing<Code::kCount + More, Arguments::kPackedBytes> packing;
    Arguments::pack_all(packing, args...);
    if (!packing.well_formed) [[unlikely]] {
      typename Arguments::Views views;
      const std::size_t count = Arguments::list_views(views, args...);
      const std::span<const detail::TileParts> view_list(views.data(), count);
      return launch_misuse(kernel.code(), grid.site(), view_list);
    }
    if constexpr (More != 0) {
      const View<const Extent>& extent = grid.extent();
      new (packing.accesses + sizeof(Access) * packing.count++) Access(detail::access_of(
          detail::ViewTraits<View<const Extent>>::parts(extent), AccessMode::read));
    }
    const Access* const accesses = std::launder(reinterpret_cast<const Access*>(packing.accesses));
    const std::span<const Access> access_list(accesses, packing.count);
    const std::span<const std::byte> packed(packing.packed, Arguments::kPackedBytes);
    return launch_packed(kernel.code(), grid, access_list, packed);
  }
}

}  // namespace thalweg
