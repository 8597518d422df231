// SPDX-License-Identifier: MIT
// The CUDA back end's host code, through the C API, on a driver that only looks like one.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <thread>

#include "emulated.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

const char* const kConv =
    "f32:1x8x6x6:nchw;conv(f32:8x8x3x3,pad=1x1);bias(f32:1x8x1x1);activation(relu)";
const char* const kPointwise = "f32:1x8x6x6:nchw;bias(f32:1x8x1x1);activation(relu)";

std::string last_message() { return fuseplanGetLastErrorMessage(); }

/// A program's whole use of a device, each call's status kept. Goes on after failures as a program
/// would that ignores them, and gives everything back.
struct Life {
  std::vector<fuseplanStatus_t> statuses;
  std::vector<std::string> messages;

  bool call(fuseplanStatus_t status) {
    statuses.push_back(status);
    if (status != fuseplanStatusSuccess) messages.push_back(last_message());
    return status == fuseplanStatusSuccess;
  }
  std::string options = "--cache=mem";
  bool failed() const { return !messages.empty(); }

  void run(const char* text, float* result) {
    fuseplanHandle_t handle = nullptr;
    if (!call(fuseplanCreateForDevice(&handle, "cuda:0"))) return;
    if (call(fuseplanSetOptions(handle, options.c_str()))) with_handle(handle, text, result);
    call(fuseplanDestroy(handle));
  }

 private:
  static constexpr std::size_t kBytes = 8 * 36 * sizeof(float);

  void with_handle(fuseplanHandle_t handle, const char* text, float* result) {
    EmulatedCase c(driver::parse_problem(text));
    void *input = nullptr, *output = nullptr;
    call(fuseplanMalloc(handle, kBytes, &input));
    call(fuseplanMalloc(handle, kBytes, &output));
    if (input != nullptr && output != nullptr &&
        call(fuseplanCopy(handle, input, c.input().data(), kBytes, fuseplanCopyToDevice)) &&
        call(fuseplanCompilePlan(handle, c.plan())) &&
        call(fuseplanExecutePlan(handle, c.plan(), c.input_desc(), input, c.output_desc(), output,
                                 c.args())) &&
        call(fuseplanSynchronize(handle)) &&
        call(fuseplanCopy(handle, result, output, kBytes, fuseplanCopyToHost)))
      call(fuseplanCopy(handle, output, input, kBytes, fuseplanCopyOnDevice));
    for (void* memory : {input, output})
      if (fuseplanFree(handle, memory) != fuseplanStatusSuccess) {
        call(fuseplanStatusInternalError);
        call(fuseplanFree(handle, memory));  // the one failure is over
      }
  }
};

TEST(DeviceBackend, RunsAWholeProgram) {
  emulator::reset();
  std::array<float, 8 * 36> result{};
  Life life;
  life.run(kConv, result.data());
  EXPECT_FALSE(life.failed()) << life.messages.front();
  EmulatedCase c(driver::parse_problem(kConv));
  std::memcpy(c.output().data(), result.data(), sizeof result);
  EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
  const emulator::Counters end = emulator::counters();
  EXPECT_EQ(end.pushed, 0);
  EXPECT_EQ(end.modules, 0);
  EXPECT_EQ(end.allocations, 0);
}

// Whatever call fails, with whatever code: a status and a sentence, or a failure that a program
// need not know of; nothing is left behind, and the next use works.
TEST(DeviceBackend, EveryCallMayFail) {
  std::array<float, 8 * 36> result{};
  // cuInit is called once in a process and what it said is kept: a process of its own shows its
  // failures, below.
  emulated_handle();
  const TemporaryDirectory directory;  // compiling once is enough
  const std::string options = "--cache=rw --cache_dir=" + directory.path();
  const int kCodes[] = {1, 2, 700, 999};
  int reported = 0, swallowed = 0;
  for (long number = 1;; ++number) {
    emulator::reset();
    const int code = kCodes[number % 4];
    emulator::fail_call(number, code);
    Life life;
    life.options = options;
    life.run(kPointwise, result.data());
    const emulator::Counters end = emulator::counters();
    SCOPED_TRACE("call " + std::to_string(number) + " gives " + std::to_string(code));
    EXPECT_EQ(end.pushed, 0);
    EXPECT_EQ(end.allocations, 0);
    // Where nothing was reported, unloading the module may be what failed.
    EXPECT_LE(end.modules, life.failed() ? 0 : 1);
    if (end.calls < number) break;
    for (const std::string& message : life.messages)
      EXPECT_NE(message.find("(" + std::to_string(code) + ")"), std::string::npos) << message;
    (life.failed() ? reported : swallowed) += 1;
    emulator::reset();
    Life again;
    again.options = options;
    again.run(kPointwise, result.data());
    EXPECT_FALSE(again.failed()) << again.messages.front();
  }
  std::printf("%d failures reported, %d of popping a context or unloading a module logged\n",
              reported, swallowed);
  EXPECT_GT(reported, 10);
  emulator::reset();
}

