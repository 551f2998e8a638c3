// SPDX-License-Identifier: Apache-2.0
//
// support/order_model.hpp - what must be ordered, and what is, worked out the slow way.
//
// A program is a list of nodes: tasks, and whatever else took a serial. The model keeps, for each
// cell (a byte, or what the tokens of an allocation share), every node that ever touched it, and,
// for each node, every node it is ordered after: those before it on its queue, those it waited for,
// and all that is before one of these. Nothing is ever forgotten or summed up.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::test {

// A set of numbers.
class Bits {
 public:
  bool has(std::size_t n) const;
  void add(std::size_t n);
  void add(const Bits& other);
  void remove(const Bits& other);
  std::vector<std::size_t> members() const;

 private:
  std::vector<std::uint64_t> words_;
};

struct ModelAccess {
  std::vector<std::size_t> cells;
  bool writes = false;
};

class OrderModel {
 public:
  static constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

  explicit OrderModel(std::size_t queues);

  // Makes cells nobody has touched; returns the first one's number.
  std::size_t add_cells(std::size_t count);

  // The next node of `queue` waits for `node`.
  void owe(std::size_t queue, std::size_t node);

  // Appends a node to `queue`, with the waits it is owed.
  std::size_t append(std::size_t queue);

  // The latest node of `queue`, or kNoNode.
  std::size_t tail(std::size_t queue) const { return queues_[queue].tail; }

  // Enters what `node` touches.
  void touch(std::size_t node, const ModelAccess& access);

  // Nodes that conflict with the access: all that touched a cell of it, or only those that wrote
  // one.
  Bits conflicts(const ModelAccess& access) const;

  bool ordered(std::size_t before, std::size_t after) const;

  // Those of `candidates` that the next node of `queue` needs a wait for: not passed, not ordered
  // before it anyway, and not before another one of these.
  Bits needed(std::size_t queue, const Bits& candidates) const;

  // True when all that is before `node` has passed.
  bool may_pass(std::size_t node) const;
  void pass(std::size_t node) { passed_.add(node); }
  bool passed(std::size_t node) const { return passed_.has(node); }

 private:
  struct Queue {
    std::size_t tail = kNoNode;
    Bits before_next;
  };
  struct Cell {
    Bits writers;
    Bits users;
  };

  std::vector<Queue> queues_;
  std::vector<Cell> cells_;
  std::vector<Bits> before_;  // By node.
  Bits passed_;
};

}  // namespace thalweg::test
