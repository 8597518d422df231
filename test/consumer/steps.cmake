# SPDX-License-Identifier: MIT
# run(<command> <argument>...): does one step of a test, or fails with what it said.
function(run)
  list(JOIN ARGN " " line)
  message("> ${line}")
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  message("${text}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "result ${result} from: ${line}")
  endif()
endfunction()
