// SPDX-License-Identifier: Apache-2.0

#include "thalweg/stream.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "api/handle.hpp"
#include "api/rows.hpp"

namespace thalweg {
namespace {

using detail::access_of;
using detail::DeclaredAccess;
using detail::misuse;
using detail::no_handle;
using detail::TileParts;
using detail::well_formed;

constexpr std::size_t kArgumentBytesMax = 4096;
constexpr std::size_t kAccessesMax = 256;

[[gnu::cold]] Error bad_grid(const Grid& grid) {
  const Extent& extent = grid.extent();
  if (!grid.negative())
    return Error(
        ErrorKind::invalid_size,
        fmt::format("A grid of {} x {} x {} cells; 0 to 2^40 cells can be launched, with y "
                    "and z below 2^32.",
                    extent.x, extent.y, extent.z),
        grid.site());
  return Error(ErrorKind::invalid_size,
               fmt::format("A grid of {} x {} x {} cells; 0 to 2^40 cells can be launched.",
                           static_cast<std::int64_t>(extent.x), static_cast<std::int64_t>(extent.y),
                           static_cast<std::int64_t>(extent.z)),
               grid.site());
}

// What is wrong with a kernel, or with `bytes` of arguments for it.
[[gnu::cold]] Error bad_code(const KernelCode& code, std::size_t bytes, std::source_location site) {
  if (bytes <= kArgumentBytesMax)
    return Error(ErrorKind::invalid_argument,
                 fmt::format("Kernel `{}` has no function to call.", code.name()), site);
  return Error(ErrorKind::invalid_size,
               fmt::format("The arguments of kernel `{}` have {} bytes; the limit is {}.",
                           code.name(), bytes, kArgumentBytesMax),
               site);
}

Result<void> check_counts(const TileParts& to, std::uint64_t count, std::source_location site) {
  if (to.count() == count) [[likely]]
    return {};
  return Error(
      ErrorKind::invalid_size,
      to.tile ? fmt::format("{} elements do not fit a tile of {} x {}.", count, to.width, to.height)
              : fmt::format("{} elements do not fit a view of {}.", count, to.width),
      site);
}

// What an upload takes: as many elements as the view has, from somewhere.
Result<void> check_source(const TileParts& to, const void* from, std::uint64_t count,
                          std::source_location site) {
  THALWEG_TRY(check_counts(to, count, site));
  if (from != nullptr || count == 0) [[likely]]
    return {};
  return Error(ErrorKind::invalid_argument,
               fmt::format("A null pointer names no {} elements.", count), site);
}

Result<Task> named(const detail::QueueCore& queue, Result<order::Point>&& point) {
  if (!point) [[unlikely]]
    return std::move(point).error();
  return Task(queue.id(), point->serial());
}

// Whether the bytes of two buffers may be the same ones: the program gave both, where addresses
// mean the same. What leaves its memory is refused later.
bool share_addresses(const Access& a, const Access& b) noexcept {
  const auto adopted = [](const Access& access) {
    return static_cast<const detail::AllocationCore*>(access.allocation)->adopted_in();
  };
  return adopted(a) && adopted(a) == adopted(b) && a.end() <= a.allocation->size_bytes &&
         b.end() <= b.allocation->size_bytes;
}

Access at_address(Access access) noexcept {
  access.offset = access.address();
  return access;
}

// The accesses of work that is not a kernel's.
Result<std::vector<Access>> listed(Accesses accesses, std::source_location site) {
  if (accesses.size() > kAccessesMax)
    return Error(
        ErrorKind::invalid_size,
        fmt::format("{} accesses are declared; the limit is {}.", accesses.size(), kAccessesMax),
        site);
  std::vector<Access> list;
  list.reserve(accesses.size());
  for (const DeclaredAccess& declared : accesses) {
    if (!well_formed(declared.view))
      return misuse(declared.view, site).with_context(fmt::format("access {}", list.size() + 1));
    list.push_back(access_of(declared.view, declared.mode));
  }
  return list;
}

// What upload and read-back have in common.
neutral::Task transfer(neutral::TaskKind kind, std::string_view name, const Access& access,
                       const std::stop_token* stop, std::source_location site) {
  neutral::Task task;
  task.kind = kind;
  task.name = name;
  task.site = site;
  task.accesses = {&access, 1};
  task.host_pitch = access.row_bytes;
  task.stop = stop;
  return task;
}

}  // namespace

std::vector<NativeBytes> detail::native_bytes(Accesses accesses) {
  std::vector<NativeBytes> list;
  list.reserve(accesses.size());
  for (const DeclaredAccess& declared : accesses) {
    // One that is not well formed is refused later.
    if (!well_formed(declared.view)) continue;
    const Access access = access_of(declared.view, declared.mode);
    list.push_back({access.address(), access.end() - access.offset, access.allocation->resource,
                    access.offset});
  }
  return list;
}

Error detail::no_host_memory(std::uint64_t size_bytes, Site site) {
  return Error(ErrorKind::out_of_memory,
               fmt::format("The system has no {} bytes for what is read back.", size_bytes), site);
}

Result<Stream> Stream::create(const Device& device, const StreamOptions& options, Site site) {
  if (!device.valid()) return no_handle("device", site);
  THALWEG_TRY_ASSIGN(Ref<detail::QueueCore> core, device.core()->create_queue(options, site));
  return Stream(std::move(core));
}

Result<Stream> Stream::with_priority(const Device& device, int priority, Site site) {
  return create(device, {priority, {}}, site);
}

Result<Stream> Stream::adopt(const Device& device, NativeHandle handle, Ownership ownership,
                             const StreamOptions& options, Site site) {
  if (!device.valid()) return no_handle("device", site);
  THALWEG_TRY_ASSIGN(Ref<detail::QueueCore> core,
                     device.core()->adopt_queue(handle, ownership, options, site));
  return Stream(std::move(core));
}

Stream Stream::with_stop_token(std::stop_token stop) const {
  Stream stoppable(core_);
  stoppable.stop_ = std::move(stop);
  return stoppable;
}

// All but the range, which the runtime checks.
Result<void> Stream::check_shape(const TileParts& view, Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!well_formed(view)) [[unlikely]]
    return misuse(view, site);
  return {};
}

