# SPDX-License-Identifier: MIT
# Test programs, and what every test runs under.

include(GoogleTest)

# Tests never see the user's cache: each label has a directory of its own.
function(fuseplan_test_properties out label)
  set(${out} LABELS ${label} TIMEOUT 600
    ENVIRONMENT FUSEPLAN_CACHE_DIR=${PROJECT_BINARY_DIR}/test-cache/${label} PARENT_SCOPE)
endfunction()

# fuseplan_test(<name> <label> <argument of add_test>...)
function(fuseplan_test name label)
  add_test(NAME ${name} ${ARGN})
  fuseplan_test_properties(properties ${label})
  set_tests_properties(${name} PROPERTIES ${properties})
endfunction()

# fuseplan_gtest(<target> <label> [SHARDS <n>] SOURCES <file>... LIBRARIES <library>...)
# One ctest entry a test case, or <n> entries that divide the cases where there are thousands.
function(fuseplan_gtest target label)
  cmake_parse_arguments(arg "" "SHARDS" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_SOURCES)
    return()
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE fuseplan_flags ${arg_LIBRARIES} GTest::gtest_main)
  if(FUSEPLAN_SANITIZE MATCHES address)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/test/known_leaks.cpp)
  endif()
  list(LENGTH arg_SOURCES files)
  if(FUSEPLAN_PRECOMPILE AND files GREATER 6)  # as many as repay what the headers cost
    target_precompile_headers(${target} PRIVATE ${FUSEPLAN_HEADERS} <gtest/gtest.h>)
  endif()
  if(NOT arg_SHARDS)
    fuseplan_test_properties(properties ${label})
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
    return()
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(name ${target}.shard${shard})
    fuseplan_test(${name} ${label} COMMAND ${target} --gtest_brief=1)
    set_property(TEST ${name} APPEND PROPERTY
      ENVIRONMENT GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${shard})
  endforeach()
endfunction()
