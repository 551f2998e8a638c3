# SPDX-License-Identifier: Apache-2.0
"""The files of the source tree, for the checks."""

from __future__ import annotations

import subprocess
from pathlib import Path


def tree_files(root: Path) -> list[str]:
    """Paths from `root`, sorted: what git tracks or would add; without git, all but build/."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("\0")
        names = {name for name in listed if name}
    else:
        names = {file.relative_to(root).as_posix() for file in root.rglob("*")}
        names = {name for name in names if not name.startswith("build/") and "__pycache__" not in name}
    return sorted(name for name in names if (root / name).is_file())
