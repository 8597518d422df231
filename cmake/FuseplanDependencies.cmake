# SPDX-License-Identifier: MIT
# Every library fuseplan uses, as Debian packages them; scripts/lib/packages.txt names the packages.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Boost 1.74 REQUIRED)
find_package(SQLite3 3.31 REQUIRED)
find_package(fmt 9 REQUIRED)
find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium>=1.0.18)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.4)

# What libfuseplan links. A static one passes it on: fuseplanConfig.cmake finds the same targets
# again, FuseplanInstall.cmake names them for pkg-config.
set(FUSEPLAN_LINK_LIBRARIES
  fmt::fmt OpenMP::OpenMP_CXX SQLite::SQLite3 PkgConfig::sodium PkgConfig::xxhash PkgConfig::zstd
  Threads::Threads ${CMAKE_DL_LIBS})
