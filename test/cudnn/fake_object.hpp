// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Objects of the library that stands in for cuDNN, and what may be set on each: as cuDNN's header
// numbers it, and written down here apart from what the driver uses.
namespace fuseplan::fake_cudnn {

constexpr int kSuccess = 0, kBadParameter = 2000, kNotFinalised = 2004, kNotSupported = 3000,
              kInternalError = 4000, kCompilationFailed = 4001;

/// What a call answers, with the words that cudnnGetLastErrorString gives. Success has none.
int answer(int status, const std::string& words = {});
std::string last_words();

struct Attribute {
  int element = -1;
  std::int64_t count = 0;
  std::vector<unsigned char> bytes;

  template <typename T>
  std::vector<T> values() const {
    const T* first = reinterpret_cast<const T*>(bytes.data());
    return {first, first + bytes.size() / sizeof(T)};
  }
};

struct Object {
  explicit Object(int of) : kind(of) {}

  const int kind;
  bool finalised = false;
  bool spent = false;  ///< a configuration that a plan was made of
  std::map<int, Attribute> attributes;

  bool has(int attribute) const { return attributes.count(attribute) != 0; }
  template <typename T>
  std::vector<T> all(int attribute) const {
    return attributes.at(attribute).values<T>();
  }
  template <typename T>
  T one(int attribute) const {
    return all<T>(attribute).at(0);
  }
  const Object& object(int attribute) const { return *one<const Object*>(attribute); }
  template <typename T>
  void put(int attribute, int element, const std::vector<T>& values) {
    const auto* first = reinterpret_cast<const unsigned char*>(values.data());
    attributes[attribute] = {element,
                             static_cast<std::int64_t>(values.size()),
                             {first, first + values.size() * sizeof(T)}};
  }
};

enum Kind {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kConfiguration = 3,
  kHeuristics = 4,
  kPlan = 5,
  kKnob = 7,
  kForward = 10,
  kOperation = 13,
  kGraph = 15,
  kPack = 16,
  kTensor = 17
};
bool is_kind(int kind);

/// Sets after checking that the kind has such an attribute, of that element type and count, and
/// that objects are finalised.
int set_attribute(Object& object, int attribute, int element, std::int64_t count,
                  const void* values);
/// Whether everything that the kind cannot do without has been set.
int check_complete(const Object& object);
/// Bytes of one element.
std::size_t size_of_element(int element);

}  // namespace fuseplan::fake_cudnn
