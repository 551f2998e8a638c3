// SPDX-License-Identifier: Apache-2.0

#include "unit/order/world.hpp"

#include <algorithm>

namespace thalweg::test {
namespace {

order::QueueTable& process_table() {
  static order::QueueTable table;
  return table;
}

}  // namespace

Findings& Findings::operator+=(const Findings& other) {
  tasks += other.tasks;
  waits += other.waits;
  redundant += other.redundant;
  unordered += other.unordered;
  return *this;
}

World::World(const WorldOptions& options)
    : options_(options), table_(process_table()), model_(options.queues) {
  for (std::size_t i = 0; i != options.queues; ++i) {
    Queue& queue = *queues_.emplace_back(std::make_unique<Queue>());
    queue.passed = options.start.value;
    const auto index = static_cast<order::QueueIndex>(i);
    queue.order.open(index, options.passing ? &queue.passed : nullptr, options.start);
    table_.set(index, &queue.order);
  }
}

World::~World() {
  for (const auto& queue : queues_) {
    table_.set(queue->order.index(), nullptr);
    queue->order.close();
  }
}

Block& World::add_block(std::size_t size_bytes) {
  Block& block = *blocks_.emplace_back(std::make_unique<Block>());
  block.first_cell = model_.add_cells(size_bytes);
  block.size_bytes = size_bytes;
  return block;
}

Buffer& World::add_buffer(Block* block, std::size_t size_bytes, order::QueueIndex home) {
  Buffer& buffer = *buffers_.emplace_back(std::make_unique<Buffer>());
  buffer.size_bytes = size_bytes;
  buffer.map.reset(size_bytes);
  buffer.block = block;
  buffer.token_cell = model_.add_cells(1);
  buffer.home = home;
  return buffer;
}

Access World::whole(Buffer& buffer, AccessMode mode) {
  Access access;
  access.allocation = &buffer;
  access.row_bytes = buffer.size_bytes;
  access.mode = mode;
  return access;
}

ModelAccess World::describe(const Access& access) {
  const Buffer& buffer = buffer_of(access);
  ModelAccess described{{}, access.mode != AccessMode::read};
  for (std::size_t row = 0; row != access.rows; ++row) {
    for (std::size_t byte = 0; byte != access.row_bytes; ++byte) {
      const std::size_t position = access.offset + row * access.pitch + byte;
      described.cells.push_back(buffer.block->first_cell + position);
    }
  }
  if (access.mode == AccessMode::token) described.cells.push_back(buffer.token_cell);
  return described;
}

ModelAccess World::describe(const Block& block) {
  ModelAccess described{{}, true};
  for (std::size_t byte = 0; byte != block.size_bytes; ++byte) {
    described.cells.push_back(block.first_cell + byte);
  }
  return described;
}

std::size_t World::node(order::Point point) const {
  const Queue& queue = *queues_[point.queue()];
  const std::uint64_t serial = point.serial().value;
  if (serial <= options_.start.value) return OrderModel::kNoNode;
  return queue.nodes[serial - options_.start.value - 1];
}

bool World::is_home(order::QueueIndex queue, const std::vector<Access>& accesses) const {
  return options_.home_path && std::all_of(accesses.begin(), accesses.end(), [&](const Access& a) {
           return buffer_of(a).home == queue && !buffer_of(a).shared;
         });
}

order::Point World::later(order::Point point) const {
  const std::uint64_t last = queues_[point.queue()]->order.last().value;
  const std::uint64_t serial = point.serial().value + options_.fence_distance;
  return order::Point(point.queue(), Serial{std::min(serial, last)});
}

// Chooses the waits, judges them and places them.
void World::place(order::QueueIndex index, const order::PointSet& candidates,
                  const Bits& conflicts) {
  order::QueueOrder& taker = queue(index);
  choose_waits(taker, candidates, table_, waits_, counts_);
  const Bits needed = model_.needed(index, conflicts);
  for (const order::Point wait : waits_) {
    ++findings_.waits;
    if (!needed.has(node(wait))) ++findings_.redundant;
  }
  for (const order::Point wait : waits_) {
    merge_wait(taker, later(wait), table_);
    owe(index, later(wait));
  }
}

order::Point World::submit(order::QueueIndex index, const std::vector<Access>& accesses) {
  Bits conflicts;
  for (const Access& access : accesses) conflicts.add(model_.conflicts(describe(access)));

  const bool home = is_home(index, accesses);
  if (!home) {
    order::PointSet candidates;
    for (const Access& access : accesses) {
      buffer_of(access).shared |= buffer_of(access).home != index;
      buffer_of(access).map.collect(access, candidates);
    }
    place(index, candidates, conflicts);
  }
  const order::Point point = submit_empty(index);
  for (const Access& access : accesses) {
    order::AccessMap& map = buffer_of(access).map;
    home ? map.apply_home(access, point) : map.apply(access, point, table_);
    model_.touch(node(point), describe(access));
  }

  ++findings_.tasks;
  for (const std::size_t before : conflicts.members()) {
    if (!model_.ordered(before, node(point)) && !model_.passed(before)) ++findings_.unordered;
  }
  return point;
}

order::Point World::submit_empty(order::QueueIndex index) {
  queue(index).take();
  queues_[index]->nodes.push_back(model_.append(index));
  return queue(index).tail();
}

order::Point World::record(order::QueueIndex index) {
  return queue(index).wait_owed() ? submit_empty(index) : queue(index).tail();
}

bool World::wait(order::QueueIndex index, const order::PointSet& points) {
  Bits nodes;
  for (const order::Point point : points) {
    if (node(point) != OrderModel::kNoNode) nodes.add(node(point));
  }
  place(index, points, nodes);
  return !waits_.empty();
}

void World::drop(Buffer& buffer) {
  buffer.block->uses.clear();
  buffer.map.points(buffer.block->uses, table_);
}

Buffer& World::reserve(Block& block, std::size_t size_bytes, order::QueueIndex home) {
  place(home, block.uses, model_.conflicts(describe(block)));
  Buffer& buffer = add_buffer(&block, size_bytes, home);
  bear(buffer, block.uses.empty() ? order::Point() : record(home));
  return buffer;
}

void World::bear(Buffer& buffer, order::Point birth) {
  buffer.map.set_birth(birth);
  const std::size_t born = node(birth);
  findings_.unordered += unordered_users(*buffer.block, born);
  if (born == OrderModel::kNoNode) return;
  model_.touch(born, describe(World::write(buffer)));
}

std::size_t World::unordered_users(const Block& block, std::size_t node) const {
  std::size_t count = 0;
  for (const std::size_t user : model_.conflicts(describe(block)).members()) {
    if (model_.passed(user) || user == node) continue;
    if (node == OrderModel::kNoNode || !model_.ordered(user, node)) ++count;
  }
  return count;
}

bool World::pass(order::QueueIndex index) {
  Queue& queue = *queues_[index];
  const std::uint64_t next = queue.passed.load() + 1;
  if (!options_.passing || next > queue.order.last().value) return false;
  const std::size_t passing = node(order::Point(index, Serial{next}));
  if (!model_.may_pass(passing)) return false;
  model_.pass(passing);
  queue.passed = next;
  return true;
}

}  // namespace thalweg::test
