// SPDX-License-Identifier: Apache-2.0

#include "support/program_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include "support/device_memory.hpp"
#include "support/model/program_order.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace thalweg::test {
namespace {

// How a task says that it runs.
struct Mark {
  Stamps* stamps = nullptr;
  std::size_t task = 0;

  void stamp() const { stamps->stamp(task); }

  // Of the many cells of a grid, the first and the last few will do.
  void stamp(std::uint64_t cell, std::uint64_t cells) const {
    if (cell < 4 || cell + 1 == cells) stamp();
  }
};

template <class Words>
std::uint32_t cyclic(const Words& words, std::uint64_t i) {
  return words.empty() ? 0 : words[i % words.size()];
}

Values made_of_pattern(std::uint32_t value, std::uint32_t count) {
  Values values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = pattern(value, i);
  return values;
}

std::string text_of(const Error& error) { return error.to_string(); }

// The first place where two contents differ.
std::string difference(const Values& expected, const Values& found) {
  if (expected.size() != found.size()) {
    return std::to_string(expected.size()) + " elements expected, " + std::to_string(found.size()) +
           " found";
  }
  const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin());
  if (e == expected.end()) return {};
  return "element " + std::to_string(e - expected.begin()) + " is " + std::to_string(*f) +
         " and not " + std::to_string(*e);
}

}  // namespace

struct ProgramRunner::Kernels {
  using In = std::span<const std::uint32_t>;
  using InOut = std::span<std::uint32_t>;

  // Launched on grids of up to three dimensions: `x` and `y` are theirs.
  static constexpr auto affine_cell = [](Cell at, InOut a, std::uint32_t value, std::uint64_t x,
                                         std::uint64_t y, std::uint64_t cells, Mark mark) {
    const std::uint64_t i = (at.z * y + at.y) * x + at.x;
    mark.stamp(i, cells);
    a[i] = a[i] * 3 + value;
  };
  static constexpr auto axpy_cell = [](Cell at, InOut a, In b, std::uint32_t value, Mark mark) {
    mark.stamp(at.x, a.size());
    a[at.x] = a[at.x] * 3 + cyclic(b, at.x) + value;
  };
  static constexpr auto combine_cell = [](Cell at, Out<std::uint32_t> a, In b, In c,
                                          std::uint32_t value, Mark mark) {
    mark.stamp(at.x, a.size());
    a[at.x] = cyclic(b, at.x) * 5 + cyclic(c, at.x) * 7 + value;
  };
  static constexpr auto exchange_cell = [](Cell at, InOut a, InOut b, std::uint32_t value,
                                           Mark mark) {
    mark.stamp(at.x, a.size());
    const std::uint32_t old = a[at.x];
    a[at.x] = b[at.x] + value;
    b[at.x] = old * 3 + 1;
  };
  static constexpr auto add_cell = [](Cell at, InOut a, std::uint32_t value) { a[at.x] += value; };
  static constexpr auto add_pair_cell = [](Cell at, InOut a, InOut b, std::uint32_t value) {
    if (at.x < a.size()) a[at.x] += value;
    if (at.x < b.size()) b[at.x] += value;
  };

  static constexpr auto tile_axpy_cell = [](Cell at, Span2D<std::uint32_t> a,
                                            const Span2D<const std::uint32_t>& b,
                                            std::uint32_t value, Mark mark) {
    mark.stamp(at.y * a.width() + at.x, a.width() * a.height());
    a(at.x, at.y) = a(at.x, at.y) * 3 + b(at.x, at.y) + value;
  };
  static constexpr auto tile_combine_cell = [](Cell at, Out2D<std::uint32_t> a,
                                               Span2D<const std::uint32_t> b, In c,
                                               std::uint32_t value, Mark mark) {
    const std::uint64_t i = at.y * a.width() + at.x;
    mark.stamp(i, a.width() * a.height());
    a.row(at.y)[at.x] = b(at.x, at.y) * 5 + cyclic(c, i) * 7 + value;
  };
  // The grid may have more cells than `a` has elements.
  static constexpr auto indirect_cell = [](Cell at, InOut a, std::uint32_t value, Mark mark) {
    const std::uint64_t i = (at.z * kGridY + at.y) * kGridX + at.x;
    mark.stamp(i, a.size());
    if (i < a.size()) a[i] = a[i] * 3 + value;
  };
  static constexpr auto set_grid_cell = [](Cell, Out<Extent> to, Extent grid, Mark mark) {
    mark.stamp();
    to[0] = grid;
    mark.stamp();
  };

