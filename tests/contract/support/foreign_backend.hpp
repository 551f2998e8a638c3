// SPDX-License-Identifier: Apache-2.0
//
// contract/support/foreign_backend.hpp - a backend that is none of those under test, for handles
// that must be refused.

#pragma once

#include <memory>

#include "contract/support/tiny_backend.hpp"
#include "thalweg/runtime/open.hpp"

namespace thalweg::contract {

// A type of its own: to the runtime its streams are not those of the tiny backend. Its addresses
// are its own affair: the host maps none of its device memory.
class ForeignBackend : public test::TinyBackend {
 public:
  using TinyBackend::TinyBackend;
  static constexpr bool kHostAddresses = false;
};

inline Result<Device> open_foreign() {
  return runtime::open(ForeignBackend(std::make_shared<test::TinyControl>()),
                       {.backend = "foreign"});
}

}  // namespace thalweg::contract
