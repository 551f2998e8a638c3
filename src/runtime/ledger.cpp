// SPDX-License-Identifier: Apache-2.0

#include "runtime/ledger.hpp"

#include <algorithm>
#include <string_view>

namespace thalweg::runtime {

void Ledger::add(WaitReason reason, const std::source_location& site,
                 std::chrono::nanoseconds time) {
  records_.with([&](WaitLedger& records) {
    const auto same = [&](const WaitRecord& record) {
      return record.reason == reason && record.site.line() == site.line() &&
             record.site.column() == site.column() &&
             (record.site.file_name() == site.file_name() ||
              std::string_view(record.site.file_name()) == site.file_name());
    };
    auto at = std::find_if(records.begin(), records.end(), same);
    if (at == records.end()) at = records.insert(at, {reason, site, 0, {}});
    ++at->count;
    at->total += time;
  });
}

std::uint64_t Ledger::waits() const {
  return records_.with([](const WaitLedger& records) {
    std::uint64_t sum = 0;
    for (const WaitRecord& record : records) sum += record.count;
    return sum;
  });
}

WaitLedger Ledger::records() const {
  WaitLedger records = records_.with([](const WaitLedger& now) { return now; });
  std::sort(records.begin(), records.end(), [](const WaitRecord& a, const WaitRecord& b) {
    return a.total != b.total ? a.total > b.total : a.site.line() < b.site.line();
  });
  return records;
}

}  // namespace thalweg::runtime
