// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/ref.hpp - counted references to objects that count themselves.
//
// Threads:    a Ref object needs external synchronization; two Refs to one object do not.
// Ownership:  the last Ref calls `last_reference_gone()`, which decides what that means: most
//             objects are deleted, a stream with work in flight lives on until the work is done.
//             In a forked child (base/forked.hpp) nothing is called: objects stay.

#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "thalweg/base/forked.hpp"

namespace thalweg {

// A count of references, made with one that the maker holds.
class Counted {
 public:
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void retain() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }

  // Adds a reference unless none is left. For lists of objects that hold none of them.
  bool try_retain() const noexcept {
    std::uint64_t count = references_.load(std::memory_order_relaxed);
    while (count != 0)
      if (references_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed))
        return true;
    return false;
  }

  // Memory ordering: release, and acquire for the last one: what any holder did happens before
  // last_reference_gone().
  void release() const noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    // In a forked child the end of an object is its parent's: it would take locks and wake threads.
    if (detail::forked()) [[unlikely]]
      return;
    const_cast<Counted*>(this)->last_reference_gone();
  }

  // For tests and statistics: may be old when it is read.
  std::uint64_t references() const noexcept { return references_.load(std::memory_order_relaxed); }

 protected:
  Counted() noexcept = default;
  virtual ~Counted() = default;

  // Makes a recycled object alive again. REQUIRES: no reference is left.
  void revive() noexcept { references_.store(1, std::memory_order_relaxed); }

 private:
  virtual void last_reference_gone() noexcept { delete this; }

  mutable std::atomic<std::uint64_t> references_{1};
};

template <class T>
class Ref {
 public:
  Ref() noexcept = default;

  // Takes over a reference that somebody held.
  static Ref adopt(T* object) noexcept {
    Ref result;
    result.object_ = object;
    return result;
  }

  // Adds a reference.
  static Ref share(T* object) noexcept {
    if (object != nullptr) object->retain();
    return adopt(object);
  }

  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class Derived>
  Ref(Ref<Derived> other) noexcept : object_(other.detach()) {}

  Ref& operator=(const Ref& other) noexcept {
    Ref(other).swap(*this);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    Ref(std::move(other)).swap(*this);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }
  void reset() noexcept { Ref().swap(*this); }

  // The object with its reference; *this is empty afterwards.
  [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

// Makes a T that one Ref owns.
template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace thalweg
