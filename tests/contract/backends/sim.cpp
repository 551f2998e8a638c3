// SPDX-License-Identifier: Apache-2.0

#include "contract/support/backend_under_test.hpp"

namespace thalweg::contract {
namespace {

[[maybe_unused]] const bool sim_added = add_backend({
    .name = "sim",
    .devices = {{"SimSeed1", "sim?seed=1", 1}, {"SimSeed2", "sim?seed=2&copy_engines=1", 1}},
    .open = [](const std::string& name) { return runtime::open_driver(name); },
    .own_threads = false,  // It goes on inside the calls of the host.
    .exceptions = {{"S10", "There is no capture yet."},
                   {"S11", "A simulated device has no default stream."},
                   {"S12", "A simulated device has no current context."},
                   {"S19Data", "Failures do not travel with the data yet."}},
});

}  // namespace
}  // namespace thalweg::contract
