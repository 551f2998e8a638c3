// SPDX-License-Identifier: Apache-2.0

#include "contract/support/backend_under_test.hpp"

namespace thalweg::contract {
namespace {

[[maybe_unused]] const bool cpu_added = add_backend({
    .name = "cpu",
    .devices = {{"CpuWorkers1", "cpu?workers=1", 1},
                {"CpuWorkers2", "cpu?workers=2", 2},
                {"CpuWorkers4", "cpu?workers=4", 4},
                {"CpuHelpingOff", "cpu?workers=2&helping=off", 2}},
    .open = [](const std::string& name) { return runtime::open_driver(name); },
    .exceptions = {{"S10", "There is no capture yet."},
                   {"S11", "The cpu has no default stream."},
                   {"S12", "The cpu has no current context."}},
});

}  // namespace
}  // namespace thalweg::contract
