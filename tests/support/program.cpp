// SPDX-License-Identifier: Apache-2.0

#include "support/program.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "support/random.hpp"

namespace thalweg::test {
namespace {

// A buffer a part may use.
struct Known {
  int id = 0;
  std::uint32_t count = 0;
  bool own = false;  // The part may drop it.
};

struct Gate {
  int id = 0;
  std::uint32_t asked = 0;
  std::uint32_t opened = 0;
};

Range whole(const Known& buffer) { return {buffer.id, 0, buffer.count}; }

bool overlap(const Range& a, const Range& b) {
  if (a.buffer != b.buffer) return false;
  for (std::uint32_t i = 0; i < a.total(); ++i)
    if (b.contains(a.element(i))) return true;
  return false;
}

// Writes the operations of one thread. Whatever it emits is legal whatever the other threads do: it
// drops only what is its own.
class Writer {
 public:
  Writer(Program& program, const ProgramShape& shape, Random& random, int thread)
      : program_(program), shape_(shape), random_(random), thread_(thread) {}

  void add_stream(int id, bool own) {
    streams_.push_back(id);
    if (own) own_streams_.push_back(id);
  }
  void add_foreign_stream(int id) { foreign_streams_.push_back(id); }
  void add_buffer(Known buffer) { buffers_.push_back(buffer); }
  void add_gate(int id) { gates_.push_back({id}); }

  std::vector<Op> write() {
    const std::uint32_t count = random_.between(shape_.ops_min, shape_.ops_max);
    while (ops_.size() < count) step();
    open_gates();
    return std::move(ops_);
  }

  // A new buffer with known contents.
  Known create_buffer(int home) {
    const Known buffer{program_.buffers++, pick_count(), true};
    Op op{.kind = OpKind::create_buffer, .stream = home, .other = random_.pick(streams_)};
    op.a = whole(buffer);
    op.value = value();
    if (random_.chance(40)) op.kind = OpKind::create_upload;
    emit(op);
    return buffer;
  }

  // A buffer for a grid, which has no cells yet.
  void create_grid(int home) {
    const Known grid{program_.buffers++, kGridWords, false};
    Op op{.kind = OpKind::create_buffer, .stream = home, .other = random_.pick(streams_)};
    op.a = whole(grid);
    grids_.push_back(grid);
    emit(op);
  }

  std::vector<Op> take() { return std::move(ops_); }

 private:
  using Step = void (Writer::*)();

  // Only commuting operations may touch what other threads use without a lock.
  bool commuting() const { return shape_.threads > 1 && !shape_.locked; }
  bool touchable(const Known& buffer) const {
    return !commuting() || buffer.id >= program_.shared_buffers;
  }

  void emit(const Op& op) { ops_.push_back(op); }
  std::uint32_t value() { return static_cast<std::uint32_t>(random_.next()); }

  std::uint32_t pick_count() {
    static constexpr std::array<std::uint32_t, 8> kSmall{8, 16, 16, 24, 64, 64, 128, 256};
    static constexpr std::array<std::uint32_t, 8> kAny{1, 3, 16, 16, 33, 64, 64, 100};
    if (shape_.coarse) return kSmall[random_.below(kSmall.size())];
    if (random_.chance(2)) return 0;
    if (random_.chance(3)) return random_.between(1000, 20000);
    return kAny[random_.below(kAny.size())];
  }

