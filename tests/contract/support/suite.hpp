// SPDX-License-Identifier: Apache-2.0
//
// contract/support/suite.hpp - runs rows against backends, and judges them by the list of
// exceptions.

#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "contract/support/backend_under_test.hpp"
#include "contract/support/row.hpp"

namespace thalweg::contract {

// What is known before main(). Rows and backends are added by static objects of many files.
std::vector<RowInfo>& known_rows();
std::vector<BackendUnderTest>& known_backends();

// What is wrong with the rows, the backends and their lists, a sentence each: ids and labels that
// are there twice, exceptions that name no row or no device, or give no reason.
std::vector<std::string> faults(const std::vector<RowInfo>& rows,
                                const std::vector<BackendUnderTest>& backends);

// The body of a test. Skips it where the device is absent or the row is listed and fails; fails it
// where the row fails, or is listed and passes. `limit`: how long the device may take to end.
void run_row(const RowInfo& row, const BackendUnderTest& backend, const DeviceUnderTest& device,
             std::chrono::nanoseconds limit = kLimit);

// Registers a test for each row on each device, and one for the lists.
void register_tests();

}  // namespace thalweg::contract
