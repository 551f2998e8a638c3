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

using Contents = std::map<int, Values> Expected::*;

// Whether an element is the same in all `ways`, and is `value`; or differs among them.
bool agrees_at(const std::vector<Expected>& ways, Contents contents, int id, std::size_t i,
               std::uint32_t value) {
  const std::uint32_t first = (ways.front().*contents).at(id)[i];
  for (const Expected& way : ways)
    if ((way.*contents).at(id)[i] != first) return true;
  return first == value;
}

bool agrees_in(const std::vector<Expected>& ways, Contents contents, const Expected& seen) {
  for (const auto& [id, values] : seen.*contents) {
    const auto expected = (ways.front().*contents).find(id);
    if (expected == (ways.front().*contents).end() || expected->second.size() != values.size())
      return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!agrees_at(ways, contents, id, i, values[i])) return false;
  }
  return true;
}

// What writes `value` wherever the operation may write.
std::vector<Op> in_place_of(const Op& op, std::uint32_t value) {
  Op first = op;
  first.value = value;
  switch (op.kind) {
    case OpKind::read:
      return {};
    case OpKind::create_buffer:
    case OpKind::create_upload:
      first.kind = OpKind::create_buffer;
      return {first};
    case OpKind::fill_bytes:
      return {first};
    default:
      break;
  }
  first.kind = OpKind::fill;
  if (op.kind != OpKind::exchange && op.kind != OpKind::add_pair) return {first};
  Op second = first;
  second.a = op.b;
  return {first, second};
}

// The log with `value` in everything that the task at `at` may write, instead of that task.
Expected run_with(Program program, const Log& log, LogEntry at, std::uint32_t value) {
  Log changed;
  for (const LogEntry entry : log) {
    if (entry.part != at.part || entry.index != at.index) {
      changed.push_back(entry);
      continue;
    }
    for (const Op& written : in_place_of(op_of(program, at), value)) {
      changed.push_back({-1, static_cast<int>(program.prologue.size())});
      program.prologue.push_back(written);
    }
  }
  return run_in_order(program, changed);
}

}  // namespace

bool agrees(const std::vector<Expected>& ways, const Expected& seen) {
  return agrees_in(ways, &Expected::buffers, seen) && agrees_in(ways, &Expected::reads, seen);
}

// Whatever values were left there: what is the same for some that differ in every byte is known.
bool agrees_without(const Program& program, const Log& log, LogEntry entry, const Expected& seen) {
  std::vector<Expected> ways;
  for (const std::uint32_t value : {0u, 0xffffffffu, 0x4d3c2b1au, 0x98a7b6c5u})
    ways.push_back(run_with(program, log, entry, value));
  return agrees(ways, seen);
}

}  // namespace thalweg::test::model
