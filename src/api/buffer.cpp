// SPDX-License-Identifier: Apache-2.0

#include "thalweg/buffer.hpp"

#include <utility>

#include "api/handle.hpp"
#include "thalweg/stream.hpp"

namespace thalweg {

Result<Buffer> Buffer::create(const Stream& home, std::uint64_t size_bytes,
                              const AllocationOptions& options, std::source_location site) {
  return detail::create_buffer(home, MemoryKind::device, size_bytes, options, site);
}

Result<Buffer> Buffer::adopt(const Device& device, void* address, std::uint64_t size_bytes,
                             UniqueFunction deleter, std::source_location site) {
  if (!device.valid()) return detail::no_handle("device", site);
  THALWEG_TRY_ASSIGN(Ref<detail::AllocationCore> core,
                     device.core()->adopt_memory(address, size_bytes, deleter, site));
  return Buffer(std::move(core));
}

namespace detail {

Result<Buffer> create_buffer(const Stream& home, MemoryKind kind, std::uint64_t size_bytes,
                             const AllocationOptions& options, Site site) {
  if (!home.valid()) return no_handle("stream", site);
  THALWEG_TRY_ASSIGN(Ref<AllocationCore> core,
                     home.core()->allocate(kind, size_bytes, options, site));
  return Buffer(std::move(core));
}

Error too_many_elements(std::uint64_t count, std::uint64_t element_bytes, Site site) {
  return Error(ErrorKind::invalid_size,
               std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                   " bytes are more than 2^64 bytes.",
               site);
}

}  // namespace detail
}  // namespace thalweg
