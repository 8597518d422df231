// SPDX-License-Identifier: MIT
#pragma once

#include "driver/case.hpp"

namespace fuseplan::driver {

/// A problem of a large batch on a device, made quickly: the images are copies of one, whose result
/// is known from a Case of one image. Chains without tensors of the batch's size.
class BatchedCase {
 public:
  /// Compiles. Throws ApiError for a plan that does not fuse, std::invalid_argument for a chain
  /// that adds tensors.
  BatchedCase(fuseplanHandle_t handle, const ProblemSpec& problem);

  const ProblemSpec& problem() const { return problem_; }
  /// The same chain over one image, with all parameters, on the device.
  Case& one() { return one_; }
  /// Where a parameter lies on the device.
  const void* parameter_at(std::size_t index) {
    return one_.placement().place(one_.parameter(index));
  }
  fuseplanPlanInfo_t info() const;
  /// f32 to tf32.
  bool rounds_inputs() const;
  std::size_t input_bytes() const { return images() * one_input_bytes_; }
  std::size_t output_bytes() const { return images() * one_output_bytes_; }

  /// Writes the images to the device memory of input_bytes().
  void fill_input(void* input);
  void launch(const void* input, void* output);
  /// The first and the last image of an output on the device, in their first channels, which the
  /// reference can compute in no time.
  test::Comparison compare(const void* output);
  /// One image of such an output.
  test::HostTensor image(const void* output, std::size_t number);

 private:
  std::size_t images() const { return static_cast<std::size_t>(problem_.input.lens[0]); }

  fuseplanHandle_t handle_;
  ProblemSpec problem_;
  Case one_;
  std::size_t one_input_bytes_, one_output_bytes_;
  Plan plan_;
  TensorDesc input_desc_, output_desc_;
  std::unique_ptr<Case> checked_;
};

/// The problem over another number of images.
ProblemSpec with_batch(ProblemSpec problem, std::int64_t images);

}  // namespace fuseplan::driver
