// SPDX-License-Identifier: Apache-2.0

#include "support/precedence_model.hpp"

#include <algorithm>

namespace thalweg::test {
namespace {

constexpr std::uint32_t kElementBytes = 4;

Range in_bytes(const Range& elements) {
  return {elements.buffer, elements.first * kElementBytes, elements.count * kElementBytes,
          elements.rows, elements.pitch * kElementBytes};
}

bool creates(OpKind kind) { return kind == OpKind::create_buffer || kind == OpKind::create_upload; }

}  // namespace

Precedence::Precedence(const Program& program, const Log& log)
    : queue_of_stream_(static_cast<std::size_t>(program.streams), -1),
      events_(static_cast<std::size_t>(program.events)),
      place_of_(log.size()),
      waits_at_(log.size()) {
  cut(program, log);
  for (std::size_t i = 0; i < log.size(); ++i) run(op_of(program, log[i]), i);
}

bool Precedence::before(std::size_t earlier, std::size_t later) const {
  return covers(clock_of(place_of_[later]), place_of_[earlier]);
}

// What each operation touches, as its caller declares it.
std::vector<Precedence::Access> Precedence::accesses_of(const Op& op) {
  std::vector<Access> list;
  const auto reads = [&list](const Range& r) {
    if (r.given()) list.push_back({in_bytes(r), Mode::read});
  };
  const auto writes = [&list](const Range& r) { list.push_back({in_bytes(r), Mode::write}); };
  switch (op.kind) {
    case OpKind::fill_bytes:
      list.push_back({op.a, Mode::write});
      break;
    case OpKind::read:
      reads(op.a);
      break;
    case OpKind::exchange:
    case OpKind::add_pair:
      writes(op.a);
      writes(op.b);
      break;
    case OpKind::host_update:
      writes(op.a);
      reads(op.b);
      if (op.c.given()) list.push_back({in_bytes(op.c), Mode::token});
      break;
    case OpKind::host_opens_gate:
      break;
    default:
      writes(op.a);
      reads(op.b);
      reads(op.c);
      break;
  }
  return list;
}

// create_buffer names the home first and the stream of its task second.
int Precedence::stream_of(const Op& op) {
  return op.kind == OpKind::create_buffer ? op.other : op.stream;
}

void Precedence::cut(const Program& program, const Log& log) {
  for (const LogEntry entry : log) {
    const Op& op = op_of(program, entry);
    if (!is_task(op.kind) && !creates(op.kind)) continue;
    for (const Access& access : accesses_of(op)) {
      auto& cuts = cuts_[access.bytes.buffer];
      for (std::uint32_t row = 0; row != access.bytes.rows; ++row) {
        const std::uint32_t begin = access.bytes.first + row * access.bytes.pitch;
        cuts.push_back(begin);
        cuts.push_back(begin + access.bytes.count);
      }
    }
  }
  for (auto& [buffer, cuts] : cuts_) {
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    bytes_[buffer].resize(cuts.size() + 1);
  }
}

std::vector<Precedence::Segment*> Precedence::segments(const Access& access) {
  std::vector<Segment*> list;
  const auto& cuts = cuts_[access.bytes.buffer];
  auto& bytes = bytes_[access.bytes.buffer];
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (access.bytes.contains(cuts[i])) list.push_back(&bytes[i]);
  }
  if (access.mode == Mode::token) list.push_back(&bytes.back());
  return list;
}

void Precedence::run(const Op& op, std::size_t position) {
  const auto stream = [this](int id) { return queue_of_stream_[static_cast<std::size_t>(id)]; };
  switch (op.kind) {
    case OpKind::create_stream:
      queue_of_stream_[static_cast<std::size_t>(op.stream)] = static_cast<int>(queues_.size());
      queues_.emplace_back();
      break;
    case OpKind::record:
      events_[static_cast<std::size_t>(op.event)] = tail(stream(op.stream));
      break;
    case OpKind::wait_event:
      wait(stream(op.stream), events_[static_cast<std::size_t>(op.event)], position);
      break;
    case OpKind::wait_stream:
      if (stream(op.stream) != stream(op.other))
        wait(stream(op.stream), tail(stream(op.other)), position);
      break;
    default:
      if (is_task(op.kind) || creates(op.kind)) run_task(op, position);
      break;
  }
}

void Precedence::run_task(const Op& op, std::size_t position) {
  const int queue = queue_of_stream_[static_cast<std::size_t>(stream_of(op))];
  const std::vector<Access> accesses = accesses_of(op);

  std::vector<Place> conflicts;
  for (const Access& access : accesses) {
    for (const Segment* segment : segments(access)) {
      if (segment->write) conflicts.push_back(*segment->write);
      if (access.mode != Mode::read)
        conflicts.insert(conflicts.end(), segment->reads.begin(), segment->reads.end());
    }
  }

  std::map<int, int> latest;  // Of each other queue, what this one is not after yet.
  for (const Place place : conflicts) {
    if (place.queue == queue || covers(queues_[static_cast<std::size_t>(queue)].now, place))
      continue;
    latest[place.queue] = std::max(latest[place.queue], place.serial);
  }
  std::vector<Place> needed;
  for (const auto& [from, serial] : latest) {
    const Place place{from, serial};
    const bool implied = std::any_of(latest.begin(), latest.end(), [&](const auto& other) {
      return other.first != from && covers(clock_of({other.first, other.second}), place);
    });
    if (!implied) needed.push_back(place);
  }
  for (const Place place : needed) wait(queue, place, position);

  const Place here = enqueue(queue);
  place_of_[position] = here;
  tasks_.push_back(position);
  for (const Access& access : accesses) {
    for (Segment* segment : segments(access)) {
      if (access.mode == Mode::read) {
        segment->reads.push_back(here);
      } else {
        segment->write = here;
        segment->reads.clear();
      }
    }
  }
}

void Precedence::wait(int queue, Place place, std::size_t position) {
  Queue& taker = queues_[static_cast<std::size_t>(queue)];
  if (place.serial == 0 || place.queue == queue || covers(taker.now, place)) return;
  const Clock source = clock_of(place);
  taker.now.resize(std::max(taker.now.size(), queues_.size()));
  for (std::size_t i = 0; i < source.size(); ++i) taker.now[i] = std::max(taker.now[i], source[i]);
  const auto from = static_cast<std::size_t>(place.queue);
  taker.now[from] = std::max(taker.now[from], place.serial);
  taker.waits = true;
  ++waits_at_[position];
  ++waits_min_;
}

Precedence::Place Precedence::enqueue(int queue) {
  Queue& to = queues_[static_cast<std::size_t>(queue)];
  to.now.resize(queues_.size());
  to.clocks.push_back(to.now);
  const auto serial = static_cast<int>(to.clocks.size());
  to.now[static_cast<std::size_t>(queue)] = serial;
  to.waits = false;
  return {queue, serial};
}

Precedence::Place Precedence::tail(int queue) {
  const Queue& from = queues_[static_cast<std::size_t>(queue)];
  if (from.waits) return enqueue(queue);
  return {queue, static_cast<int>(from.clocks.size())};
}

bool Precedence::covers(const Clock& clock, Place place) const {
  const auto queue = static_cast<std::size_t>(place.queue);
  return queue < clock.size() && place.serial <= clock[queue];
}

const Precedence::Clock& Precedence::clock_of(Place place) const {
  return queues_[static_cast<std::size_t>(place.queue)]
      .clocks[static_cast<std::size_t>(place.serial - 1)];
}

}  // namespace thalweg::test
