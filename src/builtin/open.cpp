// SPDX-License-Identifier: Apache-2.0
//
// builtin/open.cpp - Device::open, open_driver() and backends(): names every backend, alone.
// backend.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "backends/cpu/device.hpp"
#include "backends/sim/settings.hpp"
#include "base/device_name.hpp"
#include "os/memory.hpp"
#include "os/process.hpp"
#include "os/real_clock.hpp"
#include "os/thread.hpp"
#include "thalweg/backends.hpp"
#include "thalweg/base/forked.hpp"
#include "thalweg/device.hpp"
#include "thalweg/runtime/open.hpp"

namespace thalweg {
namespace {

using device_name::DeviceName;

constexpr std::uint64_t kWorkersMax = 256;
constexpr std::uint64_t kDelayMax_us = 1'000'000;

// Three quarters of the machine: the program and its neighbours need the rest.
std::uint64_t default_limit_bytes() noexcept {
  const std::uint64_t physical = os::physical_memory_bytes();
  return physical == 0 ? std::uint64_t{1} << 40 : physical / 4 * 3;
}

Result<void> apply_option(std::string_view option, std::string_view value, DeviceOptions& options,
                          unsigned& workers, std::source_location site) {
  if (option == "workers") {
    THALWEG_TRY_ASSIGN(const std::uint64_t count,
                       device_name::parse_count(option, value, 1, kWorkersMax, site));
    workers = static_cast<unsigned>(count);
  } else if (option == "memory") {
    THALWEG_TRY_ASSIGN(options.memory_limit_bytes, device_name::parse_bytes(option, value, site));
  } else if (option == "helping") {
    THALWEG_TRY_ASSIGN(options.helping, device_name::parse_switch(option, value, site));
  } else if (option == "skip_passed") {
    THALWEG_TRY_ASSIGN(options.skip_passed, device_name::parse_switch(option, value, site));
  } else if (option == "strict_events") {
    THALWEG_TRY_ASSIGN(options.strict_events, device_name::parse_switch(option, value, site));
  } else if (option == "measure_busy") {
    THALWEG_TRY_ASSIGN(options.measure_busy, device_name::parse_switch(option, value, site));
  } else if (option == "random_delay_us") {
    THALWEG_TRY_ASSIGN(const std::uint64_t delay,
                       device_name::parse_count(option, value, 0, kDelayMax_us, site));
    options.random_delay_us = static_cast<std::uint32_t>(delay);
  } else {
    return Error(ErrorKind::invalid_argument,
                 fmt::format("Device `cpu` has no option `{}`; it has workers, memory, helping, "
                             "skip_passed, strict_events, measure_busy and random_delay_us.",
                             option),
                 site);
  }
  return {};
}

Result<runtime::OpenedDriver> open_cpu(const DeviceName& parsed, std::string_view name,
                                       DeviceOptions options, std::source_location site) {
  // At least two: a host function that blocks must not stop everything.
  unsigned workers = std::max(os::processors(), 2U);
  for (const auto& [option, value] : parsed.options)
    THALWEG_TRY(apply_option(option, value, options, workers, site));
  if (options.random_delay_us > kDelayMax_us)
    return Error(ErrorKind::invalid_argument,
                 fmt::format("random_delay_us is {}; the limit is {}.", options.random_delay_us,
                             kDelayMax_us),
                 site);
  for (const StorageTable& table : {options.device_storage, options.host_storage})
    if ((table.alloc == nullptr) != (table.free == nullptr))
      return Error(ErrorKind::invalid_argument,
                   fmt::format("A storage table has {} without {}.",
                               table.alloc != nullptr ? "alloc" : "free",
                               table.alloc != nullptr ? "free" : "alloc"),
                   site);
  cpu::Options cpu_options;
  cpu_options.device_storage = {options.device_storage, options.storage_hooks};
  cpu_options.host_storage = {options.host_storage, options.storage_hooks};
  cpu_options.workers = {workers, options.helping, options.measure_busy, options.random_delay_us};
  cpu_options.memory_limit_bytes =
      options.memory_limit_bytes != 0 ? options.memory_limit_bytes : default_limit_bytes();
  options.clock = os::clock_or_real(std::move(options.clock));
  cpu_options.clock = options.clock;
  auto backend = cpu::Backend::create(cpu_options);
  if (!backend) return std::move(backend).error().at(site);
  auto driver = std::make_unique<backend::MultiStream<cpu::Backend>>(*std::move(backend));
  return runtime::OpenedDriver{
      std::move(driver), {"cpu", name, options.skip_passed, options.clock, options.strict_events}};
}

Result<runtime::OpenedDriver> open_sim(const DeviceName& parsed, std::string_view name,
                                       const DeviceOptions& options, std::source_location site) {
  for (const StorageTable& table : {options.device_storage, options.host_storage})
    if (table.alloc != nullptr || table.free != nullptr)
      return Error(ErrorKind::unsupported,
                   "Device `sim` has memory of its own and takes none from a storage table.", site);
  sim::Settings settings;
  settings.skip_passed = options.skip_passed;
  settings.strict_events = options.strict_events;
  settings.device.storage_hooks = options.storage_hooks;
  if (options.memory_limit_bytes != 0)
    settings.device.memory_limit_bytes = options.memory_limit_bytes;
  THALWEG_TRY_ASSIGN(settings, sim::apply(parsed, std::move(settings), site));
  sim::WorldOptions world_options;
  world_options.copy_engines = settings.copy_engines;
  world_options.faults = settings.faults;
  world_options.clock = options.clock;
  world_options.schedule = std::make_unique<sim::UniformSchedule>(settings.seed);
  auto world = sim::World::create(std::move(world_options));
  auto clock = world->clock();
  auto backend = sim::Backend::create(std::move(world), settings.device);
  if (!backend) return std::move(backend).error().at(site);
  auto driver = std::make_unique<backend::MultiStream<sim::Backend>>(*std::move(backend));
  return runtime::OpenedDriver{
      std::move(driver),
      {"sim", name, settings.skip_passed, std::move(clock), settings.strict_events}};
}

}  // namespace

Result<runtime::OpenedDriver> runtime::open_driver(std::string_view name,
                                                   const DeviceOptions& options,
                                                   std::source_location site) {
  if (detail::forked()) return detail::forked_error(site);
  os::watch_forks();
  THALWEG_TRY_ASSIGN(const DeviceName parsed, device_name::parse_name(name, site));
  if (parsed.backend == "cpu") return open_cpu(parsed, name, options, site);
  if (parsed.backend == "sim") return open_sim(parsed, name, options, site);
  return Error(ErrorKind::not_found,
               fmt::format("There is no backend `{}`; there are cpu and sim.", parsed.backend),
               site);
}

Result<Device> Device::open(std::string_view name, const DeviceOptions& options,
                            std::source_location site) {
  THALWEG_TRY_ASSIGN(runtime::OpenedDriver opened, runtime::open_driver(name, options, site));
  return runtime::open(std::move(opened.driver), opened.options, site);
}

std::vector<BackendInfo> backends() {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  BackendInfo cpu;
  cpu.name = "cpu";
  cpu.available = !detail::forked();
  if (!cpu.available) cpu.reason = detail::forked_error(std::source_location::current()).message();
  cpu.devices.push_back(fmt::format("{} processors, {:.1f} GiB", os::processors(),
                                    static_cast<double>(os::physical_memory_bytes()) / kGiB));
  BackendInfo sim;
  sim.name = "sim";
  sim.available = cpu.available;
  sim.reason = cpu.reason;
  sim.devices.push_back("simulated, 1.0 GiB");
  return {std::move(cpu), std::move(sim)};
}

}  // namespace thalweg