  Kernel<std::decay_t<decltype(affine_cell)>> affine = kernel("affine", affine_cell);
  Kernel<std::decay_t<decltype(axpy_cell)>> axpy = kernel("axpy", axpy_cell);
  Kernel<std::decay_t<decltype(combine_cell)>> combine = kernel("combine", combine_cell);
  Kernel<std::decay_t<decltype(exchange_cell)>> exchange = kernel("exchange", exchange_cell);
  Kernel<std::decay_t<decltype(add_cell)>> add = kernel("add", add_cell);
  Kernel<std::decay_t<decltype(add_pair_cell)>> add_pair = kernel("add_pair", add_pair_cell);
  Kernel<std::decay_t<decltype(tile_axpy_cell)>> tile_axpy = kernel("tile_axpy", tile_axpy_cell);
  Kernel<std::decay_t<decltype(tile_combine_cell)>> tile_combine =
      kernel("tile_combine", tile_combine_cell);
  Kernel<std::decay_t<decltype(indirect_cell)>> indirect = kernel("indirect", indirect_cell);
  Kernel<std::decay_t<decltype(set_grid_cell)>> set_grid = kernel("set_grid", set_grid_cell);
};

ProgramRunner::ProgramRunner(const Program& program) : ProgramRunner(program, Device(), {}) {}

ProgramRunner::ProgramRunner(const Program& program, const Device& device, Told told)
    : program_(program),
      told_(std::move(told)),
      stamps_([&program] {
        std::size_t count = program.prologue.size();
        for (const auto& part : program.parts) count += part.size();
        return count;
      }()),
      kernels_(std::make_unique<Kernels>()),
      device_(device),
      streams_(static_cast<std::size_t>(program.streams)),
      buffers_(static_cast<std::size_t>(program.buffers)),
      reads_(static_cast<std::size_t>(program.reads)),
      results_(static_cast<std::size_t>(program.reads)) {
  for (std::size_t i = 0; i <= program.parts.size(); ++i) {
    locals_.push_back(std::make_unique<Local>());
    locals_.back()->part = static_cast<int>(i) - 1;
  }
}

// Tasks borrow stamps and uploads: whatever went wrong, they are over before these go.
ProgramRunner::~ProgramRunner() {
  if (!device_.valid()) return;
  for (const Timeline& gate : gates_) static_cast<void>(gate.signal(1u << 20));
  Result<void> over = device_.synchronize(kLimit);
  // One refusal is no reason to leave tasks behind.
  if (!over && told_) over = device_.synchronize(kLimit);
  // A lost device runs nothing.
  if (!over && over.error().kind() != ErrorKind::device_lost) {
    std::fprintf(stderr, "%s\n%s\n", reproduce(program_.seed).c_str(),
                 text_of(over.error()).c_str());
    std::abort();
  }
}

void ProgramRunner::run() {
  if (!device_.valid()) {
    Result<Device> opened = Device::open(program_.setup.name());
    if (!opened) return fail(text_of(opened.error()));
    device_ = std::move(*opened);
  }
  begin(device_);
  if (program_.parts.size() == 1) {
    run_part(0);
  } else {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < program_.parts.size(); ++i)
      threads.emplace_back([this, i] { run_part(static_cast<int>(i)); });
    for (std::thread& thread : threads) thread.join();
  }
  end();
}

void ProgramRunner::begin(Device device) {
  device_ = std::move(device);
  for (int i = 0; i < program_.events; ++i) events_.push_back(must(Event::create(device_)));
  for (int i = 0; i < program_.gates; ++i) gates_.push_back(must(Timeline::create(device_)));
  run_ops(-1, program_.prologue, *locals_[0]);
}

void ProgramRunner::run_part(int part) {
  const auto at = static_cast<std::size_t>(part);
  run_ops(part, program_.parts[at], *locals_[at + 1]);
}

void ProgramRunner::end() {
  for (const auto& local : locals_) {
    log_.insert(log_.end(), local->log.begin(), local->log.end());
    accepted_ += local->accepted;
  }
  statistics_ = device_.statistics();
}

void ProgramRunner::run_ops(int part, const std::vector<Op>& ops, Local& local) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    const LogEntry entry{part, static_cast<int>(i)};
    const std::size_t mark = mark_of(part, i);
    if (told_) {
      if (!possible(op)) continue;
      refused_ = false;
      submissions_ = device_.statistics().submissions;
    }
    if (waits_on_host(op.kind)) {
      host(op);
    } else if (program_.locked) {
      const std::lock_guard lock(submission_);
      log_.push_back(entry);
      step(op, mark, local);
      if (refused_) log_.pop_back();
    } else {
      local.log.push_back(entry);
      step(op, mark, local);
    }
  }
}

