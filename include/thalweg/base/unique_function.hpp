// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/unique_function.hpp - a callable of no arguments that is owned and moved, not
// copied.
//
// One pointer wide. (std::move_only_function is C++23, and .cu files stop at C++20.)

#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace thalweg {

class UniqueFunction {
 public:
  UniqueFunction() noexcept = default;

  template <class F>
    requires(!std::same_as<std::decay_t<F>, UniqueFunction> && std::invocable<std::decay_t<F>&>)
  UniqueFunction(F&& function) {
    // A null function pointer is no callable.
    if constexpr (std::is_pointer_v<std::decay_t<F>>) {
      if (function == nullptr) return;
    }
    body_ = std::make_unique<Body<std::decay_t<F>>>(std::forward<F>(function));
  }

  // REQUIRES: *this is not empty. What the callable throws passes through.
  void operator()() { body_->call(); }

  explicit operator bool() const noexcept { return body_ != nullptr; }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void call() = 0;
  };
  template <class F>
  struct Body final : Base {
    template <class G>
    explicit Body(G&& g) : function(std::forward<G>(g)) {}
    void call() override { static_cast<void>(function()); }
    F function;
  };

  std::unique_ptr<Base> body_;
};

}  // namespace thalweg
