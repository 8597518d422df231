// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "driver/commands.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct DumpFlags {
  MeasureOptions measure;
  std::string problem, file = "kernel.o";
  bool no_listing = false;
};

std::string expression(fuseplanHandle_t handle, fuseplanPlan_t plan,
                       fuseplanExpressionStage_t stage) {
  return text_of([&](char* text, std::size_t* size) {
    return fuseplanPlanGetExpression(handle, plan, stage, text, size);
  });
}

// binutils' objdump reads the object; nothing in the driver could do it better.
bool disassemble(const std::string& file) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    execlp("objdump", "objdump", "--disassemble", "--no-show-raw-insn", "-M", "intel", file.c_str(),
           static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void dump(const DumpFlags& flags) {
  const Handle handle = make_handle(flags.measure);
  const Plan plan = make<Plan>(fuseplanCreatePlanFromString, flags.problem.c_str());
  std::puts(fmt::format("expression as the ops define it:\n  {}\nafter the passes:\n{}",
                        expression(handle.get(), plan.get(), fuseplanExpressionLowered),
                        expression(handle.get(), plan.get(), fuseplanExpressionOptimized))
                .c_str());
  check(fuseplanCompilePlan(handle.get(), plan.get()));
  std::size_t size = 0;
  check(fuseplanPlanGetBinary(handle.get(), plan.get(), nullptr, &size));
  std::vector<char> binary(size);
  check(fuseplanPlanGetBinary(handle.get(), plan.get(), binary.data(), &size));
  std::ofstream stream(flags.file, std::ios::binary);
  stream.write(binary.data(), static_cast<std::streamsize>(size));
  if (!stream.flush()) throw std::runtime_error("cannot write " + flags.file);
  std::puts(fmt::format("object file: {} ({} bytes)", flags.file, size).c_str());
  if (flags.no_listing) return;
  if (!disassemble(flags.file))
    std::puts("no listing: objdump (package binutils) is missing or failed");
}

}  // namespace

void add_dump(CLI::App& app) {
  auto flags = std::make_shared<DumpFlags>();
  CLI::App* command = app.add_subcommand(
      "dump", "A problem's expression before and after the passes, and its kernel's machine code");
  command->add_option("problem", flags->problem, "a problem as text")->required();
  command->add_option("-o,--output", flags->file, "where to write the kernel's object file")
      ->capture_default_str();
  command->add_flag("--no-listing", flags->no_listing, "do not disassemble");
  add_handle_flags(*command, flags->measure);
  command->callback([flags] { dump(*flags); });
}

}  // namespace fuseplan::driver
