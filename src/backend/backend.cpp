// SPDX-License-Identifier: MIT
#include "backend/backend.hpp"

#include <charconv>

#include "base/status.hpp"

namespace fuseplan {

#define FUSEPLAN_BACKEND(name) const Backend& backend_##name();
#include "backend/backends.def"
#undef FUSEPLAN_BACKEND

std::span<const Backend* const> all_backends() {
  static const Backend* const kBackends[] = {
#define FUSEPLAN_BACKEND(name) &backend_##name(),
#include "backend/backends.def"
#undef FUSEPLAN_BACKEND
  };
  return kBackends;
}

namespace {

std::string known_backends() {
  std::string names;
  for (const Backend* backend : all_backends())
    names += (names.empty() ? "" : ", ") + std::string(backend->name());
  return names;
}

int parse_index(std::string_view text, std::string_view whole) {
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  require(error == std::errc{} && end == text.data() + text.size() && index >= 0,
          Status::InvalidValue, "device \"{}\": \"{}\" is no device number", whole, text);
  return index;
}

}  // namespace

DeviceId find_device(std::string_view text) {
  if (text.empty()) text = "cpu";
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const Backend* backend : all_backends()) {
    if (backend->name() != name) continue;
    const int index = colon == text.npos ? 0 : parse_index(text.substr(colon + 1), text);
    const std::string why = backend->device_count() == 0 ? backend->why_no_device() : "";
    require(why.empty(), Status::NotInitialized, "device \"{}\": {}", text, why);
    require(index < backend->device_count(), Status::NotInitialized,
            "device \"{}\": there are {} {} devices", text, backend->device_count(), name);
    return {backend, index};
  }
  fail(Status::InvalidValue, "device \"{}\": this build has no backend of that name; it has: {}",
       text, known_backends());
}

}  // namespace fuseplan
