// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <miopen/miopen.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "support/gtest.hpp"

namespace fuseplan::test {

/// EXPECT_TRUE(ok(miopenCompileFusionPlan(...))): the message says what failed.
inline ::testing::AssertionResult ok(miopenStatus_t status) {
  if (status == miopenStatusSuccess) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << miopenGetErrorString(status) << ": " << fuseplanMiopenGetLastErrorMessage();
}

/// With that status, and a message that says why.
inline ::testing::AssertionResult refused(miopenStatus_t status, miopenStatus_t expected,
                                          const std::string& reason = "") {
  const std::string message = fuseplanMiopenGetLastErrorMessage();
  if (status != expected)
    return ::testing::AssertionFailure()
           << "got " << miopenGetErrorString(status) << ", expected "
           << miopenGetErrorString(expected) << "; message: " << message;
  if (message.find(reason) == std::string::npos)
    return ::testing::AssertionFailure()
           << "message does not say \"" << reason << "\": " << message;
  return ::testing::AssertionSuccess();
}

/// Owns an object of the API.
template <typename T, miopenStatus_t (*Create)(T*), miopenStatus_t (*Destroy)(T)>
class Object {
 public:
  Object() { EXPECT_TRUE(ok(Create(&value_))); }
  ~Object() { EXPECT_TRUE(ok(Destroy(value_))); }
  Object(Object&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  operator T() const { return value_; }

 private:
  T value_ = nullptr;
};
using Handle = Object<miopenHandle_t, miopenCreate, miopenDestroy>;
using TensorDesc =
    Object<miopenTensorDescriptor_t, miopenCreateTensorDescriptor, miopenDestroyTensorDescriptor>;
using ConvDesc = Object<miopenConvolutionDescriptor_t, miopenCreateConvolutionDescriptor,
                        miopenDestroyConvolutionDescriptor>;
using ActivDesc = Object<miopenActivationDescriptor_t, miopenCreateActivationDescriptor,
                         miopenDestroyActivationDescriptor>;
using PoolDesc = Object<miopenPoolingDescriptor_t, miopenCreatePoolingDescriptor,
                        miopenDestroyPoolingDescriptor>;
using OpArgs = Object<miopenOperatorArgs_t, miopenCreateOperatorArgs, miopenDestroyOperatorArgs>;

/// Describes a tensor of the oracle's.
TensorDesc describe(const HostTensor& tensor);
TensorDesc describe(miopenDataType_t type, const std::vector<int>& lens,
                    const std::vector<int>& strides = {});
ConvDesc convolution(std::vector<int> pad, std::vector<int> stride = {1, 1},
                     std::vector<int> dilation = {1, 1}, int groups = 1);
ActivDesc activation(miopenActivationMode_t mode, double a = 0, double b = 0, double g = 0);

/// Filled with signed values.
HostTensor random_tensor(Element type, const Dims& dims, Random& random, double low = -1,
                         double high = 1);
HostTensor random_tensor(Element type, const Dims& dims, const Dims& strides, Random& random,
                         double low = -1, double high = 1);

/// A plan with its ops.
class FusionPlan {
 public:
  explicit FusionPlan(const HostTensor& input,
                      miopenFusionDirection_t direction = miopenVerticalFusion);
  FusionPlan(miopenFusionDirection_t direction, miopenTensorDescriptor_t input);
  ~FusionPlan();
  FusionPlan(FusionPlan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  FusionPlan& operator=(FusionPlan&& other) noexcept {
    std::swap(plan_, other.plan_);
    return *this;
  }

  operator miopenFusionPlanDescriptor_t() const { return plan_; }
  miopenFusionOpDescriptor_t op(int index) const;

  miopenFusionOpDescriptor_t conv(miopenConvolutionDescriptor_t conv, miopenTensorDescriptor_t w);
  miopenFusionOpDescriptor_t bias(miopenTensorDescriptor_t b);
  miopenFusionOpDescriptor_t act(miopenActivationMode_t mode);
  miopenFusionOpDescriptor_t norm(miopenBatchNormMode_t mode, miopenTensorDescriptor_t params);

 private:
  miopenFusionPlanDescriptor_t plan_ = nullptr;
};

/// conv + bias + activation with everything it needs, and its oracle.
struct ConvBiasAct {
  explicit ConvBiasAct(Random& random, Element type = Element::f32, bool channels_last = false,
                       int channels = 6, int filters = 10, int groups = 1);

  /// Into `output` of the plan.
  miopenStatus_t execute(miopenHandle_t handle);
  void set_args(miopenOperatorArgs_t args) const;
  ReferenceResult expected() const;
  ::testing::AssertionResult right() const { return is_close(y, expected()); }

  HostTensor x, w, b, y;
  ConvDesc conv_desc;
  TensorDesc x_desc, w_desc, b_desc, y_desc;
  int groups;
  miopenActivationMode_t mode = miopenActivationRELU;
  double alpha = 0, beta = 0, gamma = 0;
  FusionPlan plan;
  OpArgs args;
};

}  // namespace fuseplan::test
