// SPDX-License-Identifier: Apache-2.0
//
// unit/order/world.hpp - queues, blocks and buffers that are ordered by the layer under test and
// judged by the model.
//
// A World does what a runtime does for a submission, and nothing else: nothing runs. Each thing the
// layer decides is compared with the rules of the model, which is then told what took effect:
//
//   collect        the points found        stand for all conflicts, and are conflicts
//   choose_waits   the waits chosen        are those needed, no more
//   merge_wait     the frontier            covers what is before the next step, and nothing else
//   take           what the task must be   is before it, or has passed
//                  after
//
// What differs is counted.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "support/model/ordering.hpp"
#include "thalweg/base/access.hpp"
#include "thalweg/order/access_map.hpp"
#include "thalweg/order/placement.hpp"
#include "thalweg/order/point.hpp"
#include "thalweg/order/queue_order.hpp"

namespace thalweg::test {

// Bytes that outlive the buffers on them.
struct Block {
  model::Block id = {};
  std::size_t size_bytes = 0;
  order::PointSet uses;  // What the dropped buffer left behind.
};

struct Buffer : Allocation {
  order::AccessMap map;
  Block* block = nullptr;  // Null for a buffer without bytes.
  model::Buffer id = {};
  order::QueueIndex home = 0;
  bool shared = false;  // Another queue than home has touched it.
};

struct Findings {
  std::size_t tasks = 0;
  std::size_t waits = 0;
  std::size_t births = 0;

  // Never right.
  std::size_t unordered = 0;  // What must be before something, and is neither that nor over.
  std::size_t lost = 0;       // Conflicts that no point of the map stands for.
  std::size_t untrue = 0;     // What a frontier covers although it is not before.
  std::size_t misowed = 0;    // The layer and the model differ in whether a wait has no serial yet.

  // Right only where a bound was met, and more is ordered than must be.
  std::size_t missing = 0;    // Waits that are needed and not chosen.
  std::size_t redundant = 0;  // Waits that are chosen and not needed.
  std::size_t foreign = 0;    // Points of a map that are no conflicts.
  std::size_t unlearnt = 0;   // What a frontier does not cover although it is before.

  std::size_t wrong() const { return unordered + lost + untrue + misowed; }
  std::size_t inexact() const { return missing + redundant + foreign + unlearnt; }
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
  order::QueueTable& table() { return table_; }
  std::size_t queue_count() const { return queues_.size(); }
  order::QueueOrder& queue(order::QueueIndex index) { return queues_[index]->order; }

  // A block nobody has used, and a buffer on it (null: no bytes), born free of uses.
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

  // A point after everything `queue` was told so far.
  order::Point record(order::QueueIndex queue);

  // What `queue` takes next waits for `points`, as far as needed. Returns whether a wait was
  // placed.
  bool wait(order::QueueIndex queue, const order::PointSet& points);

  // An event that may be recorded again, and waits for its record, or for another queue.
  void record(model::Event event, order::QueueIndex queue);
  bool wait_event(order::QueueIndex queue, model::Event event);
  bool wait_stream(order::QueueIndex queue, order::QueueIndex other);

  // The buffer's points go to its block. The next buffer may take its place, map and all.
  void drop(Buffer& buffer);

  // A buffer on a used block: waits for the uses of the block, then a birth after the waits; no
  // birth if all uses are over.
  Buffer& reserve(Block& block, std::size_t size_bytes, order::QueueIndex home);

  // Lets the next thing of `queue` pass, if it may; or all that `queue` is after. Only with
  // `passing`.
  bool pass(order::QueueIndex queue);
  void pass_all(order::QueueIndex queue);

  // Another queue takes the slot, if all of `queue` has passed.
  bool recycle(order::QueueIndex queue);

  // Compares what was known at each serial with what is before it.
  void judge_history();

  // Enters a placed wait in the model alone.
  void owe(order::QueueIndex queue, order::Point point);

 private:
  struct Queue {
    order::QueueOrder order;
    std::atomic<std::uint64_t> passed{0};
    model::Queue id = {};
    std::vector<model::Step> steps;  // By serial, those of former queues of the slot included.
  };

  static Access whole(Buffer& buffer, AccessMode mode);
  static Buffer& buffer_of(const Access& access) {
    return static_cast<Buffer&>(*access.allocation);
  }
  static model::Access describe(const Access& access);
  static model::Access all_of(const Buffer& buffer, std::uint64_t size_bytes);

  Buffer& spare_buffer();
  model::Queue id(order::QueueIndex index) const { return queues_[index]->id; }
  void open(order::QueueIndex index, Serial start);

  // The step that took the point's serial; none for what was there before.
  std::optional<model::Step> step(order::Point point) const;

  bool is_home(order::QueueIndex queue, const std::vector<Access>& accesses) const;
  order::Point later(order::Point point) const;
  void place(order::QueueIndex queue, const order::PointSet& candidates, const model::Steps& must);
  void bear(Buffer& buffer, const model::Steps& users);
  void let_pass(model::Step step);

  void judge_points(const order::PointSet& points, const model::Steps& conflicts);
  void judge_choice(order::QueueIndex queue, const model::Steps& must);
  void judge_frontier(order::QueueIndex queue, const order::Frontier* frontier,
                      const model::Steps& before);
  void judge_order(order::QueueIndex queue, const model::Steps& must);

  WorldOptions options_;
  order::QueueTable& table_;
  model::Ordering model_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::map<model::Event, order::Point> events_;
  std::vector<order::Point> points_;  // By step.
  std::vector<Buffer*> spares_;       // Dropped.
  int queues_opened_ = 0;
  int buffers_added_ = 0;
  Findings findings_;
  order::WaitCounts counts_;
  order::PointSet waits_;
};

}  // namespace thalweg::test
