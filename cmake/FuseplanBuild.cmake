# SPDX-License-Identifier: MIT
# Compile options shared by every target, and where built things go.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# Shared libraries name all that they need, except clang's sanitizers, which are in the program.
set(FUSEPLAN_NO_UNDEFINED -Wl,--no-undefined)
if(FUSEPLAN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(FUSEPLAN_NO_UNDEFINED "")
endif()
# Installed programs find libfuseplan relative to themselves; build trees keep their absolute paths.
file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CMAKE_INSTALL_RPATH $ORIGIN/${bin_to_lib})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE AND PROJECT_IS_TOP_LEVEL)
  # One compilation serves all build trees with the same flags, such as shared and static.
  set(settings CCACHE_NOHASHDIR=1)
  if(FUSEPLAN_PRECOMPILE)  # it would refuse whatever reads a precompiled header
    list(APPEND settings CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
  set(launcher ${CMAKE_COMMAND} -E env ${settings} ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_library(fuseplan_flags INTERFACE)
# Contraction is a decision of the expression passes, never of the host compiler.
target_compile_options(fuseplan_flags INTERFACE -Wall -Wextra -ffp-contract=off)
target_include_directories(fuseplan_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
if(FUSEPLAN_DEVELOPER)
  target_compile_options(fuseplan_flags INTERFACE -Werror)
endif()
if(FUSEPLAN_SANITIZE)
  add_compile_options(-fsanitize=${FUSEPLAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Instrumented code makes gcc 12 see uninitialised members in std::function and std::regex.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${FUSEPLAN_SANITIZE})
  # Functions of libraries that are opened take what we know as handles of our own types.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  # C programs, too, bring what C++ libraries need of a sanitizer.
  add_link_options("$<$<LINK_LANG_AND_ID:C,Clang>:-fsanitize-link-c++-runtime;-lstdc++>")
endif()