std::size_t ProgramRunner::mark_of(int part, std::size_t index) const {
  if (part < 0) return index;
  std::size_t mark = program_.prologue.size() + index;
  for (int i = 0; i < part; ++i) mark += program_.parts[static_cast<std::size_t>(i)].size();
  return mark;
}

// Whether all that the operation needs was made.
bool ProgramRunner::possible(const Op& op) const {
  if (op.kind == OpKind::open_gate) return true;
  const bool creates = op.kind == OpKind::create_buffer || op.kind == OpKind::create_upload;
  const auto made = [](const auto& all, int id) {
    return id < 0 || all[static_cast<std::size_t>(id)].valid();
  };
  return (op.kind == OpKind::create_stream || made(streams_, op.stream)) &&
         made(streams_, op.other) && made(reads_, op.kind == OpKind::read ? -1 : op.read) &&
         (creates || made(buffers_, op.a.buffer)) && made(buffers_, op.b.buffer) &&
         made(buffers_, op.c.buffer);
}

// Of a future that was just made. What was accepted is counted; a refusal is in the future.
template <class T>
bool ProgramRunner::was_refused(Future<T>& future, const Op& op) {
  if (!told_ || device_.statistics().submissions != submissions_) return false;
  const Result<T> refusal = future.get(kLimit);
  if (refusal) {
    fail(describe(op) + ": was neither accepted nor refused");
  } else {
    failed(refusal.error(), op);
  }
  return true;
}

ProgramRunner::Words ProgramRunner::view(const Range& range) const {
  if (!range.given()) return {};
  return buffers_[static_cast<std::size_t>(range.buffer)].view(range.first, range.count);
}

View2D<std::uint32_t> ProgramRunner::tile(const Range& range) const {
  return buffers_[static_cast<std::size_t>(range.buffer)].tile(range.first, range.count, range.rows,
                                                               range.pitch);
}

void ProgramRunner::step(const Op& op, std::size_t mark, Local& local) {
  switch (op.kind) {
    case OpKind::create_stream: {
      Result<Stream> made = Stream::create(device_);
      if (!made) return failed(made.error(), op);
      stream(op.stream) = std::move(*made);
      break;
    }
    case OpKind::drop_stream:
      stream(op.stream) = Stream();
      break;
    case OpKind::create_buffer:
    case OpKind::create_upload:
      create_buffer(op, local);
      break;
    case OpKind::drop_buffer:
      buffers_[static_cast<std::size_t>(op.a.buffer)] = {};
      break;
    case OpKind::record:
    case OpKind::wait_event:
    case OpKind::wait_stream:
    case OpKind::close_gate:
    case OpKind::open_gate:
      order(op);
      break;
    default:
      if (is_task(op.kind)) {
        submit(op, mark, local);
      } else {
        host(op);
      }
      break;
  }
}

void ProgramRunner::create_buffer(const Op& op, Local& local) {
  auto& slot = buffers_[static_cast<std::size_t>(op.a.buffer)];
  Result<Array<std::uint32_t>> made =
      op.kind == OpKind::create_upload
          ? stream(op.stream).upload(made_of_pattern(op.value, op.a.count))
          : Array<std::uint32_t>::create(stream(op.stream), op.a.count);
  if (!made) return failed(made.error(), op);
  slot = std::move(*made);
  if (op.kind == OpKind::create_upload) {
    ++local.accepted;
  } else {
    accept(stream(op.other).fill(slot, op.value), op, local);
  }
  // Without its first values it is not what the program means.
  if (refused_) slot = {};
}

