// SPDX-License-Identifier: Apache-2.0

#include "runtime/allocation.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/plant.hpp"
#include "runtime/after.hpp"
#include "runtime/device.hpp"
#include "runtime/failures.hpp"
#include "thalweg/base/forked.hpp"

namespace thalweg::runtime {

using thalweg::detail::HostMapping;

// Where the memory begins is written right before the object: what `new` gives is aligned to more
// than a pointer, so there is room for one behind its start and before the next line.
void* Allocation::operator new(std::size_t size) {
  constexpr std::uintptr_t line = alignof(Allocation);
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
  void* const memory = ::operator new(size + line);
  const auto first = reinterpret_cast<std::uintptr_t>(memory) + sizeof(void*);
  auto* const object = reinterpret_cast<void**>((first + line - 1) / line * line);
  object[-1] = memory;
  return object;
}

void Allocation::operator delete(void* memory) noexcept {
  ::operator delete(static_cast<void**>(memory)[-1]);
}

Allocation::Allocation(Ref<Device> device, Slot& home, const backend::Block& block,
                       std::uint64_t bytes, bool host)
    : device_(std::move(device)), home_(&home), block_(block), host_(host), shared_(false) {
  id = make_id<AllocationId>();
  size_bytes = bytes;
  address = block.resource.address;
  resource = block.resource.object;
  if (plant::planted(plant::Bug::taint_by_address)) {
    record = Imports::record_of(0);
    record_offset = address;
  } else if (backend::kOutcomesKept) {
    record = id;
    begin_life();
  }
  record_.map.reset(bytes);
}

Allocation::Allocation(Ref<Device> device, Ref<Import> import, std::uint64_t first,
                       std::uint64_t bytes, bool host, UniqueFunction deleter)
    : device_(std::move(device)),
      home_(nullptr),
      import_(std::move(import)),
      host_(host),
      shared_(true),
      deleter_(std::move(deleter)) {
  id = make_id<AllocationId>();
  size_bytes = bytes;
  address = first;
  record_.map.reset(0);
  if (!import_) return;
  // All that is brought into one address space is one memory: its bytes are known by address.
  const Imports::Space space = device_->address_space();
  record = Imports::record_of(space);
  record_offset = first;
}

thalweg::detail::DeviceCore& Allocation::device() const noexcept { return *device_; }

std::optional<std::uint64_t> Allocation::adopted_in() const noexcept {
  if (!import_) return std::nullopt;
  return device_->address_space();
}

void Allocation::share() noexcept {
  if (shared_) return;
  const sync::Locked queue(home_->lock);
  shared_ = true;
}

// What the record knows.

Access Allocation::in_record(const Access& access) noexcept {
  Access result = access;
  if (import_) result.offset += address - import_->root().address();
  return result;
}

void Allocation::collect(const Access& access, order::PointSet& out,
                         const order::QueueTable& table) {
  if (import_) [[unlikely]] {
    import_->root().collect(in_record(access), out, table);
  } else {
    record_.map.collect(access, out);
  }
}

void Allocation::apply(const Access& access, order::Point point, const order::QueueTable& table) {
  if (import_) [[unlikely]] {
    records().map.apply(in_record(access), point, table);
  } else {
    record_.map.apply(access, point, table);
  }
}

const OpenView* Allocation::open_against(const Access& access) {
  const Record& known = records();
  if (plant::planted(plant::Bug::views_unguarded)) return nullptr;
  return known.views.empty() ? nullptr : known.against(in_record(access));
}

// The host.

Result<HostMapping> Allocation::map(std::uint64_t offset, std::uint64_t bytes, AccessMode mode,
                                    bool may_wait, Deadline deadline, Site site) {
  if (thalweg::detail::forked()) return thalweg::detail::forked_error(site);
  if (!host_)
    return Error(ErrorKind::unsupported,
                 fmt::format("Memory of device `{}` cannot be mapped.", device_->name()), site);
  if (offset > size_bytes || bytes > size_bytes - offset)
    return Error(ErrorKind::invalid_argument,
                 fmt::format("{} bytes from byte {} are outside memory of {} bytes.", bytes, offset,
                             size_bytes),
                 site);
  auto* const first = reinterpret_cast<std::byte*>(address + offset);
  if (bytes == 0) return HostMapping{first, 0};
  device_->turn(site);
  THALWEG_TRY(device_->usable(site));
  const Access access{this, offset, bytes, 1, 0, mode};
  const std::uint64_t ticket = thalweg::detail::next_id();
  order::PointSet points;
  {
    Registry& registry = Registry::instance();
    const sync::Locked submission(registry.submission());
    share();
    if (const OpenView* const open = open_against(access))
      return Error(
          ErrorKind::invalid_argument,
          fmt::format("{} bytes from byte {} overlap {} bytes the host has mapped {}.", bytes,
                      offset, open->size_bytes, open->writes ? "to write" : "to read"),
          site);
    collect(access, points, registry.table());
    points.remove_if([](order::Point point) { return passed(point); });
    if (plant::planted(plant::Bug::map_ordered_only)) points.clear();
    if (!points.empty() && !may_wait)
      return Error(ErrorKind::not_ready,
                   fmt::format("{} bytes from byte {} are in use by tasks.", bytes, offset), site);
    // Known before: no other thread's task is refused for a view that cannot be.
    if (!points.empty()) THALWEG_TRY(device_->may_block(WaitReason::map, deadline, site));
    // From here on tasks are refused: a producer that never stops does not hold up the host.
    records().views.push_back({ticket, in_record(access).offset, bytes, access.writes()});
  }
  if (Result<void> waited = device_->wait_all(points, WaitReason::map, deadline, site); !waited) {
    close(ticket);
    return std::move(waited).error();
  }
  if (std::optional<Error> bad = Failures::instance().read(backend::use_of(access), site)) {
    close(ticket);
    return *std::move(bad);
  }
  if (backend::Observer* const observer = device_->observer(); observer != nullptr) [[unlikely]]
    observer->view_opened(access, ticket, site);
  return HostMapping{first, ticket};
}

void Allocation::unmap(std::uint64_t ticket) noexcept {
  if (ticket == 0 || thalweg::detail::forked()) return;
  if (backend::Observer* const observer = device_->observer(); observer != nullptr) [[unlikely]] {
    observer->turn(Site::current());
    observer->view_closed(ticket);
  }
  // Before tasks may use the bytes again.
  if (Failures::instance().any().load(std::memory_order_acquire)) prove_written(ticket);
  close(ticket);
}

void Allocation::close(std::uint64_t ticket) noexcept {
  const sync::Locked submission(Registry::instance().submission());
  records().close(ticket);
}

// What the host had to write is written.
void Allocation::prove_written(std::uint64_t ticket) noexcept {
  failure::Use use;
  use.allocation = record;
  use.life = life;
  use.mode = AccessMode::write;
  {
    const sync::Locked submission(Registry::instance().submission());
    const OpenView* const view = records().view(ticket);
    if (view == nullptr || !view->writes) return;
    use.offset = view->offset + (import_ ? import_->root().address() : 0);
    use.row_bytes = view->size_bytes;
  }
  Failures::instance().prove({&use, 1});
}

// Its life.

void Allocation::begin_life() {
  Life* known = nullptr;
  {
    const sync::Locked queue(home_->lock);
    known = home_->lives.take();
  }
  if (known == nullptr) known = new Life(home_->lock);
  known->begin(id, size_bytes);
  life = known;
}

void Allocation::end_life(const order::PointSet& uses) noexcept {
  if (life == nullptr) return;
  home_->lives.end(static_cast<Life&>(const_cast<AllocationLife&>(*life)), uses);
}

// The end.

void Allocation::last_reference_gone() noexcept {
  if (backend::Observer* const observer = device_->observer(); observer != nullptr) [[unlikely]] {
    observer->turn(Site::current());
    observer->dropped(*this);
  }
  if (home_ == nullptr) return end_import();
  order::PointSet uses;
  Registry& registry = Registry::instance();
  bool shared = false;
  {
    const sync::Locked queue(home_->lock);
    shared = shared_;
    if (!shared) {
      record_.map.points(uses, registry.table());
      end_life(uses);
    }
  }
  if (shared) {
    const sync::Locked submission(registry.submission());
    record_.map.points(uses, registry.table());
    const sync::Locked queue(home_->lock);
    end_life(uses);
  }
  if (life != nullptr)
    if (Failures& failures = Failures::instance(); failures.any().load(std::memory_order_acquire))
        [[unlikely]]
      failures.drop(record, uses);
  if (plant::planted(plant::Bug::free_without_home_point))
    uses.remove_if([this](order::Point point) { return point.queue() == home_->index; });
  if (block_.source != nullptr) device_->take_back(block_, std::move(uses));
  delete this;
}

void Allocation::end_import() noexcept {
  UniqueFunction deleter = std::move(deleter_);
  if (import_) {
    Registry& registry = Registry::instance();
    order::PointSet uses;
    {
      const sync::Locked submission(registry.submission());
      collect({this, 0, size_bytes, 1, 0, AccessMode::read_write}, uses, registry.table());
    }
    uses.remove_if([](order::Point point) { return passed(point); });
    const Imports::Space space = device_->address_space();
    registry.imports().drop(space, address, size_bytes);
    if (plant::planted(plant::Bug::deleter_early)) uses.clear();
    if (!uses.empty()) {
      // The device outlives the tasks that use the bytes: their streams hold it.
      auto call = [space, first = address, bytes = size_bytes,
                   last = std::move(deleter)]() mutable {
        Registry::instance().imports().sweep(space, first, bytes);
        if (last) last();
      };
      call_after(uses, std::move(call), device_->observer());
      delete this;
      return;
    }
    registry.imports().sweep(space, address, size_bytes);
  }
  delete this;
  if (deleter) call_now(deleter);
}

}  // namespace thalweg::runtime
