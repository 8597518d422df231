# SPDX-License-Identifier: MIT
# With FUSEPLAN_PRECOMPILE, the headers that nearly every file reads are parsed once a build tree, which
# takes a third off the time of a build. Not for the dev build, where a file that lacks an include
# should be noticed, nor for gcc 12, which then forgets that such headers are the system's and warns.

set(FUSEPLAN_HEADERS
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring>
  <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream>
  <stdexcept> <string> <string_view> <thread> <utility> <vector> <fmt/format.h>)

if(FUSEPLAN_PRECOMPILE)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers.cpp CONTENT "")
  add_library(fuseplan_headers OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
  target_link_libraries(fuseplan_headers PRIVATE fuseplan_flags fmt::fmt)
  target_precompile_headers(fuseplan_headers PRIVATE ${FUSEPLAN_HEADERS})
  # With the times of headers in it, it would be another one for ccache in every build tree.
  target_compile_options(fuseplan_flags INTERFACE
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
