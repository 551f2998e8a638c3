// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/unique_function.hpp - a callable of no arguments that is owned and moved, not
// copied.
//
// One pointer wide. (std::move_only_function is C++23, and .cu files stop at C++20.)

#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace thalweg {
namespace detail {

template <class F>
inline constexpr bool kMayBeNull = std::is_pointer_v<F>;
template <class F>
inline constexpr bool kMayBeNull<std::function<F>> = true;

// Whether there is nothing to call: a null pointer to a function, or an empty std::function.
template <class F>
bool is_null_callable(const F& callable) noexcept {
  if constexpr (kMayBeNull<F>) {
    return callable == nullptr;
  } else {
    return false;
  }
}

}  // namespace detail

class UniqueFunction {
 public:
  UniqueFunction() noexcept = default;

  template <class F>
    requires(!std::same_as<std::decay_t<F>, UniqueFunction> && std::invocable<std::decay_t<F>&>)
  UniqueFunction(F&& function) {
    if (detail::is_null_callable<std::decay_t<F>>(function)) return;
    body_ = std::make_unique<Body<std::decay_t<F>>>(std::forward<F>(function));
  }

  // Nothing when it is empty. What the callable throws passes through.
  void operator()() {
    if (body_) body_->call();
  }

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
