# SPDX-License-Identifier: MIT
# oneDNN 3, the peer of `fuseplan-driver bench`. Sets FUSEPLAN_ONEDNN to the target to link, or to
# nothing: the driver then refuses --peer onednn and says how to get it. libfuseplan never uses it.

set(FUSEPLAN_ONEDNN_DIR "" CACHE PATH "Prefix of oneDNN 3 (include/ and lib/) for the bench")
set(FUSEPLAN_ONEDNN "")
if(FUSEPLAN_ONEDNN_DIR)
  find_package(dnnl 3 CONFIG QUIET HINTS ${FUSEPLAN_ONEDNN_DIR})
  if(TARGET DNNL::dnnl)
    set(FUSEPLAN_ONEDNN DNNL::dnnl)
  else()
    # Python packages carry headers and library without CMake's files.
    find_path(FUSEPLAN_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp HINTS ${FUSEPLAN_ONEDNN_DIR}/include
      REQUIRED NO_DEFAULT_PATH)
    find_library(FUSEPLAN_ONEDNN_LIBRARY NAMES dnnl libdnnl.so.3
      HINTS ${FUSEPLAN_ONEDNN_DIR}/lib ${FUSEPLAN_ONEDNN_DIR}/lib64 REQUIRED NO_DEFAULT_PATH)
    add_library(fuseplan_onednn INTERFACE)
    target_include_directories(fuseplan_onednn SYSTEM INTERFACE ${FUSEPLAN_ONEDNN_INCLUDE})
    target_link_libraries(fuseplan_onednn INTERFACE ${FUSEPLAN_ONEDNN_LIBRARY})
    set(FUSEPLAN_ONEDNN fuseplan_onednn)
  endif()
  message(STATUS "Bench: oneDNN from ${FUSEPLAN_ONEDNN_DIR}")
endif()
