#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that README.md and docs/**/*.md say what is in the tree.

- A code block tagged `cpp` whose first line is `// example: PATH` holds, after that line, the file
  PATH byte for byte: all of it, or all but the comment that the file starts with. The files
  themselves are compiled and run by the build.
- Something in backquotes that looks like a path of the tree, and the target of a link to a file,
  exist.

Prints one line for each fault, then `N passed, N failed`, where a case is a block or a path.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

TOP_FOLDERS = ("include", "src", "docs", "cmake", "scripts", "tests", "bench", "examples", "tools")
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<tag>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S)
MARKER = re.compile(r"// example: (?P<path>\S+)\n")
LEADING_COMMENT = re.compile(r"\A(?://[^\n]*\n)*\n*")
QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)\s]*)?\)")


def check_block(root: Path, tag: str, body: str) -> tuple[int, str | None]:
    """How many cases a code block is, and what is wrong with it."""
    marker = MARKER.match(body)
    if tag.strip() != "cpp" or not marker:
        return 0, None
    file = root / marker["path"]
    if not file.is_file():
        return 1, f"shows {marker['path']}, which does not exist"
    text = file.read_text()
    if body[marker.end() :] in (text, LEADING_COMMENT.sub("", text)):
        return 1, None
    return 1, f"differs from {marker['path']}"


def looks_like_path(text: str) -> bool:
    return text.startswith(tuple(f"{folder}/" for folder in TOP_FOLDERS)) and not re.search(
        r"[<*{\s]|\.\.\.", text
    )


def check_page(root: Path, page: Path) -> tuple[int, list[str]]:
    """The number of cases of one page, and its faults."""
    text = page.read_text()
    name = page.relative_to(root).as_posix()
    cases = 0
    errors = []

    def line_of(offset: int) -> int:
        return text.count("\n", 0, offset) + 1

    for block in FENCE.finditer(text):
        count, error = check_block(root, block["tag"], block["body"])
        cases += count
        if error:
            errors.append(f"{name}:{line_of(block.start())}: the block {error}")

    # The same length and lines without the blocks, so that offsets still give the line.
    prose = FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    for quoted in QUOTED.finditer(prose):
        if looks_like_path(quoted[1]):
            cases += 1
            if not (root / quoted[1]).exists():
                errors.append(f"{name}:{line_of(quoted.start())}: `{quoted[1]}` does not exist")
    for link in LINK.finditer(prose):
        cases += 1
        if not (page.parent / link[1]).exists():
            errors.append(f"{name}:{line_of(link.start())}: the link to {link[1]} leads nowhere")
    return cases, errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    root: Path = parser.parse_args().root.resolve()
    pages = [page for page in [root / "README.md"] if page.is_file()]
    pages += sorted((root / "docs").rglob("*.md"))
    cases = 0
    errors = []
    for page in pages:
        page_cases, page_errors = check_page(root, page)
        cases += 1 + page_cases  # The page itself is a case, so that an empty one counts.
        errors += page_errors
    for error in errors:
        print(error)
    print(f"{cases - len(errors)} passed, {len(errors)} failed")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
