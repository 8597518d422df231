#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# format.sh <root>: every C, C++ and CUDA file is as clang-format would write it.
set -euo pipefail
cd "$1"
# A file that is wrong on purpose must be found, or this test proves nothing.
if printf 'int  x ;\n' | clang-format --assume-filename=x.cpp --dry-run -Werror 2> /dev/null; then
  echo "clang-format finds nothing wrong with 'int  x ;'"
  exit 1
fi
find src solvers kernels include examples test -regex '.*\.\(c\|h\|cu\|cpp\|hpp\)' -print0 |
  xargs -0 -P 2 -n 40 clang-format --dry-run -Werror
