#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tidy.py <root> <build directory> <stage>...: clang-tidy over the sources of some stages.

Files whose text, checks and headers (all those of the library) have not changed since they were
found clean are left out."""

import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys

SHARED = {".h", ".hpp", ".def"}


def headers(root):
    folders = [root / name for name in ("src", "solvers", "kernels", "include")]
    return [path for folder in folders for path in folder.rglob("*") if path.suffix in SHARED]


def digest(paths):
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.read_bytes())
    return total


def is_clean(build, source, shared, stamps):
    key = shared.copy()
    key.update(source.read_bytes())
    stamp = stamps / key.hexdigest()
    if stamp.exists():
        return True
    command = ["clang-tidy", "--quiet", "-p", str(build), str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        stamp.touch()
        return True
    print(result.stdout, end="")
    if not result.stdout:
        print(result.stderr, end="")
    return False


def main():
    root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    sources = [source for stage in sys.argv[3:] for source in sorted((root / stage).rglob("*.cpp"))]
    stamps = build / "tidy-stamps"
    stamps.mkdir(exist_ok=True)
    shared = digest([root / ".clang-tidy", *headers(root)])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        clean = list(pool.map(lambda source: is_clean(build, source, shared, stamps), sources))
    print(f"{len(sources)} files, {clean.count(False)} with findings")
    return 0 if sources and all(clean) else 1


sys.exit(main())
