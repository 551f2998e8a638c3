// SPDX-License-Identifier: Apache-2.0

#include "contract/support/suite.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <set>
#include <utility>

namespace thalweg::contract {
namespace {

class RowTest : public ::testing::Test {
 public:
  RowTest(const RowInfo& row, const BackendUnderTest& backend, const DeviceUnderTest& device)
      : row_(row), backend_(backend), device_(device) {}
  void TestBody() override { run_row(row_, backend_, device_); }

 private:
  const RowInfo& row_;
  const BackendUnderTest& backend_;
  const DeviceUnderTest& device_;
};

class ListTest : public ::testing::Test {
 public:
  void TestBody() override {
    for (const std::string& fault : faults(known_rows(), known_backends())) ADD_FAILURE() << fault;
  }
};

const Exception* listed(const BackendUnderTest& backend, const DeviceUnderTest& device,
                        const std::string& row) {
  const auto at = std::find_if(
      backend.exceptions.begin(), backend.exceptions.end(), [&](const Exception& exception) {
        return exception.row == row &&
               (exception.device.empty() || exception.device == device.label);
      });
  return at == backend.exceptions.end() ? nullptr : &*at;
}

// The row itself. What it leaves behind is a failure of it: at its end the device is gone, and each
// of its streams was destroyed once.
void attempt(const RowInfo& row, const Bench& bench, Opened opened,
             std::chrono::nanoseconds limit) {
  const std::shared_ptr<Control> control = opened.control;
  try {
    row.make(bench, std::move(opened))->run();
  } catch (const std::exception& thrown) {
    ADD_FAILURE() << thrown.what();
  }
  EXPECT_TRUE(comes_true([&control] { return control->driver_destroyed(); }, limit))
      << "The row's handles are gone, and its device is not.";
  EXPECT_EQ(control->streams_created(), control->streams_destroyed());
}

bool is_label(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c); });
}

}  // namespace

Unmet::Unmet(const Error& error, const std::source_location& where)
    : std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                         ": " + error.to_string()) {}

Result<Opened> Bench::open(const std::function<void(runtime::OpenOptions&)>& change) const {
  THALWEG_TRY_ASSIGN(runtime::OpenedDriver opened, backend_->open(device_->name));
  if (change) change(opened.options);
  auto control = std::make_shared<Control>();
  THALWEG_TRY_ASSIGN(Device device, runtime::open(std::make_unique<CountingDriver>(
                                                      std::move(opened.driver), control),
                                                  opened.options));
  return Opened{std::move(device), std::move(control)};
}

// Leaked: objects of any file may use them, whichever is made first.
std::vector<RowInfo>& known_rows() {
  static auto& rows = *new std::vector<RowInfo>;
  return rows;
}

std::vector<BackendUnderTest>& known_backends() {
  static auto& backends = *new std::vector<BackendUnderTest>;
  return backends;
}

bool add_row(RowInfo row) {
  known_rows().push_back(std::move(row));
  return true;
}

bool add_backend(BackendUnderTest backend) {
  known_backends().push_back(std::move(backend));
  return true;
}

std::vector<std::string> faults(const std::vector<RowInfo>& rows,
                                const std::vector<BackendUnderTest>& backends) {
  std::vector<std::string> found;
  std::set<std::string> ids;
  for (const RowInfo& row : rows)
    if (!ids.insert(row.id).second) found.push_back("There are two rows " + row.id + ".");
  std::set<std::string> labels;
  for (const BackendUnderTest& backend : backends) {
    std::set<std::string> own;
    for (const DeviceUnderTest& device : backend.devices) {
      if (!is_label(device.label))
        found.push_back("Label `" + device.label + "` is not of letters and digits.");
      if (!labels.insert(device.label).second)
        found.push_back("Two devices have the label " + device.label + ".");
      own.insert(device.label);
    }
    if (own.empty()) found.push_back("Backend " + backend.name + " names no device.");
    for (const Exception& exception : backend.exceptions) {
      const std::string where = backend.name + " lists row " + exception.row;
      if (!ids.contains(exception.row)) found.push_back(where + ", which is not there.");
      if (!exception.device.empty() && !own.contains(exception.device))
        found.push_back(where + " for device " + exception.device + ", which is not there.");
      if (exception.reason.empty()) found.push_back(where + " without a reason.");
    }
  }
  if (rows.empty()) found.push_back("There are no rows.");
  if (backends.empty()) found.push_back("There are no backends.");
  return found;
}

void run_row(const RowInfo& row, const BackendUnderTest& backend, const DeviceUnderTest& device,
             std::chrono::nanoseconds limit) {
  const Bench bench(backend, device);
  Result<Opened> opened = bench.open();
  if (!opened && opened.error().kind() == ErrorKind::unavailable)
    GTEST_SKIP() << device.name << ": " << opened.error().message();
  if (!opened) {
    ADD_FAILURE() << device.name << " does not open: " << opened.error().to_string();
    return;
  }
  const Exception* const exception = listed(backend, device, row.id);
  if (exception == nullptr) return attempt(row, bench, *std::move(opened), limit);
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    attempt(row, bench, *std::move(opened), limit);
  }
  bool failed = false;
  for (int i = 0; i != results.size(); ++i)
    failed = failed || results.GetTestPartResult(i).failed();
  if (failed) GTEST_SKIP() << "Listed for " << backend.name << ": " << exception->reason;
  ADD_FAILURE() << "Row " << row.id << " is listed as an exception of " << backend.name << " (\""
                << exception->reason << "\"), but passes on " << device.name << ".";
}

void register_tests() {
  ::testing::RegisterTest("Lists", "NameRowsAndDevicesThatAreThere", nullptr, nullptr, __FILE__,
                          __LINE__, []() -> ListTest* { return new ListTest; });
  for (const BackendUnderTest& backend : known_backends())
    for (const DeviceUnderTest& device : backend.devices)
      for (const RowInfo& row : known_rows())
        ::testing::RegisterTest(
            device.label.c_str(), row.test_name().c_str(), nullptr, nullptr, row.file.c_str(),
            row.line,
            [&row, &backend, &device]() -> RowTest* { return new RowTest(row, backend, device); });
}

}  // namespace thalweg::contract
