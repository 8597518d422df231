// SPDX-License-Identifier: MIT
#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/commands.hpp"
#include "driver/device/cuda.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

void print_device(const MeasureOptions& options) {
  const Handle handle = make_handle(options);
  const DeviceClock clock(handle.get());
  const DeviceFacts& facts = clock.facts();
  const LaunchCost launch = launch_cost(handle.get(), clock);
  const nlohmann::ordered_json json = {{"device", facts.name},
                                       {"arch", facts.arch},
                                       {"multiprocessors", facts.multiprocessors},
                                       {"clock_mhz", facts.clock_mhz},
                                       {"memory_clock_mhz", facts.memory_clock_mhz},
                                       {"memory_bus_bits", facts.memory_bus_bits},
                                       {"l2_bytes", facts.l2_bytes},
                                       {"memory_bytes", facts.memory_bytes},
                                       {"free_bytes", facts.free_bytes},
                                       {"driver", facts.driver_path},
                                       {"driver_cuda_version", facts.driver_version},
                                       {"nominal_gflops_f32", facts.nominal_gflops(fuseplanFloat)},
                                       {"nominal_gflops_f16", facts.nominal_gflops(fuseplanHalf)},
                                       {"copy_gbps", device_copy_gbps(handle.get(), clock)},
                                       {"launch_queued_us", launch.queued_us},
                                       {"launch_waited_us", launch.waited_us}};
  std::puts(json.dump(1).c_str());
}

}  // namespace

void add_device(CLI::App& app) {
  auto options = std::make_shared<MeasureOptions>();
  CLI::App* command = app.add_subcommand(
      "device", "A GPU's facts as its driver tells them, and its copy and launch times, as JSON");
  add_handle_flags(*command, *options);
  command->callback([options] { print_device(*options); });
}

}  // namespace fuseplan::driver
