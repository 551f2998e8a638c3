# SPDX-License-Identifier: Apache-2.0
"""The hygiene check sees a missing SPDX line, in files with and without a suffix."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPDX = "SPDX-License-Identifier: Apache-2.0"


class Hygiene(unittest.TestCase):
    def check(self, files: dict[str, str]) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                file = Path(folder) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            result = subprocess.run(
                [sys.executable, str(ROOT / "scripts" / "check_hygiene.py"), "--root", folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        return result.returncode, result.stdout

    def test_what_is_right_passes(self) -> None:
        files = {
            "src/a.cpp": f"// {SPDX}\n",
            "run": f"#!/bin/sh\n# {SPDX}\n",
            "LICENSE": "text\n",
            "data.json": "{}\n",
            "build/b.cpp": "",
        }
        self.assertEqual(self.check(files), (0, "2 passed, 0 failed\n"))

    def test_what_is_wrong_is_seen(self) -> None:
        for name, text in (
            ("a.hpp", "#pragma once\n"),
            ("CMakeLists.txt", f"\n\n\n# {SPDX}\n"),
            ("run", "#!/bin/sh\n"),
            ("b.py", f"# {SPDX}"),
        ):
            with self.subTest(name):
                code, output = self.check({name: text})
                self.assertEqual(code, 1)
                self.assertIn(name, output)
                self.assertTrue(output.endswith("0 passed, 1 failed\n"), output)


if __name__ == "__main__":
    unittest.main()
