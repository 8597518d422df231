# SPDX-License-Identifier: MIT
# Test programs and what every test runs under.

# Tests never see the user's cache or options: each label has a cache directory of its own.
set(FUSEPLAN_TEST_CACHE ${PROJECT_BINARY_DIR}/test-cache)
set(suppressions ${PROJECT_SOURCE_DIR}/test/support/sanitizers)

# fuseplan_test_properties(<label> <test>...)
function(fuseplan_test_properties label)
  set_tests_properties(${ARGN} PROPERTIES LABELS ${label} TIMEOUT 600
    ENVIRONMENT "FUSEPLAN_CACHE_DIR=${FUSEPLAN_TEST_CACHE}/${label}")
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
  if(arg_SHARDS)
    math(EXPR last "${arg_SHARDS} - 1")
    foreach(shard RANGE ${last})
      set(name ${target}.shard${shard})
      add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
      fuseplan_test_properties(${label} ${name})
      set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
        GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${shard})
    endforeach()
  else()
    include(GoogleTest)
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS ${label} TIMEOUT 600
                 ENVIRONMENT "FUSEPLAN_CACHE_DIR=${FUSEPLAN_TEST_CACHE}/${label}")
  endif()
endfunction()
