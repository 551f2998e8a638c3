# SPDX-License-Identifier: Apache-2.0
"""The check of the table of misuses sees a function that is missing, and one that is not there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from public_functions import Scanner, public_functions  # noqa: E402

HEADER = """
// SPDX-License-Identifier: Apache-2.0
#pragma once
#define MACRO(x) \\
  void not_a_function(x)
namespace thalweg {
namespace detail {
int hidden();
struct Hidden { void hidden(); };
}  // namespace detail

/* int commented(); */
inline constexpr int kNumber = some(1);
using Alias = int (*)(char);
enum class Kind : unsigned { one, two };
template <class T>
concept Callable = requires(T t) { t.call(); };

struct Options {
  int value = make(3);
  void (*hook)(void* context) = nullptr;
  const char* text = "void quoted(";
};

template <class T>
class [[nodiscard]] Box final : public Base<T (*)(int)> {
 public:
  static_assert(sizeof(T) > 1, "text");
  struct Part {
    int size() const noexcept;
  };
  Box() noexcept = default;
  Box(Box&& other) noexcept : value_(std::move(other.value_)), more_{1} {}
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  explicit Box(const T& value, std::source_location site = std::source_location::current()) noexcept
      : value_{value}, more_(make<int, 3>(value)) {
    if (value) call(1);
  }
  ~Box();
  virtual void run(int (&list)[3]) = 0;
  T& operator[](std::size_t index) const noexcept { return list_[ids_[index]]; }
  void operator()() { body_->call(); }
  explicit operator bool() const noexcept { return true; }
  operator Box<const T>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return {};
  }
  friend bool operator==(const Box& a, const Box& b) noexcept { return a.value_ == b.value_; }
  friend auto operator<=>(Box, Box) noexcept = default;
  template <Viewable To, Viewable From>
    requires std::same_as<To, std::remove_const_t<From>>
  Result<T> copy(const To& to, const From& from = {}) const;
  void wait(const Box<int>& other, Options options = {1, {}});
  void wait(std::uint64_t value, Site site = Site::current());
  static std::unique_ptr<T> make(std::map<int, std::pair<int, int>> map) noexcept(true);

 protected:
  void guarded();

 private:
  struct Inner { void inner(); };
  void secret();
  std::atomic<bool> present_{false};
};

template <class T>
Result<T> Box<T>::copy(const To& to, const From& from) const {}

THALWEG_EXPORT std::string_view name(Kind kind) noexcept;
}  // namespace thalweg
"""

FUNCTIONS = [
    "Box::Part::size",
    "Box::Box",
    "Box::run",
    "Box::operator[]",
    "Box::operator()",
    "Box::operator bool",
    "Box::operator Box",
    "Box::operator==",
    "Box::copy",
    "Box::wait(Box, Options)",
    "Box::wait(uint64_t)",
    "Box::make",
    "name",
]


class PublicFunctions(unittest.TestCase):
    def test_finds_what_is_public_and_nothing_else(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "box.hpp"
            file.write_text(HEADER)
            self.assertEqual(list(public_functions([file])), FUNCTIONS)

    def test_counts_every_brace(self) -> None:
        for text in ("namespace a {", "struct A {", "}", "int f(int"):
            with self.subTest(text), self.assertRaises(Exception):
                Scanner(text).scan()


class Misuse(unittest.TestCase):
    """On a copy of the real headers and the real table."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(ROOT / "include", self.root / "include")
        shutil.copytree(ROOT / "tests" / "contract", self.root / "tests" / "contract")

    def check(self) -> tuple[int, str]:
        run = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "check_misuse.py"), "--root", str(self.root)],
            capture_output=True,
            text=True,
        )
        return run.returncode, run.stdout + run.stderr

    def replace(self, name: str, old: str, new: str) -> None:
        file = self.root / name
        text = file.read_text()
        self.assertIn(old, text)
        file.write_text(text.replace(old, new, 1))

    def assert_fault(self, words: str) -> None:
        code, output = self.check()
        self.assertEqual(code, 1, output)
        self.assertIn(words, output)
        self.assertIn(", 1 failed", output)

    def test_the_table_is_whole(self) -> None:
        code, output = self.check()
        self.assertEqual(code, 0, output)

    def test_a_new_function_is_missing(self) -> None:
        self.replace(
            "include/thalweg/stream.hpp",
            "  int priority() const noexcept;",
            "  int priority() const noexcept;\n  Result<void> close(Deadline deadline = {}) const;",
        )
        self.assert_fault("no entry `Stream::close`")

    def test_a_new_overload_is_missing(self) -> None:
        self.replace(
            "include/thalweg/stream.hpp",
            "  int priority() const noexcept;",
            "  int priority() const noexcept;\n  Result<void> wait(const Task& task) const;",
        )
        self.assert_fault("no entry `Stream::wait(Task)`")

    def test_a_new_header_is_seen(self) -> None:
        (self.root / "include" / "thalweg" / "graph.hpp").write_text(
            "namespace thalweg {\nclass Graph {\n public:\n  void launch() const;\n};\n}\n"
        )
        self.assert_fault("no entry `Graph::launch`")

    def test_an_entry_that_was_removed_is_missing(self) -> None:
        self.replace(
            "tests/contract/rows_misuse_stream.cpp", 'refusing("Stream::fill"', 'refusing(other("x")'
        )
        self.assert_fault("no entry `Stream::fill`")

    def test_an_entry_of_no_function_is_a_fault(self) -> None:
        self.replace(
            "include/thalweg/timeline.hpp", "  std::uint64_t value() const noexcept;", ""
        )
        self.assert_fault("`Timeline::value` is no public function")

    def test_an_entry_that_is_there_twice_is_a_fault(self) -> None:
        file = self.root / "tests" / "contract" / "rows_misuse_more.cpp"
        file.write_text('auto twice = refusing("Stream::fill", use);\n')
        self.assert_fault("`Stream::fill` is listed 2 times")


if __name__ == "__main__":
    unittest.main()
