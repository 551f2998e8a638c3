// SPDX-License-Identifier: Apache-2.0

#include "support/model/results.hpp"

#include <cstring>

namespace thalweg::test::model {
namespace {

// The elements of a range, read and written in place.
class Elements {
 public:
  Elements(std::map<int, Values>& buffers, const Range& range)
      : data_(range.given() ? buffers.at(range.buffer).data() : nullptr),
        range_(range),
        count_(range.given() ? range.total() : 0) {}

  std::uint32_t count() const { return count_; }
  std::uint32_t& operator[](std::uint32_t i) const { return data_[range_.element(i)]; }

  // Starts again at the first element; zeros when there is none.
  std::uint32_t cyclic(std::uint32_t i) const { return count_ == 0 ? 0 : (*this)[i % count_]; }

 private:
  std::uint32_t* data_;
  Range range_;
  std::uint32_t count_;
};

void fill_bytes(Values& values, const Range& bytes, std::uint32_t value) {
  if (bytes.count == 0) return;
  std::memset(reinterpret_cast<unsigned char*>(values.data()) + bytes.first,
              static_cast<int>(value & 0xff), bytes.count);
}

// Whether element `i` is that of a cell of the grid.
bool in_grid(const Elements& grid, std::uint32_t i) {
  return i % kGridX < grid[0] && i / kGridX % kGridY < grid[2] && i / kGridX / kGridY < grid[4];
}

void run(const Op& op, Expected& state) {
  if (op.kind == OpKind::create_buffer || op.kind == OpKind::create_upload)
    state.buffers[op.a.buffer].resize(op.a.count);
  if (op.kind == OpKind::fill_bytes)
    return fill_bytes(state.buffers.at(op.a.buffer), op.a, op.value);
  if (op.kind == OpKind::drop_buffer) {
    state.buffers.erase(op.a.buffer);
    return;
  }
  if (op.kind == OpKind::refused || !op.a.given()) return;

  const Elements a(state.buffers, op.a);
  const Elements b(state.buffers, op.b);
  const Elements c(state.buffers, op.c);
  for (std::uint32_t i = 0; i < a.count(); ++i) {
    switch (op.kind) {
      case OpKind::create_buffer:
      case OpKind::fill:
        a[i] = op.value;
        break;
      case OpKind::create_upload:
      case OpKind::host_write:
      case OpKind::upload_copy:
      case OpKind::upload_move:
      case OpKind::upload_borrowed:
        a[i] = pattern(op.value, i);
        break;
      case OpKind::copy:
        a[i] = b[i];
        break;
      case OpKind::affine:
        if (i < op.x * op.y * op.z) a[i] = a[i] * 3 + op.value;
        break;
      case OpKind::indirect:
        if (in_grid(c, i)) a[i] = a[i] * 3 + op.value;
        break;
      case OpKind::set_grid:
        a[i] = i == 0 ? op.x : i == 2 ? op.y : i == 4 ? op.z : 0;
        break;
      case OpKind::tile_axpy:
      case OpKind::axpy:
        a[i] = a[i] * 3 + b.cyclic(i) + op.value;
        break;
      case OpKind::tile_combine:
      case OpKind::combine:
        a[i] = b.cyclic(i) * 5 + c.cyclic(i) * 7 + op.value;
        break;
      case OpKind::exchange: {
        const std::uint32_t old = a[i];
        a[i] = b[i] + op.value;
        b[i] = old * 3 + 1;
        break;
      }
      case OpKind::add:
      case OpKind::add_pair:
        a[i] += op.value;
        break;
      case OpKind::host_update:
        a[i] = a[i] * 5 + b.cyclic(i) + op.value;
        break;
      default:
        break;
    }
  }
  if (op.kind == OpKind::add_pair)
    for (std::uint32_t i = 0; i < b.count(); ++i) b[i] += op.value;
  if (op.kind == OpKind::read) {
    Values& values = state.reads[op.read];
    for (std::uint32_t i = 0; i < a.count(); ++i) values.push_back(a[i]);
  }
}

}  // namespace

Expected run_in_order(const Program& program, const Log& log) {
  Expected state;
  for (const LogEntry entry : log) run(op_of(program, entry), state);
  return state;
}

namespace {

bool agree(const std::map<int, Values>& one, const std::map<int, Values>& other,
           const std::map<int, Values>& seen) {
  for (const auto& [id, values] : seen) {
    const auto a = one.find(id);
    const auto b = other.find(id);
    if (a == one.end() || b == other.end() || a->second.size() != values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (a->second[i] == b->second[i] && a->second[i] != values[i]) return false;
  }
  return true;
}

// The log with `value` in everything that the task at `at` may write, instead of that task.
Expected run_with(Program program, const Log& log, LogEntry at, std::uint32_t value) {
  const Op op = op_of(program, at);
  Log changed;
  for (const LogEntry entry : log) {
    if (entry.part != at.part || entry.index != at.index) {
      changed.push_back(entry);
      continue;
    }
    Op first = op;
    const bool whole = op.kind == OpKind::create_buffer || op.kind == OpKind::create_upload;
    if (whole) first.kind = OpKind::create_buffer;
    if (!whole && op.kind != OpKind::fill_bytes) first.kind = OpKind::fill;
    first.value = value;
    Op second = first;
    second.a = op.b;
    const bool two = op.kind == OpKind::exchange || op.kind == OpKind::add_pair;
    for (const Op& written : {first, second}) {
      if (op.kind == OpKind::read) break;
      changed.push_back({-1, static_cast<int>(program.prologue.size())});
      program.prologue.push_back(written);
      if (!two) break;
    }
  }
  return run_in_order(program, changed);
}

}  // namespace

bool agrees(const Expected& one, const Expected& other, const Expected& seen) {
  return agree(one.buffers, other.buffers, seen.buffers) &&
         agree(one.reads, other.reads, seen.reads);
}

bool agrees_without(const Program& program, const Log& log, LogEntry entry, const Expected& seen) {
  return agrees(run_with(program, log, entry, 0), run_with(program, log, entry, 0xffffffffu), seen);
}

}  // namespace thalweg::test::model
