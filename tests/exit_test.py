# SPDX-License-Identifier: Apache-2.0
#
# A process ends in the middle of everything, in each of the ways in which it can: at once, with the
# status that it wants, and without a word.
#
#   exit_test.py EXIT_PROGRAM ROUNDS

import os
import subprocess
import sys

WAYS = [
    "return",
    "exit",
    "quick_exit",
    "_exit",
    "thread",
    "task",
    "kernel",
    "callback",
    "sink",
    "work_at_exit",
]
DEVICES = ["cpu?workers=1", "cpu?workers=4"]
FINE = 7
LIMIT_S = 90  # The program's own alarm is sooner.


def main():
    scale = float(os.environ.get("THALWEG_TEST_SCALE", "1"))
    program, rounds = sys.argv[1], max(1, int(float(sys.argv[2]) * scale))
    failed = 0
    for way in WAYS:
        for device in DEVICES:
            for number in range(rounds):
                run = subprocess.run(
                    [program, way, device],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=LIMIT_S,
                    check=False,
                )
                if run.returncode == FINE and not run.stdout:
                    continue
                failed += 1
                print(f"{way} {device}, run {number}: status {run.returncode}\n{run.stdout}")
                break
    sys.exit(1 if failed else 0)


main()
