# SPDX-License-Identifier: MIT
# A C program that takes the address of every function the headers declare, so that each links.

file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/fuseplan/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
set(declared "")
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REPLACE ";" "@" text "${text}")
  string(REGEX MATCHALL "FUSEPLAN_API[^@]+@" declarations "${text}")
  foreach(declaration IN LISTS declarations)
    string(REGEX MATCH "(fuseplan[A-Za-z0-9_]+)\\(" name "${declaration}")
    if(name)  # types.h defines FUSEPLAN_API and declares nothing
      string(APPEND declared "FUSEPLAN_DECLARED(${CMAKE_MATCH_1})\n")
    endif()
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/declared_functions.inc CONTENT "${declared}")

add_executable(header_c99 header_c99.c)
set_target_properties(header_c99 PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
target_compile_options(header_c99 PRIVATE -pedantic-errors -Wall -Wextra -Werror -Wstrict-prototypes)
target_include_directories(header_c99 PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(header_c99 PRIVATE fuseplan::fuseplan)
fuseplan_test(header.c99 unit COMMAND header_c99)

# What api_*.cpp know of the library they test.
target_compile_definitions(api_tests PRIVATE
  FUSEPLAN_HEADER_DIR="${PROJECT_SOURCE_DIR}/include/fuseplan")
