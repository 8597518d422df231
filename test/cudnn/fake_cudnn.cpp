// SPDX-License-Identifier: MIT
// Stands in for cuDNN 9's graph API: descriptors must be complete, and graphs are computed by
// definition, when they are executed. FUSEPLAN_FAKE_CUDNN=8907 is the version it says it is.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "fake_calls.hpp"
#include "fake_control.hpp"
#include "fake_graph.hpp"

namespace fuseplan::fake_cudnn {

long living = 0;

namespace {

long calls = 0, failing = 0;

// The handle that cudnnCreate gives.
struct Handle {
  void* stream = nullptr;
} the_handle;

bool finish_stream() {
  const char* driver = std::getenv("FUSEPLAN_LIB_CUDA");
  void* library = driver == nullptr ? nullptr : dlopen(driver, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return true;  // no device, and no queue
  const auto wait = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuStreamSynchronize"));
  const bool done = wait != nullptr && wait(the_handle.stream) == 0;
  dlclose(library);
  return done;
}

/// An engine that heuristics propose: cuDNN's own order, in which the best guess is not the fastest
/// and one cannot be built.
struct EngineFacts {
  std::int64_t index, knob;
  bool tensor_cores, builds;
  int slow_ms;
};
constexpr EngineFacts kEngines[] = {{7, 28, true, true, 3},
                                    {7, 29, true, false, 0},
                                    {8, 0, false, true, 1},
                                    {7, 30, true, true, 0},
                                    {8, 1, false, true, 0}};
constexpr std::int64_t kWorkspace = 96;

Object& object_at(void* pointer) { return *static_cast<Object*>(pointer); }

/// What engine a configuration, and later a plan, stands for.
constexpr int kEngineNumber = -1, kOfGraph = -2;

int propose(const Object& heuristics, std::int64_t room, std::int64_t* count, void** places) {
  const Object& graph = heuristics.object(201);
  // Only heuristic A (3) and "fallback" (2) answer, as for graphs that are compiled at run time.
  const int mode = heuristics.one<int>(200);
  *count = 0;
  if (mode == 0 || !has_engines(graph)) return answer(kSuccess);
  for (std::size_t i = 0; i < std::size(kEngines) && *count < room; ++i, ++*count) {
    Object& configuration = object_at(places[*count]);
    if (configuration.kind != kConfiguration || configuration.finalised)
      return answer(kBadParameter, "a place for a configuration is taken");
    configuration.put<int>(kEngineNumber, 0, {static_cast<int>(i)});
    configuration.put<const Object*>(kOfGraph, 15, {&graph});
    configuration.finalised = true;
  }
  return answer(kSuccess);
}

int finalize_plan(Object& plan) {
  if (plan.has(405)) {
    // The text is the number of a plan of this process.
    const std::vector<char> text = plan.all<char>(405);
    unsigned long long place = 0;
    if (std::sscanf(std::string(text.begin(), text.end()).c_str(), "{\"plan\":%llu}", &place) != 1)
      return answer(kBadParameter, "the text of no plan");
    const auto* other = reinterpret_cast<const Object*>(place);
    plan.attributes[kEngineNumber] = other->attributes.at(kEngineNumber);
    plan.attributes[kOfGraph] = other->attributes.at(kOfGraph);
    return answer(kSuccess);
  }
  if (!plan.has(401)) return answer(kBadParameter, "a plan of nothing");
  auto& configuration = const_cast<Object&>(plan.object(401));
  if (configuration.spent)
    return answer(kCompilationFailed, "a configuration of which there is a plan already");
  configuration.spent = true;
  plan.attributes[kEngineNumber] = configuration.attributes.at(kEngineNumber);
  plan.attributes[kOfGraph] = configuration.attributes.at(kOfGraph);
  if (!kEngines[plan.one<int>(kEngineNumber)].builds)
    return answer(kNotSupported, "an engine that cannot be built\nin /some/file.cpp");
  return answer(kSuccess);
}

int finalize(Object& object) {
  if (object.finalised) return answer(kBadParameter, "finalised twice");
  int status = check_complete(object);
  if (status != kSuccess) return status;
  if (object.kind == kGraph) {
    const std::string fault = fault_of(object);
    if (!fault.empty()) return answer(kBadParameter, fault);
  }
  if (object.kind == kPack &&
      object.all<std::int64_t>(1000).size() != object.all<void*>(1001).size())
    return answer(kBadParameter, "as many numbers as pointers");
  if (object.kind == kPlan) status = finalize_plan(object);
  object.finalised = status == kSuccess;
  return status;
}

/// Copies what there is room for.
template <typename T>
int give(const std::vector<T>& values, std::int64_t room, std::int64_t* count, void* places) {
  *count = static_cast<std::int64_t>(values.size());
  const auto some = static_cast<std::size_t>(std::min(room, *count));
  if (some > 0) std::memcpy(places, values.data(), some * sizeof(T));
  return answer(kSuccess);
}

int get_of_configuration(const Object& configuration, int attribute, std::int64_t* count,
                         void** places) {
  Object& place = object_at(places[0]);
  if (place.kind != (attribute == 300 ? kEngine : kKnob))
    return answer(kBadParameter, "a place of another kind");
  place.attributes[kEngineNumber] = configuration.attributes.at(kEngineNumber);
  place.finalised = true;
  *count = 1;
  return answer(kSuccess);
}

int get(const Object& object, int attribute, std::int64_t room, std::int64_t* count, void* places) {
  if (!object.finalised) return answer(kNotFinalised, "asked before it was finalised");
  const auto engine = [&] { return kEngines[object.one<int>(kEngineNumber)]; };
  const auto descriptors = static_cast<void**>(places);
  switch (attribute) {
    case 202:
      return propose(object, room, count, descriptors);
    case 300:
    case 302:
      return get_of_configuration(object, attribute, count, descriptors);
    case 402:
      return give<std::int64_t>({kWorkspace}, room, count, places);
    case 405: {
      char text[64];
      const int size = std::snprintf(text, sizeof text, "{\"plan\":%llu}",
                                     reinterpret_cast<unsigned long long>(&object));
      return give<char>({text, text + size}, room, count, places);
    }
    case 600:
      return give<int>({24}, room, count, places);
    case 601:
      return give<std::int64_t>({engine().knob}, room, count, places);
    case 1301:
      return give<std::int64_t>({engine().index}, room, count, places);
    case 1303:
      // Notes of other kinds, more than anyone has room for.
      return give(engine().tensor_cores ? std::vector<int>{0} : std::vector<int>(40, 5), room,
                  count, places);
    case 1305:
      return give<int>({0}, room, count, places);
    default:
      return answer(kBadParameter, "there is nothing to read there");
  }
}

int execute(const Object& plan, const Object& pack) {
  if (!plan.finalised || !pack.finalised) return answer(kNotFinalised, "not finalised");
  const Object& graph = plan.object(kOfGraph);
  std::map<std::int64_t, void*> pointers;
  const std::vector<std::int64_t> ids = pack.all<std::int64_t>(1000);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    void* pointer = pack.all<void*>(1001)[i];
    if (pointer == nullptr) return answer(kBadParameter, "a pointer to nothing");
    pointers[ids[i]] = pointer;
  }
  auto* workspace = pack.one<unsigned char*>(1003);
  if (workspace == nullptr) return answer(kBadParameter, "no workspace");
  std::memset(workspace, 0xff, kWorkspace);
  const EngineFacts& engine = kEngines[plan.one<int>(kEngineNumber)];
  try {
    run_graph(graph, pointers, engine.tensor_cores);
  } catch (const std::out_of_range&) {
    return answer(kBadParameter, "a tensor without a pointer");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(engine.slow_ms));
  return answer(kSuccess);
}

}  // namespace

int enter() { return ++calls == failing ? answer(kInternalError, "as the test wanted") : kSuccess; }

int enter_on(const void* handle) {
  if (const int status = enter()) return status;
  if (handle != &the_handle) return answer(kBadParameter, "no handle");
  return finish_stream() ? kSuccess
                         : answer(kBadParameter, "the handle's stream cannot be waited for");
}

}  // namespace fuseplan::fake_cudnn