// For a caller that takes memory before it submits.
Result<void> Stream::check_view(const TileParts& view, Site site) const {
  THALWEG_TRY(check_shape(view, site));
  // Rows that overlap count more bytes than they span: the span was found not to overflow.
  const Access access = access_of(view, AccessMode::read);
  const std::uint64_t bytes = access.end() - access.offset;
  if (access.offset <= view.memory->size_bytes && bytes <= view.memory->size_bytes - access.offset)
    return {};
  return Error(ErrorKind::invalid_argument,
               fmt::format("{} bytes from byte {} are outside memory of {} bytes.", bytes,
                           access.offset, view.memory->size_bytes),
               site);
}

Result<Task> Stream::fill_bytes(const TileParts& to, const void* element, Site site) const {
  THALWEG_TRY(check_shape(to.as_written(), site));
  if (to.element_bytes > sizeof(neutral::Task::pattern) ||
      sizeof(neutral::Task::pattern) % to.element_bytes != 0)
    return Error(ErrorKind::unsupported,
                 fmt::format("A fill with elements of {} bytes; 1, 2, 4, 8 and 16 can be filled.",
                             to.element_bytes),
                 site);
  const Access access = access_of(to, AccessMode::write);
  neutral::Task task;
  task.kind = neutral::TaskKind::fill;
  task.name = "fill";
  task.site = site;
  task.accesses = {&access, 1};
  task.pattern_bytes = to.element_bytes;
  task.stop = stop();
  std::memcpy(task.pattern, element, to.element_bytes);
  return named(*core_, core_->submit(task, {}));
}

Result<Task> Stream::copy_bytes(const TileParts& to, const TileParts& from, Site site) const {
  THALWEG_TRY(check_shape(to.as_written(), site));
  THALWEG_TRY(check_shape(from, site));
  if (to.tile && from.tile) {
    THALWEG_TRY(detail::check_same_shape(to, from, site));
  } else {
    THALWEG_TRY(check_counts(to, from.count(), site));
  }
  const std::array<Access, 2> accesses = detail::accesses_of_copy(to, from);
  if (to.memory == from.memory) {
    THALWEG_TRY(detail::check_apart(accesses[0], accesses[1], site));
  } else if (share_addresses(accesses[0], accesses[1])) [[unlikely]] {
    THALWEG_TRY(detail::check_apart(at_address(accesses[0]), at_address(accesses[1]), site));
  }
  neutral::Task task;
  task.kind = neutral::TaskKind::copy;
  task.name = "copy";
  task.site = site;
  task.accesses = accesses;
  task.stop = stop();
  return named(*core_, core_->submit(task, {}));
}

