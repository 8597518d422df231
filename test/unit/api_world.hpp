// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fuseplan/fuseplan.h"

namespace fuseplan::test {

/// EXPECT_TRUE(ok(fuseplanCompilePlan(...))): the message says what failed.
inline ::testing::AssertionResult ok(fuseplanStatus_t status) {
  if (status == fuseplanStatusSuccess) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << fuseplanGetErrorString(status) << ": " << fuseplanGetLastErrorMessage();
}

/// EXPECT_TRUE(refused(status, fuseplanStatusBadParm, "inputDesc")): with that status, and a
/// message that names what was wrong.
inline ::testing::AssertionResult refused(fuseplanStatus_t status, fuseplanStatus_t expected,
                                          const std::string& named) {
  const std::string message = fuseplanGetLastErrorMessage();
  if (status != expected)
    return ::testing::AssertionFailure()
           << "got " << fuseplanGetErrorString(status) << ", expected "
           << fuseplanGetErrorString(expected) << "; message: " << message;
  if (message.find(named) == std::string::npos)
    return ::testing::AssertionFailure() << "message does not say \"" << named << "\": " << message;
  return ::testing::AssertionSuccess();
}

/// Owns an object of the C API.
template <typename T, fuseplanStatus_t (*Destroy)(T)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T value) : value_(value) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept : value_(other.value_) { other.value_ = nullptr; }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  operator T() const { return value_; }
  T* operator&() { return &value_; }
  void reset() {
    if (value_ == nullptr) return;
    EXPECT_TRUE(ok(Destroy(value_)));
    value_ = nullptr;
  }

 private:
  T value_ = nullptr;
};
using HandlePtr = Owned<fuseplanHandle_t, fuseplanDestroy>;
using TensorPtr = Owned<fuseplanTensorDescriptor_t, fuseplanDestroyTensorDescriptor>;
using ConvolutionPtr = Owned<fuseplanConvolutionDescriptor_t, fuseplanDestroyConvolutionDescriptor>;
using ActivationPtr = Owned<fuseplanActivationDescriptor_t, fuseplanDestroyActivationDescriptor>;
using PlanPtr = Owned<fuseplanPlan_t, fuseplanDestroyPlan>;
using ArgsPtr = Owned<fuseplanOperatorArgs_t, fuseplanDestroyOperatorArgs>;

HandlePtr make_handle(const char* options = "");
TensorPtr make_tensor(const std::vector<int>& lens, fuseplanDataType_t type = fuseplanFloat,
                      fuseplanTensorLayout_t layout = fuseplanTensorNCHW);
ConvolutionPtr make_convolution(int pad, int stride = 1, int dilation = 1);
PlanPtr make_plan(const std::string& text);

/// A growing struct, ready to be filled.
template <typename T>
T sized() {
  T value{};
  value.structSize = sizeof value;
  return value;
}

/// The result of a function that writes text.
template <typename Write>
std::string text_of(const Write& write) {
  std::size_t size = 0;
  EXPECT_TRUE(ok(write(nullptr, &size)));
  std::string text(size, '?');
  EXPECT_TRUE(ok(write(text.data(), &size)));
  EXPECT_EQ(size, text.size());
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  return text;
}

/// The result of a function that writes a list of growing structs.
template <typename T, typename Write>
std::vector<T> list_of(const Write& write) {
  int available = -1, returned = -1;
  EXPECT_TRUE(ok(write(0, &available, static_cast<T*>(nullptr))));
  std::vector<T> entries(static_cast<std::size_t>(available) + 1);
  entries[0].structSize = sizeof(T);
  EXPECT_TRUE(ok(write(available + 1, &returned, entries.data())));
  EXPECT_EQ(returned, available);
  entries.resize(static_cast<std::size_t>(returned));
  return entries;
}

/// One of everything: y = scale * (relu(norm(conv(x) + bias)) + other) + shift over 1x4x6x6,
/// compiled, its arguments set, with memory for all of it.
struct World {
  World();

  HandlePtr handle;
  TensorPtr x, w, y, channel;
  ConvolutionPtr convolution;
  ActivationPtr activation;
  PlanPtr plan;
  fuseplanOp_t conv_op, bias_op, norm_op, activation_op, add_op, scale_op;
  ArgsPtr args;
  std::vector<float> x_data, w_data, y_data, other_data, channel_data;
};

/// Large enough to be cut into tasks for several threads: relu over 4 x 64 x 64 x 64, compiled.
struct LargeWorld {
  LargeWorld();
  fuseplanStatus_t execute();

  HandlePtr handle;
  TensorPtr desc;
  PlanPtr plan;
  ArgsPtr args;
  std::vector<float> input, output;
};

}  // namespace fuseplan::test
