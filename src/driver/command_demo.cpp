// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>

#include "driver/commands.hpp"
#include "driver/report.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct DemoFlags {
  MeasureOptions measure;
  std::int64_t batch = 4;
};

void demo(DemoFlags& flags) {
  flags.measure.seconds = 0.25;
  const auto list = [&](const char* file, const char* title) {
    std::puts(fmt::format("\n{}, batch {}, f32, NCHW, fused into one kernel and op by op:\n", title,
                          flags.batch)
                  .c_str());
    measure_and_report(read_list(file, {{}, flags.batch, fuseplanFloat, false}), flags.measure,
                       false);
  };
  {
    const Handle handle = make_handle(flags.measure);
    int threads = 0;
    check(fuseplanGetThreadCount(handle.get(), &threads));
    const std::string name = text_of([&](char* text, std::size_t* size) {
      return fuseplanGetDeviceName(handle.get(), text, size);
    });
    std::puts(fmt::format("{}, {} threads", name, threads).c_str());
  }
  list("miopen-docs-cba.csv", "Convolution + bias + batchnorm + RELU");
  list("miopen-docs-na.csv", "Batchnorm + RELU");
}

}  // namespace

void add_demo(CLI::App& app) {
  auto flags = std::make_shared<DemoFlags>();
  CLI::App* command =
      app.add_subcommand("demo", "The layers of MIOpen's published charts, fused against unfused");
  command->add_option("--batch", flags->batch)->check(at_least(1))->capture_default_str();
  add_handle_flags(*command, flags->measure);
  command->callback([flags] { demo(*flags); });
}

}  // namespace fuseplan::driver
