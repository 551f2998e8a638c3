// SPDX-License-Identifier: Apache-2.0

#include "unit/order/world.hpp"

#include <algorithm>

#include "base/plant.hpp"

namespace thalweg::test {
namespace {

using model::Step;
using model::Steps;
using order::Point;
using order::PointSet;
using order::QueueIndex;

order::QueueTable& process_table() {
  static order::QueueTable table;
  return table;
}

model::Mode mode_of(AccessMode mode) {
  switch (mode) {
    case AccessMode::read:
      return model::Mode::read;
    case AccessMode::token:
      return model::Mode::token;
    default:
      return model::Mode::write;
  }
}

}  // namespace

Findings& Findings::operator+=(const Findings& other) {
  tasks += other.tasks;
  waits += other.waits;
  births += other.births;
  unordered += other.unordered;
  lost += other.lost;
  untrue += other.untrue;
  misowed += other.misowed;
  missing += other.missing;
  redundant += other.redundant;
  foreign += other.foreign;
  unlearnt += other.unlearnt;
  return *this;
}

World::World(const WorldOptions& options) : options_(options), table_(process_table()) {
  for (std::size_t i = 0; i != options.queues; ++i) {
    queues_.emplace_back(std::make_unique<Queue>());
    queues_[i]->passed = options.start.value;
    open(static_cast<QueueIndex>(i), options.start);
  }
}

World::~World() {
  for (const auto& queue : queues_) {
    table_.set(queue->order.index(), nullptr);
    queue->order.close();
  }
}

void World::open(QueueIndex index, Serial start) {
  Queue& queue = *queues_[index];
  queue.id = model::Queue{queues_opened_++};
  queue.order.open(index, options_.passing ? &queue.passed : nullptr, start);
  table_.set(index, &queue.order);
  model_.open(queue.id);
}

Block& World::add_block(std::size_t size_bytes) {
  Block& block = *blocks_.emplace_back(std::make_unique<Block>());
  block.id = model::Block{static_cast<int>(blocks_.size())};
  block.size_bytes = size_bytes;
  return block;
}

Buffer& World::spare_buffer() {
  if (spares_.empty()) return *buffers_.emplace_back(std::make_unique<Buffer>());
  Buffer& buffer = *spares_.back();
  spares_.pop_back();
  return buffer;
}

Buffer& World::add_buffer(Block* block, std::size_t size_bytes, QueueIndex home) {
  Buffer& buffer = spare_buffer();
  buffer.id = model::Buffer{buffers_added_++};
  buffer.size_bytes = size_bytes;
  buffer.map.reset(size_bytes);
  buffer.block = block;
  buffer.home = home;
  buffer.shared = false;
  model_.reserve(buffer.id, block == nullptr ? model::Block{} : block->id);
  return buffer;
}

Access World::whole(Buffer& buffer, AccessMode mode) {
  Access access;
  access.allocation = &buffer;
  access.row_bytes = buffer.size_bytes;
  access.mode = mode;
  return access;
}

model::Access World::describe(const Access& access) {
  return {buffer_of(access).id, mode_of(access.mode), access.offset,
          access.row_bytes,     access.rows,          access.pitch};
}

model::Access World::all_of(const Buffer& buffer, std::uint64_t size_bytes) {
  return {buffer.id, model::Mode::write, 0, size_bytes};
}

std::optional<Step> World::step(Point point) const {
  const std::uint64_t serial = point.serial().value;
  if (serial <= options_.start.value) return std::nullopt;
  return queues_[point.queue()]->steps[serial - options_.start.value - 1];
}

bool World::is_home(QueueIndex queue, const std::vector<Access>& accesses) const {
  return options_.home_path && std::all_of(accesses.begin(), accesses.end(), [&](const Access& a) {
           return buffer_of(a).home == queue && !buffer_of(a).shared;
         });
}

Point World::later(Point point) const {
  const std::uint64_t last = queues_[point.queue()]->order.last().value;
  const std::uint64_t serial = point.serial().value + options_.fence_distance;
  return Point(point.queue(), Serial{std::min(serial, last)});
}

// The verdicts.

void World::judge_points(const PointSet& points, const Steps& conflicts) {
  Steps told;
  for (const Point point : points) {
    const std::optional<Step> at = step(point);
    if (!at || !conflicts.has(*at)) ++findings_.foreign;
    if (at) told.add(*at).add(model_.before(*at));
  }
  findings_.lost += model_.left(conflicts).without(told).count();
}

void World::judge_choice(QueueIndex index, const Steps& must) {
  const Steps needed = model_.needed(id(index), must);
  Steps chosen;
  for (const Point wait : waits_) {
    if (const std::optional<Step> at = step(wait)) chosen.add(*at);
  }
  findings_.waits += waits_.size();
  findings_.missing += needed.without(chosen).count();
  findings_.redundant += chosen.without(needed).count();
}

void World::judge_frontier(QueueIndex index, const order::Frontier* frontier, const Steps& before) {
  for (Step step = 0; step != model_.steps(); ++step) {
    if (points_[step].queue() == index || model_.passed(step)) continue;
    const bool covered = frontier != nullptr && frontier->covers(points_[step]);
    if (covered && !before.has(step)) ++findings_.untrue;
    if (!covered && before.has(step)) ++findings_.unlearnt;
  }
}

void World::judge_order(QueueIndex index, const Steps& must) {
  findings_.unordered += model_.left(must).without(model_.next(id(index))).count();
}

void World::judge_history() {
  for (Step step = 0; step != model_.steps(); ++step) {
    if (model_.passed(step)) continue;
    const Point point = points_[step];
    judge_frontier(point.queue(), queue(point.queue()).frontier_at(point.serial()),
                   model_.before(step));
  }
}

// What a runtime does.

void World::owe(QueueIndex index, Point point) {
  if (const std::optional<Step> at = step(point)) model_.wait(id(index), *at);
}

// Chooses the waits and places them.
void World::place(QueueIndex index, const PointSet& candidates, const Steps& must) {
  order::QueueOrder& taker = queue(index);
  choose_waits(taker, candidates, table_, waits_, counts_);
  judge_choice(index, must);
  for (const Point wait : waits_) {
    merge_wait(taker, later(wait), table_);
    owe(index, later(wait));
  }
  judge_frontier(index, &taker.frontier(), model_.next(id(index)));
  judge_order(index, must);
}

Point World::submit(QueueIndex index, const std::vector<Access>& accesses) {
  const bool home = is_home(index, accesses);
  Steps must;
  PointSet candidates;
  for (const Access& access : accesses) {
    const Steps conflicts = model_.conflicts(describe(access));
    must.add(conflicts);
    if (home) continue;
    Buffer& buffer = buffer_of(access);
    buffer.shared |= buffer.home != index;
    PointSet points;
    buffer.map.collect(access, points);
    judge_points(points, conflicts);
    candidates.add(points);
  }
  home ? judge_order(index, must) : place(index, candidates, must);

  const Point point = submit_empty(index);
  for (const Access& access : accesses) {
    order::AccessMap& map = buffer_of(access).map;
    home ? map.apply_home(access, point) : map.apply(access, point, table_);
    model_.use(*step(point), describe(access));
  }
  ++findings_.tasks;
  return point;
}

Point World::submit_empty(QueueIndex index) {
  Queue& queue = *queues_[index];
  queue.order.take();
  queue.steps.push_back(model_.take(queue.id));
  points_.push_back(queue.order.tail());
  return queue.order.tail();
}

Point World::record(QueueIndex index) {
  const bool owed = queue(index).wait_owed();
  if (owed != model_.owes(id(index))) ++findings_.misowed;
  const bool forgotten = plant::planted(plant::Bug::wait_without_serial);
  return owed && !forgotten ? submit_empty(index) : queue(index).tail();
}

bool World::wait(QueueIndex index, const PointSet& points) {
  Steps must;
  for (const Point point : points) {
    if (const std::optional<Step> at = step(point)) must.add(*at);
  }
  place(index, points, must);
  return !waits_.empty();
}

void World::record(model::Event event, QueueIndex index) {
  events_[event] = record(index);
  model_.record(event, id(index));
}

bool World::wait_event(QueueIndex index, model::Event event) {
  PointSet points;
  points.add(events_[event]);
  place(index, points, model_.recorded(event));
  return !waits_.empty();
}

bool World::wait_stream(QueueIndex index, QueueIndex other) {
  if (index == other) return false;
  PointSet points;
  points.add(record(other));
  place(index, points, model_.next(id(other)));
  return !waits_.empty();
}

void World::drop(Buffer& buffer) {
  PointSet& uses = buffer.block->uses;
  uses.clear();
  buffer.map.points(uses, table_);
  if (plant::planted(plant::Bug::free_without_home_point))
    uses.remove_if([&](Point point) { return point.queue() == buffer.home; });
  judge_points(uses, model_.conflicts(all_of(buffer, buffer.size_bytes)));
  spares_.push_back(&buffer);
}

Buffer& World::reserve(Block& block, std::size_t size_bytes, QueueIndex home) {
  Buffer& buffer = add_buffer(&block, size_bytes, home);
  const Steps users = model_.conflicts(all_of(buffer, block.size_bytes));
  block.uses.remove_if([this](Point point) { return table_.passed(point); });
  place(home, block.uses, users);
  bear(buffer, users);
  return buffer;
}

// Others wait for the birth, and so for all who used the block before.
void World::bear(Buffer& buffer, const Steps& users) {
  if (buffer.block->uses.empty() || plant::planted(plant::Bug::empty_birth)) return;
  const Point birth = record(buffer.home);
  buffer.map.set_birth(birth);
  model_.bear(all_of(buffer, buffer.size_bytes), id(buffer.home));
  ++findings_.births;

  Steps told;
  if (const std::optional<Step> born = step(birth)) told.add(*born).add(model_.before(*born));
  findings_.unordered += model_.left(users).without(told).count();
}

void World::let_pass(Step step) {
  model_.pass(step);
  queues_[points_[step].queue()]->passed = points_[step].serial().value;
}

bool World::pass(QueueIndex index) {
  const Queue& queue = *queues_[index];
  const std::uint64_t next = queue.passed.load() + 1;
  if (!options_.passing || next > queue.order.last().value) return false;
  const Step passing = *step(Point(index, Serial{next}));
  if (!model_.may_pass(passing)) return false;
  let_pass(passing);
  return true;
}

// A later step of a queue has a greater number, and so has what is after a step.
void World::pass_all(QueueIndex index) {
  if (!options_.passing) return;
  for (const Step step : model_.left(model_.next(id(index))).list()) let_pass(step);
}

bool World::recycle(QueueIndex index) {
  Queue& queue = *queues_[index];
  const Serial last = queue.order.last();
  if (!options_.passing || !queue.order.passed(last)) return false;
  table_.set(index, nullptr);
  queue.order.close();
  open(index, last);
  return true;
}

}  // namespace thalweg::test
