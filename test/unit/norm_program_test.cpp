// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "base/memory.hpp"
#include "emit_kernel.hpp"
#include "expr/norm_stages.hpp"
#include "expr/passes.hpp"
#include "guarded_run.hpp"
#include "kernels/cpu/geometry.hpp"
#include "kernels/cpu/norm/recipe.hpp"
#include "support/element.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

/// A tensor of random values that begins or ends where the accessible memory does.
struct Data {
  Data(const Tensor& shape, double low, double high, End end, Random& random)
      : tensor(shape), memory(shape.bytes(), end) {
    for (std::size_t i = 0; i < count(); ++i) set(i, random.uniform(low, high));
  }
  std::size_t count() const { return tensor.bytes() / size_of(tensor.dtype); }
  std::byte* at(std::size_t i) const {
    return static_cast<std::byte*>(memory.data()) + i * size_of(tensor.dtype);
  }
  double get(std::size_t i) const {
    return load_element(static_cast<Element>(tensor.dtype), at(i), 0);
  }
  void set(std::size_t i, double value) const {
    store_element(static_cast<Element>(tensor.dtype), at(i), 0, value);
  }
  Tensor tensor;
  Guarded memory;
};

/// A plan with everything that it reads and writes.
class Plan {
 public:
  Plan(const std::string& text, End end, Random& random)
      : problem_(parse_problem(text)),
        chain_(optimize(lower(problem_), {})),
        stages_(*norm_stages(problem_, chain_)),
        input_(problem_.input(), -1, 1.5, end, random),
        output_(problem_.output(), -1, 1, end, random) {
    for (const auto* list : {&chain_.channels_in, &chain_.elements})
      for (const Operand& operand : *list) add(operand, end, random);
    for (const Operand& operand : chain_.results) add(operand, end, random);
  }

  /// The bytes of the output and of all results.
  std::vector<std::byte> run(cpu::Isa isa, int threads) {
    const auto config = cpu::norm_configs(problem_, chain_).front();
    const auto recipe = cpu::norm_recipe(problem_, chain_, isa, config);
    std::vector<std::unique_ptr<CodeMemory>> code;
    std::vector<const void*> entries;
    for (const cpu::Function& function : recipe->emit()) {
      code.push_back(std::make_unique<CodeMemory>(function.code));
      entries.push_back(code.back()->data());
    }
    std::vector<const void*> channels, elements;
    std::vector<void*> results;
    for (const Operand& o : chain_.channels_in) channels.push_back(pointer(o));
    for (const Operand& o : chain_.elements) elements.push_back(pointer(o));
    for (const Operand& o : chain_.results)
      results.push_back(is_running(o) ? nullptr : data(o.role).memory.data());
    const std::vector<double> scalars = scalar_values();
    recipe->bind(entries)->run({input_.memory.data(), output_.memory.data(), nullptr, channels,
                                elements, scalars, results, Parallel(threads)});
    std::vector<std::byte> all(output_.at(0), output_.at(0) + output_.tensor.bytes());
    for (const Operand& o : chain_.results) {
      if (is_running(o)) continue;
      const Data& result = data(o.role);
      all.insert(all.end(), result.at(0), result.at(0) + result.tensor.bytes());
    }
    return all;
  }

  void check_forward(double relative);
  void check_backward(double relative);

