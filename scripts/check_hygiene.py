#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source file has an SPDX line among its first three, and ends with a newline.

Prints one line for each file at fault, then `N passed, N failed`, where a case is a file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tree import tree_files

SPDX = "SPDX-License-Identifier: Apache-2.0"
SUFFIXES = {".hpp", ".cpp", ".h", ".inl", ".cu", ".cl", ".py", ".sh", ".cmake"}
NAMES = {"CMakeLists.txt", ".clang-format", ".gitignore"}


def is_source(root: Path, name: str) -> bool:
    path = Path(name)
    if path.suffix in SUFFIXES or path.name in NAMES:
        return True
    if path.suffix:
        return False
    with (root / name).open("rb") as file:  # A script without a suffix.
        return file.read(2) == b"#!"


def check_file(root: Path, name: str) -> str | None:
    data = (root / name).read_bytes()
    if SPDX.encode() not in b"\n".join(data.split(b"\n")[:3]):
        return f"{name}: has no line `{SPDX}` among its first three"
    if not data.endswith(b"\n"):
        return f"{name}: does not end with a newline"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    root: Path = parser.parse_args().root.resolve()
    sources = [name for name in tree_files(root) if is_source(root, name)]
    errors = [error for error in (check_file(root, name) for name in sources) if error]
    for error in errors:
        print(error)
    print(f"{len(sources) - len(errors)} passed, {len(errors)} failed")
    return 1 if errors or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
