# SPDX-License-Identifier: Apache-2.0
"""Wrong calls that must not compile do not, and the compiler says why in words of the library."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CXX") or shutil.which("g++-12") or shutil.which("c++")

PROGRAM = """
#include <thalweg/thalweg.hpp>
using namespace thalweg;
void use(const Stream& s, View<int> v, View2D<int> t, View2D<const int> c) {{
  const auto range = kernel("range", [](Cell, std::span<const int>) {{}});
  const auto out = kernel("out", [](Cell, Out<int>) {{}});
  const auto tile = kernel("tile", [](Cell, Span2D<int>) {{}});
  const auto out_tile = kernel("out_tile", [](Cell, Out2D<int>) {{}});
  static_cast<void>(s.launch(range, 1, v));
  static_cast<void>(s.launch(tile, 1, t));
  {}
}}
"""

# A call, and a part of the message.
WRONG = {
    "s.launch(range, 1, t);": "takes a View or an Array; a View2D is taken as Span2D or Out2D",
    "s.launch(out, 1, t);": "takes a View or an Array; a View2D is taken as Span2D or Out2D",
    "s.launch(tile, 1, v);": "takes a View2D: View::tile() makes one",
    "s.launch(tile, 1, 5);": "takes a View2D: View::tile() makes one",
    "s.launch(range, 1, 5);": "takes a View or an Array",
    "s.launch(out_tile, 1, c);": "a View<const T> can only be read",
    "s.fill(c, 1);": "A View<const T> can only be read",
    "s.host(\"f\", {writes(c)}, [] {});": "A View<const T> can only be read",
}


def compile_with(call: str) -> subprocess.CompletedProcess[str]:
    command = [COMPILER, "-std=c++20", f"-I{ROOT / 'include'}", "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=PROGRAM.format(call), capture_output=True, text=True)


class CompileErrors(unittest.TestCase):
    def test_the_program_without_a_wrong_call_compiles(self) -> None:
        self.assertEqual(compile_with("").stderr, "")

    def test_a_wrong_call_is_explained(self) -> None:
        for call, words in WRONG.items():
            with self.subTest(call=call):
                result = compile_with(call)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
