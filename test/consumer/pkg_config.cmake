# SPDX-License-Identifier: MIT
# Compiles the user's program in BUILD with the flags pkg-config gives, and runs it.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
run(pkg-config --exact-version=${VERSION} fuseplan)
execute_process(COMMAND pkg-config --cflags --libs fuseplan
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags)
file(MAKE_DIRECTORY ${BUILD})
run(${C_COMPILER} -std=c99 ${SOURCE}/consumer.c -o ${BUILD}/consumer ${flags}
  -Wl,-rpath,${PREFIX}/${LIBDIR})
run(${BUILD}/consumer ${VERSION})