  void step() {
    struct Choice {
      std::uint32_t weight;
      Step step;
    };
    static constexpr std::array kChoices{
        Choice{8, &Writer::emit_fill},        Choice{3, &Writer::emit_fill_bytes},
        Choice{12, &Writer::emit_copy},       Choice{10, &Writer::emit_affine},
        Choice{12, &Writer::emit_axpy},       Choice{9, &Writer::emit_combine},
        Choice{6, &Writer::emit_exchange},    Choice{7, &Writer::emit_host_update},
        Choice{3, &Writer::emit_host_write},  Choice{8, &Writer::emit_upload},
        Choice{10, &Writer::emit_read},       Choice{5, &Writer::emit_future},
        Choice{5, &Writer::emit_record},      Choice{6, &Writer::emit_wait_event},
        Choice{3, &Writer::emit_wait_stream}, Choice{6, &Writer::emit_gate},
        Choice{8, &Writer::emit_drop_buffer}, Choice{9, &Writer::emit_create_buffer},
        Choice{3, &Writer::emit_stream},      Choice{3, &Writer::emit_host_wait},
        Choice{3, &Writer::emit_other},       Choice{10, &Writer::emit_commuting},
        Choice{8, &Writer::emit_tiles},       Choice{5, &Writer::emit_indirect},
        Choice{5, &Writer::emit_set_grid},
    };
    constexpr std::uint32_t kSum = [] {
      std::uint32_t sum = 0;
      for (const Choice& choice : kChoices) sum += choice.weight;
      return sum;
    }();
    std::uint32_t at = random_.below(kSum);
    for (const Choice& choice : kChoices) {
      if (at < choice.weight) return (this->*choice.step)();
      at -= choice.weight;
    }
  }

  int stream() { return random_.pick(streams_); }

  Range view(const Known& buffer) {
    if (random_.chance(40) || buffer.count == 0) return whole(buffer);
    const std::uint32_t grain = shape_.coarse ? buffer.count / 8 : 1;
    const std::uint32_t cells = buffer.count / grain;
    const std::uint32_t first = random_.below(cells);
    const std::uint32_t count = random_.between(shape_.coarse ? 1 : 0, cells - first);
    return {buffer.id, first * grain, count * grain};
  }

  Range view() {
    for (;;) {
      const Known& buffer = random_.pick(buffers_);
      if (touchable(buffer)) return view(buffer);
    }
  }

  // Rows of a buffer; a plain view where it has no room for two.
  Range tile(const Known& buffer) {
    const std::uint32_t grain = shape_.coarse ? buffer.count / 8 : 1;
    const std::uint32_t cells = grain == 0 ? 0 : buffer.count / grain;
    if (cells < 3) return view(buffer);
    // Few rows mostly; many only now and then.
    const std::uint32_t most = random_.chance(90) ? 8 : shape_.rows_max;
    const std::uint32_t rows = random_.between(2, std::min({cells, most, shape_.rows_max}));
    std::uint32_t pitch = random_.between(1, (cells - 1) / (rows - 1));
    if (random_.chance(30)) pitch = std::min<std::uint32_t>(2, pitch);
    const std::uint32_t width = random_.between(1, std::min(pitch, cells - (rows - 1) * pitch));
    const std::uint32_t first = random_.below(cells - (rows - 1) * pitch - width + 1);
    return {buffer.id, first * grain, width * grain, rows, pitch * grain};
  }

  // A view or a tile.
  Range area() {
    if (random_.chance(70)) return view();
    for (;;) {
      const Known& buffer = random_.pick(buffers_);
      if (touchable(buffer)) return tile(buffer);
    }
  }

  // A tile of that shape that does not meet `not_this`; none when luck says so.
  Range tile_of(std::uint32_t width, std::uint32_t rows, const Range& not_this) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Known& buffer = random_.pick(buffers_);
      const std::uint32_t grain = shape_.coarse ? buffer.count / 8 : 1;
      if (!touchable(buffer) || width * rows > buffer.count || width % grain != 0) continue;
      const std::uint32_t room = (buffer.count - width) / grain / (rows - 1);
      std::uint32_t pitch = random_.between(width / grain, room) * grain;
      if (random_.chance(40)) pitch = std::min(not_this.pitch, room * grain);
      if (pitch < width || pitch % grain != 0) continue;
      const std::uint32_t left = (buffer.count - width - (rows - 1) * pitch) / grain;
      const Range range{buffer.id, random_.below(left + 1) * grain, width, rows, pitch};
      if (!overlap(range, not_this)) return range;
    }
    return {};
  }

