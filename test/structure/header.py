#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""header.py <include directory> <C compiler> <C++ compiler> <libfuseplan> <libfuseplan_miopen>

Each public header compiles by itself as strict C99 and as C++; each library exports exactly the
functions that its headers declare, so that neither has the other's names."""

import pathlib
import re
import subprocess
import sys

include, c, cxx, fuseplan_library, miopen_library = sys.argv[1:6]
STRICT = ["-fsyntax-only", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wundef", f"-I{include}"]
DIALECTS = [
    [c, "-x", "c", "-std=c99", "-Wstrict-prototypes", "-Wc++-compat"],
    [c, "-x", "c", "-std=c17"],
    [cxx, "-x", "c++", "-std=c++98"],
    [cxx, "-x", "c++", "-std=c++11"],
    [cxx, "-x", "c++", "-std=c++20"],
]


def compile_text(dialect, text):
    return subprocess.run([*dialect, *STRICT, "-"], input=text, text=True, capture_output=True)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def is_miopen(header):
    return header.parent.name == "miopen"


def check_exports(headers, pattern, library):
    """Complaints about a library, and the number of its functions."""
    declared = set()
    for header in headers:
        declared |= set(re.findall(rf"\b({pattern}\w+)\s*\((?!\*)", without_comments(header.read_text())))
    names = subprocess.run(["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True)
    symbols = [line.split() for line in names.stdout.splitlines()]
    exported = {name.split("@")[0] for _, kind, name in symbols if kind != "A"}
    return (
        [f"declared, but not exported: {name}" for name in sorted(declared - exported)]
        + [f"exported, but not declared: {name}" for name in sorted(exported - declared)],
        len(exported),
    )


def main():
    complaints = []
    headers = sorted(pathlib.Path(include).rglob("*.h"))
    for dialect in DIALECTS:
        if compile_text(dialect, "int f( { return 0; }\n").returncode == 0:
            complaints.append(f"{dialect} accepts anything")
        for header in headers:
            name = header.relative_to(include).as_posix()
            # Twice: the guard must hold.
            result = compile_text(dialect, f"#include <{name}>\n#include <{name}>\nint used;\n")
            if result.returncode != 0:
                complaints.append(f"{' '.join(dialect)}: {name}\n{result.stderr}")

    functions = 0
    for mine, pattern, library in (
        ([h for h in headers if not is_miopen(h)], "fuseplan", fuseplan_library),
        ([h for h in headers if is_miopen(h)], "(?:miopen|fuseplanMiopen)", miopen_library),
    ):
        found, count = check_exports(mine, pattern, library)
        complaints += found
        functions += count

    print("\n".join(complaints))
    print(f"{len(headers)} headers, {functions} functions, {len(complaints)} complaints")
    return 1 if complaints or not headers or not functions else 0


sys.exit(main())
