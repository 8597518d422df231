// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "driver/placement.hpp"
#include "driver/problem.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"

namespace fuseplan::driver {

using Tf32 = test::Convolution::Tf32;

/// What besides its shapes a case is made with.
struct CaseOptions {
  std::uint64_t stream = 0;           ///< of the random data
  bool blend = false;                 ///< random alphas on every op and a beta on the last
  int misalign = 0;                   ///< elements that tensors lie off a cache line
  int misalign_parameters = 0;        ///< further ones, of those that ops have
  bool in_place = false;              ///< the output is what is added, where that is of its kind
  fuseplanHandle_t device = nullptr;  ///< whose kernels get copies there; nullptr: the host's own
};

/// A problem with data: host tensors full of signed random values, a plan and its arguments, and
/// the reference's view of the same. Runs on CPU handles, whose pointers are host pointers, or on
/// the handle that the options name, with copies of the tensors on its device.
class Case {
 public:
  explicit Case(ProblemSpec problem, const CaseOptions& options = {});
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  const ProblemSpec& problem() const { return problem_; }
  fuseplanPlan_t plan() const { return plan_.get(); }
  fuseplanOperatorArgs_t args() const { return args_.get(); }
  fuseplanTensorDescriptor_t input_desc() const { return input_desc_.get(); }
  fuseplanTensorDescriptor_t output_desc() const { return output_desc_.get(); }
  test::HostTensor& input() { return input_; }
  test::HostTensor& output() { return output_; }
  std::size_t parameter_count() const { return parameters_.size(); }
  test::HostTensor& parameter(std::size_t index) { return parameters_[index]; }
  void set_parameter(std::size_t index, std::span<const double> values) {
    parameters_[index].set_values(values);
    placement_.upload(parameters_[index]);
  }

  /// What the plan writes besides its output.
  std::size_t result_count() const { return results_.size(); }
  const test::HostTensor& result(std::size_t index) const { return results_[index].tensor; }

  /// The promise that weights stay as they are.
  void set_constant_weights() { check(fuseplanSetArgsFlags(args(), fuseplanArgsConstantWeights)); }
  /// Where the chosen solver may round f32 to tf32, it does, and so does the reference.
  void compile(fuseplanHandle_t handle);
  /// How the reference rounds f32 to tf32 in front of products: of a case that another plan
  /// computes.
  void expect_tf32(Tf32 rounds);
  /// Returns when the results are there. Running statistics start from the same values each time.
  void execute(fuseplanHandle_t handle);
  /// Without waiting: on a device it is only queued. Running statistics go on from where they are.
  void launch(fuseplanHandle_t handle) { launch(handle, input_at(), output_at()); }
  void launch(fuseplanHandle_t handle, const void* input, void* output) {
    check(fuseplanExecutePlan(handle, plan(), input_desc(), input, output_desc(), output, args()));
  }
  /// Puts back what the output held before the first execution; beta blending reads it.
  void reset_output();
  /// Brings what executions have written to the host; comparing does it by itself.
  void fetch();
  /// Where kernels find these.
  void* input_at() { return placement_.place(input_); }
  void* output_at() { return placement_.place(output_); }
  Placement& placement() { return placement_; }

  /// The result computed in double, made at the first call.
  const test::ReferenceResult& reference();
  /// Of the output and of everything else that the plan writes.
  test::Comparison compare();
  /// The same for one image of the batch, without the cost of the others. Not for per-activation
  /// parameters or blending.
  test::Comparison compare_image(std::int64_t image);
  /// The ops with their data, as the reference sees them.
  const std::vector<test::Step>& steps() const { return steps_; }
  /// What the activation in front of a batch normalisation's backward op read forward.
  const std::optional<test::HostTensor>& recomputed() const { return recomputed_; }

 private:
  struct Blend {
    float alpha = 1, beta = 0;
  };
  void append(const OpSpec& op, const Blend& blend);
  void append_conv(const OpSpec& op, const Blend& blend);
  void append_norm(const OpSpec& op, const Blend& blend);
  void append_activation(const OpSpec& op, const Blend& blend);
  void append_norm_training(const OpSpec& op, const Blend& blend);
  void append_activation_backward(const OpSpec& op, const Blend& blend);
  void append_norm_backward(const OpSpec& op, const Blend& blend);
  void append_statistics(const OpSpec& op, const Blend& blend);
  void add_results(const test::HostTensor& like, std::initializer_list<std::size_t> statistics);
  void add_running(const test::HostTensor& like);
  void recompute_source(const test::BatchNormBackward& norm);
  test::HostTensor& new_parameter(const TensorSpec& tensor, double low, double high);
  void add_step(test::Step step, const Blend& blend);

  void* at(const test::HostTensor& tensor) {
    return placement_.place(const_cast<test::HostTensor&>(tensor));  // all are members
  }
  void* result_at(std::size_t index) { return placement_.place(results_[index].tensor); }

  ProblemSpec problem_;
  test::Random random_;
  CaseOptions options_;
  double scale_unit_;  ///< of the next scale_shift
  Placement placement_;
  test::HostTensor input_, output_, previous_;
  /// What a plan writes besides its output.
  struct Result {
    test::HostTensor tensor;
    std::size_t statistic;                    ///< number in ReferenceResult::statistics
    std::optional<test::HostTensor> running;  ///< what it held before, if it is updated
  };
  std::deque<Result> results_;
  std::deque<test::HostTensor> parameters_;  // steps point into it
  std::vector<test::Step> steps_;
  std::optional<test::HostTensor> recomputed_, statistics_form_;
  std::optional<test::BatchNormTraining> stored_;  ///< whose statistics a plan ends with
  std::optional<test::ReferenceResult> reference_;
  TensorDesc input_desc_, output_desc_;
  Plan plan_;
  Args args_;
};

/// What a case multiplies an added tensor by. Peers read it times that, in its own type, which must
/// hold it.
inline double add_factor(fuseplanDataType_t type) { return is_integer(type) ? 2 : -0.75; }

/// Of batch normalisations.
inline constexpr double kNormEpsilon = 1e-5;

/// How that solver rounds f32 for tensor cores, where it multiplies on them.
Tf32 rounding_of(std::string_view solver);

/// Parameters of an activation that make its formula do something.
ActivationParameters usual_parameters(fuseplanActivationMode_t mode);

}  // namespace fuseplan::driver