 private:
  bool is_computed(const Operand& operand) const {
    return operand.role == Role::batch_mean || operand.role == Role::batch_inv_deviation ||
           operand.role == Role::gradient_mean || operand.role == Role::gradient_projection;
  }
  /// Not given: they would go on from run to run.
  bool is_running(const Operand& operand) const {
    return operand.role == Role::running_mean || operand.role == Role::running_variance;
  }
  void add(const Operand& operand, End end, Random& random) {
    if (is_computed(operand)) return;
    const bool positive = operand.role == Role::saved_inv_variance;
    data_.emplace(std::piecewise_construct, std::forward_as_tuple(operand.role),
                  std::forward_as_tuple(operand.tensor, positive ? 0.5 : -1, 1.5, end, random));
  }
  const void* pointer(const Operand& operand) const {
    return is_computed(operand) ? nullptr : data(operand.role).memory.data();
  }
  const Data& data(Role role) const { return data_.at(role); }
  double scalar(Role role) const { return role == Role::epsilon ? 1e-3 : 0.25; }
  std::vector<double> scalar_values() const {
    std::vector<double> values;
    for (const Operand& operand : chain_.scalars) values.push_back(scalar(operand.role));
    return values;
  }
  /// f(offset, cell) for every element: where it lies, and the number of its statistics.
  template <typename F>
  void each(const F& f) const {
    const cpu::View view = cpu::view_of(problem_.input());
    const cpu::View cell = cpu::broadcast_view(stages_.statistics, problem_.input());
    for (std::int64_t i = 0; i < problem_.input().elements(); ++i) {
      std::int64_t rest = i, at = 0, number = 0;
      for (std::size_t axis = 5; axis-- > 0;) {
        at += rest % view.len[axis] * view.stride[axis];
        number += rest % view.len[axis] * cell.stride[axis];
        rest /= view.len[axis];
      }
      f(static_cast<std::size_t>(at), static_cast<std::size_t>(number));
    }
  }
  std::vector<double> zeros() const {
    return std::vector<double>(static_cast<std::size_t>(stages_.groups), 0.0);
  }

  Problem problem_;
  SplitChain chain_;
  NormStages stages_;
  Data input_, output_;
  std::map<Role, Data> data_;
};

/// Sums lose a few units in the last place, and values that cancel are as wrong as what they are
/// made of, which is of the order of 1.
void expect_near(double got, double expected, double relative, const char* what, std::size_t i) {
  EXPECT_NEAR(got, expected, relative * (1 + std::abs(expected))) << what << " " << i;
}

void Plan::check_forward(double relative) {
  const auto count = static_cast<double>(stages_.count);
  std::vector<double> mean = zeros(), variance = zeros();
  each([&](auto at, auto cell) { mean[cell] += input_.get(at) / count; });
  each([&](auto at, auto cell) {
    variance[cell] += (input_.get(at) - mean[cell]) * (input_.get(at) - mean[cell]) / count;
  });
  each([&](auto at, auto cell) {
    const double normal = (input_.get(at) - mean[cell]) / std::sqrt(variance[cell] + 1e-3);
    const double y = normal * data(Role::norm_scale).get(cell) + data(Role::norm_bias).get(cell);
    expect_near(output_.get(at), std::max(y, 0.0), relative, "y", at);
  });
  for (std::size_t i = 0; i < mean.size(); ++i) {
    expect_near(data(Role::saved_mean).get(i), mean[i], 1e-6, "mean", i);
    expect_near(data(Role::saved_inv_variance).get(i), 1 / std::sqrt(variance[i] + 1e-3), 3e-6,
                "inverse", i);
  }
}

void Plan::check_backward(double relative) {
  const auto count = static_cast<double>(stages_.count);
  std::vector<double> bias = zeros(), scale = zeros();
  const auto normal = [&](std::size_t at, std::size_t cell) {
    return (data(Role::source).get(at) - data(Role::saved_mean).get(cell)) *
           data(Role::saved_inv_variance).get(cell);
  };
  const auto gradient = [&](std::size_t at, std::size_t cell) {
    const double y =
        normal(at, cell) * data(Role::norm_scale).get(cell) + data(Role::norm_bias).get(cell);
    return y > 0 ? input_.get(at) : 0.0;
  };
  each([&](auto at, auto cell) {
    bias[cell] += gradient(at, cell);
    scale[cell] += gradient(at, cell) * normal(at, cell);
  });
  each([&](auto at, auto cell) {
    const double factor =
        data(Role::norm_scale).get(cell) * data(Role::saved_inv_variance).get(cell);
    const double dx =
        factor * (gradient(at, cell) - bias[cell] / count - normal(at, cell) * scale[cell] / count);
    expect_near(output_.get(at), dx, relative, "dx", at);
  });
  for (std::size_t i = 0; i < bias.size(); ++i) {
    expect_near(data(Role::bias_gradient).get(i), bias[i], 2e-6 * std::sqrt(count), "dbias", i);
    expect_near(data(Role::scale_gradient).get(i), scale[i], 2e-6 * std::sqrt(count), "dscale", i);
  }
}

