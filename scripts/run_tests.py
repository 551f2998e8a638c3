#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests. Without an option: the preset dev, in a few minutes.

The last line is `N passed, N failed`. A case is a test that CTest knows; a step that runs no tests is
one case, or as many as its own closing line says. A test that is skipped is neither: it is listed
with its reason. Each step's output is in build/logs/.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from junit import Counts, read_junit

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
PYTHON = sys.executable
CLOSING_LINE = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)
HEARTBEAT_SECONDS = 30
SHOWN_LINES = 60  # Of the output of what failed.
SHOWN_FAILURES = 10


@dataclass
class Run:
    """One run of this script: what was counted, and how long each step took."""

    counts: Counts = field(default_factory=Counts)
    times: list[tuple[str, float, str]] = field(default_factory=list)
    start: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        elapsed = int(time.monotonic() - self.start)
        print(f"[{elapsed // 60:3d}:{elapsed % 60:02d}] {text}", flush=True)

    def step(self, name: str, action: Callable[[], Counts]) -> bool:
        """Runs one step, counts it, and says whether nothing in it failed."""
        self.say(f"{name} ...")
        begin = time.monotonic()
        counts = Counts(failed=1)
        try:
            counts = action()
        except OSError as error:  # Such as a program that is not installed.
            counts = Counts(0, 1, [(name, str(error))])
        finally:
            self.counts.add(counts)
            verdict = describe(counts)
            self.times.append((name, time.monotonic() - begin, verdict))
            self.say(f"{name}: {verdict}")
        for test, rate in counts.rates:
            self.say(f"    {test}: {rate}")
        for test, output in counts.failures[:SHOWN_FAILURES]:
            print(f"--- {test} failed:")
            print("\n".join(output.rstrip().splitlines()[-SHOWN_LINES:]))
        if len(counts.failures) > SHOWN_FAILURES:
            print(f"--- and {len(counts.failures) - SHOWN_FAILURES} more; see build/logs/")
        return counts.failed == 0

    def execute(self, name: str, *command: str) -> tuple[int, str]:
        """The exit code and the output of a command, which is also kept in a log."""
        LOGS.mkdir(parents=True, exist_ok=True)
        log = LOGS / f"{name}.log"
        with log.open("wb") as file:
            # A session of its own, so that an interruption ends all that it started.
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                while True:
                    try:
                        code = process.wait(HEARTBEAT_SECONDS)
                        break
                    except subprocess.TimeoutExpired:
                        self.say(f"    {name}: {last_line(log)}")
            except KeyboardInterrupt:
                end(process)
                raise
        return code, log.read_text(errors="replace")

    def command(self, name: str, *command: str) -> Counts:
        """A step that is one command: one case, or what its closing line says."""
        code, output = self.execute(name, *command)
        closing = CLOSING_LINE.findall(output)
        passed, failed = (int(closing[-1][0]), int(closing[-1][1])) if closing else (1, 0)
        if code != 0 and failed == 0:
            passed, failed = (passed if closing else 0), 1
        skips = [(name, line[9:]) for line in output.splitlines() if line.startswith("skipped: ")]
        return Counts(passed, failed, [(name, output)] if failed else [], skips)

    def build(self, preset: str) -> Counts:
        jobs = str(os.cpu_count() or 2)
        code, output = self.execute(f"{preset}-configure", "cmake", "--preset", preset)
        if code == 0:
            code, output = self.execute(
                f"{preset}-build", "cmake", "--build", "--preset", preset, "--parallel", jobs
            )
        if code != 0:
            return Counts(0, 1, [(f"build of {preset}", output)])
        return Counts(passed=0 if preset in test_presets() else 1)  # Else its tests are the cases.

    def shared(self) -> Counts:
        """The library as a shared one, used by the examples: an unexported symbol does not link."""
        folder = "build/shared"
        options = ["-B", folder, "-DBUILD_SHARED_LIBS=ON", "-DTHALWEG_BUILD_EXAMPLES=ON"]
        jobs = str(os.cpu_count() or 2)
        for name, command in (
            ("shared-configure", ["cmake", "--preset", "minimal", *options]),
            ("shared-build", ["cmake", "--build", folder, "--parallel", jobs]),
            ("shared-ctest", ["ctest", "--test-dir", folder, "--output-on-failure", "-j2"]),
        ):
            code, output = self.execute(name, *command)
            if code != 0:
                return Counts(0, 1, [(name, output)])
        return Counts(passed=1)

    def ctest(self, preset: str, pattern: str | None) -> Counts:
        report = ROOT / "build" / preset / "junit.xml"
        report.unlink(missing_ok=True)
        # The limits keep a reason for skipping, and what a failure printed, from being cut.
        command = ["ctest", "--preset", preset, "--output-junit", str(report)]
        command += ["--test-output-size-passed", "16384", "--test-output-size-failed", "262144"]
        if pattern:
            command += ["--tests-regex", pattern]
        code, output = self.execute(f"{preset}-ctest", *command)
        counts = read_junit(report) if report.is_file() else Counts()
        if code != 0 and counts.failed == 0:
            counts.failed += 1
            counts.failures.append((f"ctest of {preset}", output))
        return counts

    def preset(self, name: str, pattern: str | None = None) -> None:
        if self.step(f"{name}: build", lambda: self.build(name)) and name in test_presets():
            self.step(f"{name}: tests", lambda: self.ctest(name, pattern))

    def gate(self) -> None:
        def command(name: str, *words: str) -> None:
            self.step(name, lambda: self.command(name, *words))

        # What takes seconds comes first.
        command("format", "scripts/format", "--check")
        command("layers", PYTHON, "scripts/check_layers.py")
        command("docs", PYTHON, "scripts/check_docs.py")
        command("hygiene", PYTHON, "scripts/check_hygiene.py")
        command("misuse", PYTHON, "scripts/check_misuse.py")
        command("gate-tests", PYTHON, "-m", "unittest", "discover", "-s", "tests/gate")
        for name in ("dev", "clang", "asan", "tsan", "minimal"):
            self.preset(name)
        self.step("shared", self.shared)
        command("install", PYTHON, "tests/install/check_install.py", "build/minimal", "build/shared")
        command("demo", "./demo", "--out", "build/demo.png")

    def report(self, interrupted: bool) -> int:
        counts = self.counts
        if counts.skips:
            print("\nSkipped:")
            for reason in sorted({reason for _, reason in counts.skips}):
                names = [name for name, why in counts.skips if why == reason]
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                print(f"  {reason}: {', '.join(names[:3])}{more}")
        if counts.failures:
            print("\nFailed:")
            for name, _ in counts.failures:
                print(f"  {name}")
        print("\nTime:")
        for name, seconds, verdict in self.times:
            print(f"  {seconds:7.1f} s  {name}: {verdict}")
        print(f"  {time.monotonic() - self.start:7.1f} s  in all")
        if interrupted:
            print("Interrupted.")
        if counts.failed == 0 and (interrupted or counts.passed == 0):
            counts.failed = 1
        print(f"{counts.passed} passed, {counts.failed} failed", flush=True)
        return 130 if interrupted else int(counts.failed > 0)


def describe(counts: Counts) -> str:
    if counts == Counts():
        return "done"
    skipped = f", {len(counts.skips)} skipped" if counts.skips else ""
    return f"{counts.passed} passed, {counts.failed} failed{skipped}"


def last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 400))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:100] if lines else "..."


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def test_presets() -> set[str]:
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]
    return {preset["name"] for preset in presets if not preset.get("hidden")}


def interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="./test", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--all", action="store_true", help="the full gate (under 30 minutes)")
    parser.add_argument("--preset", default="dev", help="a preset of CMakePresets.json")
    parser.add_argument("--filter", metavar="REGEX", help="only the tests with such a name")
    options = parser.parse_args()
    if options.all and (options.filter or options.preset != "dev"):
        parser.error("--all goes with no other option")

    signal.signal(signal.SIGTERM, interrupt)
    run = Run()
    interrupted = False
    try:
        if options.all:
            run.gate()
        else:
            run.preset(options.preset, options.filter)
    except KeyboardInterrupt:
        interrupted = True
    return run.report(interrupted)


if __name__ == "__main__":
    sys.exit(main())
