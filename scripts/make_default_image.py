#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws examples/image_pipeline/default.png, the picture the demo works on when it is given none.

A relief map of a river bed as laser surveys show them: the height above the water gives the colour.
A river is simulated that cuts into its outer banks and leaves its loops behind; each position it
once had is carved into the valley floor, the oldest faintest. The present channel is carved last,
and the line of its fastest flow, the thalweg, is drawn bright.

The pixels are the same on every machine: only + - * / and square roots are used, which IEEE 754
rounds in one way. The bytes of the file also depend on the version of zlib.

usage: make_default_image.py [FILE]
"""

from __future__ import annotations

import struct
import sys
import zlib
from math import sqrt
from pathlib import Path

WIDTH, HEIGHT = 1920, 1280
SEED = 20

Point = tuple[float, float]
Rows = list[list[float]]


class Random:
    """A 64-bit linear congruential generator: the same numbers in every version of Python."""

    def __init__(self, seed: int) -> None:
        self.state = (seed * 2862933555777941757 + 3037000493) % 2**64

    def unit(self) -> float:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 40) / 2**24


def mix(a: float, b: float, t: float) -> float:
    return a + (b - a) * t


def smooth(low: float, high: float, x: float) -> float:
    t = min(max((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


def distance(a: Point, b: Point) -> float:
    x, y = b[0] - a[0], b[1] - a[1]
    return sqrt(x * x + y * y)



def noise(random: Random, period: int) -> Rows:
    """Smooth random values in [-1, 1] with one knot every `period` pixels."""
    across, down = WIDTH // period + 2, HEIGHT // period + 2
    knots = [[random.unit() * 2.0 - 1.0 for _ in range(across)] for _ in range(down)]
    weights = [smooth(0.0, 1.0, i / period) for i in range(period)]
    rows = []
    for y in range(HEIGHT):
        upper, lower, t = knots[y // period], knots[y // period + 1], weights[y % period]
        line = [mix(a, b, t) for a, b in zip(upper, lower)]
        row: list[float] = []
        for a, b in zip(line, line[1:]):
            difference = b - a
            row += [a + difference * weight for weight in weights]
        rows.append(row[:WIDTH])
    return rows


def terrain(random: Random, periods: list[int], roughness: float) -> Rows:
    """The sum of noises, each weaker than the one before it by `roughness`."""
    total = [[0.0] * WIDTH for _ in range(HEIGHT)]
    weight = 1.0
    for period in periods:
        for row, more in zip(total, noise(random, period)):
            row[:] = [a + weight * b for a, b in zip(row, more)]
        weight *= roughness
    return total


# ---- The river -----------------------------------------------------------------------------------


def resampled(line: list[Point], step: float) -> list[Point]:
    """The same line with a point every `step` pixels."""
    result = [line[0]]
    left = step
    for (x0, y0), (x1, y1) in zip(line, line[1:]):
        length = distance((x0, y0), (x1, y1))
        at = 0.0
        while length - at >= left:
            at += left
            result.append((mix(x0, x1, at / length), mix(y0, y1, at / length)))
            left = step
        left -= length - at
    return [*result, line[-1]]


def curvatures(line: list[Point]) -> list[float]:
    """One over the radius of the circle through each point and its neighbours, with a sign."""
    result = [0.0]
    for (x0, y0), (x1, y1), (x2, y2) in zip(line, line[1:], line[2:]):
        ax, ay, bx, by, cx, cy = x1 - x0, y1 - y0, x2 - x1, y2 - y1, x2 - x0, y2 - y0
        product = sqrt((ax * ax + ay * ay) * (bx * bx + by * by) * (cx * cx + cy * cy))
        result.append(2.0 * (ax * by - ay * bx) / product if product > 0.0 else 0.0)
    return result + [0.0]


def without_loops(line: list[Point], neck: float, step: float) -> list[Point]:
    """Cuts a loop off where the river nearly meets itself."""
    apart = int(4.0 * neck / step)
    cells: dict[tuple[int, int], list[int]] = {}
    result: list[Point] = []
    for x, y in line:
        column, row = int(x // neck), int(y // neck)
        near = [
            i
            for a in (column - 1, column, column + 1)
            for b in (row - 1, row, row + 1)
            for i in cells.get((a, b), [])
            if i + apart < len(result)
            and distance(result[i], (x, y)) < neck
        ]
        if near:
            for i in range(min(near) + 1, len(result)):
                cells[int(result[i][0] // neck), int(result[i][1] // neck)].remove(i)
            del result[min(near) + 1 :]
        cells.setdefault((column, row), []).append(len(result))
        result.append((x, y))
    return result


def moved(line: list[Point], step: float, reach: float, speed: float) -> list[Point]:
    """One step of erosion: a point moves by the curvature there and, more, upstream of it."""
    bends = curvatures(line)
    keep = 1.0 - step / reach
    upstream = 0.0
    result = [line[0]]
    for i in range(1, len(line) - 1):
        upstream = upstream * keep + bends[i] * (1.0 - keep)
        (x0, y0), (x2, y2) = line[i - 1], line[i + 1]
        length = distance((x0, y0), (x2, y2))
        shift = speed * (2.5 * upstream - bends[i])
        x, y = line[i]
        # The rock at the valley's sides hardly gives way.
        outward = shift * (x2 - x0) * (HEIGHT * 0.52 - y) > 0.0
        rock = smooth(0.52, 0.70, abs(y / HEIGHT - 0.52) * 2.0) if outward else 0.0
        shift = min(max(shift, -2.5), 2.5) * (1.0 - rock)
        result.append((x + shift * (y2 - y0) / length, y - shift * (x2 - x0) / length))
    return result + [line[-1]]


def softened(line: list[Point]) -> list[Point]:
    """Without the kinks that a cut-off leaves."""
    middle = [
        (0.25 * a[0] + 0.5 * b[0] + 0.25 * c[0], 0.25 * a[1] + 0.5 * b[1] + 0.25 * c[1])
        for a, b, c in zip(line, line[1:], line[2:])
    ]
    return [line[0], *middle, line[-1]]


def courses(random: Random, count: int, steps_between: int) -> list[list[Point]]:
    """The river's positions through time, the present one last."""
    step, y = 8.0, HEIGHT * 0.52
    line: list[Point] = []
    slope = 0.0
    for i in range(-70, int(WIDTH / step) + 70):
        slope = 0.8 * slope + (random.unit() - 0.5) * 12.0
        y += slope + (HEIGHT * 0.52 - y) * 0.05
        line.append((i * step, y))
    history = []
    for i in range(count * steps_between):
        line = resampled(without_loops(softened(moved(line, step, 56.0, 95.0)), 30.0, step), step)
        if i % steps_between == steps_between - 1:
            history.append(line)
    return history



