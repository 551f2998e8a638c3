#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scenarios at their limits: what is empty, large, odd or deep is taken as docs/scenarios.md says, or
refused in one short line.

usage: scenario_test.py PATH_OF_THALWEG [TEST...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = ""


def scenario(*steps: dict, **more: object) -> str:
    """A scenario of one stream and one buffer, with a step a line from line 2 on."""
    head = {"version": 1, "streams": ["a"], "buffers": [{"name": "x", "home": "a", "count": 16}], **more}
    lines = ",\n".join(json.dumps(step) for step in steps)
    return json.dumps(head)[:-1] + ', "program": [\n' + lines + "\n]}"


class ScenarioTest(unittest.TestCase):
    def explore(self, text: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [TOOL, "explore", "-", *arguments],
            capture_output=True,
            cwd=self.folder.name,
            timeout=120,
            input=text.encode("utf-8", "surrogateescape"),
        )

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def findings(self, text: str, *arguments: str) -> list[dict]:
        done = self.explore(text, "--json", *arguments)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)["findings"]

    def assert_clean(self, text: str, *arguments: str) -> None:
        self.assertEqual(self.findings(text, *arguments), [])

    def assert_refused(self, text: str, line: int, *words: str) -> None:
        """Exit code 2, and one line of stderr that names the line and is short."""
        done = self.explore(text)
        error = done.stderr.decode(errors="strict")
        self.assertEqual((done.returncode, done.stdout), (2, b""), error)
        self.assertRegex(error, r"\Athalweg: stdin:\d+: [^\n]+\n\Z")
        self.assertIn(f"stdin:{line}: ", error)
        self.assertLess(len(error), 400)
        for word in words:
            self.assertIn(word, error)

    # Empty.

    def test_nothing_to_do_is_fine(self) -> None:
        for programs in ({"program": []}, {"actors": [[]]}, {"actors": [[], []], "before": [], "after": []}):
            with self.subTest(programs=programs):
                self.assert_clean(json.dumps({"version": 1, **programs}))

    def test_no_elements_and_no_turns_are_fine(self) -> None:
        self.assert_clean(
            scenario(
                {"do": "fill", "on": "a", "to": "x[3:3]", "value": 1},
                {"do": "read", "on": "a", "from": "x[0:0]", "expect": []},
                {"do": "upload", "on": "a", "to": "x[16:16]", "values": []},
                {"do": "repeat", "times": 0, "steps": [{"do": "create", "name": "x"}]},
                {"do": "repeat", "times": 5, "steps": []},
                {"do": "host", "on": "a", "name": "", "steps": []},
            )
        )

    def test_a_list_of_nothing_that_may_come_is_refused(self) -> None:
        for step in ({"do": "poll", "expect_error": []}, {"do": "query", "event": "e", "expect": []}):
            with self.subTest(step=step):
                self.assert_refused(scenario(step, events=["e"]), 2, "empty list", "one item at least")

    # Odd.

    def test_odd_names_of_tasks(self) -> None:
        for name in ("\n", "\x1b[2J", "\x7f", "a" * 65, "\u00e9" * 33):
            with self.subTest(name=name):
                step = {"do": "host", "on": "a", "name": name}
                self.assert_refused(scenario(step), 2, '"name"', "64 bytes", "control characters")
        for name in ("a" * 64, "\u00e9" * 32, "<&\"'`\\{}%s", "\U0001f30a"):
            with self.subTest(name=name):
                self.assert_clean(scenario({"do": "kernel", "on": "a", "name": name, "writes": "x"}))

    def test_keys_that_stand_twice(self) -> None:
        for key, shown in (("a\nb", "'a\\x0ab'"), ("k" * 100_000, "k...'"), ("\u00e9" * 100, "\u00e9...'")):
            with self.subTest(shown=shown):
                text = json.dumps({key: 1}, ensure_ascii=False)[:-1]
                self.assert_refused(f"{text},\n{json.dumps(key, ensure_ascii=False)}: 2}}", 2, "twice", shown)

    def test_long_texts_that_do_not_end(self) -> None:
        long = "a" * 100_000
        self.assert_refused('{"version": 1,\n"about": "' + long, 2, "no JSON", "missing closing quote")
        self.assert_refused('{"version": 1,\n"about": ' + long, 2, "no JSON")

    # Large.

    def test_numbers_that_no_number_holds(self) -> None:
        text = '{"version": 1, "program": [],\n"timelines": [{"name": "t", "value": %s}]}'
        for number in (str(2**64), str(-(2**63) - 1), "1e400", "9" * 10_000, "1" + "0" * 400):
            with self.subTest(number=number[:30]):
                self.assert_refused(text % number, 2)

    def test_a_timeline_goes_as_far_as_its_numbers(self) -> None:
        most = 2**64 - 1
        self.assert_clean(
            scenario(
                {"do": "wait", "on": "a", "timeline": "t", "value": most},
                {"do": "signal", "timeline": "t", "value": most},
                {"do": "host_wait", "timeline": "t", "value": most, "deadline_us": 10**12},
                timelines=[{"name": "t", "value": most - 1}],
            )
        )

    def test_as_many_lines_as_are_allowed(self) -> None:
        text = json.dumps({"version": 1, "program": []})
        self.assert_clean("\n" * 199_999 + text)
        self.assert_clean("\n" * 199_999 + text + "\n")
        self.assert_refused("\n" * 200_000 + text, 200_000, "200000 lines")

    def test_many_steps_that_end_later(self) -> None:
        step = {"do": "host", "on": "a", "name": "f"}
        text = scenario({"do": "repeat", "times": 10_000, "steps": [step]})
        self.assert_clean(text, "--search=random", "--runs=1")

    def test_what_differs_is_shown_wherever_it_is(self) -> None:
        fill = {"do": "fill", "on": "a", "to": "x", "value": 1}
        one = {"do": "fill", "on": "a", "to": "x[12:13]", "value": 2}
        ones = "1, 1, 1, 1, 1, 1, 1"
        for expect, words in (
            (1, "x[12:16] is 2, 1, 1, 1; expected 1."),
            ([1] * 16, "x[12:16] is 2, 1, 1, 1; expected 1, 1, 1, 1."),
            ([1] * 7 + [3] + [1] * 8, f"x[0:16] is {ones}, 1, ...; expected {ones}, 3, ..."),
        ):
            with self.subTest(expect=expect):
                read = {"do": "read", "on": "a", "from": "x", "expect": expect}
                found = self.findings(scenario(fill, one, read))
                self.assertIn(words, found[0]["message"])

    # Deep.

    def test_repeats_within_repeats(self) -> None:
        def nested(deep: int) -> dict:
            step: dict = {"do": "fill", "on": "a", "to": "x", "value": 1}
            for _ in range(deep):
                step = {"do": "repeat", "times": 1, "steps": [step]}
            return step

        self.assert_clean(scenario(nested(14)))
        self.assert_refused(scenario(nested(15)), 2, "32 deep")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
