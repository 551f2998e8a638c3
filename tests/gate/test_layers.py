# SPDX-License-Identifier: Apache-2.0
"""The checker of the layers sees each kind of wrong include, and nothing in a correct tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CORRECT = {
    "include/thalweg/thalweg.hpp": '#include "thalweg/device.hpp"\n',
    "include/thalweg/device.hpp": '#include <memory>\n#include "thalweg/base/error.hpp"\n',
    "include/thalweg/explore.hpp": '#include "thalweg/device.hpp"\n',
    "include/thalweg/base/error.hpp": "#include <string>\n",
    "include/thalweg/memory/page_map.hpp": '#include "thalweg/base/error.hpp"\n',
    "include/thalweg/backend/fence.hpp": '#include "thalweg/base/error.hpp"\n',
    "include/thalweg/runtime/open.hpp": '#include "thalweg/device.hpp"\n',
    "src/base/error.cpp": '#include "thalweg/base/error.hpp"\n',
    "src/os/futex.hpp": '#include "thalweg/base/error.hpp"\n',
    "src/sync/mutex.hpp": '#include "os/futex.hpp"\n',
    "src/memory/page_map.cpp": '#include "thalweg/memory/page_map.hpp"\n',
    "src/backends/cpu/queue.hpp": '#include "sync/mutex.hpp"\n#include "os/futex.hpp"\n',
    "src/backends/cpu/queue.cpp": '#include "queue.hpp"\n#include "thalweg/backend/fence.hpp"\n',
    "src/backends/sim/queue.hpp": '#include "thalweg/memory/page_map.hpp"\n',
    "src/runtime/core.cpp": '#include "sync/mutex.hpp"\n#include "thalweg/device.hpp"\n',
    "src/explore/explore.cpp": '#include "backends/sim/queue.hpp"\n#include "os/futex.hpp"\n',
    "src/builtin/builtin.cpp": '#include "backends/cpu/queue.hpp"\n#include "thalweg/device.hpp"\n',
    "examples/image_pipeline/image.hpp": "#include <thalweg/thalweg.hpp>\n",
    "tests/contract/support/row.hpp": '#include "thalweg/device.hpp"\n',
    "tests/contract/rows_x.cpp": '#include <gtest/gtest.h>\n#include "contract/support/row.hpp"\n',
    "tools/main.cpp": '#include "image_pipeline/image.hpp"\n#include <thalweg/explore.hpp>\n',
}

WRONG = {
    "a pure layer sees the system": ("src/memory/x.cpp", '#include "os/futex.hpp"'),
    "base sees what is above": ("src/base/x.cpp", '#include "thalweg/memory/page_map.hpp"'),
    "white space in the directive": ("src/base/x.cpp", '  #  include "thalweg/device.hpp"'),
    "angle brackets": ("src/base/x.cpp", "#include <thalweg/device.hpp>"),
    "a sibling by a way around": ("src/base/x.cpp", '#include "../os/futex.hpp"'),
    "one backend sees another": ("src/backends/cpu/x.cpp", '#include "backends/sim/queue.hpp"'),
    "a backend sees the api": ("src/backends/cpu/x.cpp", '#include "thalweg/device.hpp"'),
    "the core sees a backend": ("src/runtime/x.cpp", '#include "backends/cpu/queue.hpp"'),
    "the core sees who wires it": ("src/builtin/y.hpp", ""),
    "api sees a pure layer": ("include/thalweg/x.hpp", '#include "thalweg/memory/page_map.hpp"'),
    "an installed header sees a private one": (
        "include/thalweg/runtime/open.hpp",
        '#include "sync/mutex.hpp"',
    ),
    "an installed folder of a private layer": ("include/thalweg/os/x.hpp", ""),
    "a second installed file of runtime": ("include/thalweg/runtime/x.hpp", ""),
    "a layer that is not in the table": ("src/misc/x.cpp", ""),
    "a file that is not there": ("src/base/x.cpp", '#include "thalweg/base/none.hpp"'),
    "a vendor's header": ("src/runtime/x.cpp", "#include <CL/cl.h>"),
    "the tool sees the inside": ("tools/x.cpp", '#include "sync/mutex.hpp"'),
    "an example sees the tool": ("examples/hello/main.cpp", '#include "tools/tool.hpp"'),
    "the contract sees the inside": ("tests/contract/x.cpp", '#include "sync/mutex.hpp"'),
    "the contract sees the inside by a way around": (
        "tests/contract/x.cpp",
        '#include "../../src/os/futex.hpp"',
    ),
    "the contract sees other tests": ("tests/contract/x.cpp", '#include "support/gate.hpp"'),
    "an example sees the contract": (
        "examples/hello/main.cpp",
        '#include "contract/support/row.hpp"',
    ),
}
# Files that a wrong include above needs.
EXTRA = {
    "the core sees who wires it": ("src/runtime/x.cpp", '#include "builtin/y.hpp"'),
    "an example sees the tool": ("tools/tools/tool.hpp", ""),
    "the contract sees other tests": ("tests/support/gate.hpp", ""),
}


class Layers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "cmake").mkdir()
        shutil.copy(ROOT / "cmake" / "layers.txt", self.root / "cmake")
        for name, text in CORRECT.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self, root: Path | None = None) -> tuple[int, str]:
        result = subprocess.run(
            [
                *(sys.executable, str(ROOT / "scripts" / "check_layers.py")),
                *("--root", str(root or self.root)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return result.returncode, result.stdout

    def test_a_correct_tree_passes(self) -> None:
        code, output = self.check()
        self.assertEqual((code, output), (0, f"{len(CORRECT)} passed, 0 failed\n"))

    def test_each_wrong_include_is_seen(self) -> None:
        for name, (path, text) in WRONG.items():
            with self.subTest(name):
                files = [(path, text), *([EXTRA[name]] if name in EXTRA else [])]
                for file, content in files:
                    self.write(file, content + "\n")
                code, output = self.check()
                for file, _ in files:
                    (self.root / file).unlink()
                if path in CORRECT:
                    self.write(path, CORRECT[path])
                self.assertEqual(code, 1, output)
                self.assertRegex(output, r" passed, 1 failed\n\Z")

    def test_a_wrong_include_in_a_copy_of_this_tree_is_seen(self) -> None:
        copy = self.root / "copy"
        for folder in ("cmake", "include", "src"):
            shutil.copytree(ROOT / folder, copy / folder)
        before = self.check(copy)[1]
        victim = next((copy / "src" / "base").glob("*.cpp"))
        victim.write_text(victim.read_text() + '#include "planted/none.hpp"\n')
        code, output = self.check(copy)
        self.assertEqual(code, 1)
        self.assertIn("planted/none.hpp names no file of this tree", output)
        self.assertNotIn("planted", before)

    def test_a_wrong_table_is_an_error(self) -> None:
        table = self.root / "cmake" / "layers.txt"
        for line in ("a : nowhere :", "a : base", "a : base : maybe", "order2 : order2 :"):
            with self.subTest(line):
                text = (ROOT / "cmake" / "layers.txt").read_text()
                table.write_text(f"{text}\n{line}\n")
                self.assertEqual(self.check()[0], 1)

    def test_a_circle_in_the_table_is_an_error(self) -> None:
        table = self.root / "cmake" / "layers.txt"
        table.write_text("base : os : installed\nos : base :\n")
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("sees itself through others", output)


if __name__ == "__main__":
    unittest.main()