def distances(line: list[Point], width: float, scale: int) -> dict[int, float]:
    """The distance from `line` of each pixel nearer than `width`, on a coarser grid."""
    across, down = WIDTH // scale, HEIGHT // scale
    nearest: dict[int, float] = {}
    limit = width / scale * (width / scale)
    for (x0, y0), (x1, y1) in zip(line, line[1:]):
        ax, ay, bx, by = x0 / scale, y0 / scale, x1 / scale, y1 / scale
        ux, uy = bx - ax, by - ay
        square = ux * ux + uy * uy or 1.0
        margin = width / scale
        left, right = max(int(min(ax, bx) - margin), 0), min(int(max(ax, bx) + margin) + 2, across)
        top, bottom = max(int(min(ay, by) - margin), 0), min(int(max(ay, by) + margin) + 2, down)
        for row in range(top, bottom):
            y = row - ay
            for column in range(left, right):
                x = column - ax
                t = (x * ux + y * uy) / square
                t = 0.0 if t < 0.0 else 1.0 if t > 1.0 else t
                dx, dy = x - t * ux, y - t * uy
                away = dx * dx + dy * dy
                if away < limit:
                    key = row * across + column
                    if away < nearest.get(key, limit):
                        nearest[key] = away
    return {key: sqrt(away) * scale for key, away in nearest.items()}


def carve_floor(history: list[list[Point]], width: float) -> Rows:
    """The valley floor on a grid of half the size: what each old course left of itself."""
    across, down = WIDTH // 2, HEIGHT // 2
    floor = [0.55] * (across * down)
    for number, line in enumerate(history):
        age = 1.0 - (number + 1) / len(history)
        bed, bank = mix(0.20, 0.40, age), mix(0.46, 0.56, age)
        for key, away in distances(line, width * 1.9, 2).items():
            t = away / width
            if t < 1.0:
                floor[key] = mix(bed, bank, t * t)
            else:
                ridge = 1.0 - smooth(1.0, 1.9, t)
                floor[key] = mix(floor[key], bank + 0.04 * ridge, ridge)
    return [floor[row * across : (row + 1) * across] for row in range(down)]


def enlarged(half: Rows) -> Rows:
    """To the full size, with the mean between the points of the grid."""

    def doubled(values: list[float]) -> list[float]:
        after = values[1:] + values[-1:]
        return [v for a, b in zip(values, after) for v in (a, 0.5 * (a + b))]

    rows = []
    for row, after in zip(half, half[1:] + half[-1:]):
        rows.append(doubled(row))
        rows.append(doubled([0.5 * (a + b) for a, b in zip(row, after)]))
    return rows


# Height above the water, and the colour there.
TINTS = [
    (0.00, (196, 240, 236)),
    (0.12, (120, 208, 214)),
    (0.24, (56, 152, 182)),
    (0.38, (30, 98, 144)),
    (0.52, (28, 62, 104)),
    (0.66, (38, 48, 78)),
    (0.84, (74, 62, 74)),
    (1.05, (128, 96, 78)),
    (1.35, (182, 146, 106)),
    (1.80, (226, 206, 168)),
]


