// SPDX-License-Identifier: MIT
#include "base/status.hpp"

namespace fuseplan {

const char* status_name(Status status) {
  switch (status) {
#define FUSEPLAN_STATUS(name, value, sentence) \
  case Status::name:                           \
    return "fuseplanStatus" #name;
#include "base/statuses.def"
#undef FUSEPLAN_STATUS
  }
  return "Unknown error status";
}

}  // namespace fuseplan
