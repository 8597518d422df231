#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""symbols.py <symbols.txt> <libfuseplan_miopen> <libfuseplan>

libfuseplan_miopen exports exactly the names of the text, which is the promise to programs that are
linked to it; libfuseplan exports none of MIOpen's."""

import pathlib
import subprocess
import sys


def exported(library):
    names = subprocess.run(["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True)
    symbols = [line.split() for line in names.stdout.splitlines()]
    return {name.split("@")[0] for _, kind, name in symbols if kind != "A"}


def main():
    listed, library, other = sys.argv[1:4]
    promised = pathlib.Path(listed).read_text().split()
    found = exported(library)
    complaints = [f"promised, but not exported: {name}" for name in promised if name not in found]
    complaints += [f"exported, but not in {listed}: {name}" for name in sorted(found - set(promised))]
    complaints += [f"libfuseplan exports {name}" for name in sorted(exported(other)) if "miopen" in name.lower()]
    if promised != sorted(set(promised)):
        complaints.append(f"{listed} is not sorted, or has a name twice")
    print("\n".join(complaints))
    print(f"{len(found)} functions, {len(complaints)} complaints")
    return 1 if complaints or not found else 0


sys.exit(main())
