// SPDX-License-Identifier: MIT
#include "backend/cuda/nvrtc.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstddef>

#include "backend/cuda/driver.hpp"
#include "backend/cuda/library.hpp"
#include "base/status.hpp"

namespace fuseplan::cuda {
namespace {

using Program = struct ProgramOf*;

struct Nvrtc {
#define FUSEPLAN_NVRTC(name, symbol, parameters) int(*name) parameters = nullptr;
#include "backend/cuda/nvrtc_functions.def"
#undef FUSEPLAN_NVRTC
  std::string path, problem;
  CompilerId id;
  std::vector<int> archs_known;
};

/// Compute capability 7.5 as 75. An unknown one counts as new.
int oldest_device(const Driver& driver) {
  int oldest = INT_MAX;
  for (int ordinal = 0; ordinal < driver.devices; ++ordinal) {
    DeviceHandle device = 0;
    int major = 0, minor = 0;
    if (driver.device_get(&device, ordinal) == kSuccess &&
        driver.device_attribute(&major, kCapabilityMajor, device) == kSuccess &&
        driver.device_attribute(&minor, kCapabilityMinor, device) == kSuccess)
      oldest = std::min(oldest, 10 * major + minor);
  }
  return oldest;
}

std::vector<std::string> sonames() {
  const Driver* driver = find_driver();
  if (driver == nullptr) return nvrtc_sonames(INT_MAX, INT_MAX);
  return nvrtc_sonames(driver->version, oldest_device(*driver));
}

std::string load(Nvrtc& nvrtc) {
  const Library library = open_library({"FUSEPLAN_LIB_NVRTC", sonames(), toolkit_directories()});
  if (!library) return fmt::format("NVRTC could not be loaded ({})", library.why);
  nvrtc.path = library.path;
#define FUSEPLAN_NVRTC(name, symbol, parameters)                             \
  nvrtc.name = reinterpret_cast<decltype(nvrtc.name)>(library.find(symbol)); \
  if (nvrtc.name == nullptr)                                                 \
    return fmt::format("{} lacks {}: NVRTC 11.2 or later is needed", library.path, symbol);
#include "backend/cuda/nvrtc_functions.def"
#undef FUSEPLAN_NVRTC
  int count = 0;
  if (nvrtc.get_version(&nvrtc.id.major, &nvrtc.id.minor) != 0 || nvrtc.arch_count(&count) != 0)
    return library.path + " does not say its version or architectures";
  nvrtc.archs_known.resize(static_cast<std::size_t>(count));
  if (count == 0 || nvrtc.archs(nvrtc.archs_known.data()) != 0)
    return library.path + " does not say its architectures";
  std::ranges::sort(nvrtc.archs_known);
  return {};
}

struct Target {
  std::string option;
  bool is_ptx;
};

Target target_of(const Nvrtc& nvrtc, const std::string& arch) {
  int number = 0;
  const std::string_view digits = std::string_view(arch).substr(arch.find('_') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const auto newer = std::ranges::upper_bound(nvrtc.archs_known, number);
  require(newer != nvrtc.archs_known.begin(), Status::UnsupportedOp,
          "NVRTC {}.{} does not compile for {}; it knows {}", nvrtc.id.major, nvrtc.id.minor, arch,
          fmt::join(nvrtc.archs_known, ", "));
  const int best = *(newer - 1);
  // NVRTC 11 has no sm_90a; what needs it says so itself.
  const bool plain = nvrtc.id.major < 12 && arch.ends_with('a');
  if (best == number)
    return {"--gpu-architecture=" + (plain ? arch.substr(0, arch.size() - 1) : arch), false};
  return {fmt::format("--gpu-architecture=compute_{}", best), true};
}

class Unit {
 public:
  Unit(const Nvrtc& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    check(nvrtc.create(&program_, source.c_str(), "fuseplan.cu", 0, nullptr, nullptr), "create");
  }
  ~Unit() { nvrtc_.destroy(&program_); }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  void compile(const std::vector<const char*>& options) {
    const int result = nvrtc_.compile(program_, static_cast<int>(options.size()), options.data());
    require(result == 0, Status::InternalError, "NVRTC {}.{} ({}) failed with {}: {}",
            nvrtc_.id.major, nvrtc_.id.minor, nvrtc_.path, result, log());
  }
  std::string log() const { return read<std::string>(nvrtc_.log_size, nvrtc_.log, "log"); }
  std::vector<std::byte> image(bool is_ptx) const {
    using Bytes = std::vector<std::byte>;
    return is_ptx ? read<Bytes>(nvrtc_.ptx_size, nvrtc_.ptx, "PTX")
                  : read<Bytes>(nvrtc_.cubin_size, nvrtc_.cubin, "cubin");
  }

 private:
  static void check(int result, const char* what) {
    require(result == 0, Status::InternalError, "NVRTC failed with {} ({})", result, what);
  }
  template <typename Container>
  Container read(int (*size)(Program, std::size_t*), int (*get)(Program, char*),
                 const char* what) const {
    std::size_t bytes = 0;
    check(size(program_, &bytes), what);
    Container text(bytes, {});
    check(get(program_, reinterpret_cast<char*>(text.data())), what);
    return text;
  }

  const Nvrtc& nvrtc_;
  Program program_ = nullptr;
};

/// Compiles nothing at all: a library without the builtins of its version fails only when it is
/// used, and its PTX tells the build that nvrtcVersion does not.
std::string probe(Nvrtc& nvrtc) try {
  Unit unit(nvrtc, "");
  const std::string arch = fmt::format("--gpu-architecture=compute_{}", nvrtc.archs_known.front());
  const char* const options[] = {arch.c_str()};
  unit.compile({options, options + 1});
  const std::vector<std::byte> image = unit.image(true);
  const std::string_view ptx(reinterpret_cast<const char*>(image.data()), image.size());
  constexpr std::string_view kBefore = "Compiler Build ID: ";
  if (const std::size_t at = ptx.find(kBefore); at != ptx.npos) {
    const std::string_view rest = ptx.substr(at + kBefore.size());
    nvrtc.id.build = rest.substr(0, rest.find_first_of(std::string_view("\r\n\0", 3)));
  }
  return {};
} catch (const Error& error) {
  return error.what();
}

std::atomic<const Nvrtc*> loaded_now{nullptr};

const Nvrtc& loaded() {
  static const Nvrtc& once = []() -> const Nvrtc& {
    auto& nvrtc = *new Nvrtc;
    nvrtc.problem = load(nvrtc);
    if (nvrtc.problem.empty()) nvrtc.problem = probe(nvrtc);
    loaded_now = &nvrtc;
    return nvrtc;
  }();
  return once;
}

const Nvrtc& nvrtc() {
  require(loaded().problem.empty(), Status::NotInitialized,
          "the kernel is not in the cache and there is no runtime compiler: {}", loaded().problem);
  return loaded();
}

}  // namespace

std::vector<std::string> nvrtc_sonames(int driver_version, int oldest_arch) {
  struct Release {
    int major, least_arch;
    const char* name;
  };
  constexpr Release kReleases[] = {
      {13, 75, "libnvrtc.so.13"}, {12, 50, "libnvrtc.so.12"}, {11, 35, "libnvrtc.so.11.2"}};
  std::vector<std::string> names;
  for (const bool for_all : {true, false})
    for (const auto& [major, least_arch, name] : kReleases)
      if (major <= driver_version / 1000 && (least_arch <= oldest_arch) == for_all)
        names.emplace_back(name);
  names.emplace_back("libnvrtc.so");
  return names;
}

std::optional<CompilerId> loaded_compiler() {
  const Nvrtc* const known = loaded_now;
  if (known == nullptr || !known->problem.empty()) return std::nullopt;
  return known->id;
}

std::string nvrtc_problem() { return loaded().problem; }
std::vector<int> nvrtc_archs() { return nvrtc().archs_known; }
std::string nvrtc_version() { return fmt::format("{}.{}", nvrtc().id.major, nvrtc().id.minor); }

std::span<const char* const> compile_options() {
  // Contraction is a decision of the expression passes; denormals are flushed as on the CPU.
  static constexpr const char* kOptions[] = {"--std=c++17", "--fmad=false", "--ftz=true",
                                             "--prec-div=true", "--prec-sqrt=true"};
  return kOptions;
}

Compilation compile_source(const std::string& source, const std::string& arch,
                           std::span<const char* const> more_options) {
  const Nvrtc& compiler = nvrtc();
  const Target target = target_of(compiler, arch);
  std::vector<const char*> options{target.option.c_str()};
  options.insert(options.end(), compile_options().begin(), compile_options().end());
  options.insert(options.end(), more_options.begin(), more_options.end());
  Unit unit(compiler, source);
  unit.compile(options);
  return {unit.image(target.is_ptx), unit.log()};
}

}  // namespace fuseplan::cuda
