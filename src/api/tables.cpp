// SPDX-License-Identifier: MIT
// What there is to choose from: supported combinations, passes, options.
#include "api/guard.hpp"
#include "api/objects.hpp"
#include "api/support_table.hpp"
#include "fuseplan/query.h"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

fuseplanTensorLayout_t layout_of(const SupportRow& row) {
  const bool last = row.layout == Layout::channels_last;
  if (row.rank == 5) return last ? fuseplanTensorNDHWC : fuseplanTensorNCDHW;
  return last ? fuseplanTensorNHWC : fuseplanTensorNCHW;
}

// Texts of the process: what devices and solvers there are is the same for every handle.
StringPool& static_strings() {
  static StringPool& pool = *new StringPool;
  return pool;
}

}  // namespace

fuseplanStatus_t fuseplanGetSupportTable(fuseplanHandle_t handle, int requestCount,
                                         int* returnedCount, fuseplanSupportEntry_t* entries) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    std::vector<fuseplanSupportEntry_t> rows;
    for (const SupportRow& row : support_table(object->handle.traits()))
      rows.push_back({0, static_strings().keep(row.solver->id()),
                      static_strings().keep(row.solver->sentence()),
                      static_cast<int>(row.solver->algorithm()),
                      static_cast<fuseplanDataType_t>(row.dtype), layout_of(row),
                      static_strings().keep(row.operations)});
    write_structs(requestCount, returnedCount, entries, rows, "entries");
  });
}

fuseplanStatus_t fuseplanGetPasses(int requestCount, int* returnedCount,
                                   fuseplanPassInfo_t* passes) {
  return guard(__func__, [&] {
    std::vector<fuseplanPassInfo_t> rows;
    for (const PassInfo& pass : all_passes())
      rows.push_back({0, pass.name, pass.sentence, pass.switchable ? 1 : 0});
    write_structs(requestCount, returnedCount, passes, rows, "passes");
  });
}

fuseplanStatus_t fuseplanGetOptionTable(int requestCount, int* returnedCount,
                                        fuseplanOptionInfo_t* options) {
  return guard(__func__, [&] {
    std::vector<fuseplanOptionInfo_t> rows;
    for (const OptionInfo& option : all_options())
      rows.push_back({0, option.key, option.values, option.sentence});
    write_structs(requestCount, returnedCount, options, rows, "options");
  });
}
