# SPDX-License-Identifier: Apache-2.0
"""The checker of the docs sees a block that differs, a path and a link that lead nowhere."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BODY = "#include <cstdio>\n\nint main() {}\n"
FILE = f"// SPDX-License-Identifier: Apache-2.0\n//\n// First.\n\n{BODY}"


def block(body: str, path: str = "examples/first/main.cpp") -> str:
    return f"Text.\n\n```cpp\n// example: {path}\n{body}```\n"


class Docs(unittest.TestCase):
    def check(self, page: str) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "examples" / "first").mkdir(parents=True)
            (root / "examples" / "first" / "main.cpp").write_text(FILE)
            (root / "docs").mkdir()
            (root / "docs" / "page.md").write_text(page)
            result = subprocess.run(
                [sys.executable, str(ROOT / "scripts" / "check_docs.py"), "--root", folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        return result.returncode, result.stdout

    def test_what_is_right_passes(self) -> None:
        page = block(FILE) + block(BODY) + "`examples/first/main.cpp`, `docs/`, `src/<layer>/x.cpp`,"
        page += " `tests/unit/*.cpp`, `src/a b`, [page](page.md#x), [out](https://example.org/x)\n"
        self.assertEqual(self.check(page), (0, "6 passed, 0 failed\n"))

    def test_other_blocks_are_left_alone(self) -> None:
        page = "```cpp\nint x;\n```\n```sh\n// example: none.cpp\n`src/none`\n```\n"
        self.assertEqual(self.check(page), (0, "1 passed, 0 failed\n"))

    def test_what_is_wrong_is_seen(self) -> None:
        for name, page, line in (
            ("one byte", block(BODY.replace("{}", "{ }")), 3),
            ("a line less", block(BODY.partition("\n")[2]), 3),
            ("a file that is gone", block(BODY, "examples/none.cpp"), 3),
            ("a path", "```cpp\nint x;\n```\nSee `docs/none.md`.\n", 4),
            ("a link", "\nSee [it](none.md).\n", 2),
        ):
            with self.subTest(name):
                code, output = self.check(page)
                self.assertEqual(code, 1, output)
                self.assertIn(f"docs/page.md:{line}: ", output)
                self.assertTrue(output.endswith("1 passed, 1 failed\n"), output)


if __name__ == "__main__":
    unittest.main()
