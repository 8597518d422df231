// SPDX-License-Identifier: MIT
#include "backend/cuda/driver.hpp"

#include <cstdint>

#include "backend/cuda/library.hpp"
#include "base/status.hpp"

namespace fuseplan::cuda {
namespace {

struct Loaded {
  Driver driver;
  std::string problem;  ///< empty: the driver is usable
};

/// cuGetProcAddress_v2 gives the function of a CUDA version; drivers before 12.0 lack it, and then
/// the exported name with its suffix says which one it is.
class Resolver {
 public:
  explicit Resolver(const Library& library) : library_(library) {
    get_ = reinterpret_cast<Get>(library.find("cuGetProcAddress_v2"));
  }
  void* find(const char* base, const char* symbol, int version) const {
    void* function = nullptr;
    if (get_ != nullptr && get_(base, &function, version, 0, nullptr) == kSuccess &&
        function != nullptr)
      return function;
    return library_.find(symbol);
  }

 private:
  using Get = Result (*)(const char*, void**, int, std::uint64_t, int*);
  const Library& library_;
  Get get_;
};

std::string resolve(const Library& library, Driver& driver) {
  const Resolver resolver(library);
  std::string missing;
#define FUSEPLAN_CUDA_OPTIONAL(name, base, symbol, version, parameters) \
  driver.name = reinterpret_cast<decltype(driver.name)>(resolver.find(base, symbol, version));
#define FUSEPLAN_CUDA(name, base, symbol, version, parameters)    \
  FUSEPLAN_CUDA_OPTIONAL(name, base, symbol, version, parameters) \
  if (driver.name == nullptr) missing += std::string(missing.empty() ? "" : ", ") + symbol;
#include "backend/cuda/driver_functions.def"
#undef FUSEPLAN_CUDA
  return missing;
}

std::string init_problem(const Driver& driver, Result result) {
  const std::string words = driver.words(result);
  switch (result) {
    case kStubLibrary:
      return fmt::format("{} is the toolkit's stub, not a driver: {}", driver.path, words);
    case kNoDevice:
      return fmt::format("{} finds no device: {}", driver.path, words);
    case kDriverMismatch:
    case kNotCompatible:
      return fmt::format("{} does not fit the kernel's driver module or the device: {}",
                         driver.path, words);
    default:
      return fmt::format("cuInit of {} failed: {}", driver.path, words);
  }
}

std::string load(Driver& driver) {
  const Library library = open_library({"FUSEPLAN_LIB_CUDA", {"libcuda.so.1"}, {}});
  if (!library)
    return fmt::format("the CUDA driver could not be loaded; is it installed? ({})", library.why);
  driver.path = library.path;
  const std::string missing = resolve(library, driver);
  if (!missing.empty())
    return fmt::format("{} lacks {}: a driver for CUDA 11 or later is needed", library.path,
                       missing);
  if (const Result result = driver.init(0); result != kSuccess) return init_problem(driver, result);
  for (const auto& [call, result] :
       {std::pair{"cuDriverGetVersion", driver.driver_version(&driver.version)},
        std::pair{"cuDeviceGetCount", driver.device_count(&driver.devices)}})
    if (result != kSuccess)
      return fmt::format("{} of {} failed: {}", call, library.path, driver.words(result));
  return driver.devices == 0 ? library.path + " finds no device" : "";
}

const Loaded& loaded() {
  static const Loaded& once = [&]() -> const Loaded& {
    auto& result = *new Loaded;
    result.problem = load(result.driver);
    return result;
  }();
  return once;
}

Status status_of(Result result) {
  if (result == kOutOfMemory) return Status::AllocFailed;
  if (is_of_capture(result)) return Status::BadParm;
  return Status::InternalError;
}

}  // namespace

std::string Driver::words(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(result, &name) != kSuccess || name == nullptr) name = "CUDA error";
  if (error_text(result, &text) != kSuccess || text == nullptr) text = "unknown";
  return fmt::format("{} ({}): {}", name, result, text);
}

void Driver::check(Result result, const char* call) const {
  require(result == kSuccess, status_of(result), "{} failed: {}", call, words(result));
}

const Driver* find_driver() { return loaded().problem.empty() ? &loaded().driver : nullptr; }

const std::string& driver_problem() { return loaded().problem; }

const Driver& driver() {
  const Driver* found = find_driver();
  require(found != nullptr, Status::NotInitialized, "{}", driver_problem());
  return *found;
}

}  // namespace fuseplan::cuda
