#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the table of misuses lists every public function of the API, and no other.

The table is in tests/contract/rows_misuse*.cpp: an entry begins with `refusing("Class::function"` or
`answering("Class::function"`, or has its name from `named("Class::function")`. The API is the headers in include/thalweg/ but the explorer, and those of base/ named
below. Prints one line for each function at fault, then `N passed, N failed`, where a case is a function.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from public_functions import ScanError, public_functions

# The classes of base/ that programs use themselves.
BASE = (
    "clock",
    "error",
    "grid",
    "log",
    "no_wait",
    "priority",
    "result",
    "unique_function",
    "virtual_clock",
)
ENTRY = re.compile(r'\b(?:refusing|answering|named)\(\s*"([^"]*)"')
TABLE = "tests/contract/rows_misuse*.cpp"


def entries(root: Path) -> Counter[str]:
    return Counter(
        name for file in sorted(root.glob(TABLE)) for name in ENTRY.findall(file.read_text())
    )


def headers(root: Path) -> list[Path]:
    folder = root / "include" / "thalweg"
    # The explorer is no part of a device: tests/sim/explore_test.cpp has what it refuses.
    own = [header for header in sorted(folder.glob("*.hpp")) if header.name != "explore.hpp"]
    return own + [folder / "base" / f"{name}.hpp" for name in BASE]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--list", action="store_true", help="print the functions, and check nothing")
    arguments = parser.parse_args()
    root: Path = arguments.root.resolve()
    try:
        functions = public_functions(headers(root))
    except (ScanError, OSError) as error:
        print(error)
        print("0 passed, 1 failed")
        return 1
    if arguments.list:
        print("\n".join(functions))
        return 0
    listed = entries(root)
    faults = [
        f"{header.relative_to(root)}: the table of misuses ({TABLE}) has no entry `{name}`"
        for name, header in functions.items()
        if name not in listed
    ]
    faults += [f"{TABLE}: `{name}` is no public function" for name in listed if name not in functions]
    faults += [f"{TABLE}: `{name}` is listed {n} times" for name, n in listed.items() if n > 1]
    for fault in faults:
        print(fault)
    print(f"{len(functions.keys() & listed.keys())} passed, {len(faults)} failed")
    return 1 if faults or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
