// SPDX-License-Identifier: Apache-2.0

#include "support/order_model.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::test {

bool Bits::has(std::size_t n) const {
  return n / 64 < words_.size() && (words_[n / 64] >> (n % 64) & 1) != 0;
}

void Bits::add(std::size_t n) {
  if (words_.size() <= n / 64) words_.resize(n / 64 + 1);
  words_[n / 64] |= std::uint64_t{1} << (n % 64);
}

void Bits::add(const Bits& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i != other.words_.size(); ++i) words_[i] |= other.words_[i];
}

void Bits::remove(const Bits& other) {
  const std::size_t count = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i != count; ++i) words_[i] &= ~other.words_[i];
}

std::vector<std::size_t> Bits::members() const {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i != words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
      members.push_back(64 * i + static_cast<std::size_t>(std::countr_zero(word)));
    }
  }
  return members;
}

OrderModel::OrderModel(std::size_t queues) : queues_(queues) {}

std::size_t OrderModel::add_cells(std::size_t count) {
  const std::size_t first = cells_.size();
  cells_.resize(first + count);
  return first;
}

void OrderModel::owe(std::size_t queue, std::size_t node) {
  queues_[queue].before_next.add(before_[node]);
  queues_[queue].before_next.add(node);
}

std::size_t OrderModel::append(std::size_t queue) {
  const std::size_t node = before_.size();
  before_.push_back(queues_[queue].before_next);
  queues_[queue].before_next.add(node);
  queues_[queue].tail = node;
  return node;
}

void OrderModel::touch(std::size_t node, const ModelAccess& access) {
  for (const std::size_t cell : access.cells) {
    cells_[cell].users.add(node);
    if (access.writes) cells_[cell].writers.add(node);
  }
}

Bits OrderModel::conflicts(const ModelAccess& access) const {
  Bits nodes;
  for (const std::size_t cell : access.cells) {
    nodes.add(access.writes ? cells_[cell].users : cells_[cell].writers);
  }
  return nodes;
}

bool OrderModel::ordered(std::size_t before, std::size_t after) const {
  return before_[after].has(before);
}

Bits OrderModel::needed(std::size_t queue, const Bits& candidates) const {
  Bits open = candidates;
  open.remove(queues_[queue].before_next);
  open.remove(passed_);
  Bits implied;
  for (const std::size_t node : open.members()) implied.add(before_[node]);
  open.remove(implied);
  return open;
}

bool OrderModel::may_pass(std::size_t node) const {
  Bits open = before_[node];
  open.remove(passed_);
  return open.members().empty();
}

}  // namespace thalweg::test