TEST(DeviceBackend, ManyHandlesAndThreads) {
  emulator::reset();
  std::vector<std::thread> threads;
  std::array<std::string, 6> wrong;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      try {
        const Handle handle = emulated_handle();
        EmulatedCase c(driver::parse_problem(t % 2 == 0 ? kConv : kPointwise), {.stream = t});
        c.compile(handle.get());
        for (int i = 0; i < 5; ++i) c.execute(handle.get());
        if (!c.compare().ok()) wrong[t] = c.compare().describe();
      } catch (const driver::ApiError& error) {
        wrong[t] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
  EXPECT_EQ(emulator::counters().launches.size(), 30u);
  EXPECT_EQ(emulator::counters().pushed, 0);
}

TEST(DeviceBackend, SaysWhatItCannotDo) {
  const Handle handle = emulated_handle();
  const auto refusal = [&](const char* text) {
    EmulatedCase c(driver::parse_problem(text));
    EXPECT_EQ(fuseplanCompilePlan(handle.get(), c.plan()), fuseplanStatusUnsupportedOp) << text;
    return last_message();
  };
  EXPECT_NE(refusal("u8:1x4x5x5:nhwc;conv(i8:4x4x3x3);activation(relu)").find("f32, f16 or bf16"),
            std::string::npos)
      << last_message();
}

TEST(DeviceBackend, ProfilingWaitsForTheQueue) {
  const Handle handle = emulated_handle();
  driver::check(fuseplanEnableProfiling(handle.get(), true));
  EmulatedCase c(driver::parse_problem(kPointwise));
  c.compile(handle.get());
  c.launch(handle.get());
  float ms = 0;
  driver::check(fuseplanGetKernelTime(handle.get(), &ms));
  EXPECT_GT(ms, 0);
  EXPECT_EQ(emulator::pending(nullptr), 0u) << "timed before it was done";
}

// What a fresh process says; its environment decides which libraries it finds.
std::string in_fresh_process(const std::string& environment, const std::string& arguments) {
  const std::string command = environment + " " + FUSEPLAN_SAY_DEVICE + " " + arguments + " 2>&1";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << command << ": " << text;
  return text;
}
const std::string kBoth =
    "FUSEPLAN_LIB_CUDA=" FUSEPLAN_EMULATOR_LIBRARY " FUSEPLAN_LIB_NVRTC=" FUSEPLAN_EMULATOR_LIBRARY;

TEST(DeviceLibraries, NamesWhatIsMissing) {
  const auto create = [](const std::string& environment) {
    return in_fresh_process(environment, "--cache=off");
  };
  EXPECT_NE(create("FUSEPLAN_LIB_CUDA=/nowhere/libcuda.so.1").find("/nowhere/libcuda.so.1: cannot"),
            std::string::npos);
  EXPECT_NE(create("FUSEPLAN_LIB_CUDA=libc.so.6").find("lacks cuInit"), std::string::npos);
  // This machine as it is: the driver's name and what the loader said, unless there is one.
  const std::string here = create("env -u FUSEPLAN_LIB_CUDA");
  EXPECT_TRUE(here.find("libcuda.so.1: cannot open") != std::string::npos ||
              here.find("built") != std::string::npos ||
              here.find("no device") != std::string::npos)
      << here;
  const std::pair<const char*, const char*> kInit[] = {
      {"34", "stub"}, {"100", "finds no device"}, {"803", "does not fit"}, {"999", "cuInit of"}};
  for (const auto& [code, words] : kInit) {
    const std::string said = create(kBoth + " FUSEPLAN_FAKE_INIT=" + code);
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find("libfuseplan_emulator"), std::string::npos) << said;
    EXPECT_NE(said.find("fuseplanStatusNotInitialized"), std::string::npos) << said;
  }
}

