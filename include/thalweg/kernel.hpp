// SPDX-License-Identifier: Apache-2.0
//
// thalweg/kernel.hpp - kernels: a name, parameters that say what they access, and implementations.
//
//   auto blur = kernel("blur", [](Cell at, std::span<const float> in, Out<float> out, int radius)
//   {...});
//
// The callable is called once for each cell of the grid, by several threads at once, from a loop
// that is compiled with it. Its first parameter is the Cell; of the others
//
//   std::span<const T>   reads the view it is given,
//   std::span<T>         reads and writes it,
//   Out<T>               promises to write every byte of it and to read none,
//   Span2D<const T>, Span2D<T>, Out2D<T>
//                        do the same with the rows of a View2D (thalweg/span2d.hpp),
//   anything else        is a scalar: trivially copyable, at most 256 bytes, copied at the launch.
//
// The access follows from the parameter, never from the argument. Cells run in no particular order
// and at the same time: a cell must not read what another one writes, nor may a launch that is
// given the same bytes twice.
//
// Threads:    a Kernel may be launched from any thread, on any stream.
// Ownership:  a counted handle; a launch keeps the callable until it has run.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "thalweg/base/task.hpp"
#include "thalweg/base/unique_function.hpp"
#include "thalweg/buffer.hpp"
#include "thalweg/span2d.hpp"

namespace thalweg {

// A view a kernel writes whole. Reading an element before it was written is the kernel's mistake.
template <class T>
class Out {
 public:
  static_assert(!std::is_const_v<T>, "Out<T> is written.");

  Out(T* data, std::size_t count) noexcept : data_(data), count_(count) {}
  T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return count_; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + count_; }

 private:
  T* data_;
  std::size_t count_;
};

namespace detail {

inline constexpr std::size_t kScalarBytesMax = 256;

// What one parameter of a callable means.
template <class P>
struct ParameterTraits {
  static_assert(std::is_trivially_copyable_v<P>,
                "A kernel's scalar parameter is trivially copyable; bytes of a view are taken as "
                "std::span<const T>, std::span<T> or Out<T>, and of a View2D as Span2D<const T>, "
                "Span2D<T> or Out2D<T>.");
  static_assert(sizeof(P) <= kScalarBytesMax, "A kernel's scalar has at most 256 bytes.");
  static_assert(!std::is_pointer_v<P>, "Take a view instead of a pointer.");
  static constexpr bool is_view = false;
  static constexpr bool is_tile = false;
  static constexpr Parameter parameter{ParameterKind::scalar, sizeof(P)};
  static constexpr std::size_t packed_bytes = (sizeof(P) + 7) / 8 * 8;
  static P unpack(const std::byte* packed) noexcept {
    alignas(P) std::byte bytes[sizeof(P)];
    std::memcpy(bytes, packed, sizeof(P));
    return *std::launder(reinterpret_cast<P*>(bytes));
  }
};

template <class T, class Seen, ParameterKind Kind>
struct ViewParameter {
  static constexpr bool is_view = true;
  static constexpr bool is_tile = false;
  using Element = T;
  static constexpr Parameter parameter{Kind, sizeof(T)};
  static constexpr std::size_t packed_bytes = sizeof(BufferArgument);
  static Seen unpack(const std::byte* packed) noexcept {
    BufferArgument argument;
    std::memcpy(&argument, packed, sizeof(argument));
    return Seen(reinterpret_cast<T*>(argument.address), argument.count);
  }
};

template <class T>
struct ParameterTraits<std::span<T>>
    : ViewParameter<T, std::span<T>,
                    std::is_const_v<T> ? ParameterKind::read : ParameterKind::read_write> {};

template <class T, std::size_t Extent>
struct ParameterTraits<std::span<T, Extent>> {
  static_assert(
      Extent == std::dynamic_extent,
      "A kernel takes std::span<T> without a fixed extent: the view's count is the launch's.");
};

template <class T>
struct ParameterTraits<Out<T>> : ViewParameter<T, Out<T>, ParameterKind::write> {};

template <class T, class Seen, ParameterKind Kind>
struct TileParameter {
  static constexpr bool is_view = true;
  static constexpr bool is_tile = true;
  using Element = T;
  static constexpr Parameter parameter{Kind, sizeof(T), ParameterShape::tile};
  static constexpr std::size_t packed_bytes = sizeof(TileArgument);
  static Seen unpack(const std::byte* packed) noexcept {
    TileArgument tile;
    std::memcpy(&tile, packed, sizeof(tile));
    return Seen(reinterpret_cast<T*>(tile.address), tile.width, tile.height, tile.pitch);
  }
};

template <class T>
struct ParameterTraits<Span2D<T>>
    : TileParameter<T, Span2D<T>,
                    std::is_const_v<T> ? ParameterKind::read : ParameterKind::read_write> {};

template <class T>
struct ParameterTraits<Out2D<T>> : TileParameter<T, Out2D<T>, ParameterKind::write> {};

// The parameters of a callable that has one call operator.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};

template <class R, class F, class... Ps>
struct Signature<R (F::*)(Ps...) const> : Signature<R (*)(Ps...)> {};

template <class R, class F, class... Ps>
struct Signature<R (F::*)(Ps...) const noexcept> : Signature<R (*)(Ps...)> {};

template <class R, class F, class... Ps>
struct Signature<R (F::*)(Ps...)> {
  static_assert(sizeof(F) == 0, "A kernel's callable is const: it is called by several threads.");
};

template <class R, class... Ps>
struct Signature<R (*)(Ps...) noexcept> : Signature<R (*)(Ps...)> {};

template <class R, class First, class... Ps>
struct Signature<R (*)(First, Ps...)> {
  static_assert(std::is_same_v<std::remove_cvref_t<First>, Cell>,
                "The first parameter of a kernel's callable is a thalweg::Cell.");
  static_assert(!std::is_lvalue_reference_v<First> ||
                    std::is_const_v<std::remove_reference_t<First>>,
                "A kernel takes its Cell by value or by reference to const.");
  static_assert(
      ((!std::is_lvalue_reference_v<Ps> || std::is_const_v<std::remove_reference_t<Ps>>) && ...),
      "A kernel takes its parameters by value or by reference to const.");
  using Parameters = std::tuple<std::remove_cvref_t<Ps>...>;
};

template <class F>
concept PlainCallable = std::is_pointer_v<F> || requires { &F::operator(); };

// Offsets of packed arguments, and their sum at the end.
template <class... Ps>
constexpr auto packed_offsets(std::type_identity<std::tuple<Ps...>>) {
  std::array<std::size_t, sizeof...(Ps) + 1> offsets{};
  std::size_t index = 0;
  ((offsets[index + 1] = offsets[index] + ParameterTraits<Ps>::packed_bytes, ++index), ...);
  return offsets;
}

template <class F>
class TypedKernelCode final : public KernelCode {
 public:
  using Parameters = typename Signature<F>::Parameters;
  static constexpr std::size_t kCount = std::tuple_size_v<Parameters>;
  static constexpr auto kOffsets = packed_offsets(std::type_identity<Parameters>{});

