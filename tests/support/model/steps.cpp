// SPDX-License-Identifier: Apache-2.0

#include "support/model/steps.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::test::model {
namespace {

constexpr std::size_t kWordBits = 64;

}  // namespace

bool Steps::has(Step step) const {
  const std::size_t word = step / kWordBits;
  return word < words_.size() && (words_[word] >> (step % kWordBits) & 1) != 0;
}

std::size_t Steps::count() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

std::vector<Step> Steps::list() const {
  std::vector<Step> steps;
  for (std::size_t i = 0; i != words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
      steps.push_back(kWordBits * i + static_cast<std::size_t>(std::countr_zero(word)));
  }
  return steps;
}

Steps& Steps::add(Step step) {
  const std::size_t word = step / kWordBits;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (step % kWordBits);
  return *this;
}

Steps& Steps::add(const Steps& others) {
  if (words_.size() < others.words_.size()) words_.resize(others.words_.size());
  for (std::size_t i = 0; i != others.words_.size(); ++i) words_[i] |= others.words_[i];
  return *this;
}

Steps Steps::without(const Steps& others) const {
  Steps left = *this;
  const std::size_t count = std::min(words_.size(), others.words_.size());
  for (std::size_t i = 0; i != count; ++i) left.words_[i] &= ~others.words_[i];
  return left;
}

}  // namespace thalweg::test::model
