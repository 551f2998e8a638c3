# SPDX-License-Identifier: Apache-2.0
"""A test that did not run counts as failed unless it chose so itself; its reason is kept."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from junit import Counts, read_junit  # noqa: E402

REPORT = """<?xml version="1.0"?>
<testsuite>
  <testcase name="good" status="run"><system-out>RATE: 7 programs/s
[  PASSED  ]</system-out></testcase>
  <testcase name="bad" status="fail"><failure/><system-out>boom</system-out></testcase>
  <testcase name="absent" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="late" status="fail"><failure message="Timeout"/></testcase>
  <testcase name="off" status="disabled"><skipped message="Disabled"/></testcase>
  <testcase name="choosy" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] A.B
x.cpp:3: Skipped
no device
of that kind

[  SKIPPED ] A.B (0 ms)
</system-out></testcase>
  <testcase name="example" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>skipped: no picture</system-out></testcase>
</testsuite>
"""


class Junit(unittest.TestCase):
    def read(self, text: str) -> Counts:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "junit.xml"
            file.write_text(text)
            return read_junit(file)

    def test_each_status(self) -> None:
        counts = self.read(REPORT)
        self.assertEqual((counts.passed, counts.failed), (1, 3))
        self.assertEqual(counts.rates, [("good", "7 programs/s")])
        self.assertEqual([name for name, _ in counts.failures], ["bad", "absent", "late"])
        self.assertEqual(
            counts.skips,
            [
                ("off", "disabled in its source"),
                ("choosy", "no device of that kind"),
                ("example", "no picture"),
            ],
        )


if __name__ == "__main__":
    unittest.main()