void ProgramRunner::submit(const Op& op, std::size_t mark, Local& local) {
  const Stream& on = stream(op.stream);
  switch (op.kind) {
    case OpKind::fill:
      accept(with(op.a, [&](const auto& a) { return on.fill(a, op.value); }), op, local);
      break;
    case OpKind::fill_bytes: {
      const Buffer& memory = buffers_[static_cast<std::size_t>(op.a.buffer)].buffer();
      const View<std::uint8_t> bytes(memory, op.a.first, op.a.count);
      accept(on.fill(bytes, static_cast<std::uint8_t>(op.value & 0xff)), op, local);
      break;
    }
    case OpKind::copy:
      accept(with(op.a,
                  [&](const auto& a) {
                    return with(op.b, [&](const auto& b) { return on.copy(a, b); });
                  }),
             op, local);
      break;
    case OpKind::host_update:
    case OpKind::host_write:
    case OpKind::host_opens_gate:
      host_function(op, mark, local);
      break;
    case OpKind::upload_copy:
    case OpKind::upload_move:
    case OpKind::upload_borrowed:
      upload(op, local);
      break;
    case OpKind::set_grid:
      set_grid(op, mark, local);
      break;
    case OpKind::read: {
      Future<Values> future = with(op.a, [&on](const auto& a) { return on.read(a); });
      if (was_refused(future, op)) break;
      reads_[static_cast<std::size_t>(op.read)] = std::move(future);
      ++local.accepted;
      break;
    }
    default:
      launch(op, mark, local);
      break;
  }
}

void ProgramRunner::launch(const Op& op, std::size_t mark_index, Local& local) {
  const Stream& on = stream(op.stream);
  const Mark mark{&stamps_, mark_index};
  const Words a = op.a.tile() ? Words() : view(op.a);
  switch (op.kind) {
    case OpKind::tile_axpy:
      accept(on.launch(kernels_->tile_axpy, {op.a.count, op.a.rows}, tile(op.a), tile(op.b),
                       op.value, mark),
             op, local);
      break;
    case OpKind::tile_combine:
      accept(on.launch(kernels_->tile_combine, {op.a.count, op.a.rows}, tile(op.a), tile(op.b),
                       view(op.c), op.value, mark),
             op, local);
      break;
    case OpKind::indirect: {
      const Buffer& memory = buffers_[static_cast<std::size_t>(op.c.buffer)].buffer();
      accept(on.launch_indirect(kernels_->indirect, View<const Extent>(memory, 0, 1), a, op.value,
                                mark),
             op, local);
      break;
    }
    case OpKind::affine: {
      const std::uint64_t cells = std::uint64_t{op.x} * op.y * op.z;
      accept(on.launch(kernels_->affine, {op.x, op.y, op.z}, a, op.value, std::uint64_t{op.x},
                       std::uint64_t{op.y}, cells, mark),
             op, local);
      break;
    }
    case OpKind::axpy:
      accept(on.launch(kernels_->axpy, op.a.count, a, view(op.b), op.value, mark), op, local);
      break;
    case OpKind::combine:
      accept(on.launch(kernels_->combine, op.a.count, a, view(op.b), view(op.c), op.value, mark),
             op, local);
      break;
    case OpKind::exchange:
      accept(on.launch(kernels_->exchange, op.a.count, a, view(op.b), op.value, mark), op, local);
      break;
    case OpKind::add:
      accept(on.launch(kernels_->add, op.a.count, a, op.value), op, local);
      break;
    case OpKind::add_pair:
      accept(
          on.launch(kernels_->add_pair, std::max(op.a.count, op.b.count), a, view(op.b), op.value),
          op, local);
      break;
    default:
      break;
  }
}

void ProgramRunner::host_function(const Op& op, std::size_t mark_index, Local& local) {
  const Stream& on = stream(op.stream);
  const Mark mark{&stamps_, mark_index};
  const std::uint32_t value = op.value;
  // The elements of a view or a tile, for use inside the function.
  struct Elements {
    std::uint32_t* data;
    Range range;
    std::uint32_t& operator[](std::uint32_t i) const { return data[range.element(i)]; }
  };
  const auto elements = [this](const Range& range) {
    const auto& buffer = buffers_[static_cast<std::size_t>(range.buffer)];
    return Elements{device_span(buffer).data(), range};
  };
  Future<void> future;
  if (op.kind == OpKind::host_opens_gate) {
    future = on.host("opens gate", {}, [gate = gates_[static_cast<std::size_t>(op.gate)], value] {
      // The host may have raised it further by now: a refusal is no failure.
      static_cast<void>(gate.signal(value));
    });
  } else if (op.kind == OpKind::host_write) {
    auto function = [to = elements(op.a), value, mark] {
      mark.stamp();
      for (std::uint32_t i = 0; i < to.range.total(); ++i) to[i] = pattern(value, i);
      mark.stamp();
    };
    future = with(
        op.a, [&](const auto& a) { return on.host("write", {writes(a)}, std::move(function)); });
  } else {
    const Words b = view(op.b);
    auto function = [to = elements(op.a), from = device_span(b), value, mark] {
      mark.stamp();
      for (std::uint32_t i = 0; i < to.range.total(); ++i)
        to[i] = to[i] * 5 + cyclic(from, i) + value;
      mark.stamp();
    };
    future = with(op.a, [&](const auto& a) {
      return op.c.given() ? on.host("update", {updates(a), reads(b), orders(view(op.c))},
                                    std::move(function))
                          : on.host("update", {updates(a), reads(b)}, std::move(function));
    });
  }
  if (was_refused(future, op)) return;
  ++local.accepted;
  if (value % 2 == 0) local.futures.push_back(std::move(future));
}

