// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/kernel.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "backend/host_work.hpp"
#include "os/process.hpp"

namespace thalweg::sim {
namespace {

using Kind = neutral::TaskKind;

backend::Rows rows_of(const OpAccess& access) noexcept {
  return {access.row_bytes, access.rows, access.pitch};
}

// A byte that a kernel hardly writes by chance, and differs from its neighbours.
std::byte mark(std::uint64_t n, bool second) noexcept {
  const auto byte = static_cast<unsigned char>((n * 0x9e3779b97f4a7c15u) >> 56);
  return static_cast<std::byte>(second ? static_cast<unsigned char>(~byte) : byte);
}

void put_marks(const OpAccess& out, bool second) noexcept {
  for (std::uint64_t row = 0; row != out.rows; ++row)
    for (std::uint64_t i = 0; i != out.row_bytes; ++i)
      out.row(row)[i] = mark(row * out.row_bytes + i, second);
}

// Whether the element of `size` bytes at byte `at` of row `row` still holds its marks.
bool marked(const OpAccess& out, std::uint64_t row, std::uint64_t at, std::uint64_t size,
            bool second) noexcept {
  for (std::uint64_t i = at; i != at + size; ++i)
    if (out.row(row)[i] != mark(row * out.row_bytes + i, second)) return false;
  return true;
}

// An Out of a kernel and its elements that may be unwritten.
struct Suspect {
  const OpAccess* out = nullptr;
  std::uint64_t element_bytes = 1;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> elements;  // Row, and byte in it.
};

// A kernel with its Outs marked, and what it changes kept so that it can be run again.
class OutCheck {
 public:
  explicit OutCheck(const Op& op) : op_(op) {
    std::size_t at = 0;
    for (const Parameter& parameter : op.code->parameters()) {
      if (parameter.kind == ParameterKind::scalar) continue;
      const OpAccess& access = op.accesses[at++];
      if (parameter.kind == ParameterKind::write && access.row_bytes != 0)
        suspects_.push_back({&access, parameter.size_bytes, {}});
    }
    if (suspects_.empty()) return;
    for (const Suspect& suspect : suspects_) put_marks(*suspect.out, false);
    for (const OpAccess& access : op.accesses)
      if (access.mode == AccessMode::read_write) keep(access);
  }

  // Whether some element seems unwritten.
  bool suspicious() {
    bool any = false;
    for (Suspect& suspect : suspects_) {
      const OpAccess& out = *suspect.out;
      for (std::uint64_t row = 0; row != out.rows; ++row)
        for (std::uint64_t at = 0; at + suspect.element_bytes <= out.row_bytes;
             at += suspect.element_bytes)
          if (marked(out, row, at, suspect.element_bytes, false)) {
            suspect.elements.emplace_back(row, at);
            any = true;
          }
    }
    return any;
  }

  void begin_again() noexcept {
    const std::byte* from = kept_.data();
    for (const OpAccess& access : op_.accesses) {
      if (access.mode != AccessMode::read_write) continue;
      backend::copy_rows(access.row(0), rows_of(access), from, access.row_bytes);
      from += access.rows * access.row_bytes;
    }
    for (const Suspect& suspect : suspects_) put_marks(*suspect.out, true);
  }

  Bytes unwritten() const noexcept {
    for (const Suspect& suspect : suspects_)
      for (const auto& [row, at] : suspect.elements)
        if (marked(*suspect.out, row, at, suspect.element_bytes, true)) {
          const std::uint64_t begin = suspect.out->bytes(row).begin + at;
          return {begin, begin + suspect.element_bytes};
        }
    return {};
  }

 private:
  void keep(const OpAccess& access) {
    const std::size_t old = kept_.size();
    kept_.resize(old + access.rows * access.row_bytes);
    for (std::uint64_t row = 0; row != access.rows && access.row_bytes != 0; ++row)
      std::memcpy(kept_.data() + old + row * access.row_bytes, access.row(row), access.row_bytes);
  }

  const Op& op_;
  std::vector<Suspect> suspects_;
  std::vector<std::byte> kept_;
};

void run_cells(const Op& op, const Extent& extent) {
  const std::uint64_t cells = extent.x * extent.y * extent.z;
  if (cells != 0) op.code->run(op.arguments.data(), {extent, 0, cells});
}

Ran run_kernel(const Op& op, const Extent& extent) {
  try {
    OutCheck outs(op);
    run_cells(op, extent);
    if (!outs.suspicious()) return {};
    outs.begin_again();
    run_cells(op, extent);
    return {std::nullopt, outs.unwritten()};
  } catch (...) {
    return {backend::thrown("Kernel", op.code->name(), op.user->site), {}};
  }
}

Ran run_indirect(const Op& op) {
  Extent extent;
  std::memcpy(&extent, op.accesses.back().row(0), sizeof(extent));
  if (launchable(extent)) return run_kernel(op, extent);
  return {backend::grid_refused(op.code->name(), extent, op.user->site), {}};
}

std::optional<Error> run_function(Op& op) {
  try {
    op.function();
    return std::nullopt;
  } catch (...) {
    return backend::thrown(op.kind == Kind::host ? "Host function" : "Native work", op.user->name,
                           op.user->site);
  }
}

std::optional<Error> run_signal(const Op& op) {
  if (op.timeline->raise(op.timeline_value)) return std::nullopt;
  return backend::signal_refused(op.timeline_value, op.timeline->value(), op.user->site);
}

}  // namespace

Ran run_body(Op& op, std::uint64_t now_ns) {
  switch (op.kind) {
    case Kind::fill:
      backend::fill_rows(op.accesses[0].row(0), rows_of(op.accesses[0]), op.pattern,
                         op.pattern_bytes);
      return {};
    case Kind::copy:
      backend::copy_rows(op.accesses[0].row(0), rows_of(op.accesses[0]), op.accesses[1].row(0),
                         op.accesses[1].pitch);
      return {};
    case Kind::upload:
      backend::copy_rows(op.accesses[0].row(0), rows_of(op.accesses[0]), op.host_source,
                         op.host_pitch);
      return {};
    case Kind::read_back:
      backend::copy_rows(op.host_target,
                         {op.accesses[0].row_bytes, op.accesses[0].rows, op.host_pitch},
                         op.accesses[0].row(0), op.accesses[0].pitch);
      return {};
    case Kind::kernel:
    case Kind::indirect: {
      Ran ran = op.kind == Kind::kernel ? run_kernel(op, op.extent) : run_indirect(op);
      os::end_forked_child();
      return ran;
    }
    case Kind::host:
    case Kind::native: {
      Ran ran{run_function(op), {}};
      os::end_forked_child();
      return ran;
    }
    case Kind::signal:
      return {run_signal(op), {}};
    case Kind::stamp:
      op.time->set(std::chrono::nanoseconds(static_cast<std::int64_t>(now_ns)));
      return {};
    default:
      return {};
  }
}

}  // namespace thalweg::sim
