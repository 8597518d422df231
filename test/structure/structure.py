#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""structure.py <root>: applies rules.py to every file of the tree.
structure.py --self-test: shows each rule a file that breaks it, and expects it to notice."""

import pathlib
import re
import sys

import rules

CHECKED = re.compile(
    r".*(\.(c|h|cu|cpp|hpp|def|hpp\.in|py|sh|sql|cmake|cmake\.in|md)|CMakeLists\.txt)$"
    r"|^(scripts|\.ci)/\w+$"
)
LEFT_OUT = {"build", ".git", ".cache", "__pycache__"}

MIT = "// SPDX-License-Identifier: MIT\n"
# (path, text, words of the complaint; None where there must be none)
SPECIMENS = [
    ("src/plan/a.cpp", MIT + '#include "base/status.hpp"\n#include "plan/a.hpp"\n', None),
    ("src/plan/a.cpp", MIT + '#include "expr/expr.hpp"\n', "plan sees only"),
    ("src/plan/a.cpp", MIT + '#  include "solvers/registry.hpp"\n', "plan sees only"),
    ("src/plan/a.cpp", MIT + '#include "a.hpp"\n', "from the root of its stage"),
    ("src/cache/a.cpp", MIT + '#include "plan/problem.hpp"\n', "cache sees only"),
    ("src/run/a.cpp", MIT + '#include "api/guard.hpp"\n', "run sees only"),
    ("src/run/a.cpp", MIT + '#include "fuseplan/fuseplan.h"\n', "run sees only"),
    ("src/run/a.cpp", MIT + "#include <fuseplan/fuseplan.h>\n", "belongs to"),
    ("src/driver/a.cpp", MIT + '#include "run/handle.hpp"\n', "driver sees only"),
    ("src/driver/a.cpp", MIT + '#include "fuseplan/fuseplan.h"\n', None),
    ("src/cache/sqlite.cpp", MIT + "#include <sqlite3.h>\n", None),
    ("src/cache/store.cpp", MIT + "#include <sqlite3.h>\n", "sqlite3.h, which belongs to"),
    ("solvers/a.cpp", MIT + '#include "kernels/cpu/isa.hpp"\n', None),
    ("kernels/cpu/a.cpp", MIT + '#include "solvers/a.hpp"\n', "kernels sees only"),
    ("test/support/a.cpp", MIT + '#include "base/half.hpp"\n', "support sees only"),
    ("test/support/cache_a.cpp", MIT + '#include "cache/store.hpp"\n', None),
    ("test/unit/a.cpp", MIT + '#include "base/half.hpp"\n#include "a.hpp"\n', None),
    ("src/base/a.cpp", "\n" + MIT, "does not start with"),
    ("src/base/a.cpp", MIT * 401, "has 401 lines"),
    ("src/base/a.cpp", MIT + "// TO" + "DO: later\n", "unfinished"),
    ("kernels/gpu/dialect/a.cu", "int a;\n", "does not start with"),
    ("include/fuseplan/a.h", "/* SPDX-License-Identifier: MIT */ /* \u00e9 */\n", "ASCII"),
    ("scripts/a", "#!/bin/sh\n# SPDX-License-Identifier: MIT\n", None),
    ("src/plan/README.md", "[run](../run/README.md#run), [here](#a), [there](https://a.b/c)\n", None),
    ("src/plan/README.md", "[run](run/README.md)\n", "links to run/README.md"),
]
TREE = {"src/run/README.md"}  # what the specimens may link to


def files(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.is_file() and not LEFT_OUT & set(relative.parts) and CHECKED.match(str(relative)):
            yield relative.as_posix(), path.read_text(encoding="utf-8")


def check_tree(root):
    bad = seen = 0
    for path, text in files(root):
        seen += 1
        for complaint in rules.complaints(path, text, lambda target: (root / target).exists()):
            bad += 1
            print(f"{path}: {complaint}")
    for stage in rules.STAGES + ["driver"]:
        directory = root / (stage if stage in ("kernels", "solvers") else f"src/{stage}")
        if not (directory / "README.md").is_file():
            bad += 1
            print(f"{directory.relative_to(root)}: has no README.md")
    print(f"{seen} files, {bad} complaints")
    return bad == 0 and seen > 100


def self_test():
    missed = 0
    for path, text, words in SPECIMENS:
        found = ["is left out"]
        if CHECKED.match(path):
            found = rules.complaints(path, text, TREE.__contains__)
        if (words is None and found) or (words and not any(words in f for f in found)):
            missed += 1
            print(f"{path} with {text.removeprefix(MIT)!r}: expected {words!r}, got {found}")
    print(f"{len(SPECIMENS)} specimens, {missed} misjudged")
    return missed == 0


if __name__ == "__main__":
    argument = sys.argv[1]
    good = self_test() if argument == "--self-test" else check_tree(pathlib.Path(argument))
    sys.exit(0 if good else 1)
