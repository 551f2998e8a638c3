#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command `thalweg` as a black box: exit codes, one-line errors, JSON, the file, Ctrl-C.

usage: demo_test.py PATH_OF_THALWEG
"""

from __future__ import annotations

import base64
import json
import os
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

TOOL = ""

# 48 x 32 pixels.
JPEG = base64.b64decode(
    """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wCEABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7
gYKBTmCNl4x9lnN+gXwBFRcXHhoeOyEhO3xTRlN8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8
fHx8fP/AABEIACAAMAMBIgACEQEDEQH/xAGiAAABBQEBAQEBAQAAAAAAAAAAAQIDBAUGBwgJCgsQAAIBAwMCBAMFBQQEAAABfQEC
AwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVm
Z2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq
8fLz9PX29/j5+gEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoLEQACAQIEBAMEBwUEBAABAncAAQIDEQQFITEGEkFRB2FxEyIy
gQgUQpGhscEJIzNS8BVictEKFiQ04SXxFxgZGiYnKCkqNTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqCg4SF
hoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2dri4+Tl5ufo6ery8/T19vf4+fr/2gAMAwEA
AhEDEQA/AOUWKryxVYWKo1irqdT6l53+W339zOnV5issVXliqwsVRrFWTqfUvO/y2+/ud9OrzFdYqvLFVhYqjWKsnU+ped/lt9/c
76dXmKixVeWKrCxVGsVZup9S87/Lb7+58fTq8xXWKrqxVZWKolirJ1PqXnf5bff3O+nV5iusVXliqwsVRrFWTqfUvO/y2+/ud9Or
zH//2Q==
"""
)

RUN_FIELDS = {
    "device": str,
    "streams": int,
    "bands": int,
    "median_ms": float,
    "low_ms": float,
    "high_ms": float,
    "overlap": (int, float),
    "waits": dict,
    "host_waits": dict,
    "live_peak": int,
    "reserved_peak": int,
    "equal": bool,
}


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, channels: int = 3, bits: int = 8, seed: int = 1) -> bytes:
    """A PNG of random bytes: grey, grey and alpha, RGB, or RGB and alpha."""
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    source = random.Random(seed)
    row_bytes = width * channels * bits // 8
    rows = b"".join(b"\0" + source.randbytes(row_bytes) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def grey_pixels(data: bytes) -> tuple[int, int, bytes]:
    """Width, height and pixels of an 8-bit grey PNG; fails for any other."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    packed, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert checksum == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height, *rest = struct.unpack(">IIBBBBB", body)
            assert rest == [8, 0, 0, 0, 0], rest
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    rows, above = zlib.decompress(packed), bytes(width)
    assert len(rows) == height * (width + 1)
    pixels = bytearray()
    for y in range(height):
        method, *values = rows[y * (width + 1) : (y + 1) * (width + 1)]
        row = bytearray(values)
        for x in range(width):
            left = row[x - 1] if x else 0
            up, corner = above[x], above[x - 1] if x else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda value: abs(guess - value))
            row[x] = (row[x] + (0, left, up, (left + up) // 2, paeth)[method]) & 255
        pixels += row
        above = bytes(row)
    return width, height, bytes(pixels)


class DemoTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def thalweg(self, *arguments: str | Path, **options) -> subprocess.CompletedProcess:
        return subprocess.run(
            [TOOL, *map(str, arguments)],
            capture_output=True,
            cwd=self.path,
            timeout=120,
            stdin=subprocess.DEVNULL,
            **options,
        )

    def file(self, name: str, data: bytes) -> Path:
        path = self.path / name
        path.write_bytes(data)
        return path

    def left_over(self) -> set[str]:
        return {entry.name for entry in self.path.iterdir()}

    def assert_refused(self, *arguments: str | Path, words: str = "", **options) -> None:
        """Exit code 2, one line on stderr that holds `words`, nothing on stdout, no file."""
        before = self.left_over()
        done = self.thalweg("demo", *arguments, **options)
        errors = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 2, errors)
        self.assertEqual(done.stdout, b"")
        self.assertRegex(errors, r"\Athalweg: [^\n]+\n\Z")
        self.assertIn(words, errors)
        self.assertEqual(self.left_over(), before)

    def json_of(self, *arguments: str | Path) -> dict:
        done = self.thalweg("demo", "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def test_table_and_picture(self) -> None:
        self.file("a.png", png(40, 30))
        done = self.thalweg("demo", "a.png", "--repeat", "2", "--device", "cpu")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = done.stdout.decode()
        for words in ("sequential reference", "40 x 30", "overlap", "thalweg-demo.png"):
            self.assertIn(words, text)
        rows = [line.split() for line in text.splitlines() if line.startswith("cpu")]
        self.assertEqual([row[1] for row in rows], ["1", "2", "4"])
        self.assertEqual({row[-1] for row in rows}, {"yes"})
        self.assertEqual(grey_pixels((self.path / "thalweg-demo.png").read_bytes())[:2], (40, 30))
        self.assertEqual(self.left_over(), {"a.png", "thalweg-demo.png"})

    def test_json(self) -> None:
        self.file("a.png", png(33, 21))
        report = self.json_of("a.png", "--streams", "1,3", "--bands", "7", "--device", "cpu")
        self.assertEqual(list(report), ["image", "width", "height", "runs"])
        self.assertEqual((report["image"], report["width"], report["height"]), ("a.png", 33, 21))
        self.assertEqual([run["streams"] for run in report["runs"]], [1, 3])
        for run in report["runs"]:
            self.assertEqual(list(run), list(RUN_FIELDS))
            for name, kind in RUN_FIELDS.items():
                self.assertIsInstance(run[name], kind, name)
            self.assertEqual((run["device"], run["bands"], run["equal"]), ("cpu", 7, True))
            self.assertLessEqual(run["low_ms"], run["median_ms"])
            self.assertLessEqual(run["median_ms"], run["high_ms"])
            self.assertEqual(list(run["waits"]), ["placed", "passed", "covered"])
            self.assertGreaterEqual(run["reserved_peak"], run["live_peak"])
            self.assertGreater(run["live_peak"], 33 * 21)
        # One stream needs no waits; of three, some must wait for each other.
        self.assertEqual(sum(report["runs"][0]["waits"].values()), 0)
        self.assertGreater(sum(report["runs"][1]["waits"].values()), 0)

    def test_the_picture_of_ours(self) -> None:
        report = self.json_of("--streams", "2", "--repeat", "1", "--device", "cpu")
        self.assertEqual(report["image"], "default")
        self.assertGreaterEqual(report["width"], 1920)
        self.assertGreaterEqual(report["height"], 1280)
        self.assertTrue(report["runs"][0]["equal"])

    def test_devices_by_default_are_those_available(self) -> None:
        listed = self.thalweg("devices")
        self.assertEqual((listed.returncode, listed.stderr), (0, b""))
        lines = [line.split() for line in listed.stdout.decode().splitlines() if line[:1] != " "]
        available = [line[0] for line in lines if line[1] == "available"]
        self.assertIn("cpu", available)
        self.file("a.png", png(5, 5))
        report = self.json_of("a.png", "--streams", "1")
        self.assertEqual([run["device"] for run in report["runs"]], available)

    def test_several_devices(self) -> None:
        self.file("a.png", png(20, 10))
        names = ["cpu", "cpu?workers=1", "cpu?workers=3"]
        arguments = [word for name in names for word in ("--device", name)]
        report = self.json_of(*arguments, "a.png", "--streams", "2")
        self.assertEqual([run["device"] for run in report["runs"]], names)

    def test_thin_pictures(self) -> None:
        for width, height in ((1, 1), (1, 50), (50, 1), (2, 3)):
            self.file("thin.png", png(width, height))
            report = self.json_of("thin.png", "--out", "out.png", "--device", "cpu")
            self.assertTrue(all(run["equal"] for run in report["runs"]))
            read = grey_pixels((self.path / "out.png").read_bytes())
            self.assertEqual(read[:2], (width, height))

    def test_every_kind_of_png_and_jpeg(self) -> None:
        kinds = {f"{c}-{b}.png": png(31, 9, c, b) for c in (1, 2, 3, 4) for b in (8, 16)}
        kinds["a.jpg"] = JPEG
        for name, data in kinds.items():
            self.file(name, data)
            report = self.json_of(name, "--streams", "2", "--repeat", "1", "--device", "cpu")
            self.assertTrue(report["runs"][0]["equal"], name)

    def test_a_grey_picture_counts_as_its_color(self) -> None:
        pixels = [(x * 7 + y * 13) % 256 for y in range(12) for x in range(17)]

        def picture(color: int, cell) -> bytes:
            rows = b"".join(
                b"\0" + b"".join(cell(v) for v in pixels[y * 17 : y * 17 + 17]) for y in range(12)
            )
            header = struct.pack(">IIBBBBB", 17, 12, 8, color, 0, 0, 0)
            return (
                b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", header)
                + chunk(b"IDAT", zlib.compress(rows))
                + chunk(b"IEND", b"")
            )

        results = []
        for color, cell in (
            (0, lambda v: bytes([v])),
            (4, lambda v: bytes([v, 9])),
            (2, lambda v: bytes([v, v, v])),
            (6, lambda v: bytes([v, v, v, 200])),
        ):
            self.file("a.png", picture(color, cell))
            self.json_of("a.png", "--streams", "1", "--repeat", "1", "--device", "cpu")
            results.append((self.path / "thalweg-demo.png").read_bytes())
        self.assertEqual(len(set(results)), 1)

    def test_broken_pictures(self) -> None:
        whole = png(64, 64)
        flipped = bytearray(whole)
        flipped[len(flipped) // 2] ^= 1
        huge = struct.pack(">IIBBBBB", 100000, 100000, 8, 2, 0, 0, 0)
        bomb = whole[:8] + chunk(b"IHDR", huge) + whole[33:]
        below = struct.pack(">IIBBBBB", 1 << 14, 1 << 14, 8, 2, 0, 0, 0)
        for name, data, words in (
            ("empty.png", b"", "empty"),
            ("text.png", b"Not a picture.\n" * 100, "not a PNG or JPEG"),
            ("head.png", whole[:20], "ends early"),
            ("half.png", whole[: len(whole) // 2], "ends early"),
            ("flipped.png", bytes(flipped), "checksum"),
            ("half.jpg", JPEG[: len(JPEG) // 2], "damaged"),
            ("bomb.png", bomb, "100000 x 100000"),
            ("hollow.png", whole[:8] + chunk(b"IHDR", below) + whole[33:], ""),
            ("line\nbreak\x1b[31m.png", b"x", "line\\x0abreak\\x1b"),
        ):
            self.file(name, data)
            self.assert_refused(name, words=words)
            self.assert_refused(name, "--json", words=words)
        self.assert_refused("missing.png", words="missing.png")
        self.assert_refused(".", words="directory")
        self.assert_refused("/dev/zero", words="not a file")

    def test_a_picture_larger_than_the_device(self) -> None:
        self.file("a.png", png(2000, 1000))
        self.assert_refused("a.png", "--device", "cpu?memory=4MiB", words="too large")

    def test_wrong_options(self) -> None:
        self.file("a.png", png(10, 10))
        for arguments, words in (
            (("--streams", "0"), "--streams 0"),
            (("--streams", "1,0"), "--streams 0"),
            (("--streams", "-3"), "--streams"),
            (("--streams", "two"), "two"),
            (("--streams", ""), "--streams"),
            (("--streams", "1,,2"), "--streams"),
            (("--streams", "99999999999999999999"), "range"),
            (("--streams", "1000000"), "--streams 1000000"),
            (("--bands", "0"), "--bands 0"),
            (("--bands", "11"), "--bands 11"),
            (("--bands=-1",), "--bands -1"),
            (("--bands", "1.5"), "1.5"),
            (("--repeat", "0"), "--repeat 0"),
            (("--repeat", "1e3"), "1e3"),
            (("--device", "no-such-device"), "no-such-device"),
            (("--device", "cpu?workers=0"), "workers"),
            (("--device", "cpu?nonsense=1"), "nonsense"),
            (("--device", ""), ""),
            (("--nonsense",), "--nonsense"),
            (("another.png",), "another.png"),
            (("--out", ""), "empty"),
            (("--out", "."), "directory"),
            (("--out", "no/such/folder/a.png"), "no/such/folder"),
            (("--out", "x" * 300), ""),
            (("--out", "a.png"), "itself"),
            (("--out", "/dev/full"), "/dev/full"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused("a.png", *arguments, words=words)

    def test_no_command_and_help(self) -> None:
        for arguments in ((), ("nonsense",), ("--nonsense",)):
            done = self.thalweg(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertEqual(done.stderr.count(b"\n"), 1)
        for arguments in (("--help",), ("demo", "--help"), ("devices", "--help")):
            done = self.thalweg(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"thalweg", done.stdout)

    def test_a_file_that_is_there_stays_on_failure_and_is_replaced_on_success(self) -> None:
        self.file("a.png", png(10, 10))
        self.file("out.png", b"precious")
        self.assert_refused("a.png", "--out", "out.png", "--device", "nothing")
        self.assertEqual((self.path / "out.png").read_bytes(), b"precious")
        self.json_of("a.png", "--out", "out.png", "--device", "cpu")
        self.assertEqual(grey_pixels((self.path / "out.png").read_bytes())[:2], (10, 10))

    def test_a_link_is_followed(self) -> None:
        self.file("a.png", png(10, 10))
        self.file("target.png", b"old")
        (self.path / "link.png").symlink_to("target.png")
        self.json_of("a.png", "--out", "link.png", "--device", "cpu")
        self.assertTrue((self.path / "link.png").is_symlink())
        self.assertEqual(grey_pixels((self.path / "target.png").read_bytes())[:2], (10, 10))

    def test_a_full_disk(self) -> None:
        """A limit on the size of files stands for the disk."""
        self.file("a.png", png(300, 300))

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.assert_refused("a.png", "--device", "cpu", words="thalweg-demo.png", preexec_fn=limit)

    def test_output_that_cannot_be_printed(self) -> None:
        self.file("a.png", png(10, 10))
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [TOOL, "demo", "a.png", "--device", "cpu"],
                stdout=full,
                stderr=subprocess.PIPE,
                cwd=self.path,
                timeout=120,
            )
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def interrupted(self, number: int) -> tuple[int, bytes, bytes]:
        """Runs without end in sight on a terminal, and sends the signal once work is in flight."""
        self.file("a.png", png(300, 300))
        leader, follower = os.openpty()
        try:
            with subprocess.Popen(
                [TOOL, "demo", "a.png", "--device", "cpu", "--repeat", "100000"],
                stdout=subprocess.PIPE,
                stderr=follower,
                stdin=subprocess.DEVNULL,
                cwd=self.path,
            ) as process:
                seen = b""
                # The bar shows that the repeats have begun.
                while b"reference, 3 of" not in seen:
                    ready, _, _ = select.select([leader], [], [], 60)
                    self.assertTrue(ready, seen)
                    seen += os.read(leader, 65536)
                self.assertTrue(any(name.startswith(".thalweg-") for name in self.left_over()))
                process.send_signal(number)
                while process.poll() is None:
                    if select.select([leader], [], [], 0.1)[0]:
                        seen += os.read(leader, 65536)
                assert process.stdout is not None
                output = process.stdout.read()
                while select.select([leader], [], [], 0)[0]:
                    seen += os.read(leader, 65536)
                return process.returncode, output, seen
        finally:
            os.close(leader)
            os.close(follower)

    def test_ctrl_c(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            code, output, errors = self.interrupted(number)
            self.assertEqual((code, output), (128 + number, b""))
            self.assertIn(b"thalweg: Interrupted", errors)
            self.assertEqual(self.left_over(), {"a.png"})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    TOOL = os.path.abspath(sys.argv.pop())
    unittest.main()
