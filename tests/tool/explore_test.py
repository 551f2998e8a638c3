#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`thalweg explore` as a black box: the scenarios of tests/scenarios, mistakes in scenarios, the line
that repeats a finding, the files it writes, Ctrl-C.

usage: explore_test.py PATH_OF_THALWEG [TEST...]
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

TOOL = ""
SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"

# The kind of the first finding of each scenario that has a bug. The others have none, and every
# schedule of them can be run.
BUGS = {
    "bug_broken_out": "broken_out",
    "bug_check": "check",
    "bug_deadlock": "deadlock",
    "bug_lost_update": "undeclared_write",
    "bug_raw_undeclared": "contents",
    "bug_raw_without_wait": "contents",
    "bug_undeclared_write": "undeclared_write",
}

# The orders in which three actors get their tasks in: more than can be run.
ENDLESS = {
    "version": 1,
    "streams": ["s0", "s1", "s2"],
    "buffers": [{"name": "x", "home": "s0", "count": 1}],
    "before": [{"do": "fill", "on": "s0", "to": "x", "value": 0}, {"do": "synchronize"}],
    "actors": [
        [{"do": "host", "on": f"s{i}", "name": "add", "updates": "x", "compute": "add", "value": 1}] * 8
        for i in range(3)
    ],
}

HEAD = """{
"version": 1,
"streams": ["a", {"name": "b", "priority": 0}],
"buffers": [
{"name": "x", "home": "a", "count": 4},
{"name": "y", "home": "b", "count": 4, "type": "u8"}
],
"events": ["e"],
"timelines": ["t"],
"program": [
"""
STEP_LINE = 1 + HEAD.count("\n")


def with_steps(*steps: str) -> str:
    """A scenario whose steps have a line each, from STEP_LINE on."""
    return HEAD + ",\n".join(steps) + "\n]\n}\n"

PROGRESS_LINE = re.compile(rb"^thalweg: \d+ runs, \d+ findings?, [\d.]+ s\n", re.M)


class ExploreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def thalweg(self, *arguments: str | Path, text: str | None = None, **options):
        return subprocess.run(
            [TOOL, *map(str, arguments)],
            capture_output=True,
            cwd=self.path,
            timeout=120,
            input=b"" if text is None else text.encode(),
            **options,
        )

    def explore(self, *arguments: str | Path, **options):
        return self.thalweg("explore", *arguments, **options)

    def file(self, text: str, name: str = "a.json") -> str:
        (self.path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        return name

    def json_of(self, *arguments: str | Path, code: int) -> dict:
        done = self.explore(*arguments, "--json")
        # What takes long tells how far it is, every few seconds.
        errors = PROGRESS_LINE.sub(b"", done.stderr)
        self.assertEqual((done.returncode, errors), (code, b""))
        return json.loads(done.stdout)

    def assert_refused(self, *arguments: str | Path, words: str = "", **options) -> None:
        """Exit code 2, one line on stderr that holds `words`, nothing on stdout, no new file."""
        before = sorted(entry.name for entry in self.path.iterdir())
        done = self.explore(*arguments, **options)
        errors = done.stderr.decode(errors="replace")
        self.assertEqual((done.returncode, done.stdout), (2, b""), errors)
        self.assertRegex(errors, r"\Athalweg: [^\n]+\n\Z")
        self.assertIn(words, errors)
        self.assertEqual(sorted(entry.name for entry in self.path.iterdir()), before)

    def assert_bad(self, text: str, line: int, *words: str) -> None:
        """The scenario is refused, with the file, the line and `words`."""
        self.file(text)
        done = self.explore("a.json")
        errors = done.stderr.decode(errors="replace")
        self.assertEqual((done.returncode, done.stdout), (2, b""), errors)
        self.assertRegex(errors, r"\Athalweg: a\.json:\d+: [^\n]+\n\Z")
        self.assertIn(f"a.json:{line}: ", errors)
        for word in words:
            self.assertIn(word, errors)

    # The scenarios of the tree.

    def test_every_scenario_has_what_it_should(self) -> None:
        names = sorted(path.stem for path in SCENARIOS.glob("*.json"))
        self.assertTrue(set(BUGS) <= set(names))
        for name in names:
            with self.subTest(scenario=name):
                kind = BUGS.get(name)
                report = self.json_of(SCENARIOS / f"{name}.json", code=0 if kind is None else 1)
                if kind is None:
                    self.assertEqual((report["findings"], report["repeat"]), ([], ""))
                    self.assertEqual((report["complete"], report["bounded_by"]), (True, ""))
                else:
                    self.assertEqual(report["findings"][0]["kind"], kind)
                    self.assertFalse(report["complete"])

    def test_the_example_of_the_documentation(self) -> None:
        page = (SCENARIOS.parent.parent / "docs" / "scenarios.md").read_text()
        self.file(page.split("```json\n")[1].split("```")[0])
        findings = self.json_of("a.json", code=1)["findings"]
        self.assertEqual(findings[0]["kind"], "contents")

    def test_less_is_left_out_and_nothing_else_is_found(self) -> None:
        for name in ("raw_declared", "f13_staged_writes", "bug_raw_without_wait"):
            with self.subTest(scenario=name):
                file, code = SCENARIOS / f"{name}.json", int(name in BUGS)
                reduced = self.json_of(file, "--all", code=code)
                whole = self.json_of(file, "--all", "--no-reduce", "--runs=1000000", code=code)
                self.assertTrue(reduced["complete"] and whole["complete"])
                self.assertLessEqual(reduced["runs"], whole["runs"])
                self.assertEqual(reduced["outcomes"], whole["outcomes"])
                kinds = [{entry["kind"] for entry in report["findings"]} for report in (reduced, whole)]
                self.assertEqual(kinds[0], kinds[1])

    def test_a_schedule_that_does_not_fit_is_told_of(self) -> None:
        file = SCENARIOS / "raw_declared.json"
        for schedule, words in (
            ("s7", "choice 1 of 1, `s7`, could not be made"),
            ("-x1000 h", "choice 1001 of 1001, `h`, comes after the run's end"),
        ):
            with self.subTest(schedule=schedule):
                report = self.json_of(file, f"--schedule={schedule}", code=0)
                self.assertIn(words, report["bounded_by"])
        report = self.json_of(file, "--schedule=-", code=0)
        self.assertEqual(report["bounded_by"], "the given schedule is one run")
        self.assertEqual(report["runs"], 1)

    def test_actors_that_do_nothing_cost_nothing(self) -> None:
        for actors in (1, 2, 6):
            self.file(json.dumps({"version": 1, "actors": [[]] * actors}))
            self.assertEqual(self.json_of("a.json", code=0)["runs"], 1)

    def test_a_loss_may_come_at_any_step(self) -> None:
        fills = [{"do": "fill", "on": "a", "to": name, "value": 1} for name in "xy"]
        self.file(json.dumps({
            "version": 1, "device": "sim?faults=lost:1", "streams": ["a"],
            "buffers": [{"name": name, "home": "a", "count": 4} for name in "xy"],
            "program": fills,
        }))
        for arguments in ((), ("--no-reduce",)):
            report = self.json_of("a.json", "--all", *arguments, code=1)
            self.assertIn("device_lost", json.dumps(report))

    def test_random_searches_find_it_and_are_the_same_each_time(self) -> None:
        file = SCENARIOS / "bug_raw_undeclared.json"
        for search in ("random", "priorities"):
            with self.subTest(search=search):
                arguments = (f"--search={search}", "--seed=7", "--runs=2000")
                first = self.json_of(file, *arguments, code=1)
                self.assertEqual(first["findings"][0]["kind"], "contents")
                self.assertEqual(self.json_of(file, *arguments, code=1), first)

    # What a finding says.

    def test_the_last_line_repeats_the_finding(self) -> None:
        for name in sorted(BUGS):
            with self.subTest(scenario=name):
                file = SCENARIOS / f"{name}.json"
                done = self.explore(file)
                self.assertEqual((done.returncode, done.stderr), (1, b""))
                line = done.stdout.decode().splitlines()[-1]
                self.assertTrue(line.startswith("thalweg explore "), line)
                self.assertIn("--schedule=", line)
                again = self.thalweg(*shlex.split(line)[1:])
                self.assertEqual(again.returncode, 1)
                self.assertIn(f"`{BUGS[name]}`", again.stdout.decode())
                self.assertEqual(again.stdout.decode().splitlines()[-1], line)

    def test_odd_file_names_are_quoted_for_the_shell(self) -> None:
        text = (SCENARIOS / "bug_check.json").read_text()
        name = self.file(text, "it's a $(scenario).json")
        line = self.explore(name).stdout.decode().splitlines()[-1]
        self.assertEqual(shlex.split(line)[2], name)

    def test_a_file_name_that_looks_like_an_option(self) -> None:
        name = self.file((SCENARIOS / "bug_check.json").read_text(), "-x.json")
        line = self.explore("--", name).stdout.decode().splitlines()[-1]
        self.assertEqual(shlex.split(line)[2], "./-x.json")
        again = self.thalweg(*shlex.split(line)[1:])
        self.assertEqual((again.returncode, again.stderr), (1, b""))

    def test_findings_name_lines_of_the_scenario(self) -> None:
        name = "bug_undeclared_write"
        lines = (SCENARIOS / f"{name}.json").read_text().splitlines()
        number = 1 + next(i for i, line in enumerate(lines) if '"one too many"' in line)
        finding = self.json_of(SCENARIOS / f"{name}.json", code=1)["findings"][0]
        side = finding["sides"][0]
        self.assertEqual((side["file"], side["line"]), (f"{name}.json", number))
        self.assertIn(f"{name}.json:{number}", finding["message"])

    def test_a_check_says_what_was_read(self) -> None:
        self.file(
            with_steps(
                '{"do": "fill", "on": "a", "to": "x", "value": 7}',
                '{"do": "read", "on": "a", "from": "x[1:3]", "expect": 8}',
            )
        )
        finding = self.json_of("a.json", code=1)["findings"][0]
        self.assertEqual(finding["kind"], "check")
        self.assertIn("x[1:3] is 7, 7; expected 8.", finding["message"])
        self.assertIn(f"a.json:{STEP_LINE + 1}", finding["message"])

    def test_standard_input(self) -> None:
        text = (SCENARIOS / "bug_check.json").read_text()
        done = self.explore("-", text=text)
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        self.assertTrue(done.stdout.decode().splitlines()[-1].startswith("thalweg explore - "))
        self.assertEqual(self.explore("-", text="").returncode, 2)

    def test_svg_and_trace(self) -> None:
        for name in ("bug_raw_undeclared", "bug_deadlock", "f05_event_recorded_again"):
            with self.subTest(scenario=name):
                file = SCENARIOS / f"{name}.json"
                done = self.explore(file, "--svg=out.svg", "--trace=out.txt")
                self.assertEqual(done.returncode, int(name in BUGS), done.stderr)
                root = xml.etree.ElementTree.parse(self.path / "out.svg").getroot()
                self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
                texts = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]
                self.assertIn("host", texts)
                self.assertTrue(any(text.startswith("s0") for text in texts))
                trace = (self.path / "out.txt").read_text()
                self.assertIn("submit    s0@1 ", trace)
                again = self.explore(file, "--trace=again.txt")
                self.assertEqual(again.returncode, int(name in BUGS))
                self.assertEqual((self.path / "again.txt").read_text(), trace)

    def test_the_faults_are_gone_through(self) -> None:
        done = self.explore(SCENARIOS / "f13_staged_writes.json", "--faults", "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["file"], str(SCENARIOS / "f13_staged_writes.json"))
        self.assertIn("sites", report)

    def test_what_is_clean_is_clean_with_each_fault(self) -> None:
        for path in sorted(SCENARIOS.glob("*.json")):
            if path.stem in BUGS:
                continue
            with self.subTest(scenario=path.stem):
                report = self.json_of(path, "--faults", code=0)
                self.assertEqual((report["findings"], report["complete"]), ([], True))

    # What steps may expect.

    def test_errors_that_are_expected_are_no_findings(self) -> None:
        self.file(
            with_steps(
                '{"do": "drop", "name": "x"}',
                '{"do": "fill", "on": "a", "to": "x", "value": 1, "expect_error": "invalid_handle"}',
                '{"do": "host", "on": "a", "name": "f", "updates": "x",'
                ' "expect_error": "invalid_handle"}',
                '{"do": "create", "name": "x"}',
                '{"do": "fill", "on": "a", "to": "x", "value": 1}',
                '{"do": "copy", "on": "a", "to": "x[0:2]", "from": "x[2:3]",'
                ' "expect_error": ["invalid_size", "invalid_argument"]}',
                '{"do": "signal", "timeline": "t", "value": 5}',
                '{"do": "signal", "timeline": "t", "value": 4, "expect_error": "invalid_argument"}',
                '{"do": "wait", "on": "b", "timeline": "t", "value": 6}',
                '{"do": "synchronize", "on": "b", "deadline_us": 10,'
                ' "expect_error": ["timeout", "none"]}',
                '{"do": "signal", "timeline": "t", "value": 6}',
                '{"do": "synchronize"}',
                '{"do": "poll", "expect": true}',
            )
        )
        report = self.json_of("a.json", code=0)
        self.assertEqual(report["findings"], [])

    def test_other_errors_and_successes_are_findings(self) -> None:
        for step, words in (
            (
                '{"do": "copy", "on": "a", "to": "x[0:2]", "from": "x[2:3]"}',
                "the step 'copy' ends with invalid_size",
            ),
            (
                '{"do": "poll", "expect_error": "timeout"}',
                "the step 'poll' succeeds Expected: timeout",
            ),
        ):
            with self.subTest(step=step):
                self.file(with_steps(step))
                findings = self.json_of("a.json", code=1)["findings"]
                messages = [entry["message"] for entry in findings if entry["kind"] == "check"]
                self.assertIn(words, messages[0])
                self.assertIn(f"a.json:{STEP_LINE}", messages[0])

    def test_steps_of_every_kind(self) -> None:
        self.file(
            with_steps(
                '{"do": "upload", "on": "a", "to": "x", "values": [1, 2, 3, 4], "note": "n"}',
                '{"do": "upload", "on": "b", "to": "y", "values": 255}',
                '{"do": "native", "on": "b", "updates": "y", "compute": "add", "value": 2}',
                '{"do": "read", "on": "b", "from": "y", "expect": 1}',
                '{"do": "kernel", "on": "b", "name": "k", "updates": "x", "compute": "add",'
                ' "value": 1}',
                '{"do": "kernel", "on": "a", "name": "m", "reads": "x[0:2]", "writes": "x[2:4]"}',
                '{"do": "read", "on": "a", "from": {"buffer": "x", "first": 0, "count": 2},'
                ' "expect": [2, 3]}',
                '{"do": "record", "on": "a", "event": "e"}',
                '{"do": "wait_event", "on": "b", "event": "e"}',
                '{"do": "wait_stream", "on": "b", "stream": "a"}',
                '{"do": "host_wait", "event": "e"}',
                '{"do": "query", "event": "e", "expect": ["done"]}',
                '{"do": "signal", "on": "a", "timeline": "t", "value": 1}',
                '{"do": "host_wait", "timeline": "t", "value": 1}',
                '{"do": "repeat", "times": 2, "steps": [{"do": "host", "on": "a", "name": "r",'
                ' "updates": "x[0:1]", "compute": "add", "value": 5}]}',
                '{"do": "read", "on": "a", "from": "x[0:1]", "expect": 12}',
                '{"do": "read", "on": "a", "from": "x", "wait": false}',
                '{"do": "drop", "name": "b"}',
                '{"do": "drop", "name": "e"}',
            )
        )
        report = self.json_of("a.json", "--runs=200", code=0)
        self.assertEqual(report["findings"], [])

    def test_memory_that_the_host_shares(self) -> None:
        self.file(
            json.dumps(
                {
                    "version": 1,
                    "streams": ["a"],
                    "buffers": [{"name": "h", "home": "a", "count": 4, "memory": "host"}],
                    "program": [
                        {"do": "map", "of": "h", "for": "writing", "value": 3},
                        {"do": "host", "on": "a", "name": "f", "updates": "h", "compute": "add", "value": 1},
                        {"do": "map", "of": "h", "expect": 4},
                    ],
                }
            )
        )
        self.assertTrue(self.json_of("a.json", code=0)["complete"])

    # Mistakes.

    def test_what_is_no_scenario(self) -> None:
        for text, line, words in (
            ("", 1, "no JSON"),
            ("{", 1, "no JSON"),
            ('{\n"version": 1,\n}', 3, "no JSON"),
            ("[]\n", 1, "takes an object"),
            ('{"version": 1,\n"version": 1}', 2, "twice"),
            ("\n{}", 2, "version"),
            ('{\n"version": 2}', 2, "is 2; it takes 1."),
            ('{"version": 1.0}', 1, "version"),
            ('{"version": 1,\n"programme": []}', 2, "its keys are version, about, device"),
            ('{"version": 1}', 1, "program"),
            ('{"version": 1, "program": [],\n"actors": [[]]}', 2, "one of them"),
            ('{"version": 1,\n"actors": []}', 2, "has 0 lists of steps; it takes 1 to 16"),
            (json.dumps({"version": 1, "actors": [[]] * 17}), 1, "has 17 lists of steps"),
            ('{"version": 1,\n"actors": [{}]}', 2, "a list"),
            ('{"version": 1,\n"device": "cpu", "program": []}', 2, "'sim'"),
            ('{"version": 1,\n"device": 1, "program": []}', 2, "a text"),
            ('{"version": 1,\n"about": 1, "program": []}', 2, "a text"),
            ('{"version": 1, "streams": ["a",\n"a"], "program": []}', 2, "is taken: line 1"),
            ('{"version": 1, "streams": ["a"],\n"events": ["a"], "program": []}', 2, "a stream"),
            ('{"version": 1,\n"streams": ["1a"], "program": []}', 2, "a letter"),
            ('{"version": 1,\n"streams": [""], "program": []}', 2, "a letter"),
            ('{"version": 1,\n"streams": "a", "program": []}', 2, "a list"),
            ('{"version": 1,\n"streams": [7], "program": []}', 2, "an object"),
            ('{"version": 1,\n"streams": [{}], "program": []}', 2, '"name"'),
            ('{"version": 1,\n"streams": [{"name": "a", "prio": 1}], "program": []}', 2, "'prio'"),
            (
                '{"version": 1,\n"streams": [{"name": "a", "priority": "high"}], "program": []}',
                2,
                "'high'",
            ),
            (
                '{"version": 1,\n"buffers": [{"name": "x", "home": "a", "count": 1}], "program": []}',
                2,
                "not declared; declared are none",
            ),
            (
                '{"version": 1, "streams": ["a"],\n'
                '"buffers": [{"name": "x", "home": "a", "count": -1}], "program": []}',
                2,
                '"count"',
            ),
            (
                '{"version": 1, "streams": ["a"],\n'
                '"buffers": [{"name": "x", "home": "a", "count": 99999999999}], "program": []}',
                2,
                "99999999999",
            ),
            (
                '{"version": 1, "streams": ["a"],\n'
                '"buffers": [{"name": "x", "home": "a", "count": 1, "type": "f32"}], "program": []}',
                2,
                "u32 or u8",
            ),
            ('{"version": 1,\n"timelines": [{"name": "t", "value": -1}], "program": []}', 2, "-1"),
        ):
            with self.subTest(text=text):
                self.assert_bad(text, line, words)

    def test_steps_that_are_wrong(self) -> None:
        good = '{"do": "poll"}'
        for step, *words in (
            ("7", "a step"),
            ("{}", '"do"', "fill"),
            ('{"do": "fil"}', "'fil'", "fill, copy"),
            ('{"do": 1}', '"do"'),
            ('{"do": "fill"}', "'fill'", '"on"'),
            ('{"do": "fill", "on": "c", "to": "x", "value": 1}', "'c'", "declared are a, b"),
            ('{"do": "fill", "on": "x", "to": "x", "value": 1}', "a buffer, not a stream"),
            ('{"do": "fill", "on": 1, "to": "x", "value": 1}', '"on"', "a stream"),
            ('{"do": "fill", "on": "a", "to": "z", "value": 1}', "'z'", "declared are x, y"),
            ('{"do": "fill", "on": "a", "to": "x", "value": 4294967296}', "4294967295"),
            ('{"do": "fill", "on": "a", "to": "y", "value": 256}', "0 to 255"),
            ('{"do": "fill", "on": "a", "to": "x", "value": -1}', "-1"),
            ('{"do": "fill", "on": "a", "to": "x", "value": 1.5}', "1.5"),
            ('{"do": "fill", "on": "a", "to": "x", "value": "1"}', "a whole number"),
            ('{"do": "fill", "on": "a", "to": "x"}', '"value"'),
            ('{"do": "fill", "on": "a", "to": "x", "valu": 1}', "'valu'", "on, to, value"),
            ('{"do": "fill", "on": "a", "to": "x[0:5]", "value": 1}', "5 elements", "has 4"),
            ('{"do": "fill", "on": "a", "to": "x[5:5]", "value": 1}', "element 5"),
            ('{"do": "fill", "on": "a", "to": "x[2:1]", "value": 1}', "[begin:end]"),
            ('{"do": "fill", "on": "a", "to": "x[1]", "value": 1}', "[begin:end]"),
            ('{"do": "fill", "on": "a", "to": "x[:]", "value": 1}', "[begin:end]"),
            ('{"do": "fill", "on": "a", "to": "x[0:1", "value": 1}', "[begin:end]"),
            ('{"do": "fill", "on": "a", "to": {"buffer": "x"}, "value": 1}', '"first"'),
            (
                '{"do": "fill", "on": "a", "value": 1, "to": {"buffer": "x", "first": 1,'
                ' "count": 18446744073709551615}}',
                "18446744073709551615",
            ),
            ('{"do": "copy", "on": "a", "to": "x", "from": "y"}', "one"),
            ('{"do": "upload", "on": "a", "to": "x", "values": [1]}', "1 values for 4"),
            ('{"do": "upload", "on": "a", "to": "x"}', '"values"'),
            ('{"do": "read", "on": "a", "from": "x", "expect": [1, 2]}', "2 values for 4"),
            ('{"do": "read", "on": "a", "from": "x", "expect": 1, "wait": false}', "does not wait"),
            ('{"do": "read", "on": "a", "from": "x", "wait": 1}', "true or false"),
            ('{"do": "host", "on": "a"}', '"name"'),
            ('{"do": "host", "on": "a", "name": "f", "value": 1}', "'mix'"),
            ('{"do": "host", "on": "a", "name": "f", "compute": "sub"}', "mix, set or add"),
            (
                '{"do": "host", "on": "a", "name": "f", "writes": "x", "compute": "add", "value": 1}',
                '"updates"',
            ),
            ('{"do": "host", "on": "a", "name": "f", "reads": %s}' % (["x"] * 9), "9 accesses", "8"),
            ('{"do": "host", "on": "a", "name": "f", "steps": [{"do": "x"}]}', "'x'"),
            ('{"do": "kernel", "on": "a", "name": "k"}', "one in all"),
            ('{"do": "kernel", "on": "a", "name": "k", "writes": "y"}', "u32"),
            ('{"do": "kernel", "on": "a", "name": "k", "writes": "x", "leaves": 5}', "0 to 4"),
            ('{"do": "record", "on": "a", "event": "t"}', "a timeline, not an event"),
            ('{"do": "wait", "on": "a", "timeline": "t"}', '"value"'),
            ('{"do": "host_wait"}', "either"),
            ('{"do": "host_wait", "event": "e", "timeline": "t", "value": 1}', "either"),
            ('{"do": "host_wait", "event": "e", "value": 1}', '"timeline" alone'),
            ('{"do": "query", "event": "e", "expect": "ready"}', "not_recorded, not_yet, done or"),
            ('{"do": "create", "name": "q"}', "'q'"),
            ('{"do": "poll", "expect_error": "boom"}', "'boom'", "timeout"),
            ('{"do": "synchronize", "deadline_us": -5}', "-5"),
            ('{"do": "map", "of": "x", "value": 1}', "'writing'"),
            ('{"do": "repeat", "times": 10001, "steps": []}', "10000"),
            ('{"do": "repeat", "times": 2}', '"steps"'),
            (
                '{"do": "repeat", "times": 1000, "steps":'
                ' [{"do": "repeat", "times": 1000, "steps": []}]}',
                "1000000",
            ),
        ):
            with self.subTest(step=step):
                step = step.replace("'x'", '"x"') if "['x'" in step else step
                self.assert_bad(with_steps(good, good, step, good), STEP_LINE + 2, *words)

    def test_the_line_is_that_of_the_value(self) -> None:
        step = '{"do": "fill",\n"on": "a",\n"to":\n"x",\n"value":\n-1\n}'
        self.assert_bad(with_steps(step), STEP_LINE + 5, '"value"')

    def test_files_that_are_too_much(self) -> None:
        self.assert_bad('{"version": 1, "program": ' + "[" * 200000, 1, "32 deep")
        self.file(" " * (5 << 20))
        self.assert_refused("a.json", words="4194304")
        self.assert_refused("/dev/zero", words="4194304")
        self.file("\n" * 300000)
        self.assert_refused("a.json", words="200000 lines")
        self.file('{"version": 1,\n"about": "\udcff"}')
        self.assert_refused("a.json", words="a.json:2: ")
        self.assert_refused(".", words="directory")
        self.assert_refused("missing.json", words="missing.json")
        self.assert_refused("line\nbreak.json", words="line\\x0abreak")

    def test_options_of_the_device(self) -> None:
        for device in ("sim?nonsense=1", "sim?memory=a"):
            option = device.split("?")[1].split("=")[0]
            self.assert_bad('{"version": 1,\n"device": "%s", "program": []}' % device, 2, option)
        self.file('{"version": 1,\n"device": "sim?faults=alloc:1", "program": []}')
        self.assert_refused("a.json", "--faults", words="a.json:2: ")
        self.assertEqual(self.explore("a.json").returncode, 0)

    def test_wrong_options(self) -> None:
        self.file(with_steps('{"do": "poll"}'))
        for arguments, words in (
            (("--search=all",), "all"),
            (("--runs=0",), "--runs"),
            (("--runs=x",), "--runs"),
            (("--search=random", "--seed=-1"), "--seed"),
            (("--steps=0",), "--steps"),
            (("--steps=99999999999999999999",), "--steps"),
            (("--preemptions=-1",), "--preemptions"),
            (("--search=priorities", "--changes=1.5"), "--changes"),
            (("--time-limit=0",), "--time-limit"),
            (("--time-limit=nan",), "--time-limit"),
            (("--time-limit=soon",), "soon"),
            (("--schedule=nonsense",), "nonsense"),
            (("--schedule=s0x0",), "s0x0"),
            (("--schedule=",), "--schedule"),
            (("--schedule=-", "--runs=2"), "--runs"),
            (("--schedule=-", "--time-limit=1"), "--time-limit"),
            (("--schedule=-", "--seed=1"), "--seed"),
            (("--schedule=-", "--no-reduce"), "--no-reduce"),
            (("--seed=1",), "--search=random"),
            (("--changes=0",), "--search=priorities"),
            (("--search=random", "--changes=0"), "--search=priorities"),
            (("--search=random", "--no-reduce"), "--search=exhaustive"),
            (("--search=priorities", "--preemptions=2"), "--search=exhaustive"),
            (("--schedule=-", "--search=random"), "--search"),
            (("--schedule=-", "--all"), "--all"),
            (("--faults", "--all"), "--all"),
            (("--faults", "--svg=a.svg"), "--svg"),
            (("--faults", "--time-limit=1"), "--time-limit"),
            (("--svg=a.json",), "itself"),
            (("--trace=./a.json",), "itself"),
            (("--svg=o", "--trace=o"), "one file"),
            (("--svg=no/such/folder/o.svg",), "no/such/folder"),
            (("--trace=.",), "directory"),
            (("--nonsense",), "--nonsense"),
            (("b.json",), "b.json"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused("a.json", *arguments, words=words)
        self.assert_refused(words="FILE")

    def test_output_that_cannot_be_written(self) -> None:
        self.file(with_steps('{"do": "poll"}'))
        self.assert_refused("a.json", "--svg=/dev/full", words="/dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [TOOL, "explore", "a.json"],
                stdout=full,
                stderr=subprocess.PIPE,
                cwd=self.path,
                timeout=120,
            )
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_bounds_are_said(self) -> None:
        self.file(json.dumps(ENDLESS))
        for option, words in (
            ("--runs=50", "50"),
            ("--time-limit=0.2", ""),
            ("--preemptions=0", "0"),
            ("--steps=20", "20"),
        ):
            with self.subTest(option=option):
                arguments = (option,) if "--runs" in option else (option, "--runs=1000")
                report = self.json_of("a.json", *arguments, code=0)
                self.assertFalse(report["complete"])
                self.assertNotEqual(report["bounded_by"], "")
                self.assertIn(words, report["bounded_by"])

    # Ctrl-C.

    def interrupted(self, number: int, *arguments: str) -> tuple[int, bytes, bytes]:
        """Runs without end in sight on a terminal, and sends the signal once runs are counted."""
        self.file(json.dumps(ENDLESS))
        leader, follower = os.openpty()
        try:
            with subprocess.Popen(
                [TOOL, "explore", "a.json", "--runs=1000000000", *arguments],
                stdout=subprocess.PIPE,
                stderr=follower,
                stdin=subprocess.DEVNULL,
                cwd=self.path,
            ) as process:
                seen = b""
                while b" runs, 0 findings" not in seen:
                    ready, _, _ = select.select([leader], [], [], 60)
                    self.assertTrue(ready, seen)
                    seen += os.read(leader, 65536)
                process.send_signal(number)
                assert process.stdout is not None
                output = process.stdout.read()
                process.wait(60)
                while select.select([leader], [], [], 0)[0]:
                    seen += os.read(leader, 65536)
                return process.returncode, output, seen
        finally:
            os.close(leader)
            os.close(follower)

    def test_ctrl_c_ends_it_with_what_there_is(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            code, output, _ = self.interrupted(number)
            self.assertEqual(code, 128 + number, output)
            self.assertIn(b"not complete: an interruption\n", output)
            self.assertIn(b"no finding", output)
        code, output, _ = self.interrupted(signal.SIGINT, "--search=random", "--json")
        report = json.loads(output)
        self.assertEqual(code, 128 + signal.SIGINT)
        self.assertEqual(report["bounded_by"], "an interruption")
        self.assertGreater(report["runs"], 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
