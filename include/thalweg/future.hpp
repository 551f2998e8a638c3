// SPDX-License-Identifier: Apache-2.0
//
// thalweg/future.hpp - something that will be there when a task has passed.
//
// A future also carries the refusal of its submission: there is one place to look, get().
//
// Threads:    one Future object needs external synchronization.
// Ownership:  dropping a Future neither waits nor cancels: the task still runs.

#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include "thalweg/interface.hpp"

namespace thalweg {
namespace detail {

// How one task ended. Written by the backend before the task's point passes, read afterwards.
class THALWEG_EXPORT FutureBase : public neutral::Completion {
 public:
  FutureBase() noexcept = default;

  // A failure that nobody took goes to the error sink; not that the task was stopped or skipped.
  ~FutureBase() override;

  void complete(const Error* error) noexcept override;

  // Called by the submitter once the task is accepted.
  void accepted(Ref<DeviceCore> device, order::Point point) noexcept;

  bool ready() const noexcept;
  Result<void> on_complete(UniqueFunction function, Site site) const;
  Result<void> wait(Deadline deadline, Site site);

 private:
  Ref<DeviceCore> device_;
  order::Point point_;
  std::optional<Error> error_;
  bool taken_ = false;  // The error was given to the caller.
};

template <class T>
class FutureState final : public FutureBase {
 public:
  T value;
};

template <>
class FutureState<void> final : public FutureBase {};

THALWEG_EXPORT Error no_function(Site site);

// Calls `function`. What it throws goes to the error sink.
THALWEG_EXPORT void call_here(UniqueFunction& function) noexcept;

}  // namespace detail

template <class T>
class [[nodiscard]] Future {
 public:
  Future() noexcept = default;
  Future(Error refusal) noexcept : refusal_(std::move(refusal)) {}
  explicit Future(Ref<detail::FutureState<T>> state) noexcept : state_(std::move(state)) {}
  Future(Future&& other) noexcept
      : state_(std::move(other.state_)), refusal_(std::exchange(other.refusal_, std::nullopt)) {}
  Future& operator=(Future&& other) noexcept {
    state_ = std::move(other.state_);
    refusal_ = std::exchange(other.refusal_, std::nullopt);
    return *this;
  }

  // Whether get() would return at once. True for a future that holds a refusal or nothing. Never
  // waits.
  bool ready() const noexcept { return !state_ || state_->ready(); }

  // Waits on the host for the task, and gives its result; afterwards the future is empty. After
  // `timeout` and `wait_forbidden` it is as before.
  // Errors: the refusal of the submission; task_failed, with what the task threw; unwritten, when it
  //         was skipped because it reads bytes that a task left unwritten; cancelled; timeout;
  //         wait_forbidden; invalid_handle, when the future is empty.
  Result<T> get(Deadline deadline = {},
                std::source_location site = std::source_location::current()) {
    if (refusal_) return *std::exchange(refusal_, std::nullopt);
    if (!state_) return Error(ErrorKind::invalid_handle, "The future is empty.", site);
    if (Result<void> waited = state_->wait(deadline, site); !waited) {
      const ErrorKind kind = waited.error().kind();
      if (kind != ErrorKind::timeout && kind != ErrorKind::wait_forbidden) state_.reset();
      return std::move(waited).error();
    }
    const auto state = std::move(state_);
    if constexpr (std::is_void_v<T>) {
      return Result<void>();
    } else {
      return std::move(state->value);
    }
  }

  // Runs `function` once, when get() would return at once: on a thread of the runtime, inside a
  // NoWaitScope, or here for a future that holds a refusal or nothing. What it throws goes to the
  // error sink. Callbacks run one after the other: a long one delays the rest. The future may be
  // dropped before.
  // Errors: invalid_argument for an empty function.
  Result<void> on_complete(UniqueFunction function,
                           std::source_location site = std::source_location::current()) const {
    if (!function) return detail::no_function(site);
    if (state_) return state_->on_complete(std::move(function), site);
    detail::call_here(function);
    return {};
  }

  // False when it is empty: default made, moved from, or taken by get().
  bool valid() const noexcept { return static_cast<bool>(state_) || refusal_.has_value(); }

 private:
  Ref<detail::FutureState<T>> state_;
  std::optional<Error> refusal_;
};

// Waits until `future` is ready, and drops what it gives; afterwards the future is empty. An empty
// future is fine: a loop may drain what its first turns have not made yet.
// Errors: those of get(), but for the empty future.
template <class T>
Result<void> drain(Future<T>& future, Deadline deadline = {},
                   std::source_location site = std::source_location::current()) {
  if (!future.valid()) return {};
  THALWEG_TRY(future.get(deadline, site));
  return {};
}

}  // namespace thalweg