def tint_table(size: int, top: float) -> list[tuple[float, float, float]]:
    table = []
    for i in range(size):
        height = i * top / (size - 1)
        for (low, a), (high, b) in zip(TINTS, TINTS[1:]):
            if height <= high:
                break
        t = min((height - low) / (high - low), 1.0)
        table.append(tuple(mix(p, q, t) for p, q in zip(a, b)))
    return table


def painted(land: Rows, line: dict[int, float]) -> list[bytes]:
    size, top = 512, 1.9
    table = tint_table(size, top)
    rows = []
    for y in range(HEIGHT):
        row, above, below = land[y], land[max(y - 1, 0)], land[min(y + 1, HEIGHT - 1)]
        pixels = bytearray()
        for x in range(WIDTH):
            height = row[x]
            east = row[min(x + 1, WIDTH - 1)] - row[max(x - 1, 0)]
            south = below[x] - above[x]
            # Light from the north-west, low enough to show the ridges.
            lit = (0.62 + 11.0 * (east + south)) / sqrt(1.0 + 130.0 * (east * east + south * south))
            shade = 0.42 + 0.92 * min(max(lit, 0.0), 1.25)
            red, green, blue = table[min(max(int(height * (size - 1) / top), 0), size - 1)]
            # Contour lines where the ground is dry.
            if height > 0.7:
                steepness = sqrt(east * east + south * south) + 0.0008
                off = height * 10.0 - int(height * 10.0)
                off = min(off, 1.0 - off) / (steepness * 5.0)
                if off < 1.0:
                    shade *= 0.72 + 0.28 * off
            red, green, blue = red * shade, green * shade, blue * shade
            away = line.get(y * WIDTH + x)
            if away is not None:
                glow = (1.0 - smooth(0.0, 16.0, away)) * 0.42
                red, green, blue = mix(red, 255, glow), mix(green, 186, glow), mix(blue, 84, glow)
                core = 1.0 - smooth(1.6, 3.2, away)
                red, green, blue = mix(red, 255, core), mix(green, 236, core), mix(blue, 170, core)
            # Steps of two keep the file small and cannot be seen.
            pixels += bytes(
                (min(int(red), 255) & 254, min(int(green), 255) & 254, min(int(blue), 255) & 254)
            )
        rows.append(bytes(pixels))
    return rows



def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def filtered(row: bytes, above: bytes) -> bytes:
    """The row as differences: to the left, to above, or to the mean of both, as is smallest."""
    left = bytes(3) + row[:-3]
    choices = [
        (1, bytes([(a - b) & 255 for a, b in zip(row, left)])),
        (2, bytes([(a - b) & 255 for a, b in zip(row, above)])),
        (3, bytes([(a - (b + c) // 2) & 255 for a, b, c in zip(row, left, above)])),
    ]
    cost = [sum([v if v < 128 else 256 - v for v in data]) for _, data in choices]
    number, data = choices[cost.index(min(cost))]
    return bytes([number]) + data


def png(rows: list[bytes]) -> bytes:
    before = [bytes(len(rows[0])), *rows]
    data = b"".join(filtered(row, above) for row, above in zip(rows, before))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(data, 9))
        + chunk(b"IEND", b"")
    )


def main() -> None:
    root = Path(__file__).resolve().parent.parent
    default = root / "examples/image_pipeline/default.png"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    random = Random(SEED)
    history = courses(random, count=64, steps_between=24)
    hills = terrain(random, [320, 160, 80, 40, 20], 0.5)
    grain = terrain(random, [16, 8, 4], 0.7)
    floor = enlarged(carve_floor(history, 17.0))

    bed = distances(history[-1], 26.0, 1)
    land = []
    for y in range(HEIGHT):
        # The valley's sides rise towards the upper and the lower edge.
        side = abs(y / HEIGHT - 0.52) * 2.0
        row = []
        for x in range(WIDTH):
            hill = hills[y][x]
            flank = smooth(0.62, 1.10, side + 0.22 * hill)
            height = floor[y][x] + 0.05 * hill + flank * (0.55 + 0.75 * (hill + 0.6) * flank)
            height += grain[y][x] * (0.006 + 0.014 * flank)
            away = bed.get(y * WIDTH + x)
            if away is not None:
                wet = 1.0 - smooth(14.0, 22.0, away)
                height = mix(height, 0.02 + 0.00025 * away * away + 0.004 * grain[y][x], wet)
            row.append(height)
        land.append(row)

    # The fastest water swings from outer bank to outer bank.
    present = history[-1]
    bends = curvatures(present)
    for _ in range(12):
        inner = [(a + b + c) / 3.0 for a, b, c in zip(bends, bends[1:], bends[2:])]
        bends = [bends[0], *inner, bends[-1]]
    line = []
    for i in range(1, len(present) - 1):
        (x0, y0), (x1, y1), (x2, y2) = present[i - 1 : i + 2]
        length = distance((x0, y0), (x2, y2))
        swing = min(max(bends[i] * 480.0, -8.0), 8.0)
        line.append((x1 + swing * (y2 - y0) / length, y1 - swing * (x2 - x0) / length))
    target.write_bytes(png(painted(land, distances(line, 16.0, 1))))


if __name__ == "__main__":
    main()
