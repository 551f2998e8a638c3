// SPDX-License-Identifier: Apache-2.0
//
// unit/order/world.hpp - queues, blocks and buffers that are ordered by the layer under test and
// judged by the model.
//
// A World does what a runtime does for a submission, and nothing else: nothing runs. What the layer
// decides is entered in the model; what the model then finds missing or too much is counted.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "support/order_model.hpp"
#include "thalweg/base/access.hpp"
#include "thalweg/order/access_map.hpp"
#include "thalweg/order/placement.hpp"
#include "thalweg/order/point.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::test {

// Bytes that outlive the buffers on them.
struct Block {
  std::size_t first_cell = 0;
  std::size_t size_bytes = 0;
  order::PointSet uses;  // What the dropped buffer left behind.
};

struct Buffer : Allocation {
  order::AccessMap map;
  Block* block = nullptr;  // Null for a buffer without bytes.
  std::size_t token_cell = 0;
  order::QueueIndex home = 0;
  bool shared = false;  // Another queue than home has touched it.
};

struct Findings {
  std::size_t tasks = 0;
  std::size_t waits = 0;
  std::size_t redundant = 0;  // Waits that the model says are implied.
  std::size_t unordered = 0;  // Conflicts neither ordered nor over.

  Findings& operator+=(const Findings& other);
};

struct WorldOptions {
  std::size_t queues = 2;
  bool passing = false;  // Otherwise nothing ever passes.

  // A wait is for this many serials later than asked, if the source has them: a driver's fence.
  std::size_t fence_distance = 0;

  bool home_path = false;  // Use apply_home where it is allowed.
  Serial start;            // Of each queue.
};

class World {
 public:
  explicit World(const WorldOptions& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  const Findings& findings() const { return findings_; }
  const order::WaitCounts& counts() const { return counts_; }
  OrderModel& model() { return model_; }
  order::QueueTable& table() { return table_; }
  std::size_t queue_count() const { return queues_.size(); }
  order::QueueOrder& queue(order::QueueIndex index) { return queues_[index]->order; }

  // A block nobody has used, and a buffer on it (null: no bytes), born free of uses. Both are kept.
  Block& add_block(std::size_t size_bytes);
  Buffer& add_buffer(Block* block, std::size_t size_bytes, order::QueueIndex home);

  // Whole-buffer accesses.
  static Access read(Buffer& buffer) { return whole(buffer, AccessMode::read); }
  static Access write(Buffer& buffer) { return whole(buffer, AccessMode::write); }
  static Access token(Buffer& buffer) { return whole(buffer, AccessMode::token); }

  // A task. Returns its point.
  order::Point submit(order::QueueIndex queue, const std::vector<Access>& accesses);

  // Something without accesses that takes a serial.
  order::Point submit_empty(order::QueueIndex queue);

  // An event: a point after everything `queue` was told so far.
  order::Point record(order::QueueIndex queue);

  // What `queue` takes next waits for `points`, as far as needed. Returns whether a wait was
  // placed.
  bool wait(order::QueueIndex queue, const order::PointSet& points);

  // The buffer's points go to its block.
  void drop(Buffer& buffer);

  // A buffer on a used block: waits for the uses of the block, then a birth after the waits; no
  // birth if all uses are over.
  Buffer& reserve(Block& block, std::size_t size_bytes, order::QueueIndex home);

  // Enters a birth in map and model.
  void bear(Buffer& buffer, order::Point birth);

  // Lets the next thing of `queue` pass, if it may. Only with `passing`.
  bool pass(order::QueueIndex queue);

  // The node that took the point's serial.
  std::size_t node(order::Point point) const;

  // Enters a placed wait in the model alone.
  void owe(order::QueueIndex queue, order::Point point) { model_.owe(queue, node(point)); }

  // Users of the block's bytes that are neither over nor at or before `node`.
  std::size_t unordered_users(const Block& block, std::size_t node) const;

 private:
  struct Queue {
    order::QueueOrder order;
    std::atomic<std::uint64_t> passed{0};
    std::vector<std::size_t> nodes;  // By serial.
  };

  static Access whole(Buffer& buffer, AccessMode mode);
  static Buffer& buffer_of(const Access& access) {
    return static_cast<Buffer&>(*access.allocation);
  }
  static ModelAccess describe(const Access& access);
  static ModelAccess describe(const Block& block);

  bool is_home(order::QueueIndex queue, const std::vector<Access>& accesses) const;
  void place(order::QueueIndex queue, const order::PointSet& candidates, const Bits& conflicts);
  order::Point later(order::Point point) const;

  WorldOptions options_;
  order::QueueTable& table_;
  OrderModel model_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  Findings findings_;
  order::WaitCounts counts_;
  order::PointSet waits_;
};

// Numbers that are the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // From 0 to count - 1.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  bool percent(std::size_t chance) { return below(100) < chance; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace thalweg::test
