// SPDX-License-Identifier: Apache-2.0
//
// runtime/allocation.hpp - an allocation, its record of accesses, and its deferred free.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/imports.hpp"
#include "runtime/record.hpp"
#include "runtime/registry.hpp"
#include "thalweg/backend/memory_source.hpp"
#include "thalweg/base/unique_function.hpp"
#include "thalweg/interface.hpp"

namespace thalweg::runtime {

class Device;

// On cache lines of its own: streams of different threads enter accesses in neighbouring ones.
class alignas(64) Allocation final : public thalweg::detail::AllocationCore {
 public:
  using Site = thalweg::detail::Site;

  // Takes over `block`, which is empty for an allocation of no bytes. `host`: the host may map it.
  Allocation(Ref<Device> device, Slot& home, const backend::Block& block, std::uint64_t size_bytes,
             bool host);

  // Memory of the program's. Null and 0 for no bytes. `deleter` is called once, when no handle is
  // left and all uses have passed.
  Allocation(Ref<Device> device, Ref<Import> import, std::uint64_t address,
             std::uint64_t size_bytes, bool host, UniqueFunction deleter);

  // By the plain `new`: the one that aligns takes five times as long.
  static void* operator new(std::size_t size);
  static void operator delete(void* memory) noexcept;

  thalweg::detail::DeviceCore& device() const noexcept override;
  std::optional<std::uint64_t> adopted_in() const noexcept override;
  Result<thalweg::detail::HostMapping> map(std::uint64_t offset, std::uint64_t size_bytes,
                                           AccessMode mode, bool may_wait, Deadline deadline,
                                           Site site) override;
  void unmap(std::uint64_t ticket) noexcept override;

  Device& owner() const noexcept { return *device_; }

  // Null for imported memory.
  Slot* home() const noexcept { return home_; }

  // Whether a queue other than home, or the host, has touched it. Written under both locks, read
  // under either.
  bool shared() const noexcept { return shared_; }

  // From here on the record is guarded by the submission lock. REQUIRES: the caller holds that one,
  // and no lock of a queue.
  void share() noexcept;

  // Guarded by the home queue's lock. REQUIRES: not shared.
  order::AccessMap& map() noexcept { return record_.map; }

  // Guarded by the submission lock. REQUIRES: shared.
  void collect(const Access& access, order::PointSet& out, const order::QueueTable& table);
  void apply(const Access& access, order::Point point, const order::QueueTable& table);
  const OpenView* open_against(const Access& access);

 private:
  void begin_life();
  void end_life(const order::PointSet& uses) noexcept;  // REQUIRES: the home queue's lock is held.
  void last_reference_gone() noexcept override;
  void end_import() noexcept;
  void close(std::uint64_t ticket) noexcept;
  void prove_written(std::uint64_t ticket) noexcept;

  Record& records() noexcept { return import_ ? import_->root().record() : record_; }

  // `access` as the record counts its bytes.
  Access in_record(const Access& access) noexcept;

  const Ref<Device> device_;
  Slot* const home_;
  const backend::Block block_;
  const Ref<Import> import_;
  const bool host_;
  bool shared_;
  UniqueFunction deleter_;
  Record record_;  // Not used by imported memory.
};

}  // namespace thalweg::runtime
