# SPDX-License-Identifier: Apache-2.0
#
# The contract suite finds the bugs that its sections are there for: with each of them planted in the
# library (src/base/plant.hpp) a row fails, and without it the same rows pass.
#
#   contract_plants.py CONTRACT_TESTS

import os
import pathlib
import re
import subprocess
import sys

PLANT_HPP = pathlib.Path(__file__).resolve().parent.parent / "src/base/plant.hpp"

# The rows that a bug breaks.
ROWS = {
    "map_ordered_only": "M1_*:M5_*:M1Blocks_*",
    "views_unguarded": "M2_*",
    "host_reuse_ordered": "M10_*",
    "imports_apart": "B2_*:B3_*:B5_*",
    "deleter_early": "B8_*",
    "device_not_kept": "D2*",
    "signal_at_submit": "T1_*:T3_*",
    "stop_at_submit": "X1_*",
    "time_at_submit": "E1*:E5*",
}
DEVICE = "CpuWorkers2"


def numbers():
    """The enumerators of plant::Bug, and their values."""
    text = PLANT_HPP.read_text()
    body = re.search(r"enum class Bug[^{]*\{(.*?)\};", text, re.S).group(1)
    names = re.findall(r"^\s*(\w+),", body, re.M)
    return {name: number for number, name in enumerate(names)}


def passes(program, rows, plant):
    """Whether all rows pass, in a process of its own."""
    pattern = ":".join(f"{DEVICE}.{row}" for row in rows.split(":"))
    environment = dict(os.environ, THALWEG_PLANT=str(plant))
    run = subprocess.run(
        [program, f"--gtest_filter={pattern}"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    if " 0 tests from" in run.stdout:
        sys.exit(f"no row is named {pattern}")
    return run.returncode == 0


def main():
    program = sys.argv[1]
    plants = numbers()
    failed = 0
    for name, rows in ROWS.items():
        clean = passes(program, rows, 0)
        found = not passes(program, rows, plants[name])
        print(f"{name}: {'found' if found else 'NOT FOUND'}"
              f"{'' if clean else ', and the rows fail without it'}")
        failed += not (clean and found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
