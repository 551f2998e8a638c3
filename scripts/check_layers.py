#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every #include in include/, src/, tools/, examples/ and tests/contract/ against
cmake/layers.txt.

Prints one line for each include that the table forbids, then `N passed, N failed`, where a case is a
file. An include in quotes must name a file of this tree; in angle brackets it is one of ours only if
it starts with `thalweg/`.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = ("include", "src", "tools", "examples", "tests/contract")
SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".inl"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


class TableError(Exception):
    """The layer table itself is wrong."""


@dataclass(frozen=True)
class Layer:
    name: str  # May hold a `*`.
    sees: frozenset[str]
    and_below: bool = False
    installed: bool = False
    installed_file: str | None = None  # If set, the only installed file, below include/thalweg/.
    outside: bool = False


@dataclass
class Table:
    layers: list[Layer] = field(default_factory=list)
    vendors: dict[str, list[str]] = field(default_factory=dict)  # From headers to their layers.

    def find(self, name: str) -> Layer | None:
        return next((row for row in self.layers if fnmatch.fnmatchcase(name, row.name)), None)

    def visible(self, layer: Layer) -> set[str]:
        """The names `layer` may include from, itself aside. May hold patterns."""
        seen = set(layer.sees)
        if layer.and_below:
            todo = list(seen)
            while todo:
                for name in self._rows_named(todo.pop()):
                    fresh = name.sees - seen
                    seen |= fresh
                    todo += fresh
        return seen

    def may_see(self, source: Layer, source_name: str, target_name: str) -> bool:
        if source_name == target_name:
            return True
        return any(fnmatch.fnmatchcase(target_name, name) for name in self.visible(source))

    def _rows_named(self, name: str) -> list[Layer]:
        """The rows that `name` stands for: itself, or, for a pattern, all that it covers."""
        if "*" in name:
            return [row for row in self.layers if fnmatch.fnmatchcase(row.name, name)]
        row = self.find(name)
        return [row] if row else []

    def check(self) -> None:
        for row in self.layers:
            for name in row.sees:
                if not self._rows_named(name):
                    raise TableError(f"{row.name} sees {name}, which has no line.")
            below = Layer(row.name, row.sees, and_below=True)
            if row.name in self.visible(below):
                raise TableError(f"{row.name} sees itself through others.")


def read_table(path: Path) -> Table:
    table = Table()
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        parts = [part.strip() for part in line.split(":")]
        if parts[0].startswith("<") and len(parts) == 2:
            table.vendors[parts[0].strip("<>")] = parts[1].split()
            continue
        if len(parts) != 3:
            raise TableError(f"{path.name}:{number}: a line has three parts: layer : sees : notes")
        name, sees, notes = parts
        and_below = sees.endswith(" and below")
        names = sees.removesuffix(" and below").split()
        words = notes.split()
        if words[:1] not in ([], ["installed"], ["outside"]) or len(words) > 2:
            raise TableError(f"{path.name}:{number}: unknown note `{notes}`")
        table.layers.append(
            Layer(
                name,
                frozenset(names) - {"-"},
                and_below,
                installed=words[:1] == ["installed"],
                installed_file=words[1] if words[:1] == ["installed"] and len(words) == 2 else None,
                outside=words == ["outside"],
            )
        )
    table.check()
    return table


def layer_name(table: Table, path: str) -> str:
    """The name of the layer of a file, given by its path from the root. Empty if it has none."""
    parts = path.split("/")
    if parts[0] == "tools":
        return "tools"
    if parts[0] == "examples":
        return "/".join(parts[:2]) if len(parts) > 2 else ""
    if parts[:2] == ["tests", "contract"]:
        return "tests/contract"
    if parts[:2] == ["include", "thalweg"]:
        below = "/".join(parts[2:])
        owner = next((row for row in table.layers if row.installed_file == below), None)
        if owner:
            return owner.name
        return parts[2] if len(parts) > 3 else "api"
    if parts[0] == "src" and len(parts) > 2:
        return "/".join(parts[1:3]) if parts[1] == "backends" and len(parts) > 3 else parts[1]
    return ""


def resolve(root: Path, source: Path, quote: str, name: str) -> str | None:
    """The path from the root of the file of this tree that an include names."""
    folders = [root / "include"]
    if quote == '"':
        names = ("include", "src", "examples", "tools", "tests")
        folders = [source.parent, *(root / folder for folder in names)]
    elif not name.startswith("thalweg/"):
        return None
    for folder in folders:
        file = (folder / name).resolve()
        if file.is_file() and file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return None


def check_include(table: Table, root: Path, source: Path, quote: str, name: str) -> str | None:
    """What is wrong with one include of a file whose own layer is known, or None."""
    source_path = source.relative_to(root).as_posix()
    source_name = layer_name(table, source_path)
    source_layer = table.find(source_name)
    assert source_layer is not None

    target_path = resolve(root, source, quote, name)
    if target_path is None:
        if quote == '"' or name.startswith("thalweg/"):
            return "names no file of this tree"
        for pattern, owners in table.vendors.items():
            if fnmatch.fnmatchcase(name, pattern) and source_name not in owners:
                return f"is a vendor's header, which only {' and '.join(owners)} may include"
        return None

    target_name = layer_name(table, target_path)
    if table.find(target_name) is None:
        return f"is in no layer of the table ({target_path})"
    in_include = target_path.startswith("include/")
    if source_path.startswith("include/") and not in_include:
        return f"is not installed ({target_path}), and the header that includes it is"
    if not table.may_see(source_layer, source_name, target_name):
        return f"is of layer {target_name}, which {source_name} does not see"
    if source_layer.outside and not in_include and target_path.startswith("src/"):
        return f"is not installed ({target_path}), and {source_name} uses installed headers only"
    return None


def check_place(table: Table, path: str) -> str | None:
    """What is wrong with where a file is, or None."""
    name = layer_name(table, path)
    row = table.find(name) if name else None
    if row is None:
        return f"is in no layer of the table{f' (`{name}`)' if name else ''}"
    if path.startswith("include/"):
        if not row.installed:
            return f"is in include/, but layer {name} is not installed"
        if row.installed_file and path != f"include/thalweg/{row.installed_file}":
            return f"is in include/, but of layer {name} only {row.installed_file} is installed"
    return None


def check_file(table: Table, root: Path, file: Path) -> list[str]:
    path = file.relative_to(root).as_posix()
    wrong_place = check_place(table, path)
    if wrong_place:
        return [f"{path}: {wrong_place}"]
    text = file.read_text(errors="replace")
    errors = []
    for match in INCLUDE.finditer(text):
        error = check_include(table, root, file, match[1], match[2])
        if error:
            line = text.count("\n", 0, match.start()) + 1
            errors.append(f"{path}:{line}: {match[2]} {error}")
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    root: Path = parser.parse_args().root.resolve()
    try:
        table = read_table(root / "cmake" / "layers.txt")
    except TableError as error:
        print(error)
        print("0 passed, 1 failed")
        return 1
    files = sorted(
        file
        for folder in FOLDERS
        for file in (root / folder).rglob("*")
        if file.suffix in SOURCE_SUFFIXES
    )
    failed = 0
    for file in files:
        errors = check_file(table, root, file)
        failed += bool(errors)
        for error in errors:
            print(error)
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
