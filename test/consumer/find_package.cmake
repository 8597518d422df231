# SPDX-License-Identifier: MIT
# Builds the user's project in BUILD against the fuseplan installed below PREFIX, and runs it.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
file(REMOVE_RECURSE ${BUILD})
run(${CMAKE_COMMAND} -S ${SOURCE}/project -B ${BUILD} -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER}
  -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_PREFIX_PATH=${PREFIX}
  -DCONSUMER_STATIC=${STATIC} -DCONSUMER_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${BUILD})
run(${BUILD}/consumer ${VERSION})
run(${BUILD}/consumer_miopen)
