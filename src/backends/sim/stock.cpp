// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/stock.hpp"

#include <algorithm>

namespace thalweg::sim {

namespace {

// Outlives the stock, for what ends behind it.
thread_local bool stock_gone = false;

struct Owner {
  ~Owner() { stock_gone = true; }
  Stock stock;
};

}  // namespace

Stock* Stock::here() noexcept {
  if (stock_gone) return nullptr;
  thread_local Owner owner;
  return &owner.stock;
}

void World::swap_lists(Stock& stock) noexcept {
  ops_.swap(stock.ops);
  free_ops_.swap(stock.free_ops);
  queues_.swap(stock.queues);
  positions_.swap(stock.positions);
  ready_.swap(stock.ready);
  arenas_.swap(stock.arenas);
  allocations_.swap(stock.allocations);
  by_address_.swap(stock.by_address);
}

void World::take_stock() {
  Stock* const stock = Stock::here();
  if (stock == nullptr) return;
  swap_lists(*stock);
  outputs_.reserve(stock->submissions);
  submitters_.reserve(stock->submissions);
}

void World::leave_stock() noexcept {
  Stock* const stock = Stock::here();
  if (stock == nullptr) return;
  // Of two worlds at a time, one's lists are enough; and what was left enqueued is not used again.
  if (!stock->ops.empty() || free_ops_.size() != ops_.size() || ops_.size() > Stock::kOpsMax)
    return;
  queues_.clear();
  positions_.clear();
  ready_.clear();
  arenas_.clear();
  allocations_.clear();
  by_address_.clear();
  swap_lists(*stock);
  stock->submissions = std::min<std::size_t>(submissions_, Stock::kOpsMax);
}

// The state of a queue, as new.
std::unique_ptr<Queue::State> World::take_state() {
  Stock* const stock = options_.explored ? Stock::here() : nullptr;
  if (stock == nullptr || stock->states.empty()) return std::make_unique<Queue::State>();
  std::unique_ptr<Queue::State> state = std::move(stock->states.back());
  stock->states.pop_back();
  return state;
}

void World::leave_state(std::unique_ptr<Queue::State> state) noexcept {
  Stock* const stock = options_.explored ? Stock::here() : nullptr;
  if (stock == nullptr || stock->states.size() == Stock::kStatesMax) return;
  state->clear();
  stock->states.push_back(std::move(state));
}

void* World::operator new(std::size_t size) {
  Stock* const stock = Stock::here();
  return stock != nullptr && stock->world != nullptr ? stock->world.release() : new std::byte[size];
}

void World::operator delete(void* memory) noexcept {
  std::unique_ptr<std::byte[]> gone(static_cast<std::byte*>(memory));
  Stock* const stock = Stock::here();
  if (stock != nullptr && stock->world == nullptr) stock->world.swap(gone);
}

}  // namespace thalweg::sim
