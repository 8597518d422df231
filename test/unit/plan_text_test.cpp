// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "base/status.hpp"
#include "random_problem.hpp"

namespace fuseplan {
namespace {

using test::Random;

TEST(PlanText, SpellsAProblemInOneLine) {
  Op conv{ConvOp{{{1, 1}, {1, 1}, {2, 2}, {1, 1}}, parse_tensor("f16:8x4x3x3:nhwc")}, {}};
  Op relu{ActivationOp{Activation::RELU}, {.alpha = true, .beta = true}};
  const Problem problem(parse_tensor("f16:1x4x9x9:nhwc"), {conv, relu});
  EXPECT_EQ(to_text(problem),
            "f16:1x4x9x9:nhwc;"
            "conv(f16:8x4x3x3:nhwc,pad=1x1,stride=2x2,dilation=1x1,groups=1);"
            "activation(relu,alpha,beta)->f16:1x8x5x5:nhwc");
}

TEST(PlanText, DefaultsMayBeLeftOut) {
  EXPECT_EQ(parse_problem("f32:1x4x9x9;conv(f32:8x4x3x3)"),
            parse_problem("f32:1x4x9x9:nchw;conv(f32:8x4x3x3:nchw,pad=0x0,pad_hi=0x0,stride=1x1,"
                          "dilation=1x1,groups=1)->f32:1x8x7x7:nchw"));
}

TEST(PlanText, ReadsBackEveryProblem) {
  Random random(1);
  int convolutions = 0, strided = 0, three_dimensional = 0;
  for (int i = 0; i < 1000; ++i) {
    const Problem problem = test::random_problem(random, 6);
    const std::string text = to_text(problem);
    SCOPED_TRACE(text);
    const Problem again = parse_problem(text);
    ASSERT_EQ(again, problem);
    ASSERT_EQ(to_text(again), text);
    convolutions += problem.conv() != nullptr;
    strided += problem.input().layout() == Layout::strided;
    three_dimensional += problem.input().spatial() == 3;
  }
  EXPECT_GT(convolutions, 150);
  EXPECT_GT(strided, 150);
  EXPECT_GT(three_dimensional, 150);
}

TEST(PlanText, UnequalProblemsHaveUnequalTexts) {
  const char* texts[] = {
      "f32:1x4x9x9;conv(f32:8x4x3x3)",
      "f32:1x4x9x9;conv(f32:8x4x3x3,strict)",
      "f32:1x4x9x9;conv(f32:8x4x3x3,deterministic)",
      "f32:1x4x9x9;conv(f32:8x4x3x3,alpha)",
      "f32:1x4x9x9;conv(f32:8x4x3x3,beta)",
      "f32:1x4x9x9;conv(f32:8x4x3x3,pad=1x1)",
      "f32:1x4x9x9;conv(f32:8x4x3x3,pad=1x1,pad_hi=0x1)",
      "f32:1x4x9x9;conv(f32:8x4x3x3:nhwc)",
      "f32:1x4x9x9:s400,1,40,4;conv(f32:8x4x3x3)",
      "f32:1x4x9x9;conv(f32:8x4x3x3)->f16:1x8x7x7",
  };
  for (const char* a : texts)
    for (const char* b : texts) {
      SCOPED_TRACE(std::string(a) + " and " + b);
      EXPECT_EQ(parse_problem(a) == parse_problem(b), a == b);
      EXPECT_EQ(to_text(parse_problem(a)) == to_text(parse_problem(b)), a == b);
    }
}

TEST(PlanText, ErrorsNameThePiece) {
  constexpr struct {
    const char *text, *piece;
  } kCases[] = {
      {"", "\"\""},
      {"f32", "\"f32\""},
      {"f33:1x4x9x9;activation(relu)", "\"f33\""},
      {"f32:1x4xx9;activation(relu)", "\"1x4xx9\""},
      {"f32:1x4x9x9x9x9;activation(relu)", "\"1x4x9x9x9x9\""},
      {"f32:99999999999999999999;activation(relu)", "\"99999999999999999999\""},
      {"f32:1x4x9x9:nchv;activation(relu)", "\"nchv\""},
      {"f32:1x4x9x9:s1,2,3,;activation(relu)", "\"1,2,3,\""},
      {"f32:1x4;", "\"\""},
      {"f32:1x4;activation(relu", "\"activation(relu\""},
      {"f32:1x4;relu", "\"relu\""},
      {"f32:1x4;pool(relu)", "\"pool\""},
      {"f32:1x4;activation()", "\"activation()\" is missing the activation's name"},
      {"f32:1x4;activation(swish)", "\"swish\""},
      {"f32:1x4;activation(relu,gamma)", "\"gamma\""},
      {"f32:1x4;bias()", "bias tensor"},
      {"f32:1x4;add()", "added tensor"},
      {"f32:1x4;scale_shift()", "scale and shift"},
      {"f32:1x4;norm_backward(spatial,f32:4,f32:1x4,running)", "running)\""},
      {"f32:1x4;norm(temporal,f32:4)", "\"temporal\""},
      {"f32:1x4;norm(spatial)", "\"norm(spatial)\" is missing the parameters' tensor"},
      {"f32:1x4x9x9;conv()", "\"conv()\" is missing its weights"},
      {"f32:1x4x9x9;conv(f32:8x4x3x3,pad=)", "\"\""},
      {"f32:1x4x9x9;conv(f32:8x4x3x3,pad=axb)", "\"axb\""},
      {"f32:1x4x9x9;conv(f32:8x4x3x3,pad=1x1,pad=1x1)", "\"pad=1x1\""},
      {"f32:1x4x9x9;conv(f32:8x4x3x3,groups=1x1)", "\"1x1\""},
      {"f32:1x4x9x9;conv(f32:8x4x3x3,padding=1x1)", "\"padding=1x1\""},
      {"f32:1x4;activation(relu)->", "\"\""},
  };
  for (const auto& [text, piece] : kCases) {
    SCOPED_TRACE(text);
    try {
      parse_problem(text);
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::InvalidValue) << error.what();
      EXPECT_NE(std::string(error.what()).find(piece), std::string::npos) << error.what();
    }
  }
}

TEST(PlanText, DamagedTextsNeverDoMoreThanThrow) {
  Random random(2);
  constexpr std::string_view kLetters = "0123456789x:;,()->=sfnchwaddbiasconv";
  int accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = to_text(test::random_problem(random, 3));
    for (std::int64_t damage = random.between(1, 3); damage > 0; --damage)
      text[static_cast<std::size_t>(random.between(0, std::ssize(text) - 1))] =
          kLetters[static_cast<std::size_t>(random.between(0, std::ssize(kLetters) - 1))];
    try {
      const Problem problem = parse_problem(text);
      ASSERT_EQ(parse_problem(to_text(problem)), problem) << text;
      ++accepted;
    } catch (const Error& error) {
      ASSERT_STRNE(error.what(), "");
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace fuseplan