extern "C" {
using namespace fuseplan::fake_cudnn;

FAKE_CUDNN_API std::size_t cudnnGetVersion() {
  const char* version = std::getenv("FUSEPLAN_FAKE_CUDNN");
  return version == nullptr ? 91900 : static_cast<std::size_t>(std::atol(version));
}
FAKE_CUDNN_API const char* cudnnGetErrorString(int status) {
  return status == kNotSupported        ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == kInternalError     ? "CUDNN_STATUS_INTERNAL_ERROR"
         : status == kCompilationFailed ? "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED"
         : status == kNotFinalised      ? "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"
                                        : "CUDNN_STATUS_BAD_PARAM";
}
FAKE_CUDNN_API void cudnnGetLastErrorString(char* text, std::size_t room) {
  std::strncpy(text, last_words().c_str(), room);
}
FAKE_CUDNN_API int cudnnCreate(void** handle) {
  if (const int status = enter()) return status;
  return create(handle, &the_handle);
}
FAKE_CUDNN_API int cudnnDestroy(void*) {
  --living;
  return kSuccess;
}
FAKE_CUDNN_API int cudnnSetStream(void* handle, void* stream) {
  if (const int status = enter()) return status;
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}
FAKE_CUDNN_API int cudnnBackendCreateDescriptor(int kind, void** object) {
  if (const int status = enter()) return status;
  if (!is_kind(kind)) return answer(kBadParameter, "no kind of object");
  return create(object, new Object(kind));
}
FAKE_CUDNN_API int cudnnBackendDestroyDescriptor(void* object) { return destroy<Object>(object); }
FAKE_CUDNN_API int cudnnBackendFinalize(void* object) {
  if (const int status = enter()) return status;
  return finalize(object_at(object));
}
FAKE_CUDNN_API int cudnnBackendSetAttribute(void* object, int attribute, int element,
                                            std::int64_t count, const void* values) {
  if (const int status = enter()) return status;
  return set_attribute(object_at(object), attribute, element, count, values);
}
FAKE_CUDNN_API int cudnnBackendGetAttribute(void* object, int attribute, int, std::int64_t room,
                                            std::int64_t* count, void* places) {
  if (const int status = enter()) return status;
  return get(object_at(object), attribute, room, count, places);
}
FAKE_CUDNN_API int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  if (const int status = enter_on(handle)) return status;
  return execute(object_at(plan), object_at(pack));
}

FAKE_CUDNN_API const Control* fuseplan_fake_cudnn_control() {
  static constexpr Control kControl = {
      [](long number) { failing = number == 0 ? 0 : calls + number; },
      [] { return calls; },
      [] { return living; },
  };
  return &kControl;
}
}  // extern "C"
