// SPDX-License-Identifier: Apache-2.0

#include "contract/support/counting_driver.hpp"

#include <map>
#include <utility>

namespace thalweg::contract {
namespace {

// What the wrapped ones of one inner type share. It cannot be the inner type itself: inner streams
// would then take a wrapped one for one of theirs.
const void* type_of(const void* inner) {
  static std::mutex& mutex = *new std::mutex;            // Streams may end after main().
  static auto& tags = *new std::map<const void*, char>;  // Nodes stay where they are.
  const std::lock_guard lock(mutex);
  return &tags[inner];
}

}  // namespace

// Control.

std::uint64_t Control::calls() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& count : calls_) sum += count;
  return sum;
}

void Control::refuse(Call call, Error error, std::uint64_t nth, std::uint64_t times) {
  const std::lock_guard lock(mutex_);
  refusals_[index(call)] = {nth - 1, times, std::move(error)};
  armed_ = true;
}

void Control::pretend(PriorityRange range) {
  const std::lock_guard lock(mutex_);
  priorities_ = range;
}

std::optional<PriorityRange> Control::pretended() const {
  const std::lock_guard lock(mutex_);
  return priorities_;
}

std::optional<Error> Control::refused(Call call) {
  count(call);
  if (!armed_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  Refusal& refusal = refusals_[index(call)];
  if (refusal.times == 0) return std::nullopt;
  if (refusal.before != 0) {
    --refusal.before;
    return std::nullopt;
  }
  --refusal.times;
  return refusal.error;
}

// CountingStream.

CountingStream::CountingStream(std::unique_ptr<backend::DriverStream> inner,
                               std::shared_ptr<Control> control)
    : inner_(std::move(inner)), control_(std::move(control)), type_(type_of(inner_->type())) {
  ++control_->streams_created_;
}

CountingStream::~CountingStream() {
  inner_.reset();
  ++control_->streams_destroyed_;
}

// REQUIRES: the caller holds the queue's lock, as fences() does.
void CountingStream::count_fences() {
  const std::uint64_t now = inner_->fences();
  control_->fences_ += now - std::exchange(fences_, now);
}

Result<void> CountingStream::submit(const neutral::Task& task, Serial serial) {
  if (task.kind == neutral::TaskKind::last) {
    control_->count(Call::submit);
  } else if (std::optional<Error> error = control_->refused(Call::submit)) {
    return *std::move(error);
  }
  THALWEG_TRY(inner_->submit(task, serial));
  ++control_->submits_[static_cast<std::size_t>(task.kind)];
  count_fences();
  return {};
}

Result<Serial> CountingStream::wait_for(backend::DriverStream& source, Serial serial) {
  if (std::optional<Error> error = control_->refused(Call::wait_for)) return *std::move(error);
  if (source.type() != type_)
    return Error(ErrorKind::backend_mismatch, "A stream cannot wait for one of another backend.");
  return inner_->wait_for(*static_cast<CountingStream&>(source).inner_, serial);
}

void CountingStream::keep(Ref<Counted> item, std::uint64_t size_bytes) {
  control_->count(Call::keep);
  inner_->keep(std::move(item), size_bytes);
}

void CountingStream::poll(backend::Items& freed) {
  control_->count(Call::poll);
  inner_->poll(freed);
  count_fences();
}

void CountingStream::flush(backend::Items& freed) {
  control_->count(Call::flush);
  inner_->flush(freed);
  count_fences();
}

void CountingStream::clear(backend::Items& freed) {
  control_->count(Call::clear);
  inner_->clear(freed);
  count_fences();
}

std::uint64_t CountingStream::fences() const { return inner_->fences(); }

Result<backend::Found> CountingStream::find(MemoryKind kind, std::uint64_t size_bytes,
                                            const backend::ReserveOptions& options) {
  if (std::optional<Error> error = control_->refused(Call::find)) return *std::move(error);
  return inner_->find(kind, size_bytes, options);
}

Result<backend::Block> CountingStream::grow(MemoryKind kind, std::uint64_t rounded_bytes,
                                            std::uint64_t size_bytes) {
  if (std::optional<Error> error = control_->refused(Call::grow)) return *std::move(error);
  return inner_->grow(kind, rounded_bytes, size_bytes);
}

void CountingStream::announce() noexcept {
  control_->count(Call::announce);
  inner_->announce();
}

bool CountingStream::close_idle() noexcept {
  control_->count(Call::close_idle);
  return inner_->close_idle();
}

std::uintptr_t CountingStream::raw() const noexcept {
  control_->count(Call::query);
  return inner_->raw();
}

// CountingDriver.

CountingDriver::CountingDriver(std::unique_ptr<backend::Driver> inner,
                               std::shared_ptr<Control> control)
    : inner_(std::move(inner)), control_(std::move(control)), type_(type_of(inner_->type())) {}

CountingDriver::~CountingDriver() {
  inner_.reset();
  control_->driver_destroyed_ = true;
}

PriorityRange CountingDriver::priority_range() const noexcept {
  control_->count(Call::query);
  const std::optional<PriorityRange> pretended = control_->pretended();
  return pretended ? *pretended : inner_->priority_range();
}

template <class Make>
Result<std::unique_ptr<backend::DriverStream>> CountingDriver::make_stream(
    Call call, const backend::StreamRequest& request, Make make) {
  control_->latest_index_ = request.index;
  if (std::optional<Error> error = control_->refused(call)) return *std::move(error);
  THALWEG_TRY_ASSIGN(std::unique_ptr<backend::DriverStream> inner, make());
  return std::unique_ptr<backend::DriverStream>(
      std::make_unique<CountingStream>(std::move(inner), control_));
}

Result<std::unique_ptr<backend::DriverStream>> CountingDriver::create_stream(
    const backend::StreamRequest& request) {
  return make_stream(Call::create_stream, request, [&] { return inner_->create_stream(request); });
}

Result<std::unique_ptr<backend::DriverStream>> CountingDriver::adopt_stream(
    std::uintptr_t handle, Ownership ownership, const backend::StreamRequest& request) {
  return make_stream(Call::adopt_stream, request,
                     [&] { return inner_->adopt_stream(handle, ownership, request); });
}

FailureScope CountingDriver::failure_scope() const noexcept {
  control_->count(Call::query);
  return inner_->failure_scope();
}

bool CountingDriver::host_addresses() const noexcept {
  control_->count(Call::query);
  return inner_->host_addresses();
}

bool CountingDriver::copies_between_devices() const noexcept {
  control_->count(Call::query);
  return inner_->copies_between_devices();
}

backend::DriverCounters CountingDriver::counters() const noexcept {
  control_->count(Call::query);
  return inner_->counters();
}

std::optional<Result<void>> CountingDriver::wait(order::Point point, Deadline deadline) {
  if (std::optional<Error> error = control_->refused(Call::host_wait))
    return Result<void>(*std::move(error));
  return inner_->wait(point, deadline);
}

std::optional<Result<void>> CountingDriver::wait(neutral::Timeline& timeline, std::uint64_t value,
                                                 Deadline deadline) {
  return inner_->wait(timeline, value, deadline);
}

backend::Observer* CountingDriver::observer() noexcept { return inner_->observer(); }

const backend::Loss* CountingDriver::loss() const noexcept { return inner_->loss(); }

backend::MemorySource& CountingDriver::device_memory() noexcept {
  control_->count(Call::query);
  return inner_->device_memory();
}

backend::MemorySource& CountingDriver::host_memory() noexcept {
  control_->count(Call::query);
  return inner_->host_memory();
}

}  // namespace thalweg::contract
