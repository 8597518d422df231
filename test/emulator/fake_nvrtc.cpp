// SPDX-License-Identifier: MIT
// NVRTC for the emulator: a kernel's source becomes a shared library by the host's compiler.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "state.hpp"

namespace fuseplan::emulator {
namespace {

constexpr int kSuccess = 0, kInvalidInput = 3, kCompilation = 6;
constexpr int kArchs[] = {75, 80, 90};

struct FakeProgram {
  std::string source, log;
  std::string image;  ///< its length in front, because modules are loaded from a bare pointer
};

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// A directory that goes when it is left.
struct WorkPlace {
  WorkPlace() {
    std::string name = (std::filesystem::temp_directory_path() / "fuseplan-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~WorkPlace() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

/// "12.0 CL-1": version and build, which a test may choose for its process.
std::string identity() {
  const char* chosen = std::getenv("FUSEPLAN_FAKE_NVRTC");
  return chosen == nullptr ? "12.0 CL-1" : chosen;
}

/// What comes of no source at all: PTX whose heading tells the build.
int build_nothing(FakeProgram& program) {
  const std::string id = identity(), build = id.substr(id.find(' ') + 1);
  if (build == "none") {
    program.log = "nvrtc: error: failed to open libnvrtc-builtins.so";
    return kCompilation;
  }
  program.image = "//\n// Compiler Build ID: " + build + "\n//\n";
  program.image.push_back('\0');
  return kSuccess;
}

int build(FakeProgram& program) {
  const WorkPlace place;
  const std::string source = place.path / "kernel.cpp", library = place.path / "kernel.so",
                    log = place.path / "log";
  std::ofstream(source) << program.source;
  // Compiling is most of a test's time: unoptimised, and with C's <math.h> instead of C++'s, which
  // takes as long as all the rest.
  const std::string command = fmt::format(
      "{} -std=c++20 -nostdinc++ -O0 -w -march=native -ffp-contract=off -fPIC -shared {} "
      "-include {} {} -o {} > {} 2>&1",
      FUSEPLAN_EMULATOR_CXX, FUSEPLAN_EMULATOR_FLAGS, FUSEPLAN_EMULATOR_HEADER, source, library,
      log);
  const int result = std::system(command.c_str());
  program.log = read(log);
  if (result != 0) return kCompilation;
  const std::string code = read(library);
  const std::uint64_t bytes = code.size();
  program.image.assign(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  program.image += code;
  return kSuccess;
}

/// The mutation that a test asked for; false if the source has no such place.
bool apply_mutation(FakeProgram& program) {
  const std::lock_guard lock(state().mutex);
  if (!state().mutation) return true;
  const auto& [from, to] = *state().mutation;
  const std::size_t at = program.source.find(from);
  if (at == std::string::npos) return false;
  program.source.replace(at, from.size(), to);
  return true;
}

int give(const std::string& text, char* to) {
  std::memcpy(to, text.data(), text.size());
  return kSuccess;
}
int give_size(const std::string& text, std::size_t* size) {
  *size = text.size();
  return kSuccess;
}

}  // namespace

extern "C" {
FUSEPLAN_EMULATOR_API int nvrtcVersion(int* major, int* minor) {
  std::istringstream text(identity());
  char dot;
  text >> *major >> dot >> *minor;
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int nvrtcGetNumSupportedArchs(int* count) {
  *count = std::size(kArchs);
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int nvrtcGetSupportedArchs(int* archs) {
  std::copy(std::begin(kArchs), std::end(kArchs), archs);
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int nvrtcCreateProgram(FakeProgram** program, const char* source, const char*,
                                             int headers, const char* const*, const char* const*) {
  if (headers != 0) return kInvalidInput;
  *program = new FakeProgram{source, {}, {}};
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int nvrtcDestroyProgram(FakeProgram** program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int nvrtcCompileProgram(FakeProgram* program, int count,
                                              const char* const* options) {
  if (program->source.empty()) return build_nothing(*program);
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{} ", options[i]);
  {
    const std::lock_guard lock(state().mutex);
    state().counters.compiled.push_back(text);
  }
  if (!apply_mutation(*program)) {
    program->log = "the mutation's place is not in the source";
    return kCompilation;
  }
  return build(*program);
}
FUSEPLAN_EMULATOR_API int nvrtcGetCUBINSize(FakeProgram* p, std::size_t* size) {
  return give_size(p->image, size);
}
FUSEPLAN_EMULATOR_API int nvrtcGetCUBIN(FakeProgram* p, char* to) { return give(p->image, to); }
FUSEPLAN_EMULATOR_API int nvrtcGetPTXSize(FakeProgram* p, std::size_t* size) {
  return give_size(p->image, size);
}
FUSEPLAN_EMULATOR_API int nvrtcGetPTX(FakeProgram* p, char* to) { return give(p->image, to); }
FUSEPLAN_EMULATOR_API int nvrtcGetProgramLogSize(FakeProgram* p, std::size_t* size) {
  return give_size(p->log, size);
}
FUSEPLAN_EMULATOR_API int nvrtcGetProgramLog(FakeProgram* p, char* to) { return give(p->log, to); }
}  // extern "C"

}  // namespace fuseplan::emulator