// The emulator is opened for itself alone: no name of libcuda or NVRTC leads to it, and a library
// that calls itself by one reaches itself.
TEST(DeviceLibraries, TheEmulatorStandsBeforeNoDriver) {
  emulated_handle();
  emulator::reset();
  const char* const kNames[] = {
#define FUSEPLAN_CUDA(name, base, symbol, since, parameters) symbol,
#include "backend/cuda/driver_functions.def"
#undef FUSEPLAN_CUDA
#define FUSEPLAN_NVRTC(name, symbol, parameters) symbol,
#include "backend/cuda/nvrtc_functions.def"
#undef FUSEPLAN_NVRTC
  };
  for (const char* name : kNames) {
    Dl_info where{};
    void* const found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr || dladdr(found, &where) == 0) continue;
    EXPECT_STRNE(where.dli_fname, FUSEPLAN_EMULATOR_LIBRARY) << name;
  }
  void* const elsewhere = dlopen(FUSEPLAN_ELSEWHERE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(elsewhere, nullptr) << dlerror();
  const auto version = reinterpret_cast<int (*)()>(dlsym(elsewhere, "elsewhere_version"));
  ASSERT_NE(version, nullptr);
  EXPECT_EQ(version(), 77);
}

TEST(DeviceLibraries, AWarmCacheNeedsNoCompiler) {
  const TemporaryDirectory directory;
  const std::string cache = "'--cache=rw --cache_dir=" + directory.path() + "'";
  const std::string none =
      "FUSEPLAN_LIB_CUDA=" FUSEPLAN_EMULATOR_LIBRARY " FUSEPLAN_LIB_NVRTC=/nowhere/libnvrtc.so";
  std::string said = in_fresh_process(none, cache);
  EXPECT_NE(said.find("no runtime compiler"), std::string::npos) << said;
  EXPECT_NE(said.find("/nowhere/libnvrtc.so: cannot"), std::string::npos) << said;
  EXPECT_EQ(in_fresh_process(kBoth, cache), "built and that is all\n");
  EXPECT_EQ(in_fresh_process(none, cache), "cached and that is all\n");
}

// Another NVRTC than the one that filled the cache: not looked at while everything is found; once
// it is loaded, what older ones compiled is compiled again, and what later ones compiled is kept.
TEST(DeviceLibraries, ANewerCompilerReplacesWhatOlderOnesMade) {
  const TemporaryDirectory directory;
  const std::string cache = "'--cache=rw --cache_dir=" + directory.path() + "'";
  const std::string first = "'f32:1x8x6x6:nchw;activation(relu)'";
  const auto compile = [&](const std::string& identity, const std::string& plans) {
    const std::string said =
        in_fresh_process(kBoth + " FUSEPLAN_FAKE_NVRTC='" + identity + "'", cache + " " + plans);
    return said.substr(0, said.find(" and"));
  };
  const auto missing = [](const char* name) {
    return std::string("'f32:1x8x6x6:nchw;activation(") + name + ")' ";
  };
  EXPECT_EQ(compile("12.2 CL-7", first), "built");
  EXPECT_EQ(compile("12.9 CL-9", first), "cached");
  EXPECT_EQ(compile("12.1 CL-6", missing("abs") + first), "built cached");
  EXPECT_EQ(compile("12.2 CL-7", missing("tanh") + first), "built cached");
  EXPECT_EQ(compile("12.2 CL-8", missing("elu") + first), "built built");
  EXPECT_EQ(compile("12.9 CL-9", missing("softrelu") + first), "built built");
  EXPECT_EQ(compile("12.9 CL-9", missing("logistic") + first), "built cached");
  EXPECT_EQ(compile("12.2 CL-7", first), "cached");
}

TEST(DeviceLibraries, ACompilerThatCompilesNothingIsSaidToBeSo) {
  const std::string said =
      in_fresh_process(kBoth + " FUSEPLAN_FAKE_NVRTC='12.0 none'", "--cache=off");
  EXPECT_NE(said.find("libnvrtc-builtins.so"), std::string::npos) << said;
  EXPECT_NE(said.find("NVRTC 12.0"), std::string::npos) << said;
}

}  // namespace
}  // namespace fuseplan::test
