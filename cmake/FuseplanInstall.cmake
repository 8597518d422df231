# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: headers, libraries, driver with the problem lists, and what
# find_package and pkg-config read.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fuseplan)

install(TARGETS fuseplan fuseplan_miopen EXPORT fuseplanTargets)
if(FUSEPLAN_BUILD_DRIVER)
  install(TARGETS fuseplan-driver)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/problems
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fuseplan FILES_MATCHING PATTERN "*.csv")
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fuseplan TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(EXPORT fuseplanTargets NAMESPACE fuseplan:: DESTINATION ${package_dir})

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/fuseplanConfig.cmake.in ${PROJECT_BINARY_DIR}/fuseplanConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/fuseplanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fuseplanConfig.cmake
              ${PROJECT_BINARY_DIR}/fuseplanConfigVersion.cmake DESTINATION ${package_dir})

set(pc_requires "fmt sqlite3 libsodium libxxhash libzstd")
list(GET OpenMP_CXX_LIB_NAMES 0 openmp)
set(pc_libs "-l${openmp} -lstdc++ -lm -pthread -ldl")
file(RELATIVE_PATH FUSEPLAN_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
# A shared libfuseplan brings its libraries along; a static one needs them named, --static or not.
if(BUILD_SHARED_LIBS)
  set(FUSEPLAN_PC_REQUIRES_PRIVATE ${pc_requires})
  set(FUSEPLAN_PC_LIBS_PRIVATE ${pc_libs})
else()
  set(FUSEPLAN_PC_REQUIRES ${pc_requires})
  set(FUSEPLAN_PC_LIBS ${pc_libs})
endif()
foreach(name fuseplan fuseplan_miopen)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
