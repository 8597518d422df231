// SPDX-License-Identifier: MIT
#include "fake_object.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace fuseplan::fake_cudnn {
namespace {

std::string words;

// cudnnBackendAttributeType_t
enum Element {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicsMode = 8,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kCharacter = 24
};
constexpr std::int64_t kMany = 64, kText = std::int64_t{1} << 30;

struct Rule {
  int kind, attribute;
  int element;
  std::int64_t least, most;
  bool required;
};
constexpr Rule kRules[] = {
    {kPointwise, 0, kPointwiseMode, 1, 1, true},        // MODE
    {kPointwise, 1, kDataType, 1, 1, true},             // MATH_PREC
    {kPointwise, 3, kDouble, 1, 1, false},              // RELU_LOWER_CLIP
    {kPointwise, 4, kDouble, 1, 1, false},              // RELU_UPPER_CLIP
    {kPointwise, 5, kDouble, 1, 1, false},              // RELU_LOWER_CLIP_SLOPE
    {kPointwise, 6, kDouble, 1, 1, false},              // ELU_ALPHA
    {kPointwise, 7, kDouble, 1, 1, false},              // SOFTPLUS_BETA
    {kPointwise, 8, kDouble, 1, 1, false},              // SWISH_BETA
    {kConvolution, 100, kDataType, 1, 1, true},         // COMP_TYPE
    {kConvolution, 101, kConvolutionMode, 1, 1, true},  // CONV_MODE
    {kConvolution, 102, kInt64, 2, 3, true},            // DILATIONS
    {kConvolution, 103, kInt64, 2, 3, true},            // FILTER_STRIDES
    {kConvolution, 104, kInt64, 2, 3, true},            // POST_PADDINGS
    {kConvolution, 105, kInt64, 2, 3, true},            // PRE_PADDINGS
    {kConvolution, 106, kInt64, 1, 1, true},            // SPATIAL_DIMS
    {kHeuristics, 200, kHeuristicsMode, 1, 1, true},    // MODE
    {kHeuristics, 201, kDescriptor, 1, 1, true},        // OPERATION_GRAPH
    {kPlan, 400, kHandle, 1, 1, true},                  // HANDLE
    {kPlan, 401, kDescriptor, 1, 1, false},             // ENGINE_CONFIG; or the next
    {kPlan, 405, kCharacter, 1, kText, false},          // JSON_REPRESENTATION
    {kForward, 700, kDouble, 1, 1, true},               // ALPHA
    {kForward, 701, kDouble, 1, 1, true},               // BETA
    {kForward, 702, kDescriptor, 1, 1, true},           // CONV_DESC
    {kForward, 703, kDescriptor, 1, 1, true},           // W
    {kForward, 704, kDescriptor, 1, 1, true},           // X
    {kForward, 705, kDescriptor, 1, 1, true},           // Y
    {kOperation, 750, kDescriptor, 1, 1, true},         // PW_DESCRIPTOR
    {kOperation, 751, kDescriptor, 1, 1, true},         // XDESC
    {kOperation, 752, kDescriptor, 1, 1, false},        // BDESC
    {kOperation, 753, kDescriptor, 1, 1, true},         // YDESC
    {kGraph, 800, kHandle, 1, 1, true},                 // HANDLE
    {kGraph, 801, kDescriptor, 1, kMany, true},         // OPS
    {kTensor, 900, kInt64, 1, 1, true},                 // BYTE_ALIGNMENT
    {kTensor, 901, kDataType, 1, 1, true},              // DATA_TYPE
    {kTensor, 902, kInt64, 3, 8, true},                 // DIMENSIONS
    {kTensor, 903, kInt64, 3, 8, true},                 // STRIDES
    {kTensor, 906, kInt64, 1, 1, true},                 // UNIQUE_ID
    {kTensor, 907, kBoolean, 1, 1, false},              // IS_VIRTUAL
    {kPack, 1000, kInt64, 1, kMany, true},              // UNIQUE_IDS
    {kPack, 1001, kPointer, 1, kMany, true},            // DATA_POINTERS
    {kPack, 1003, kPointer, 1, 1, true},                // WORKSPACE
};

std::string name_of(int kind, int attribute) {
  return "attribute " + std::to_string(attribute) + " of kind " + std::to_string(kind);
}

}  // namespace

int answer(int status, const std::string& text) {
  words = text;
  return status;
}
std::string last_words() { return words; }

bool is_kind(int kind) {
  return kind == kEngine || kind == kConfiguration || kind == kKnob ||
         std::ranges::any_of(kRules, [&](const Rule& rule) { return rule.kind == kind; });
}

std::size_t size_of_element(int element) {
  if (element == kBoolean || element == kCharacter) return 1;
  constexpr std::array kWide{kHandle, kInt64, kDouble, kPointer, kDescriptor};
  return std::ranges::find(kWide, element) != kWide.end() ? 8 : 4;
}

int set_attribute(Object& object, int attribute, int element, std::int64_t count,
                  const void* values) {
  const std::string name = name_of(object.kind, attribute);
  if (object.finalised) return answer(kBadParameter, name + " is set after finalising");
  for (const Rule& rule : kRules) {
    if (rule.kind != object.kind || rule.attribute != attribute) continue;
    if (rule.element != element) return answer(kBadParameter, name + " has another element type");
    if (count < rule.least || count > rule.most || values == nullptr)
      return answer(kBadParameter, name + " has another count");
    const auto* first = static_cast<const unsigned char*>(values);
    Attribute set{element,
                  count,
                  {first, first + static_cast<std::size_t>(count) * size_of_element(element)}};
    if (element == kDescriptor)
      for (const Object* other : set.values<const Object*>())
        if (other == nullptr || !other->finalised)
          return answer(kNotFinalised, name + " is not finalised");
    object.attributes[attribute] = std::move(set);
    return answer(kSuccess);
  }
  return answer(kBadParameter, "there is no " + name);
}

int check_complete(const Object& object) {
  for (const Rule& rule : kRules)
    if (rule.kind == object.kind && rule.required && !object.has(rule.attribute))
      return answer(kBadParameter, name_of(rule.kind, rule.attribute) + " is not set");
  return answer(kSuccess);
}

}  // namespace fuseplan::fake_cudnn