Result<Task> Stream::upload_copy(const TileParts& to, const void* from, std::uint64_t count,
                                 Site site) const {
  THALWEG_TRY(check_shape(to.as_written(), site));
  THALWEG_TRY(check_source(to, from, count, site));
  const Access access = access_of(to, AccessMode::write);
  neutral::Task task = transfer(neutral::TaskKind::upload, "upload", access, stop(), site);
  task.host_source = static_cast<const std::byte*>(from);
  return named(*core_, core_->upload_copy(task));
}

Result<Task> Stream::upload_kept(const TileParts& to, const void* from, std::uint64_t count,
                                 Ref<Counted> keep, Site site) const {
  THALWEG_TRY(check_shape(to.as_written(), site));
  THALWEG_TRY(check_source(to, from, count, site));
  const Access access = access_of(to, AccessMode::write);
  neutral::Task task = transfer(neutral::TaskKind::upload, "upload", access, stop(), site);
  task.host_source = static_cast<const std::byte*>(from);
  return named(*core_, core_->submit(task, std::move(keep)));
}

Result<void> Stream::upload_watched(const TileParts& to, const void* from, std::uint64_t count,
                                    detail::FutureBase& future, Site site) const {
  THALWEG_TRY(check_shape(to.as_written(), site));
  THALWEG_TRY(check_source(to, from, count, site));
  const Access access = access_of(to, AccessMode::write);
  neutral::Task task = transfer(neutral::TaskKind::upload, "upload_borrowed", access, stop(), site);
  task.host_source = static_cast<const std::byte*>(from);
  return submit_watched(task, future);
}

Result<void> Stream::read_watched(const TileParts& from, void* to, detail::FutureBase& future,
                                  Site site) const {
  const Access access = access_of(from, AccessMode::read);
  neutral::Task task = transfer(neutral::TaskKind::read_back, "read", access, stop(), site);
  task.host_target = static_cast<std::byte*>(to);
  return submit_watched(task, future);
}

Result<void> Stream::submit_watched(neutral::Task& task, detail::FutureBase& future) const {
  task.completion = &future;
  Result<order::Point> point = core_->submit(task, {});
  if (!point) return std::move(point).error();
  future.accepted(Ref<detail::DeviceCore>::share(&core_->device()), *point);
  return {};
}

[[gnu::cold]] Error Stream::launch_misuse(const KernelCode* code, Site site,
                                          std::span<const TileParts> views) const {
  if (!core_) return no_handle("stream", site);
  if (code == nullptr) return no_handle("kernel", site);
  std::size_t bad = 0;
  while (bad + 1 < views.size() && well_formed(views[bad])) ++bad;
  return misuse(views[bad], site)
      .with_context(fmt::format("kernel `{}`, view {}", code->name(), bad + 1));
}

Result<Task> Stream::launch_packed(const KernelCode* code, const Grid& grid,
                                   std::span<const Access> accesses,
                                   std::span<const std::byte> packed) const {
  if (!core_) [[unlikely]]
    return no_handle("stream", grid.site());
  if (code == nullptr) [[unlikely]]
    return no_handle("kernel", grid.site());
  if (grid.negative() || !launchable(grid.extent())) [[unlikely]]
    return bad_grid(grid);
  if (packed.size() > kArgumentBytesMax || !code->runnable()) [[unlikely]]
    return bad_code(*code, packed.size(), grid.site());
  neutral::Task task;
  task.kind = neutral::TaskKind::kernel;
  task.name = code->name();
  task.site = grid.site();
  task.accesses = accesses;
  task.code = code;
  task.extent = grid.extent();
  task.arguments = packed;
  task.stop = stop();
  return named(*core_, core_->submit(task, {}));
}

Result<Task> Stream::launch_packed(const KernelCode* code, const IndirectGrid& grid,
                                   std::span<const Access> accesses,
                                   std::span<const std::byte> packed) const {
  if (!core_) return no_handle("stream", grid.site());
  if (code == nullptr) return no_handle("kernel", grid.site());
  if (const TileParts extent = detail::parts_of(grid.extent()); !well_formed(extent))
    return misuse(extent, grid.site()).with_context(fmt::format("kernel `{}`, grid", code->name()));
  if (const std::uint64_t count = grid.extent().count(); count != 1)
    return Error(ErrorKind::invalid_size,
                 fmt::format("The grid of kernel `{}` is a view of {} extents; it takes exactly 1.",
                             code->name(), count),
                 grid.site());
  if (packed.size() > kArgumentBytesMax || !code->runnable())
    return bad_code(*code, packed.size(), grid.site());
  neutral::Task task;
  task.kind = neutral::TaskKind::indirect;
  task.name = code->name();
  task.site = grid.site();
  task.accesses = accesses;
  task.code = code;
  task.arguments = packed;
  task.stop = stop();
  return named(*core_, core_->submit(task, {}));
}

