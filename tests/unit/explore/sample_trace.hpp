// SPDX-License-Identifier: Apache-2.0
//
// Traces made by hand, event by event.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "thalweg/base/trace.hpp"

namespace thalweg::test {

class SampleTrace {
 public:
  SampleTrace& stream(std::int32_t lane, std::string name = {}) {
    TraceEvent& event = add(TraceKind::stream, lane);
    event.text = std::move(name);
    return *this;
  }

  SampleTrace& submit(std::int32_t lane, std::uint64_t serial, neutral::TaskKind task,
                      std::string name = {}) {
    TraceEvent& event = add(TraceKind::submit, lane);
    event.serial = serial;
    event.task = task;
    event.text = std::move(name);
    event.file = "main.cpp";
    event.line = static_cast<std::uint32_t>(trace_.size());
    return *this;
  }

  SampleTrace& raw(std::int32_t lane, std::string name) {
    submit(lane, 0, neutral::TaskKind::native, std::move(name));
    trace_.back().raw = true;
    return *this;
  }

  SampleTrace& wait(std::int32_t lane, std::uint64_t serial, std::int32_t other,
                    std::uint64_t other_serial) {
    TraceEvent& event = add(TraceKind::wait, lane);
    event.serial = serial;
    event.other_lane = other;
    event.other_serial = other_serial;
    return *this;
  }

  SampleTrace& run(std::int32_t lane, std::uint64_t serial, std::uint64_t time_ns,
                   std::uint64_t duration_ns, std::string failure = {}) {
    TraceEvent& event = add(TraceKind::run, lane);
    event.serial = serial;
    event.time_ns = time_ns;
    event.duration_ns = duration_ns;
    event.text = std::move(failure);
    return *this;
  }

  SampleTrace& host_wait(std::int32_t other, std::uint64_t serial) {
    return waits(TraceKind::host_wait, other, serial);
  }
  SampleTrace& host_went(std::int32_t other, std::uint64_t serial) {
    return waits(TraceKind::host_went, other, serial);
  }

  SampleTrace& buffer(TraceKind kind, std::int32_t number) {
    add(kind, kHostLane).buffer = number;
    return *this;
  }

  SampleTrace& says(TraceKind kind, std::int32_t lane, std::uint64_t serial, std::string text) {
    TraceEvent& event = add(kind, lane);
    event.serial = serial;
    event.text = std::move(text);
    return *this;
  }

  SampleTrace& end(std::int32_t lane) {
    add(TraceKind::end, lane);
    return *this;
  }

  TraceEvent& last() { return trace_.back(); }
  const Trace& trace() const { return trace_; }

 private:
  TraceEvent& add(TraceKind kind, std::int32_t lane) {
    TraceEvent& event = trace_.emplace_back();
    event.kind = kind;
    event.lane = lane;
    return event;
  }

  SampleTrace& waits(TraceKind kind, std::int32_t other, std::uint64_t serial) {
    TraceEvent& event = add(kind, kHostLane);
    event.other_lane = other;
    event.other_serial = serial;
    return *this;
  }

  Trace trace_;
};

}  // namespace thalweg::test
