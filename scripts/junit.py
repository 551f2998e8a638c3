# SPDX-License-Identifier: Apache-2.0
"""Counts what CTest wrote with --output-junit."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

# What CTest says of a test that chose not to run. Any other reason for not running is a failure, such
# as a program that was not built.
SKIP_MESSAGES = ("SKIP_REGULAR_EXPRESSION_MATCHED", "SKIP_RETURN_CODE")
GTEST_REASON = re.compile(r": Skipped\n(?P<reason>.*?)\n*(?=\n\[|\Z)", re.S)
RATE_LINE = re.compile(r"^RATE: +(?P<rate>.+)$", re.M)  # How much a randomised test did.
SKIP_LINE = re.compile(r"^(?:SKIP|skipped):? +(?P<reason>.+)$", re.M | re.I)


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)  # Name and output.
    skips: list[tuple[str, str]] = field(default_factory=list)  # Name and reason.
    rates: list[tuple[str, str]] = field(default_factory=list)  # Name and what it did.

    def add(self, other: Counts) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.failures += other.failures
        self.skips += other.skips
        self.rates += other.rates


def skip_reason(output: str) -> str:
    found = GTEST_REASON.search(output) or SKIP_LINE.search(output)
    reason = " ".join(found["reason"].split()) if found else ""
    return reason or "no reason given"


def read_junit(path: Path) -> Counts:
    counts = Counts()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name", "?")
        output = case.findtext("system-out") or ""
        status = case.get("status")
        skipped = case.find("skipped")
        message = skipped.get("message", "") if skipped is not None else ""
        counts.rates += [(name, rate) for rate in RATE_LINE.findall(output)]
        if status == "run":
            counts.passed += 1
        elif status == "disabled":
            counts.skips.append((name, "disabled in its source"))
        elif status == "notrun" and message.startswith(SKIP_MESSAGES):
            counts.skips.append((name, skip_reason(output)))
        else:
            counts.failed += 1
            counts.failures.append((name, output or message))
    return counts