Future<void> Stream::host(std::string_view name, Accesses accesses, UniqueFunction function,
                          Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!function)
    return Error(ErrorKind::invalid_argument, fmt::format("Host function `{}` is empty.", name),
                 site);
  Result<std::vector<Access>> list = listed(accesses, site);
  if (!list) return std::move(list).error().with_context(fmt::format("host function `{}`", name));
  neutral::Task task;
  task.kind = neutral::TaskKind::host;
  task.name = name;
  task.site = site;
  task.accesses = *list;
  task.function = &function;
  task.stop = stop();
  auto state = make_ref<detail::FutureState<void>>();
  if (Result<void> sent = submit_watched(task, *state); !sent) return std::move(sent).error();
  return Future<void>(std::move(state));
}

Result<Task> Stream::native_packed(Accesses accesses, UniqueFunction function, Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!function)
    return Error(ErrorKind::invalid_argument, "Native work has no function to call.", site);
  Result<std::vector<Access>> list = listed(accesses, site);
  if (!list) return std::move(list).error().with_context("native work");
  neutral::Task task;
  task.kind = neutral::TaskKind::native;
  task.name = "native";
  task.site = site;
  task.accesses = *list;
  task.function = &function;
  task.stop = stop();
  return named(*core_, core_->submit(task, {}));
}

Result<Task> Stream::touch(Accesses accesses, Site site) const {
  if (!core_) return no_handle("stream", site);
  Result<std::vector<Access>> list = listed(accesses, site);
  if (!list) return std::move(list).error().with_context("touch");
  neutral::Task task;
  task.name = "touch";
  task.site = site;
  task.accesses = *list;
  return named(*core_, core_->submit(task, {}));
}

Result<void> Stream::signal(const Timeline& timeline, std::uint64_t value, Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!timeline.valid()) return no_handle("timeline", site);
  return core_->signal_timeline(*timeline.core(), value, site);
}

Result<void> Stream::on_complete(const Task& task, UniqueFunction function, Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!function) return detail::no_callback(site);
  if (task.queue() != core_->id())
    return Error(ErrorKind::invalid_argument,
                 fmt::format("A task of stream {} is asked of stream {}.", task.queue().value,
                             core_->id().value),
                 site);
  return core_->on_passed(task.serial(), std::move(function), site);
}

Result<void> Stream::record(const Event& event, Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!event.valid()) return no_handle("event", site);
  return core_->record(*event.core(), site);
}

Result<void> Stream::wait_event(const Event& event, Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!event.valid()) return no_handle("event", site);
  return core_->wait_event(*event.core(), site);
}

Result<void> Stream::wait(const Stream& other, Site site) const {
  if (!core_ || !other.core_) return no_handle("stream", site);
  return core_->wait_queue(*other.core_, site);
}

Result<void> Stream::wait(const Timeline& timeline, std::uint64_t value, Site site) const {
  if (!core_) return no_handle("stream", site);
  if (!timeline.valid()) return no_handle("timeline", site);
  return core_->wait_timeline(*timeline.core(), value, site);
}

Result<void> Stream::synchronize(Deadline deadline, Site site) const {
  if (!core_) return no_handle("stream", site);
  return core_->synchronize(deadline, site);
}

Result<void> Stream::wait_for_room(Deadline deadline, std::uint64_t size_bytes, Site site) const {
  if (!core_) return no_handle("stream", site);
  return core_->wait_for_room(deadline, size_bytes, site);
}

NativeHandle Stream::raw() const noexcept { return core_ ? core_->raw() : NativeHandle{}; }

bool Stream::is_same_queue(const Stream& other) const noexcept {
  return core_ && core_ == other.core_;
}

Device Stream::device() const noexcept {
  return core_ ? Device(Ref<detail::DeviceCore>::share(&core_->device())) : Device();
}

int Stream::priority() const noexcept { return core_ ? core_->priority() : 0; }
QueueId Stream::id() const noexcept { return core_ ? core_->id() : QueueId{}; }
std::string_view Stream::name() const noexcept {
  return core_ ? core_->name() : std::string_view{};
}

}  // namespace thalweg
