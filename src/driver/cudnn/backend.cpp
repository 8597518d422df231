// SPDX-License-Identifier: MIT
#include "driver/cudnn/backend.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "driver/cudnn/session.hpp"

namespace fuseplan::driver {
namespace {

constexpr std::size_t kOldest = 90000;

}  // namespace

CudnnBackend::CudnnBackend() {
  const Library library = open_cudnn();
  path = library.path();
  std::size_t (*get_version)() = nullptr;
  library.find(get_version, "cudnnGetVersion");
  version = get_version();
  if (version < kOldest)
    throw std::runtime_error(path + " is cuDNN " + cudnn_version_text(version) +
                             ": its graph API is used from 9.0 on");
  library.find(create, "cudnnBackendCreateDescriptor");
  library.find(destroy, "cudnnBackendDestroyDescriptor");
  library.find(finalize, "cudnnBackendFinalize");
  library.find(set, "cudnnBackendSetAttribute");
  library.find(get, "cudnnBackendGetAttribute");
  library.find(execute, "cudnnBackendExecute");
  library.find(words_, "cudnnGetErrorString");
  library.find(last_words_, "cudnnGetLastErrorString");
}

void CudnnBackend::check(int status, const char* call) const {
  if (status == 0) return;
  std::array<char, 2048> more{};
  last_words_(more.data(), more.size() - 1);
  std::string text = std::string(call) + ": " + words_(status);
  // Its words end with a trace of its own source; the reason comes first.
  const std::string reason(more.data());
  const std::string line = reason.substr(0, reason.find('\n'));
  if (!line.empty()) text += ": " + line;
  throw std::runtime_error(text);
}

CudnnDescriptor::CudnnDescriptor(const CudnnBackend& backend, CudnnObjectKind kind)
    : backend_(&backend) {
  backend.check(backend.create(static_cast<int>(kind), &object_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (object_ != nullptr) (void)backend_->destroy(object_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : backend_(other.backend_), object_(std::exchange(other.object_, nullptr)) {}

void CudnnDescriptor::finalize(const char* what) {
  backend_->check(backend_->finalize(object_), what);
}

void CudnnDescriptor::set(CudnnAttribute attribute, CudnnElement element, std::int64_t count,
                          const void* values) {
  const std::string call =
      "cudnnBackendSetAttribute(" + std::to_string(static_cast<int>(attribute)) + ")";
  backend_->check(
      backend_->set(object_, static_cast<int>(attribute), static_cast<int>(element), count, values),
      call.c_str());
}

void CudnnDescriptor::set(CudnnAttribute attribute, std::span<const std::int64_t> values) {
  set(attribute, CudnnElement::int64, static_cast<std::int64_t>(values.size()), values.data());
}

void CudnnDescriptor::set(CudnnAttribute attribute, double value) {
  set(attribute, CudnnElement::float64, 1, &value);
}

void CudnnDescriptor::set(CudnnAttribute attribute, const CudnnDescriptor& object) {
  set(attribute, CudnnElement::descriptor, 1, &object.object_);
}

void CudnnDescriptor::set_enum(CudnnAttribute attribute, CudnnElement element, int value) {
  set(attribute, element, 1, &value);
}

std::int64_t CudnnDescriptor::read(CudnnAttribute attribute, CudnnElement element,
                                   std::int64_t room, void* values) const {
  std::int64_t count = 0;
  const std::string call =
      "cudnnBackendGetAttribute(" + std::to_string(static_cast<int>(attribute)) + ")";
  backend_->check(backend_->get(object_, static_cast<int>(attribute), static_cast<int>(element),
                                room, &count, values),
                  call.c_str());
  return count;
}

std::int64_t CudnnDescriptor::read_int64(CudnnAttribute attribute) const {
  std::int64_t value = 0;
  (void)read(attribute, CudnnElement::int64, 1, &value);
  return value;
}

std::vector<int> CudnnDescriptor::read_enums(CudnnAttribute attribute, CudnnElement element) const {
  std::vector<int> values(32);
  const std::int64_t count =
      read(attribute, element, static_cast<std::int64_t>(values.size()), values.data());
  values.resize(std::min(values.size(), static_cast<std::size_t>(count)));
  return values;
}

}  // namespace fuseplan::driver