  // A view of exactly `count` elements that does not meet `not_this`; none when luck says so.
  Range view_of(std::uint32_t count, const Range& not_this) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Known& buffer = random_.pick(buffers_);
      if (!touchable(buffer) || buffer.count < count) continue;
      std::uint32_t first = random_.below(buffer.count - count + 1);
      if (shape_.coarse) first = first / (buffer.count / 8) * (buffer.count / 8);
      const Range range{buffer.id, first, count};
      if (!overlap(range, not_this)) return range;
    }
    return {};
  }

  // A view that does not meet `not_this`; an empty one of its buffer when luck says so.
  Range view_beside(const Range& not_this) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Range range = view();
      if (!overlap(range, not_this)) return range;
    }
    return {not_this.buffer, not_this.first, 0};
  }

  Op task(OpKind kind) {
    Op op{.kind = kind, .stream = stream()};
    op.value = value();
    return op;
  }

  void emit_fill() {
    Op op = task(OpKind::fill);
    op.a = area();
    emit(op);
  }

  void emit_fill_bytes() {
    if (shape_.coarse) return;
    Op op = task(OpKind::fill_bytes);
    op.a = view();
    const std::uint32_t bytes = op.a.count * 4;
    const std::uint32_t skip = random_.below(bytes + 1);
    op.a = {op.a.buffer, op.a.first * 4 + skip, random_.below(bytes - skip + 1)};
    emit(op);
  }

  void emit_copy() {
    Op op = task(OpKind::copy);
    op.a = area();
    if (op.a.tile() && random_.chance(60)) {
      op.b = tile_of(op.a.count, op.a.rows, op.a);
    } else if (!op.a.tile() && op.a.count != 0 && op.a.count % 4 == 0 && random_.chance(30)) {
      op.b = tile_of(op.a.count / 4, 4, op.a);
    } else {
      op.b = view_of(op.a.total(), op.a);
    }
    if (op.b.given()) emit(op);
  }

  void emit_tiles() {
    Op op = task(random_.chance(50) ? OpKind::tile_axpy : OpKind::tile_combine);
    op.a = area();
    if (!op.a.tile()) return;
    op.b = tile_of(op.a.count, op.a.rows, op.a);
    if (op.kind == OpKind::tile_combine) op.c = view_beside(op.a);
    if (op.b.given()) emit(op);
  }

  void emit_indirect() {
    Op op = task(OpKind::indirect);
    op.a = view();
    op.c = whole(random_.pick(grids_));
    emit(op);
  }

  void emit_set_grid() {
    Op op = task(OpKind::set_grid);
    op.a = whole(random_.pick(grids_));
    op.x = random_.below(kGridX + 1);
    op.y = random_.between(random_.chance(90) ? 1 : 0, kGridY);
    op.z = random_.between(1, kGridZ);
    emit(op);
  }

  void emit_affine() {
    Op op = task(OpKind::affine);
    op.a = view();
    const std::uint32_t count = op.a.count;
    op.x = random_.chance(70) || count == 0 ? count : random_.between(1, count);
    if (random_.chance(20)) op.x = random_.below(count + 1);
    if (op.x != 0 && random_.chance(30)) op.y = random_.between(1, count / op.x);
    if (op.x != 0 && random_.chance(20)) op.z = random_.between(1, count / (op.x * op.y));
    emit(op);
  }

  void emit_axpy() {
    Op op = task(OpKind::axpy);
    op.a = view();
    op.b = view_beside(op.a);
    emit(op);
  }

  void emit_combine() {
    Op op = task(OpKind::combine);
    op.a = view();
    op.b = view_beside(op.a);
    op.c = view_beside(op.a);
    emit(op);
  }

  void emit_exchange() {
    Op op = task(OpKind::exchange);
    op.a = view();
    op.b = view_of(op.a.count, op.a);
    if (op.b.given()) emit(op);
  }

  void emit_host_update() {
    Op op = task(OpKind::host_update);
    op.a = area();
    op.b = view_beside(op.a);
    if (random_.chance(25) && !commuting()) op.c = whole(random_.pick(buffers_));
    emit(op);
  }

  void emit_host_write() {
    Op op = task(OpKind::host_write);
    op.a = area();
    emit(op);
  }

  void emit_upload() {
    static constexpr std::array kForms{OpKind::upload_copy, OpKind::upload_move,
                                       OpKind::upload_borrowed};
    Op op = task(kForms[random_.below(kForms.size())]);
    op.a = area();
    emit(op);
  }

  void emit_read() {
    Op op = task(OpKind::read);
    op.a = area();
    op.read = program_.reads++;
    reads_.push_back(op.read);
    emit(op);
  }

  void emit_future() {
    if (reads_.empty()) return;
    const auto at = random_.below(static_cast<std::uint32_t>(reads_.size()));
    Op op{.kind = OpKind::test_future, .read = reads_[at]};
    const std::uint32_t what = random_.below(3);
    if (what == 0) op.kind = OpKind::drop_future;
    if (what == 1 && shape_.blocking) op.kind = OpKind::get;
    if (op.kind != OpKind::test_future) reads_.erase(reads_.begin() + at);
    if (op.kind == OpKind::get) open_gates();
    emit(op);
  }

  int event() {
    return static_cast<int>(random_.below(static_cast<std::uint32_t>(program_.events)));
  }

  void emit_record() { emit({.kind = OpKind::record, .stream = stream(), .event = event()}); }

  void emit_wait_event() {
    emit({.kind = OpKind::wait_event, .stream = stream(), .event = event()});
  }

  void emit_wait_stream() {
    const bool foreign = !foreign_streams_.empty() && random_.chance(50);
    emit({.kind = OpKind::wait_stream,
          .stream = stream(),
          .other = random_.pick(foreign ? foreign_streams_ : streams_)});
  }

  void emit_gate() {
    if (!shape_.gates || gates_.empty()) return;
    Gate& gate = gates_[random_.below(static_cast<std::uint32_t>(gates_.size()))];
    Op op{.kind = OpKind::close_gate, .stream = stream(), .gate = gate.id};
    const std::uint32_t what = random_.below(4);
    if (gate.asked == gate.opened || what == 0) {
      op.value = ++gate.asked;
    } else if (what == 1) {
      op.kind = OpKind::host_opens_gate;
      op.value = gate.asked;
    } else {
      op.kind = OpKind::open_gate;
      op.value = gate.asked;
      gate.opened = gate.asked;
    }
    emit(op);
  }

  void open_gates() {
    for (Gate& gate : gates_) {
      if (gate.asked == gate.opened) continue;
      gate.opened = gate.asked;
      Op op{.kind = OpKind::open_gate, .gate = gate.id};
      op.value = gate.asked;
      emit(op);
    }
  }

  void emit_drop_buffer() {
    if (!shape_.drops) return;
    const auto at = random_.below(static_cast<std::uint32_t>(buffers_.size()));
    const auto touchables = std::count_if(buffers_.begin(), buffers_.end(),
                                          [this](const Known& k) { return touchable(k); });
    if (!buffers_[at].own || touchables < 2) return;
    Op op{.kind = OpKind::drop_buffer};
    op.a = whole(buffers_[at]);
    buffers_.erase(buffers_.begin() + at);
    emit(op);
    if (random_.chance(50)) buffers_.push_back(create_buffer(stream()));
  }

  void emit_create_buffer() {
    if (buffers_.size() < 6 && (shape_.drops || random_.chance(30)))
      buffers_.push_back(create_buffer(stream()));
  }

  void emit_stream() {
    if (!shape_.drops) return;
    if (streams_.size() < 6 && random_.chance(50)) {
      const int id = program_.streams++;
      emit({.kind = OpKind::create_stream, .stream = id});
      add_stream(id, true);
    } else if (streams_.size() > 1 && !own_streams_.empty()) {
      const auto at = random_.below(static_cast<std::uint32_t>(own_streams_.size()));
      const int id = own_streams_[at];
      own_streams_.erase(own_streams_.begin() + at);
      std::erase(streams_, id);
      emit({.kind = OpKind::drop_stream, .stream = id});
    }
  }

  void emit_host_wait() {
    if (!shape_.blocking) return;
    static constexpr std::array kWaits{OpKind::synchronize_stream, OpKind::synchronize_stream,
                                       OpKind::synchronize_device, OpKind::host_waits_event};
    open_gates();
    emit({.kind = kWaits[random_.below(kWaits.size())], .stream = stream(), .event = event()});
  }

  void emit_other() {
    static constexpr std::array kOthers{OpKind::try_synchronize, OpKind::query_event, OpKind::poll,
                                        OpKind::trim, OpKind::refused};
    Op op = task(kOthers[random_.below(kOthers.size())]);
    op.event = event();
    op.a = view();
    emit(op);
  }

  // What threads may do to shared buffers without a lock.
  void emit_commuting() {
    if (!commuting()) return;
    const auto shared = static_cast<std::uint32_t>(program_.shared_buffers);
    const auto first = random_.below(shared);
    Op op{.kind = OpKind::add, .stream = stream()};
    op.a = whole(buffers_[first]);
    op.value = 1u << (kCommutingBits * thread_);
    const std::uint32_t what = random_.below(3);
    if (what == 0) {
      op.kind = OpKind::read;
      op.read = program_.reads++;
    } else if (what == 1 && shared > 1) {
      const auto second = (first + 1 + random_.below(shared - 1)) % shared;
      op.kind = OpKind::add_pair;
      op.b = whole(buffers_[second]);
    }
    emit(op);
  }

  Program& program_;
  const ProgramShape& shape_;
  Random& random_;
  int thread_;
  std::vector<Op> ops_;
  std::vector<int> streams_;
  std::vector<int> own_streams_;
  std::vector<int> foreign_streams_;
  std::vector<Known> buffers_;  // The shared ones first, and those are never dropped by a thread.
  std::vector<Known> grids_;
  std::vector<Gate> gates_;
  std::vector<int> reads_;
};

