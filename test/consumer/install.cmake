# SPDX-License-Identifier: MIT
# Installs the build tree BUILD below PREFIX, which is emptied first.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
file(REMOVE_RECURSE ${PREFIX})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})

# The installed files name each other relative to themselves, never the tree they were built in.
get_filename_component(root ${SOURCE}/../.. ABSOLUTE)
file(GLOB_RECURSE texts ${PREFIX}/*.cmake ${PREFIX}/*.pc ${PREFIX}/*.h)
foreach(text IN LISTS texts)
  file(READ ${text} content)
  string(FIND "${content}" "${root}/" position)
  if(NOT position EQUAL -1)
    message(FATAL_ERROR "${text} names the source tree ${root}")
  endif()
endforeach()
