// SPDX-License-Identifier: Apache-2.0

#include "support/model/program_order.hpp"

namespace thalweg::test::model {
namespace {

constexpr std::uint64_t kElementBytes = sizeof(std::uint32_t);

bool creates(OpKind kind) { return kind == OpKind::create_buffer || kind == OpKind::create_upload; }

// create_buffer names the home first and the stream of its task second.
int stream_of(const Op& op) { return op.kind == OpKind::create_buffer ? op.other : op.stream; }

Access access_of(const Range& range, Mode mode, std::uint64_t unit = kElementBytes) {
  return {Buffer{range.buffer}, mode,       range.first * unit,
          range.count * unit,   range.rows, range.pitch * unit};
}

// What a task touches, as its caller declares it.
std::vector<Access> accesses_of(const Op& op) {
  std::vector<Access> list;
  const auto add = [&list](const Range& range, Mode mode) {
    if (range.given()) list.push_back(access_of(range, mode));
  };
  switch (op.kind) {
    case OpKind::host_opens_gate:
      break;
    case OpKind::fill_bytes:
      list.push_back(access_of(op.a, Mode::write, 1));
      break;
    case OpKind::read:
      add(op.a, Mode::read);
      break;
    case OpKind::exchange:
    case OpKind::add_pair:
      add(op.a, Mode::write);
      add(op.b, Mode::write);
      break;
    case OpKind::host_update:
      add(op.a, Mode::write);
      add(op.b, Mode::read);
      add(op.c, Mode::token);
      break;
    default:
      add(op.a, Mode::write);
      add(op.b, Mode::read);
      add(op.c, Mode::read);
      break;
  }
  return list;
}

}  // namespace

ProgramOrder::ProgramOrder(const Program& program, const Log& log)
    : steps_(log.size()), waits_at_(log.size()) {
  for (int id = 0; id != program.buffers; ++id) ordering_.reserve(Buffer{id}, Block{id});
  for (std::size_t i = 0; i != log.size(); ++i) run(op_of(program, log[i]), i);
}

bool ProgramOrder::before(std::size_t earlier, std::size_t later) const {
  return ordering_.before(steps_[later]).has(steps_[earlier]);
}

void ProgramOrder::run(const Op& op, std::size_t position) {
  switch (op.kind) {
    case OpKind::create_stream:
      ordering_.open(Queue{op.stream});
      break;
    case OpKind::record:
      settle(Queue{op.stream});
      ordering_.record(Event{op.event}, Queue{op.stream});
      break;
    case OpKind::wait_event:
      place(Queue{op.stream}, ordering_.recorded(Event{op.event}), position);
      break;
    case OpKind::wait_stream:
      if (op.stream == op.other) break;
      settle(Queue{op.other});
      place(Queue{op.stream}, ordering_.next(Queue{op.other}), position);
      break;
    default:
      if (is_task(op.kind) || creates(op.kind)) run_task(op, position);
      break;
  }
}

void ProgramOrder::run_task(const Op& op, std::size_t position) {
  const Queue queue{stream_of(op)};
  const std::vector<Access> accesses = accesses_of(op);
  Steps must;
  for (const Access& access : accesses) must.add(ordering_.conflicts(access));
  place(queue, must, position);
  steps_[position] = ordering_.take(queue);
  tasks_.push_back(position);
  for (const Access& access : accesses) ordering_.use(steps_[position], access);
}

void ProgramOrder::place(Queue queue, const Steps& must, std::size_t position) {
  for (const Step step : ordering_.needed(queue, must).list()) {
    ordering_.wait(queue, step);
    ++waits_at_[position];
    ++waits_min_;
  }
}

void ProgramOrder::settle(Queue queue) {
  if (ordering_.owes(queue)) ordering_.take(queue);
}

}  // namespace thalweg::test::model