DeviceSetup pick_setup(Random& random) {
  static constexpr std::array kDelays{0, 3, 10, 30};
  DeviceSetup setup;
  setup.workers = static_cast<int>(random.between(1, 4));
  setup.random_delay_us = kDelays[random.below(kDelays.size())];
  setup.helping = random.chance(60);
  setup.skip_passed = random.chance(75);
  return setup;
}

}  // namespace

std::string DeviceSetup::name() const {
  if (!sim.empty()) return "sim?" + sim + "&skip_passed=" + (skip_passed ? "on" : "off");
  return "cpu?workers=" + std::to_string(workers) +
         "&random_delay_us=" + std::to_string(random_delay_us) +
         "&helping=" + (helping ? "on" : "off") + "&skip_passed=" + (skip_passed ? "on" : "off");
}

Program make_program(std::uint64_t seed, const ProgramShape& shape) {
  Random random(seed);
  Program program;
  program.seed = seed;
  program.locked = shape.locked;
  program.setup = pick_setup(random);
  program.events = static_cast<int>(random.between(1, 4));

  const auto threads = static_cast<std::size_t>(shape.threads);
  std::vector<Writer> writers;
  for (std::size_t i = 0; i < threads; ++i)
    writers.emplace_back(program, shape, random, static_cast<int>(i));

  // Streams of the prologue are dropped in the middle only where no other thread names them.
  std::vector<std::vector<int>> streams(threads);
  Writer prologue(program, shape, random, 0);
  for (std::size_t i = 0; i < threads; ++i) {
    const std::uint32_t count = random.between(1, shape.threads == 1 ? 5 : 2);
    for (std::uint32_t n = 0; n < count; ++n) {
      const int id = program.streams++;
      streams[i].push_back(id);
      program.prologue.push_back({.kind = OpKind::create_stream, .stream = id});
      prologue.add_stream(id, false);
    }
  }
  const std::uint32_t shared = random.between(1, 3);
  std::vector<Known> buffers;
  for (std::uint32_t n = 0; n < shared; ++n)
    buffers.push_back(prologue.create_buffer(random.pick(random.pick(streams))));
  program.shared_buffers = shape.threads == 1 ? 0 : program.buffers;
  for (Op& op : prologue.take()) {
    // Their first value is known to the checks of commuting programs.
    if (shape.threads > 1 && !shape.locked) {
      op.kind = OpKind::create_buffer;
      op.value = 0;
      if (op.other < 0) op.other = op.stream;
    }
    program.prologue.push_back(op);
  }
  for (std::size_t i = 0; i < threads; ++i) {
    for (std::size_t from = 0; from < threads; ++from) {
      for (const int id : streams[from]) {
        if (from == i) {
          writers[i].add_stream(id, shape.threads == 1);
        } else {
          writers[i].add_foreign_stream(id);
        }
      }
    }
    for (Known buffer : buffers) {
      buffer.own = shape.threads == 1;
      writers[i].add_buffer(buffer);
    }
    writers[i].add_gate(program.gates++);
    writers[i].add_gate(program.gates++);
    writers[i].add_buffer(writers[i].create_buffer(streams[i].front()));
    writers[i].create_grid(streams[i].front());
    writers[i].create_grid(streams[i].back());
    program.parts.push_back(writers[i].write());
  }
  return program;
}

