// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/cudnn/backend_values.hpp"

namespace fuseplan::driver {

/// cuDNN's graph API, by our own declarations.
struct CudnnBackend {
  int (*create)(int kind, void** object) = nullptr;
  int (*destroy)(void* object) = nullptr;
  int (*finalize)(void* object) = nullptr;
  int (*set)(void* object, int attribute, int element, std::int64_t count,
             const void* values) = nullptr;
  int (*get)(void* object, int attribute, int element, std::int64_t room, std::int64_t* count,
             void* values) = nullptr;
  int (*execute)(void* handle, void* plan, void* pack) = nullptr;
  std::size_t version = 0;  ///< 91900 is 9.19.0
  std::string path;

  /// Opens FUSEPLAN_LIB_CUDNN or what the loader finds. Throws std::runtime_error with every name
  /// tried, with the version of a library older than 9, or with the function that one lacks.
  CudnnBackend();
  /// Throws std::runtime_error with the call and cuDNN's own words.
  void check(int status, const char* call) const;

 private:
  const char* (*words_)(int) = nullptr;
  void (*last_words_)(char* text, std::size_t room) = nullptr;
};

/// One object of the graph API, destroyed with this.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnBackend& backend, CudnnObjectKind kind);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  void* get() const { return object_; }
  void finalize(const char* what);

  void set(CudnnAttribute attribute, CudnnElement element, std::int64_t count, const void* values);
  void set(CudnnAttribute attribute, std::span<const std::int64_t> values);
  void set(CudnnAttribute attribute, std::int64_t value) { set(attribute, {&value, 1}); }
  void set(CudnnAttribute attribute, double value);
  void set(CudnnAttribute attribute, const CudnnDescriptor& object);
  void set_enum(CudnnAttribute attribute, CudnnElement element, int value);

  /// Up to `room` elements; returns how many there are, which may be more.
  std::int64_t read(CudnnAttribute attribute, CudnnElement element, std::int64_t room,
                    void* values) const;
  std::int64_t read_int64(CudnnAttribute attribute) const;
  std::vector<int> read_enums(CudnnAttribute attribute, CudnnElement element) const;

 private:
  const CudnnBackend* backend_;
  void* object_ = nullptr;
};

}  // namespace fuseplan::driver
