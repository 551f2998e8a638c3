// SPDX-License-Identifier: Apache-2.0
//
// thalweg/backend/multi_stream.hpp - the event-ordered driver of many streams.
//
// Adapts a backend that models EventStreamBackend to what the runtime calls. The algorithm that
// chooses the waits is compiled and lives in `order`; this only wires.

#pragma once

#include <memory>
#include <utility>

#include "thalweg/backend/driver.hpp"
#include "thalweg/backend/event_stream_backend.hpp"

namespace thalweg::backend {

template <EventStreamBackend B>
class MultiStream final : public Driver {
 public:
  explicit MultiStream(B backend) : backend_(std::move(backend)) {}

  PriorityRange priority_range() const noexcept override {
    if constexpr (requires { backend_.priority_range(); }) {
      return backend_.priority_range();
    } else {
      return {};
    }
  }

  Result<std::unique_ptr<DriverStream>> create_stream(const StreamRequest& request) override {
    THALWEG_TRY_ASSIGN(typename B::Stream stream, backend_.factory().create(request));
    return std::unique_ptr<DriverStream>(std::make_unique<Node>(std::move(stream)));
  }

  DriverCounters counters() const noexcept override {
    if constexpr (requires { backend_.counters(); }) {
      return backend_.counters();
    } else {
      return {};
    }
  }

  std::optional<Result<void>> wait(order::Point point, Deadline deadline) override {
    if constexpr (requires { backend_.wait(point, deadline); }) {
      return backend_.wait(point, deadline);
    } else {
      return std::nullopt;
    }
  }

  std::optional<Result<void>> wait(neutral::Timeline& timeline, std::uint64_t value,
                                   Deadline deadline) override {
    if constexpr (requires { backend_.wait(timeline, value, deadline); }) {
      return backend_.wait(timeline, value, deadline);
    } else {
      return std::nullopt;
    }
  }

  Observer* observer() noexcept override {
    if constexpr (requires { backend_.observer(); }) {
      return backend_.observer();
    } else {
      return nullptr;
    }
  }

  const Loss* loss() const noexcept override {
    if constexpr (requires { backend_.loss(); }) {
      return backend_.loss();
    } else {
      return nullptr;
    }
  }

  FailureScope failure_scope() const noexcept override {
    if constexpr (requires { B::kFailureScope; }) {
      return B::kFailureScope;
    } else {
      return FailureScope::task;
    }
  }

  bool host_addresses() const noexcept override {
    if constexpr (requires { B::kHostAddresses; }) {
      return B::kHostAddresses;
    } else {
      return false;
    }
  }

  bool copies_between_devices() const noexcept override {
    if constexpr (requires { B::kCopiesBetweenDevices; }) {
      return B::kCopiesBetweenDevices;
    } else {
      return false;
    }
  }

  Result<std::unique_ptr<DriverStream>> adopt_stream(std::uintptr_t handle, Ownership ownership,
                                                     const StreamRequest& request) override {
    if constexpr (requires { backend_.factory().adopt(handle, ownership, request); }) {
      THALWEG_TRY_ASSIGN(typename B::Stream stream,
                         backend_.factory().adopt(handle, ownership, request));
      return std::unique_ptr<DriverStream>(std::make_unique<Node>(std::move(stream)));
    } else {
      return Error(ErrorKind::not_found,
                   "The device has no queue of that handle, and takes over none of others.");
    }
  }

  const void* type() const noexcept override { return &type_tag; }

  MemorySource& device_memory() noexcept override { return backend_.device_pool(); }
  MemorySource& host_memory() noexcept override { return backend_.host_pool(); }

 private:
  using Stream = typename B::Stream;

  class Node final : public DriverStream {
   public:
    explicit Node(Stream stream) : stream_(std::move(stream)) {}

    Result<void> submit(const neutral::Task& task, Serial serial) override {
      return B::submit(stream_, task, serial);
    }

    Result<Serial> wait_for(DriverStream& source, Serial serial) override {
      if (source.type() != type())
        return Error(ErrorKind::backend_mismatch,
                     "A stream cannot wait for one of another backend.");
      return B::wait_for(stream_, static_cast<Node&>(source).stream_, serial);
    }

    void keep(Ref<Counted> item, std::uint64_t size_bytes) override {
      stream_.drop_queue().push(std::move(item), size_bytes);
    }

    void poll(Items& freed) override {
      if (stream_.drop_queue().should_flush()) return flush(freed);
      stream_.drop_queue().poll(freed);
    }

    // A fence that is refused leaves what is staged for the next flush.
    void flush(Items& freed) override {
      static_cast<void>(stream_.drop_queue().flush(
          [signal = stream_.signal()] { return Stream::fence(signal); }));
      stream_.drop_queue().poll(freed);
    }

    void clear(Items& freed) override { stream_.drop_queue().clear(freed); }
    std::uint64_t fences() const override {
      return const_cast<Stream&>(stream_).drop_queue().fences();
    }

    Result<Found> find(MemoryKind kind, std::uint64_t size_bytes,
                       const ReserveOptions& options) override {
      return kind == MemoryKind::device ? find_in(stream_.device_memory(), size_bytes, options)
                                        : find_in(stream_.host_memory(), size_bytes, options);
    }

    Result<Block> grow(MemoryKind kind, std::uint64_t rounded_bytes,
                       std::uint64_t size_bytes) override {
      return kind == MemoryKind::device
                 ? stream_.device_memory().pool().grow(rounded_bytes, size_bytes)
                 : stream_.host_memory().pool().grow(rounded_bytes, size_bytes);
    }

    void announce() noexcept override {
      if constexpr (requires { B::announce(stream_); }) B::announce(stream_);
    }

    bool close_idle() noexcept override {
      if constexpr (requires { B::close_idle(stream_); }) {
        return B::close_idle(stream_);
      } else {
        return false;
      }
    }

    std::uintptr_t raw() const noexcept override {
      if constexpr (requires { B::raw(stream_); }) {
        return B::raw(stream_);
      } else {
        return reinterpret_cast<std::uintptr_t>(this);
      }
    }

    const void* type() const noexcept override { return &type_tag; }

   private:
    template <class Memory>
    Result<Found> find_in(Memory& memory, std::uint64_t size_bytes, const ReserveOptions& options) {
      THALWEG_TRY_ASSIGN(const std::uint64_t rounded, memory.pool().round(size_bytes, options));
      Found result;
      result.rounded_bytes = rounded;
      if (auto block =
              memory.pool().find(rounded, size_bytes, memory.home(), options.passed_only)) {
        result.found = true;
        result.block = *block;
      }
      return result;
    }

    Stream stream_;
  };

  static inline const char type_tag = 0;

  B backend_;
};

}  // namespace thalweg::backend