void ProgramRunner::set_grid(const Op& op, std::size_t mark_index, Local& local) {
  const Stream& on = stream(op.stream);
  const View<Extent> to(buffers_[static_cast<std::size_t>(op.a.buffer)].buffer(), 0, 1);
  const Extent grid{op.x, op.y, op.z};
  switch (op.value % 3) {
    case 0:
      accept(on.upload(to, std::vector<Extent>{grid}), op, local);
      break;
    case 1:
      accept(on.upload(to, std::span<const Extent>(&grid, 1)), op, local);
      break;
    default:
      accept(on.launch(kernels_->set_grid, 1, to, grid, Mark{&stamps_, mark_index}), op, local);
      break;
  }
}

void ProgramRunner::upload(const Op& op, Local& local) {
  const Stream& on = stream(op.stream);
  Values from = made_of_pattern(op.value, op.a.total());
  switch (op.kind) {
    case OpKind::upload_copy:
      accept(
          with(op.a,
               [&](const auto& to) { return on.upload(to, std::span<const std::uint32_t>(from)); }),
          op, local);
      std::fill(from.begin(), from.end(), 0xdeadu);  // It is ours again.
      break;
    case OpKind::upload_move:
      accept(with(op.a, [&](const auto& to) { return on.upload(to, std::move(from)); }), op, local);
      break;
    default: {
      local.borrowed.push_back(std::make_unique<Values>(std::move(from)));
      Future<void> future = with(op.a, [&](const auto& to) {
        return on.upload_borrowed(to, std::span<const std::uint32_t>(*local.borrowed.back()));
      });
      if (was_refused(future, op)) break;
      ++local.accepted;
      if (op.value % 2 == 0) local.futures.push_back(std::move(future));
      break;
    }
  }
}

void ProgramRunner::order(const Op& op) {
  const auto event = [this, &op]() -> Event& {
    return events_[static_cast<std::size_t>(op.event)];
  };
  const auto gate = [this, &op]() -> Timeline& {
    return gates_[static_cast<std::size_t>(op.gate)];
  };
  switch (op.kind) {
    case OpKind::record:
      expect(stream(op.stream).record(event()), op);
      break;
    case OpKind::wait_event:
      expect(stream(op.stream).wait_event(event()), op);
      break;
    case OpKind::wait_stream:
      expect(stream(op.stream).wait(stream(op.other)), op);
      break;
    case OpKind::close_gate:
      expect(stream(op.stream).wait(gate(), op.value), op);
      break;
    default:
      // A host function may have been faster, but never with a higher value.
      expect(gate().signal(op.value), op);
      break;
  }
}

void ProgramRunner::host(const Op& op) {
  switch (op.kind) {
    case OpKind::get:
      take(op);
      break;
    case OpKind::drop_future:
      reads_[static_cast<std::size_t>(op.read)] = {};
      break;
    case OpKind::test_future:
      static_cast<void>(reads_[static_cast<std::size_t>(op.read)].ready());
      break;
    case OpKind::host_waits_event:
      expect(events_[static_cast<std::size_t>(op.event)].wait(kLimit), op);
      break;
    case OpKind::query_event:
      static_cast<void>(events_[static_cast<std::size_t>(op.event)].query());
      break;
    case OpKind::synchronize_stream:
      expect(stream(op.stream).synchronize(kLimit), op);
      break;
    case OpKind::synchronize_device:
      expect(device_.synchronize(kLimit), op);
      break;
    case OpKind::try_synchronize:
      if (Result<void> tried = stream(op.stream).synchronize(std::chrono::seconds(0));
          !tried && tried.error().kind() != ErrorKind::timeout)
        failed(tried.error(), op);
      break;
    case OpKind::poll:
      static_cast<void>(device_.poll());
      break;
    case OpKind::trim:
      static_cast<void>(device_.trim(op.value % 3 == 0 ? 0 : op.value % 65536));
      break;
    case OpKind::refused:
      refuse(op);
      break;
    default:
      break;
  }
}