bool is_task(OpKind kind) noexcept { return kind >= OpKind::fill && kind <= OpKind::read; }

bool waits_on_host(OpKind kind) noexcept {
  return kind == OpKind::get || kind == OpKind::host_waits_event ||
         kind == OpKind::synchronize_stream || kind == OpKind::synchronize_device;
}

const char* name(OpKind kind) noexcept {
  static constexpr std::array kNames{
      "create_stream",
      "drop_stream",
      "create_buffer",
      "create_upload",
      "drop_buffer",
      "fill",
      "fill_bytes",
      "copy",
      "affine",
      "axpy",
      "combine",
      "exchange",
      "add",
      "add_pair",
      "tile_axpy",
      "tile_combine",
      "indirect",
      "set_grid",
      "host_update",
      "host_write",
      "host_opens_gate",
      "upload_copy",
      "upload_move",
      "upload_borrowed",
      "read",
      "record",
      "wait_event",
      "wait_stream",
      "close_gate",
      "open_gate",
      "get",
      "drop_future",
      "test_future",
      "host_waits_event",
      "query_event",
      "synchronize_stream",
      "synchronize_device",
      "try_synchronize",
      "poll",
      "trim",
      "refused",
  };
  static_assert(kNames.size() == static_cast<std::size_t>(OpKind::refused) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

std::string describe(const Op& op) {
  const auto range = [](const char* label, const Range& r) {
    if (!r.given()) return std::string();
    std::string text = " " + std::string(label) + "=B" + std::to_string(r.buffer) + "[" +
                       std::to_string(r.first) + "+" + std::to_string(r.count);
    if (r.tile()) text += " x" + std::to_string(r.rows) + "/" + std::to_string(r.pitch);
    return text + "]";
  };
  const auto id = [](const char* label, int value) {
    return value < 0 ? std::string() : " " + std::string(label) + std::to_string(value);
  };
  std::string text = name(op.kind);
  text += id("S", op.stream) + id("other=S", op.other) + id("E", op.event) + id("G", op.gate) +
          id("R", op.read) + range("a", op.a) + range("b", op.b) + range("c", op.c);
  if (op.kind == OpKind::affine || op.kind == OpKind::set_grid) {
    text +=
        " grid=" + std::to_string(op.x) + "x" + std::to_string(op.y) + "x" + std::to_string(op.z);
  }
  return text + " value=" + std::to_string(op.value);
}

std::string describe(const Program& program) {
  std::string text = "# " + program.setup.name() + (program.locked ? " locked\n" : " commuting\n");
  const auto list = [&text](int part, const std::vector<Op>& ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      text += std::to_string(part) + ":" + std::to_string(i) + " " + describe(ops[i]) + "\n";
    }
  };
  list(-1, program.prologue);
  for (std::size_t i = 0; i < program.parts.size(); ++i)
    list(static_cast<int>(i), program.parts[i]);
  return text;
}

}  // namespace thalweg::test
