// SPDX-License-Identifier: Apache-2.0

#include "thalweg/base/virtual_clock.hpp"

#include <algorithm>

#include "thalweg/base/forked.hpp"

namespace thalweg {

using std::chrono::nanoseconds;

void VirtualClock::advance(nanoseconds by) noexcept {
  if (by <= nanoseconds::zero() || detail::forked()) return;
  std::unique_lock lock(mutex_);
  target_ = target_ > nanoseconds::max() - by ? nanoseconds::max() : target_ + by;
  while (first_ != nullptr && first_->when <= target_) {
    Alarm& due = *first_;
    first_ = due.next;
    if (first_ != nullptr) first_->previous = nullptr;
    due.next = nullptr;
    due.clock = nullptr;
    --alarms_;
    // One that another thread's move has overtaken does not turn the time back.
    now_.store(std::max(due.when.count(), now_.load(std::memory_order_relaxed)),
               std::memory_order_release);
    lock.unlock();
    due.fire(due);
    lock.lock();
  }
  now_.store(target_.count(), std::memory_order_release);
}

bool VirtualClock::add(Alarm& alarm) const noexcept {
  if (detail::forked()) return false;
  if (alarm.fire == nullptr) return false;
  {
    const std::lock_guard lock(mutex_);
    if (alarm.clock != nullptr) return false;
    if (alarm.when > now()) {
      Alarm* before = nullptr;
      Alarm* behind = first_;
      for (; behind != nullptr && behind->when <= alarm.when; behind = behind->next)
        before = behind;
      alarm.previous = before;
      alarm.next = behind;
      if (behind != nullptr) behind->previous = &alarm;
      (before != nullptr ? before->next : first_) = &alarm;
      ++alarms_;
      alarm.clock = this;
      return true;
    }
    alarm.previous = nullptr;
    alarm.next = nullptr;
  }
  alarm.fire(alarm);
  return true;
}

bool VirtualClock::remove(Alarm& alarm) const noexcept {
  if (detail::forked()) return false;
  const std::lock_guard lock(mutex_);
  if (alarm.clock != this) return false;
  if (alarm.next != nullptr) alarm.next->previous = alarm.previous;
  (alarm.previous != nullptr ? alarm.previous->next : first_) = alarm.next;
  alarm.previous = nullptr;
  alarm.next = nullptr;
  alarm.clock = nullptr;
  --alarms_;
  return true;
}

std::size_t VirtualClock::alarms() const noexcept {
  if (detail::forked()) return 0;
  const std::lock_guard lock(mutex_);
  return alarms_;
}

}  // namespace thalweg
