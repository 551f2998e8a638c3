// SPDX-License-Identifier: Apache-2.0
//
// The file that an author of a backend writes, for the backend of support/tiny_backend.hpp.

#include <memory>

#include "contract/support/backend_under_test.hpp"
#include "contract/support/tiny_backend.hpp"

namespace thalweg::contract {
namespace {

Result<runtime::OpenedDriver> open_tiny(const std::string&) {
  test::TinyBackend tiny(std::make_shared<test::TinyControl>());
  return runtime::OpenedDriver{
      std::make_unique<backend::MultiStream<test::TinyBackend>>(std::move(tiny)),
      {.backend = "tiny"}};
}

[[maybe_unused]] const bool tiny_added = add_backend({
    .name = "tiny",
    .devices = {{"Tiny", "tiny"}},
    .open = &open_tiny,
    .devices_meet = false,
    .any_thread = false,
    .own_threads = false,
    .exceptions = {{"A3", "Tiny is for programs of one thread."},
                   {"B4", "Work of one tiny device cannot wait for work of another."},
                   {"D1", "Work of one tiny device cannot wait for work of another."},
                   {"D1Both", "Work of one tiny device cannot wait for work of another."},
                   {"D2", "Work of one tiny device cannot wait for work of another."},
                   {"D2Idle", "Work of one tiny device cannot wait for work of another."},
                   {"L1Threads", "Tiny is for programs of one thread."},
                   {"M1Blocks", "Tiny is for programs of one thread."},
                   {"M7", "Tiny is for programs of one thread."},
                   {"S2Threads", "Tiny is for programs of one thread."},
                   {"S10", "There is no capture yet."},
                   {"S11", "Tiny has no default stream."},
                   {"S12", "Tiny has no current context."},
                   {"S17", "Tiny has no priorities: it looks at its streams in turn."},
                   {"S22", "Nothing tells a tiny device that work of another one has passed."},
                   {"S30", "Tiny is for programs of one thread."},
                   {"T2Threads", "Tiny is for programs of one thread."},
                   {"T8", "Nothing tells a tiny device that work of another one has passed."},
                   {"G9Callback", "Tiny is for programs of one thread."},
                   {"G9DeleterBehind", "Tiny is for programs of one thread."},
                   {"G9Drop", "Tiny has no threads that could drop a handle."},
                   {"G9Threads", "Tiny is for programs of one thread."}},
});

}  // namespace
}  // namespace thalweg::contract
