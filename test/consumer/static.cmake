# SPDX-License-Identifier: MIT
# The whole road with a static fuseplan: configure ROOT in BUILD, build the library, and run the
# consumer tests of that build tree. Compiled like the build this belongs to, for ccache's sake.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
run(${CMAKE_COMMAND} -S ${ROOT} -B ${BUILD} -G ${GENERATOR} -DBUILD_SHARED_LIBS=OFF
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=${FLAGS}
  -DFUSEPLAN_DEVELOPER=${DEVELOPER} -DFUSEPLAN_BUILD_DRIVER=OFF -DFUSEPLAN_BUILD_EXAMPLES=OFF
  -DFUSEPLAN_BUILD_TESTS=ON)
run(${CMAKE_COMMAND} --build ${BUILD} --parallel 2 --target fuseplan fuseplan_miopen)
run(${CMAKE_CTEST_COMMAND} --test-dir ${BUILD} --output-on-failure --no-tests=error -L consumer)
