#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""support_table.py <driver> <README>: the README's support table is what the driver prints.
support_table.py <driver> <README> --update: makes it so."""

import os
import pathlib
import re
import subprocess
import sys

driver, readme = sys.argv[1], pathlib.Path(sys.argv[2])
BEGIN, END = "<!-- support table: begin -->\n", "<!-- support table: end -->\n"

# The README shows what a machine with AVX-512 and AMX runs; with AVX-512 alone all but one solver
# can be compared.
environment = {**os.environ, "FUSEPLAN_MAX_ISA": "amx"}
table = subprocess.run(
    [driver, "support", "--format", "md"], env=environment, text=True, capture_output=True, check=True
).stdout

text = readme.read_text()
before, old, after = re.fullmatch(f"(.*{BEGIN})(.*)({END}.*)", text, re.S).groups()
MATRIX = "`cpu_matrix`"
has_matrix = MATRIX in table
if sys.argv[3:] == ["--update"]:
    if not has_matrix:
        sys.exit("this machine has no AMX: the table would lose its solver")
    readme.write_text(before + table + after)
    sys.exit()
if not has_matrix:
    old = "".join(line for line in old.splitlines(True) if MATRIX not in line)
if old != table or len(table.splitlines()) < 3:
    print(f"The driver prints\n{table}\nwhere {readme} has\n{old}")
    print(f"To update it: {' '.join([sys.argv[0], driver, str(readme), '--update'])}")
    sys.exit(1)