  TypedKernelCode(std::string name, F callable)
      : KernelCode({}, kTable, is_null_callable(callable) ? nullptr : &call),
        text_(std::move(name)),
        callable_(std::move(callable)) {
    name_ = text_;
  }

 private:
  template <std::size_t... I>
  static constexpr auto make_table(std::index_sequence<I...>) {
    return std::array<Parameter, kCount>{
        ParameterTraits<std::tuple_element_t<I, Parameters>>::parameter...};
  }
  static constexpr auto kTable = make_table(std::make_index_sequence<kCount>{});

  static void call(const KernelCode& code, const std::byte* packed, const CellRange& cells) {
    static_cast<const TypedKernelCode&>(code).loop(packed, cells,
                                                   std::make_index_sequence<kCount>{});
  }

  // Rows of x; the first and the last may be cut.
  template <std::size_t... I>
  void loop([[maybe_unused]] const std::byte* packed, const CellRange& cells,
            std::index_sequence<I...>) const {
    const std::tuple<std::tuple_element_t<I, Parameters>...> arguments{
        ParameterTraits<std::tuple_element_t<I, Parameters>>::unpack(packed + kOffsets[I])...};
    const Extent extent = cells.extent;
    std::uint64_t index = cells.first;
    Cell cell;
    if (index != 0)
      cell = {index % extent.x, index / extent.x % extent.y, index / extent.x / extent.y};
    while (index < cells.last) {
      const std::uint64_t left = cells.last - index;
      const std::uint64_t row = extent.x - cell.x;
      const std::uint64_t end = cell.x + (left < row ? left : row);
      index += end - cell.x;
      for (; cell.x < end; ++cell.x) callable_(cell, std::get<I>(arguments)...);
      cell.x = 0;
      if (++cell.y == extent.y) {
        cell.y = 0;
        ++cell.z;
      }
    }
  }

  std::string text_;
  F callable_;
};

}  // namespace detail

template <class F>
class [[nodiscard]] Kernel {
 public:
  using Code = detail::TypedKernelCode<F>;

  explicit Kernel(Ref<Code> code) noexcept : code_(std::move(code)) {}

  std::string_view name() const noexcept { return code_ ? code_->name() : std::string_view{}; }
  const Code* code() const noexcept { return code_.get(); }

 private:
  Ref<Code> code_;
};

// Makes a kernel that runs `callable` on the cpu.
template <class F>
Kernel<std::decay_t<F>> kernel(std::string_view name, F&& callable) {
  using Callable = std::decay_t<F>;
  static_assert(detail::PlainCallable<Callable>,
                "A kernel's callable has exactly one call operator and no `auto` parameter: the "
                "accesses follow from its parameters' types.");
  return Kernel<Callable>(
      make_ref<detail::TypedKernelCode<Callable>>(std::string(name), std::forward<F>(callable)));
}

}  // namespace thalweg
