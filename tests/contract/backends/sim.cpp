// SPDX-License-Identifier: Apache-2.0

#include "contract/support/backend_under_test.hpp"

namespace thalweg::contract {
namespace {

[[maybe_unused]] const bool sim_added = add_backend({
    .name = "sim",
    .devices = {{"SimSeed1", "sim?seed=1"},
                {"SimSeed2", "sim?seed=2&copy_engines=1"},
                {"SimSeed3", "sim?seed=3&memory=64MiB&copy_engines=2"},
                {"SimSeed4", "sim?seed=4"}},
    .open = [](const std::string& name) { return runtime::open_driver(name); },
    .own_threads = false,  // It goes on inside the calls of the host.
    .exceptions = {{"C2Thread", "Callbacks of a simulated device run inside calls of the host."},
                   {"S10", "There is no capture yet."},
                   {"S11", "A simulated device has no default stream."},
                   {"S12", "A simulated device has no current context."},
                   {"G9Drop", "Whatever runs, runs inside a call, which holds a handle."}},
});

}  // namespace
}  // namespace thalweg::contract
