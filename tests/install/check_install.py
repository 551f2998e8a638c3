#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs build folders to temporary prefixes, and uses the result as an outside project does.

For each build folder: a project that finds the package builds and runs, and so does the contract
suite with a backend of an outside project's own. From the first prefix: each installed header
compiles alone, twice in one file, with GCC 12 and Clang 19, and the umbrella header compiles in a
`.cu` file where nvcc is found. A compiler that is not there is reported as skipped.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
COMPILERS = {"g++-12": [], "clang++-19": ["-Wthread-safety"]}


def run(what: str, *command: str, env: dict[str, str] | None = None) -> bool:
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
    )
    if result.returncode != 0:
        print(f"FAILED: {what}\n  {' '.join(command)}\n{result.stdout[-4000:]}", flush=True)
    return result.returncode == 0


def use_package(build: Path, prefix: Path, work: Path) -> bool:
    """Installs `build` to `prefix`, and builds and runs the outside project against that."""
    library_path = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}
    return (
        run(f"install {build}", "cmake", "--install", str(build), "--prefix", str(prefix))
        and run(
            f"configure the outside project against {build}",
            *("cmake", "-G", "Ninja", "-S", str(HERE), "-B", str(work)),
            *(f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=g++"),
        )
        and run(f"build the outside project against {build}", "cmake", "--build", str(work))
        and run(f"run the outside project against {build}", str(work / "user"), env=library_path)
    )


def run_contract(build: Path, prefix: Path, work: Path) -> bool:
    """Builds the installed contract suite with the installed example of a backend, and runs it."""
    library_path = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}
    return (
        run(
            f"configure the contract suite against {build}",
            *("cmake", "-G", "Ninja", "-S", str(HERE / "contract"), "-B", str(work)),
            *(f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=g++"),
        )
        and run(f"build the contract suite against {build}", "cmake", "--build", str(work))
        and run(
            f"run the contract suite against {build}",
            *(str(work / "contract_suite"), "--gtest_brief=1"),
            env=library_path,
        )
    )


def header_alone(compiler: str, prefix: Path, header: str, work: Path) -> bool:
    source = work / f"{compiler}-{header.replace('/', '-')}.cpp"
    source.write_text(f"#include <{header}>\n#include <{header}>\n")
    return run(
        f"{header} alone, with {compiler}",
        *(compiler, "-std=c++20", *WARNINGS, *COMPILERS[compiler], "-fsyntax-only"),
        *("-I", str(prefix / "include"), str(source)),
    )


def umbrella_in_cuda(nvcc: str, prefix: Path, work: Path) -> bool:
    source = work / "umbrella.cu"
    source.write_text("#include <thalweg/thalweg.hpp>\n")
    return run(
        "thalweg/thalweg.hpp in a .cu file",
        *(nvcc, "-std=c++20", "-ccbin", "g++-12", "-I", str(prefix / "include")),
        *("-c", str(source), "-o", str(work / "umbrella.o")),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="+", type=Path, help="build folders, the first with headers")
    parser.add_argument("--headers-only", action="store_true", help="skip the outside projects")
    options = parser.parse_args()

    results: list[bool] = []
    with tempfile.TemporaryDirectory(prefix="thalweg-install-") as folder:
        work = Path(folder)
        prefixes = [work / f"prefix-{number}" for number in range(len(options.builds))]
        for number, (build, prefix) in enumerate(zip(options.builds, prefixes, strict=True)):
            if options.headers_only:
                results.append(
                    run("install", "cmake", "--install", str(build), "--prefix", str(prefix))
                )
            else:
                results.append(use_package(build, prefix, work / f"user-{number}"))
                results.append(run_contract(build, prefix, work / f"contract-{number}"))

        include = prefixes[0] / "include"
        headers = sorted(file.relative_to(include).as_posix() for file in include.rglob("*.hpp"))
        if not headers:
            print("FAILED: no header is installed")
            results.append(False)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for compiler in COMPILERS:
                if shutil.which(compiler) is None:
                    print(f"skipped: headers alone with {compiler}: it is not installed")
                    continue
                results += pool.map(
                    lambda header, compiler=compiler: header_alone(
                        compiler, prefixes[0], header, work
                    ),
                    headers,
                )

        nvcc = shutil.which("nvcc")
        if nvcc is None:
            print("skipped: thalweg/thalweg.hpp in a .cu file: nvcc is not installed")
        elif "thalweg/thalweg.hpp" in headers:
            results.append(umbrella_in_cuda(nvcc, prefixes[0], work))

    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