struct Shape {
  const char *type, *dims, *layout, *cells;
};
constexpr Shape kShapes[] = {
    {"f32", "2x37x13x11", "nchw", "1x37x1x1"},   {"f32", "2x37x13x11", "nhwc", "1x37x1x1"},
    {"f16", "3x5x7x9", "nchw", "1x5x1x1"},       {"bf16", "3x5x7x9", "nhwc", "1x5x1x1"},
    {"f32", "4x5x7x9", "nchw", "1x5x7x9:nchw"},  {"f32", "4x21x7x9", "nhwc", "1x21x7x9:nhwc"},
    {"f32", "1x3x200x190", "nchw", "1x3x1x1"},   {"f32", "2x3x300x190", "nhwc", "1x3x1x1"},
    {"f32", "16x130x3x3", "nhwc", "1x130x1x1"},  {"f16", "9x300x9x9", "nhwc", "1x300x1x1"},
    {"f32", "2x6x3x5x7", "ncdhw", "1x6x1x1x1"},  {"bf16", "2x6x3x5x7", "ndhwc", "1x6x1x1x1"},
    {"f32", "40x1x9x9", "nchw", "1x1x1x1"},      {"f32", "5x70x1x1", "nchw", "1x70x1x1"},
    {"f16", "6x2x130x130", "nchw", "1x2x1x1"},   {"f32", "3x520x33x20", "nhwc", "1x520x1x1"},
    {"f32", "2x30x100x100", "nhwc", "1x30x1x1"}, {"f32", "8x9x60x60", "nchw", "1x9x60x60:nchw"},
};
double tolerance(const std::string& type) {
  return type == "f32" ? 1e-5 : type == "f16" ? 1e-3 : 8e-3;
}
std::string mode_of(const Shape& shape) {
  const std::string cells = shape.cells;
  const bool spatial = cells.find("x1x1") != std::string::npos;
  return std::string(spatial ? "spatial" : "per_activation") + ",f32:" + cells;
}

class NormProgram : public ::testing::TestWithParam<cpu::Isa> {};

TEST_P(NormProgram, ForwardAndBackward) {
  Random random(41);
  for (const Shape& shape : kShapes)
    for (const End end : {End::front, End::back}) {
      const std::string x = std::string(shape.type) + ":" + shape.dims + ":" + shape.layout,
                        mode = mode_of(shape);
      SCOPED_TRACE(x + " " + mode);
      Plan forward(x + ";norm_training(" + mode + ");activation(relu)", end, random);
      forward.run(GetParam(), 1);
      forward.check_forward(tolerance(shape.type));
      Plan backward(
          x + ";activation_backward(relu," + x + ");norm_backward(" + mode + "," + x + ")", end,
          random);
      backward.run(GetParam(), 1);
      backward.check_backward(tolerance(shape.type));
      if (HasFailure()) return;
    }
}

TEST_P(NormProgram, SameBitsForAnyNumberOfThreads) {
  Random random(42);
  for (const Shape& shape : kShapes) {
    const std::string x = std::string(shape.type) + ":" + shape.dims + ":" + shape.layout;
    SCOPED_TRACE(x);
    const std::string mode = mode_of(shape);
    for (const std::string& ops :
         {";norm_training(" + mode + ")", ";norm_backward(" + mode + "," + x + ")"}) {
      Plan plan(x + ops, End::back, random);
      const std::vector<std::byte> one = plan.run(GetParam(), 1);
      for (const int threads : {2, 3, 8}) ASSERT_EQ(plan.run(GetParam(), threads), one);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, NormProgram, ::testing::ValuesIn(vector_isas()),
                         [](const auto& info) { return cpu::name_of(info.param); });

}  // namespace
}  // namespace fuseplan::test
