// SPDX-License-Identifier: Apache-2.0

#include "backends/sim/stock.hpp"

#include "backends/sim/world.hpp"

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

void World::take_stock() {
  if (Stock* const stock = Stock::here()) ops_.swap(stock->ops);
  for (const auto& op : ops_) free_ops_.push_back(op.get());
}

void World::leave_stock() noexcept {
  Stock* const stock = Stock::here();
  if (stock == nullptr || !stock->ops.empty() || ops_.size() > Stock::kOpsMax) return;
  for (const auto& op : ops_) op->clear();
  stock->ops.swap(ops_);
}

// The state of a queue, as new.
Queue::State World::take_state() {
  Queue::State state;
  Stock* const stock = options_.explored ? Stock::here() : nullptr;
  if (stock == nullptr || stock->states.empty()) return state;
  state = std::move(stock->states.back());
  stock->states.pop_back();
  return state;
}

void World::leave_state(Queue::State& state) noexcept {
  Stock* const stock = options_.explored ? Stock::here() : nullptr;
  if (stock == nullptr || stock->states.size() == Stock::kStatesMax) return;
  state.clear();
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
