// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/outcomes.hpp - what a backend asks before it runs a task, and says afterwards.
//
//   submit      keep use_of(access) for each access that touches bytes
//   its turn    starts(uses, ..)      an error: the task does nothing, and ends with it
//               ... the task ...
//   its end     succeeded(uses), or failed(error, uses); before its point counts as passed
//
// A device that is lost says `failed` of each task that has not run: see loss.hpp.
//
// So a failure goes with the bytes that it left unwritten (failure/error_graph.hpp). Where nothing
// has failed, both are one load.
//
// Threads:    any; without a lock of the backend's or the runtime's.

#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string_view>

#include "thalweg/base/access.hpp"
#include "thalweg/base/error.hpp"
#include "thalweg/failure/error_graph.hpp"

namespace thalweg::backend {

// False only in the library that bench/failures measures against.
#ifdef THALWEG_WITHOUT_OUTCOMES
inline constexpr bool kOutcomesKept = false;
#else
inline constexpr bool kOutcomesKept = true;
#endif

// Whether an access has to be kept: it touches bytes, which may be bad or become so.
inline bool has_outcome(const Access& access) noexcept {
  return kOutcomesKept && access.mode != AccessMode::token && access.row_bytes != 0 &&
         access.rows != 0 && static_cast<bool>(access.allocation->record);
}

inline failure::Use use_of(const Access& access) noexcept {
  return {access.allocation->record,
          access.allocation->record_offset + access.offset,
          access.row_bytes,
          access.rows,
          access.pitch,
          access.mode,
          access.allocation->life};
}

// One for each stream; outlives it.
class Outcomes {
 public:
  // Null: the task runs. Otherwise it reads bad bytes: what it would have written is bad from now
  // on, and this is what its completion is told. Without one (`told` is false) it says no more than
  // that it was skipped.
  std::optional<Error> starts(std::span<const failure::Use> uses, std::string_view task,
                              std::source_location site, bool told) noexcept {
    if (!any_bad() || uses.empty()) [[likely]]
      return std::nullopt;
    return skip(uses, task, site, told);
  }

  // What it writes is written.
  void succeeded(std::span<const failure::Use> uses) noexcept {
    if (any_bad() && !uses.empty()) [[unlikely]]
      prove(uses);
  }

  // It was not. `error` is given to its completion afterwards, as it is then. False: nobody knows
  // of it, and where there is no completion it goes to the error sink.
  virtual bool failed(Error& error, std::span<const failure::Use> uses) noexcept = 0;

  // Whether some byte of the process is bad. Memory ordering: acquire; pairs with the release by
  // whoever made the first one bad. A task that he is ordered before sees it in any case, by his
  // point.
  bool any_bad() const noexcept {
    return kOutcomesKept && any_bad_.load(std::memory_order_acquire);
  }

 protected:
  explicit Outcomes(const std::atomic<bool>& any_bad) noexcept : any_bad_(any_bad) {}
  ~Outcomes() = default;

  virtual std::optional<Error> skip(std::span<const failure::Use> uses, std::string_view task,
                                    std::source_location site, bool told) noexcept = 0;
  virtual void prove(std::span<const failure::Use> uses) noexcept = 0;

 private:
  const std::atomic<bool>& any_bad_;
};

}  // namespace thalweg::backend
