# SPDX-License-Identifier: MIT
"""The rules that keep the tree in shape, as data, and the functions that find what breaks them.

Each check takes the path of a file (relative to the root) and its text, and yields complaints.
"""

import posixpath
import re

# A directory sees itself and what stands left of it.
STAGES = "base plan expr kernels solve solvers backend cache run api miopen".split()

# Where that is more than a directory may see.
NARROWER = {
    "cache": {"base", "cache"},
    "driver": {"driver", "support", "fuseplan"},  # a client of the C API
    "miopen": {"miopen", "fuseplan", "base"},  # another, with loops of its own
    "support": {"support"},  # the oracle shares no code with what it checks
    "include": {"fuseplan"},
    # Found as <fuseplan/miopen/...> and as <miopen/...>: these name each other by file alone.
    "include/fuseplan/miopen": {"include/fuseplan/miopen"},
    "examples": {"examples"},
}

# <header> -> the only files that may know it.
PRIVATE_LIBRARIES = [
    (r"sqlite3\.h", r"src/cache/sqlite\.[ch]pp|test/support/hooked_disk\.hpp"),
    (r"xbyak/.*", r"kernels/cpu/.*"),
    (r"omp\.h", r"src/base/parallel\.cpp|src/driver/.*|test/bench/.*"),
    (r"sodium\.h", r"src/base/digest\.cpp"),
    (r"xxhash\.h", r"src/base/digest\.cpp"),
    (r"zstd\.h", r"src/cache/row\.cpp"),
    (r"oneapi/.*", r"src/driver/peer/onednn.*"),
    (r"dlfcn\.h", r"src/backend/.*|src/driver/device/library\.cpp|test/.*"),
    (r"(nlohmann|CLI)/.*", r"src/driver/.*|test/.*"),
    (r"gtest/.*", r"test/.*"),
    (r"fuseplan/.*", r"(src/(api|driver|miopen)|include|examples|test)/.*"),
]

SOURCE = re.compile(r".*\.(c|h|cu|cpp|hpp|def)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
MAX_LINES = 400
UNFINISHED = re.compile("|".join(("TO" + "DO", "FIX" + "ME", r"\bGTEST_" + "SKIP", r"\bDIS" + "ABLED_")))


def home_of(path):
    """The name by which the rules know the directory of a file; None where none applies."""
    parts = path.split("/")
    if parts[0] == "src":
        return parts[1]
    if parts[:2] == ["test", "support"]:
        # cache_*: not part of the oracle, but what several tests of the cache share.
        return None if parts[2].startswith("cache_") else "support"
    if parts[:3] == ["include", "fuseplan", "miopen"]:
        return "include/fuseplan/miopen"
    return parts[0] if parts[0] in STAGES + ["include", "examples"] else None


def visible_from(home):
    if home in NARROWER:
        return NARROWER[home]
    visible = set(STAGES[: STAGES.index(home) + 1])
    return visible | {"fuseplan"} if home == "api" else visible


def check_includes(path, text):
    if not SOURCE.match(path):
        return
    home = home_of(path)
    for match in INCLUDE.finditer(text):
        header = match[2]
        target = header.split("/")[0] if "/" in header else home
        if match[1] == '"' and home:
            if "/" not in header and home in STAGES:
                yield f'includes "{header}": name it from the root of its stage, "{home}/{header}"'
            elif target not in visible_from(home):
                yield f'includes "{header}": {home} sees only {", ".join(sorted(visible_from(home)))}'
        for library, allowed in PRIVATE_LIBRARIES:
            if re.fullmatch(library, header) and not re.fullmatch(allowed, path):
                yield f"includes {header}, which belongs to {allowed}"


def check_licence(path, text):
    lines = text.splitlines()
    first = lines[1:2] if text.startswith("#!") else lines[:1]
    if not first or "SPDX-License-Identifier: MIT" not in first[0]:
        yield "does not start with the line SPDX-License-Identifier: MIT"


def check_length(path, text):
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"has {lines} lines, more than {MAX_LINES}"


def check_finished(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if UNFINISHED.search(line):
            yield f"line {number} admits unfinished or skipped work: {line.strip()}"


def check_ascii(path, text):
    if path.startswith("include/") and not text.isascii():
        yield "is not ASCII"


CHECKS = [check_includes, check_licence, check_length, check_finished, check_ascii]


def check_links(path, text, exists):
    for match in LINK.finditer(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1]))
        if ":" not in match[1] and not exists(target):
            yield f"links to {match[1]}, which is not there"


def complaints(path, text, exists):
    """`exists` tells whether the tree has a path. Of Markdown only the links are looked at."""
    if path.endswith(".md"):
        return list(check_links(path, text, exists))
    return [complaint for check in CHECKS for complaint in check(path, text)]