// Submissions that are no legal ones: nothing of them may happen.
void ProgramRunner::refuse(const Op& op) {
  const Stream& on = stream(op.stream);
  const auto& buffer = buffers_[static_cast<std::size_t>(op.a.buffer)];
  if (buffer.count() == 0) return;
  ErrorKind expected = ErrorKind::invalid_argument;
  std::optional<Error> found;
  const auto keep = [&found](auto&& result) {
    if (!result) found = result.error();
  };
  switch (op.value % 6) {
    case 4:
      keep(on.fill(buffer.tile(0, 2, 2, 1), 1u));
      break;
    case 5:
      keep(on.launch(kernels_->tile_axpy, 1, buffer.tile(0, 1, 2, buffer.count()),
                     buffer.tile(0, 1, 1, 1), 1u, Mark{}));
      break;
    case 0:
      keep(on.fill(buffer.view(op.a.first, buffer.count() + 1), 1u));
      break;
    case 1:
      expected = ErrorKind::invalid_size;
      keep(on.copy(buffer.view(0, buffer.count()), buffer.view(0, buffer.count() / 2)));
      break;
    case 2:
      expected = ErrorKind::invalid_size;
      keep(on.upload(buffer, Values(buffer.count() + 1)));
      break;
    default:
      expected = ErrorKind::invalid_size;
      keep(on.launch(kernels_->add, -1, buffer, 1u));
      break;
  }
  if (!found) return fail(describe(op) + ": was accepted");
  if (found->kind() != expected) fail(describe(op) + ": " + text_of(*found));
}

void ProgramRunner::take(const Op& op) {
  const auto at = static_cast<std::size_t>(op.read);
  Result<Values> taken = reads_[at].get(kLimit);
  if (!taken) return failed(taken.error(), op);
  results_[at] = std::move(*taken);
}

template <class T>
void ProgramRunner::accept(const Result<T>& result, const Op& op, Local& local) {
  expect(result, op);
  if (result) ++local.accepted;
}

template <class T>
void ProgramRunner::expect(const Result<T>& result, const Op& op) {
  if (!result) failed(result.error(), op);
}

void ProgramRunner::failed(const Error& error, const Op& op) {
  if (!told_) return fail(describe(op) + ": " + text_of(error));
  refused_ = true;
  lost_ = lost_ || error.kind() == ErrorKind::device_lost;
  told_(error);
}

void ProgramRunner::fail(const std::string& message) {
  const std::lock_guard lock(failing_);
  if (failure_.empty()) failure_ = message;
}

void ProgramRunner::finish() {
  if (!failure_.empty() || !device_.valid()) return;
  synchronize_at_end();
  if (!failure_.empty()) return;
  if (!lost_ && !device_.poll()) fail("something is enqueued after synchronize");
  for (const auto& local : locals_) collect(*local);
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (!reads_[i].valid()) continue;
    if (!lost_ && !reads_[i].ready())
      fail("future " + std::to_string(i) + " is not ready after synchronize");
    Op op{.kind = OpKind::get};
    op.read = static_cast<int>(i);
    take(op);
  }
  if (told_) return compare_accepted();
  const Expected expected = model::run_in_order(program_, log_);
  compare_reads(expected);
  check_counts();
  compare_buffers(expected);
  if (program_.locked) {
    check_stamps();
  } else {
    check_commuting(expected);
  }
  check_memory();
}

void ProgramRunner::synchronize_at_end() {
  const Op op{.kind = OpKind::synchronize_device};
  Result<void> over = device_.synchronize(kLimit);
  if (!over) failed(over.error(), op);
  if (over || lost_ || !told_) return;
  over = device_.synchronize(kLimit);
  if (!over) failed(over.error(), op);
}

void ProgramRunner::collect(Local& local) {
  const Op op{.kind = OpKind::get};
  for (Future<void>& future : local.futures) {
    if (Result<void> done = future.get(kLimit); !done) failed(done.error(), op);
  }
  local.futures.clear();
}

void ProgramRunner::compare_reads(const Expected& expected) {
  for (const LogEntry entry : log_) {
    const Op& op = op_of(program_, entry);
    if (op.kind != OpKind::read) continue;
    const auto& found = results_[static_cast<std::size_t>(op.read)];
    if (!found || (!program_.locked && op.a.buffer < program_.shared_buffers)) continue;
    if (const std::string text = difference(expected.reads.at(op.read), *found); !text.empty())
      fail(describe(op) + ": " + text);
  }
}

