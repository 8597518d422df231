# SPDX-License-Identifier: MIT
# Every library fuseplan uses, as Debian packages them; scripts/lib/packages lists the package names.

find_package(PkgConfig REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(SQLite3 3.31 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h REQUIRED)
