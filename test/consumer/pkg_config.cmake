# SPDX-License-Identifier: MIT
# Compiles the user's programs in BUILD with the flags pkg-config gives, and runs them.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
file(MAKE_DIRECTORY ${BUILD})

# build(<program> <module>): the program's arguments are its own to know.
function(build program module)
  run(pkg-config --exact-version=${VERSION} ${module})
  execute_process(COMMAND pkg-config --cflags --libs ${module}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags)
  run(${C_COMPILER} -std=c99 ${SOURCE}/${program}.c -o ${BUILD}/${program} ${flags}
    -Wl,-rpath,${PREFIX}/${LIBDIR})
endfunction()

build(consumer fuseplan)
run(${BUILD}/consumer ${VERSION})
build(consumer_miopen fuseplan_miopen)
run(${BUILD}/consumer_miopen)