// Each thread adds ones to a field of its own, always to all elements. So a read finds all elements
// equal, in the reader's field what the reader has added before, and in the others no more than was
// added in all and no less than in the reader's last read.
void ProgramRunner::check_commuting(const Expected& expected) {
  for (int part = 0; part < static_cast<int>(program_.parts.size()); ++part) {
    const std::uint32_t one = 1u << (kCommutingBits * part);
    std::map<int, std::uint32_t> added;
    std::map<int, std::uint32_t> seen;
    for (const LogEntry entry : log_) {
      const Op& op = op_of(program_, entry);
      if (entry.part != part || op.a.buffer >= program_.shared_buffers) continue;
      if (op.kind == OpKind::add || op.kind == OpKind::add_pair) added[op.a.buffer] += one;
      if (op.kind == OpKind::add_pair) added[op.b.buffer] += one;
      if (op.kind != OpKind::read) continue;
      const auto& found = results_[static_cast<std::size_t>(op.read)];
      if (!found || found->empty()) continue;
      const std::uint32_t value = found->front();
      if (std::any_of(found->begin(), found->end(), [value](auto v) { return v != value; }))
        return fail(describe(op) + ": the elements differ: " + testing::PrintToString(*found));
      const std::uint32_t last = expected.buffers.at(op.a.buffer).front();
      for (int field = 0; field < static_cast<int>(program_.parts.size()); ++field) {
        const auto of = [field](std::uint32_t v) {
          return v >> (kCommutingBits * field) & ((1u << kCommutingBits) - 1);
        };
        const bool mine = field == part;
        if (of(value) > of(last) || of(value) < of(seen[op.a.buffer]) ||
            (mine && of(value) != of(added[op.a.buffer]))) {
          return fail(describe(op) + ": finds " + std::to_string(of(value)) +
                      " additions of part " + std::to_string(field));
        }
      }
      seen[op.a.buffer] = value;
    }
  }
}

void ProgramRunner::compare_buffers(const Expected& expected) {
  Result<Stream> reader = Stream::create(device_);
  if (!reader) return fail("the last stream: " + text_of(reader.error()));
  for (const auto& [id, values] : expected.buffers) {
    Result<Values> found = reader->read(buffers_[static_cast<std::size_t>(id)]).get(kLimit);
    if (!found) return fail("the last read: " + text_of(found.error()));
    if (const std::string text = difference(values, *found); !text.empty())
      fail("buffer " + std::to_string(id) + " at the end: " + text);
  }
}

// The last values of all buffers. False when the device is lost.
bool ProgramRunner::read_buffers(const Expected& expected, std::map<int, Values>& found) {
  const Op op{.kind = OpKind::read};
  Stream reader;
  for (int attempt = 0; attempt != 2 && !reader.valid(); ++attempt) {
    Result<Stream> made = Stream::create(device_);
    made ? static_cast<void>(reader = std::move(*made)) : failed(made.error(), op);
  }
  for (const auto& [id, values] : expected.buffers) {
    for (int attempt = 0; attempt != 2 && !lost_ && found.count(id) == 0; ++attempt) {
      Result<Values> read = reader.read(buffers_[static_cast<std::size_t>(id)]).get(kLimit);
      read ? static_cast<void>(found[id] = std::move(*read)) : failed(read.error(), op);
    }
  }
  return !lost_;
}

void ProgramRunner::compare_accepted() {
  const Expected expected = model::run_in_order(program_, log_);
  std::map<int, Values> found;
  if (lost_ || !read_buffers(expected, found)) return;
  Expected seen;
  seen.buffers = std::move(found);
  for (std::size_t i = 0; i < results_.size(); ++i)
    if (results_[i]) seen.reads[static_cast<int>(i)] = *results_[i];
  if (device_.statistics().tasks_failed != 0) {
    // Which one is known to the device alone.
    const bool explained = std::any_of(log_.begin(), log_.end(), [&](const LogEntry& entry) {
      const OpKind kind = op_of(program_, entry).kind;
      return (is_task(kind) || kind == OpKind::create_buffer || kind == OpKind::create_upload) &&
             model::agrees_without(program_, log_, entry, seen);
    });
    if (!explained) fail("no single task that did not run explains what was computed");
    return;
  }
  if (!model::agrees({expected}, seen))
    fail("the accepted tasks compute something else: " + describe(program_));
  check_stamps();
}

