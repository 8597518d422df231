# SPDX-License-Identifier: MIT
# libfuseplan is put together from stages: one static library per directory of src/, for the tests
# to link piece by piece, and one library of all their objects, for users.

# fuseplan_stage(<name> [RECURSE] [DEPENDS <stage or library>...] [PRIVATE <library>...])
# Every *.cpp of the calling directory becomes part of libfuseplan. A stage links the ones before it.
function(fuseplan_stage name)
  cmake_parse_arguments(arg "RECURSE" "" "DEPENDS;PRIVATE" ${ARGN})
  if(arg_RECURSE)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  add_library(fuseplan_${name} STATIC ${sources})
  target_link_libraries(fuseplan_${name} PUBLIC fuseplan_flags ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
  if(FUSEPLAN_PRECOMPILE)
    target_precompile_headers(fuseplan_${name} REUSE_FROM fuseplan_headers)
  endif()
  set_property(GLOBAL APPEND PROPERTY FUSEPLAN_STAGES fuseplan_${name})
endfunction()

# The library that users link: fuseplan, fuseplan::fuseplan.
function(fuseplan_library)
  get_property(stages GLOBAL PROPERTY FUSEPLAN_STAGES)
  list(TRANSFORM stages REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(fuseplan ${objects})
  add_library(fuseplan::fuseplan ALIAS fuseplan)
  target_link_libraries(fuseplan PRIVATE ${FUSEPLAN_LINK_LIBRARIES})
  target_include_directories(fuseplan INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(fuseplan PROPERTIES
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    INSTALL_RPATH "")
  if(BUILD_SHARED_LIBS)
    # Template instances of the C++ library are visible by default; only the C functions leave.
    set(map ${PROJECT_SOURCE_DIR}/cmake/fuseplan.map)
    target_link_options(fuseplan PRIVATE -Wl,--version-script=${map} ${FUSEPLAN_NO_UNDEFINED})
    set_property(TARGET fuseplan APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
endfunction()
