// SPDX-License-Identifier: Apache-2.0
//
// thalweg/span2d.hpp - what a kernel sees of a View2D.
//
//   auto flip = kernel("flip", [](Cell at, Out2D<float> out, Span2D<const float> in) {
//     out(at.x, at.y) = in(in.width() - 1 - at.x, at.y);
//   });
//
// Threads:    plain values; the elements are the kernel's.
// Ownership:  borrowed from the launch, and valid until its cell returns.

#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace thalweg {

// Rows of `width` elements that lie `pitch` elements apart. Span2D<const T> is read, Span2D<T> read
// and written.
template <class T>
class Span2D {
 public:
  Span2D(T* data, std::size_t width, std::size_t height, std::size_t pitch) noexcept
      : data_(data), width_(width), height_(height), pitch_(pitch) {}

  // REQUIRES: x < width() and y < height().
  T& operator()(std::size_t x, std::size_t y) const noexcept { return data_[y * pitch_ + x]; }
  std::span<T> row(std::size_t y) const noexcept { return {data_ + y * pitch_, width_}; }

  std::size_t width() const noexcept { return width_; }
  std::size_t height() const noexcept { return height_; }
  std::size_t pitch() const noexcept { return pitch_; }
  T* data() const noexcept { return data_; }

 private:
  T* data_;
  std::size_t width_;
  std::size_t height_;
  std::size_t pitch_;
};

// A tile that a kernel writes whole. Reading an element before it was written is the kernel's
// mistake.
template <class T>
class Out2D : public Span2D<T> {
 public:
  static_assert(!std::is_const_v<T>, "Out2D<T> is written.");
  using Span2D<T>::Span2D;
};

}  // namespace thalweg
