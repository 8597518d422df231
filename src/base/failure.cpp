// SPDX-License-Identifier: MIT
#include "base/failure.hpp"

#include <cxxabi.h>

#include <new>

namespace fuseplan {

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.status(), error.what()};
  } catch (const std::bad_alloc&) {
    return {Status::AllocFailed, "out of memory"};
  } catch (const std::exception& error) {
    return {Status::InternalError, error.what()};
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled; swallowing this would end the process
  } catch (...) {
    return {Status::UnknownError, "an exception of an unknown type"};
  }
}

void LastMessage::write(std::string_view function, std::string_view sentence) {
  *fmt::format_to_n(text_, sizeof text_ - 1, "{}: {}", function, sentence).out = '\0';
}

}  // namespace fuseplan
