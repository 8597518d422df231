// SPDX-License-Identifier: MIT
// Where an output may lie beside what a plan reads, byte by byte. Nothing is read or written there.
#include "run/arguments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/status.hpp"
#include "expr/passes.hpp"

namespace fuseplan {
namespace {

/// A plan's tensors, each alone in a gigabyte.
class Placed {
 public:
  explicit Placed(const std::string& text, std::initializer_list<Role> missing = {})
      : variant_(variant_of(parse_problem(text))) {
    const SplitChain& chain = variant_.chain;
    if (const ConvOp* conv = variant_.problem.conv()) place({0, Role::weights, conv->weights});
    for (const auto* operands : {&chain.channels_in, &chain.elements})
      for (const Operand& operand : *operands)
        if (!is_computed(operand.role)) place(operand);
    for (const Operand& operand : chain.results)
      if (std::ranges::find(missing, operand.role) == missing.end()) place(operand, true);
    for (const Operand& operand : chain.scalars)
      if (operand.role != Role::alpha && operand.role != Role::beta)
        ops_[operand.op].scalars.push_back({operand.role, 1.5});
    for (auto& [op, arguments] : ops_) {
      arguments.kind = "set";
      args_.set(op, arguments);
    }
  }

  struct Argument {
    Operand operand;
    std::int64_t address;
  };
  const std::vector<Argument>& arguments() const { return arguments_; }
  std::int64_t input() const { return kInput; }
  std::int64_t output_bytes() const {
    return static_cast<std::int64_t>(variant_.problem.output().bytes());
  }
  std::int64_t element() const {
    return static_cast<std::int64_t>(size_of(variant_.problem.output().dtype));
  }

  /// What is wrong with an output there, or nothing.
  std::string refusal(std::int64_t output) const {
    try {
      const ResolvedArguments resolved(variant_, args_);
      check_overlap(variant_, at(kInput), at(output), resolved);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  static constexpr std::int64_t kRoom = 1 << 30, kInput = kRoom;
  static Variant variant_of(const Problem& problem) {
    const SplitChain chain = optimize(lower(problem), {});
    return {problem, problem, chain, footprint_of(problem, chain), {}, {}, nullptr, "", false, 0};
  }
  static void* at(std::int64_t address) { return reinterpret_cast<void*>(address); }

  // By the launch, for its own second pass.
  static bool is_computed(Role role) {
    return role == Role::batch_mean || role == Role::batch_inv_deviation ||
           role == Role::gradient_mean || role == Role::gradient_projection;
  }

  void place(const Operand& operand, bool is_result = false) {
    const std::int64_t address = kRoom * (3 + std::ssize(arguments_));
    arguments_.push_back({operand, address});
    OpArgs& op = ops_[operand.op];
    if (is_result) {
      op.results.push_back({operand.role, at(address)});
    } else {
      op.pointers.push_back({operand.role, at(address)});
    }
  }

  Variant variant_;
  std::map<int, OpArgs> ops_;
  Args args_;
  std::vector<Argument> arguments_;
};

struct Plan {
  const char* text;
  std::initializer_list<Role> missing;
};

// Tensors of several sizes, in all kinds of arguments.
const Plan kPlans[] = {
    {"f32:2x20x9x8:nchw;conv(f32:12x20x3x3);bias(f32:1x12x1x1);norm(per_activation,f32:1x12x7x6);"
     "add(f32:2x12x7x6:nhwc);add(f32:1x12x1x1)",
     {}},
    {"f16:3x10x5x5:nhwc;norm_training(spatial,f32:1x10x1x1,running);activation(relu)",
     {Role::saved_mean}},
    {"f32:3x10x5x5:nchw;norm_training(per_activation,f32:1x10x5x5)", {}},
    {"bf16:3x10x5x5:nchw;activation_backward(tanh,bf16:3x10x5x5:nchw);scale_shift(f32:1x10x1x1)",
     {}},
    {"f32:4x6x5x5:nhwc;norm_backward(spatial,f32:1x6x1x1,f32:4x6x5x5:nhwc)",
     {Role::scale_gradient}},
};

TEST(OutputPlace, MayTouchButNotShareAnyArgument) {
  for (const auto& [text, missing] : kPlans) {
    SCOPED_TRACE(text);
    const Placed plan(text, missing);
    const std::int64_t element = plan.element(), output = plan.output_bytes();
    EXPECT_EQ(plan.refusal(std::int64_t{1} << 40), "");
    for (const auto& [operand, address] : plan.arguments()) {
      const auto bytes = static_cast<std::int64_t>(operand.tensor.bytes());
      const std::string name =
          std::string(name_of(operand.role)) + " of op " + std::to_string(operand.op) + " (";
      SCOPED_TRACE(name);
      for (const std::int64_t shared : {address - output + element, address + bytes - element})
        EXPECT_NE(plan.refusal(shared).find(name), std::string::npos) << plan.refusal(shared);
      for (const std::int64_t touching : {address - output, address + bytes})
        EXPECT_EQ(plan.refusal(touching), "");
    }
  }
}

TEST(OutputPlace, MayBeThatOfWhatIsReadByElement) {
  int in_place = 0;
  for (const auto& [text, missing] : kPlans) {
    SCOPED_TRACE(text);
    const Placed plan(text, missing);
    const Problem problem = parse_problem(text);
    EXPECT_EQ(plan.refusal(plan.input()).empty(), problem.conv() == nullptr);
    EXPECT_NE(plan.refusal(plan.input() + plan.element()), "");
    for (const auto& [operand, address] : plan.arguments()) {
      const bool by_element = operand.role == Role::other || operand.role == Role::source;
      const bool allowed = by_element && operand.tensor == problem.output();
      EXPECT_EQ(plan.refusal(address).empty(), allowed) << name_of(operand.role);
      in_place += allowed;
    }
  }
  EXPECT_EQ(in_place, 2);
}

TEST(OutputPlace, MayBeThatOfAResidualInItsOwnLayoutOnly) {
  const auto at_residual = [](const std::string& residual) {
    const Placed plan("f32:2x20x9x8:nhwc;conv(f32:12x20x3x3);add(" + residual + ")");
    return plan.refusal(plan.arguments().back().address);
  };
  EXPECT_EQ(at_residual("f32:2x12x7x6:nhwc"), "");
  EXPECT_NE(at_residual("f32:2x12x7x6:nchw"), "");
  EXPECT_NE(at_residual("f16:2x12x7x6:nhwc"), "");
  EXPECT_NE(at_residual("f32:1x12x7x6:nhwc"), "");
}

}  // namespace
}  // namespace fuseplan
