// SPDX-License-Identifier: MIT
// Expressions that take over the register of a leaf, with few registers: values wait on the stack,
// the leaf's among them.
#include <gtest/gtest.h>

#include <array>

#include "emit_kernel.hpp"
#include "expr/readers.hpp"
#include "kernels/cpu/emit/expr_code.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

using cpu::Isa;
using cpu::VectorCode;

/// Hands the input's register over, and has no other way to get at it.
class GivenInput final : public cpu::LeafSource {
 public:
  explicit GivenInput(int reg) : reg_(reg) {}
  std::optional<int> take(const Node& leaf) override {
    if (leaf.leaf != Leaf::input) return std::nullopt;
    EXPECT_FALSE(taken_) << "the register is asked for twice";
    taken_ = true;
    return reg_;
  }
  void load(const cpu::Vec&, const Node&) override {
    ADD_FAILURE() << "a leaf is loaded that only its register holds";
  }

 private:
  int reg_;
  bool taken_ = false;
};

/// Sums, differences and bounds of small integers, which f32 has exactly: of the input, constants
/// and one another, so that many of them are alive at once.
Expr random_expression(Random& random) {
  constexpr Fn kFunctions[] = {Fn::add_, Fn::sub_, Fn::max_, Fn::min_};
  Expr expr;
  expr.graph.leaf(Leaf::input);
  for (int i = 1; i <= 3; ++i) expr.graph.constant(i);
  const Ref calls = static_cast<Ref>(random.between(1, 18));
  for (Ref i = 0; i < calls; ++i) {
    const auto any = [&] { return static_cast<Ref>(random.between(0, expr.graph.size() - 1)); };
    const Ref a = any(), b = i % 3 == 0 ? 0 : any();
    expr.graph.call(kFunctions[random.between(0, 3)], a, b);
  }
  // All that is used nowhere, at once: the later half of the calls waits for it.
  Ref sum = expr.graph.size() - 1;
  for (Ref i = 4; i < expr.graph.size() && i < 4 + calls; i += 2)
    sum = expr.graph.call(Fn::max_, sum, i);
  expr.roots = {sum};
  return compact(expr);
}

bool reads_input(const Expr& expr) {
  for (Ref i = 0; i < expr.graph.size(); ++i)
    if (expr.graph[i].leaf == Leaf::input) return true;
  return false;
}

std::vector<float> computed(Isa isa, const Expr& expr, std::size_t registers,
                            const std::vector<float>& x) {
  VectorCode code(isa);
  while (code.vectors().free() > registers) code.vectors().take();
  const std::size_t before = code.vectors().free();
  code.enter();
  const int reg = code.vectors().take();
  code.vmovups(code.vec(reg), code.ptr[code.rdi]);
  GivenInput leaves(reg);
  emit_expr(code, expr, leaves,
            [&](std::size_t, const cpu::Vec& value) { code.vmovups(code.ptr[code.rsi], value); });
  code.leave();
  EXPECT_EQ(code.vectors().free(), before);
  const CodeMemory memory(code.finish());
  std::vector<float> y(x.size());
  reinterpret_cast<void (*)(const float*, float*)>(reinterpret_cast<std::uintptr_t>(memory.data()))(
      x.data(), y.data());
  return y;
}

TEST(EmitTake, TakesTheInputsRegisterWithAnyNumberOfOthers) {
  Random random;
  int expressions = 0;
  for (const Isa isa : vector_isas())
    for (int turn = 0; turn < 300; ++turn) {
      const Expr expr = random_expression(random);
      if (!reads_input(expr)) continue;
      ++expressions;
      std::vector<float> x(static_cast<std::size_t>(cpu::lanes_of(isa)));
      for (float& value : x) value = static_cast<float>(random.between(-8, 8));
      for (const std::size_t registers : {4, 5, 7, 12}) {
        const std::vector<float> y = computed(isa, expr, registers, x);
        for (std::size_t lane = 0; lane < x.size(); ++lane) {
          LeafValues value;
          value.input = x[lane];
          ASSERT_EQ(y[lane], evaluate(expr, value).front())
              << to_text(expr) << " of " << x[lane] << ", " << registers << " registers, "
              << cpu::name_of(isa) << ", seed " << test_seed();
        }
      }
    }
  EXPECT_GT(expressions, 200);
}

}  // namespace
}  // namespace fuseplan::test
