# SPDX-License-Identifier: Apache-2.0
"""scripts/packages installs what is missing and only that, on a system made of stand-ins."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "packages"


class Packages(unittest.TestCase):
    def run_script(
        self, *arguments: str, missing: str = "", user: int = 0, skip: str = ""
    ) -> tuple[int, str, str]:
        """The exit code, the output, and the calls of apt-get, with `missing` not installed."""
        with tempfile.TemporaryDirectory() as folder:
            calls = Path(folder) / "calls"
            calls.touch()
            for name, body in {
                "id": f"echo {user}",
                # Prints `installed NAME` for each name asked for, as the real one does here.
                "dpkg-query": 'shift 3; for name in "$@"; do '
                f'[ "$name" = "{missing}" ] || echo "installed $name"; done; [ -z "{missing}" ]',
                "apt-get": f'echo "$@" >>"{calls}"',
            }.items():
                file = Path(folder) / name
                file.write_text(f"#!/bin/sh\n{body}\n")
                file.chmod(0o755)
            result = subprocess.run(
                [str(SCRIPT), *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={
                    **os.environ,
                    "PATH": f"{folder}:{os.environ['PATH']}",
                    "THALWEG_SKIP_PACKAGES": skip,
                },
            )
            return result.returncode, result.stdout, calls.read_text()

    def test_nothing_missing_is_silent(self) -> None:
        for name in ("demo", "test", "all"):
            self.assertEqual(self.run_script(name), (0, "", ""))

    def test_root_installs_what_is_missing_and_no_more(self) -> None:
        code, _, calls = self.run_script("test", missing="libgtest-dev")
        self.assertEqual(code, 0)
        install = calls.splitlines()[-1]
        self.assertIn("DPkg::Lock::Timeout=300", install)
        self.assertIn("--no-install-recommends", install)
        self.assertTrue(install.endswith(" install libgtest-dev"), install)

    def test_a_set_holds_no_package_of_a_larger_one(self) -> None:
        self.assertEqual(self.run_script("demo", missing="libgtest-dev"), (0, "", ""))
        self.assertEqual(self.run_script("test", missing="clang-19"), (0, "", ""))

    def test_a_user_is_told_the_line_to_run(self) -> None:
        code, output, calls = self.run_script("all", missing="clang-19", user=1000)
        self.assertEqual((code, calls), (2, ""))
        self.assertIn("apt-get install --no-install-recommends clang-19\n", output)

    def test_the_check_can_be_switched_off(self) -> None:
        self.assertEqual(self.run_script("all", missing="clang-19", skip="1"), (0, "", ""))

    def test_an_unknown_set_is_an_error(self) -> None:
        self.assertEqual(self.run_script("everything")[0], 2)
        self.assertEqual(self.run_script()[0], 2)


if __name__ == "__main__":
    unittest.main()