void ProgramRunner::check_stamps() {
  const model::ProgramOrder order(program_, log_);
  const auto& tasks = order.tasks();
  const auto mark = [this](std::size_t position) {
    return mark_of(log_[position].part, static_cast<std::size_t>(log_[position].index));
  };
  for (const std::size_t later : tasks) {
    if (!stamps_.stamped(mark(later))) continue;
    for (const std::size_t earlier : tasks) {
      if (earlier >= later) break;
      if (!stamps_.stamped(mark(earlier)) || !order.before(earlier, later)) continue;
      if (stamps_.last(mark(earlier)) > stamps_.first(mark(later))) {
        return fail(describe(op_of(program_, log_[later])) +
                    ": began before the end of: " + describe(op_of(program_, log_[earlier])));
      }
    }
  }
}

void ProgramRunner::check_counts() {
  if (statistics_.submissions != accepted_) {
    fail(std::to_string(accepted_) + " tasks were accepted and " +
         std::to_string(statistics_.submissions) + " counted");
  }
  std::uint64_t created = 0;
  for (const LogEntry entry : log_)
    created += op_of(program_, entry).kind == OpKind::create_stream ? 1 : 0;
  if (statistics_.queues_created != created) {
    fail(std::to_string(created) + " streams were created and " +
         std::to_string(statistics_.queues_created) + " counted");
  }
  if (statistics_.tasks_failed != 0) fail("a task is counted as failed");
  std::uint64_t waits = 0;
  for (const WaitRecord& record : device_.wait_ledger()) waits += record.count;
  if (const std::uint64_t counted = device_.statistics().host_waits; counted != waits) {
    fail(std::to_string(waits) + " waits are in the ledger and " + std::to_string(counted) +
         " counted");
  }
}

void ProgramRunner::check_memory() {
  const auto balanced = [this](const MemoryUsage& usage, const char* when) {
    if (usage.reserved_bytes != usage.live_bytes + usage.pending_bytes + usage.cached_bytes)
      fail(std::string("reserved is not live + pending + cached ") + when);
    if (usage.padding_bytes > usage.live_bytes || usage.live_bytes > usage.live_peak_bytes ||
        usage.reserved_bytes > usage.reserved_peak_bytes)
      fail(std::string("a part of the memory is above the whole ") + when);
  };
  balanced(device_.memory_usage(), "at the end");
  buffers_.clear();
  reads_.clear();
  streams_.clear();
  // The end of a queue is a turn of its own.
  if (!comes_true([this] { return device_.poll(); })) fail("something is enqueued after the drops");
  const MemoryUsage usage = device_.memory_usage();
  balanced(usage, "after the drops");
  if (usage.allocations != 0 || usage.live_bytes != 0 || usage.pending_bytes != 0)
    fail("memory has an owner after all drops");
}

std::string reproduce(std::uint64_t seed) {
  const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
  std::string line = "THALWEG_SEED=" + std::to_string(seed) + " ./" + program_invocation_short_name;
  if (info != nullptr)
    line += std::string(" --gtest_filter=") + info->test_suite_name() + "." + info->name();
  return line;
}

Outcome run_and_compare(const Program& program) {
  ProgramRunner runner(program);
  runner.run();
  runner.finish();
  Outcome outcome{runner.failure(), runner.tasks()};
  if (!outcome.failure.empty()) {
    outcome.failure = reproduce(program.seed) + "\n" + outcome.failure;
    if (std::getenv("THALWEG_SEED") != nullptr) outcome.failure += "\n" + describe(program);
  }
  return outcome;
}

std::uint64_t for_each_seed(std::uint64_t first, std::uint64_t count,
                            const std::function<bool(std::uint64_t)>& run) {
  std::uint64_t done = 0;
  if (const char* const asked = std::getenv("THALWEG_SEED")) {
    const char* const times = std::getenv("THALWEG_REPEAT");
    const std::uint64_t repeat = times == nullptr ? 100 : std::strtoull(times, nullptr, 0);
    const std::uint64_t seed = std::strtoull(asked, nullptr, 0);
    while (done < repeat && run(seed)) ++done;
    return done;
  }
  Random seeds(first);
  for (const std::uint64_t last = scaled(count); done < last && run(seeds.next());) ++done;
  return done;
}

std::uint64_t scaled(std::uint64_t count) {
  const char* const text = std::getenv("THALWEG_TEST_SCALE");
  const double scale = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(count) * scale));
}

}  // namespace thalweg::test
