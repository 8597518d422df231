// SPDX-License-Identifier: MIT
// What the peer says of libraries it cannot use, of chains cuDNN has no nodes for, and of what
// cuDNN refuses; and that the library which stands in for it is as strict as cuDNN.
#include <set>

#include "driver/cudnn/session.hpp"
#include "driver/problem_list.hpp"
#include "fake_library.hpp"

namespace fuseplan::driver {
namespace {

using testing::Test;

bool contains(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

class CudnnRefusals : public WithFakeCudnn {};

TEST_F(CudnnRefusals, NoLibrary) {
  use("/nowhere/libcudnn.so.9");
  EXPECT_TRUE(contains(refusal_of([] { CudnnBackend(); }), "/nowhere/libcudnn.so.9: cannot open"));
  EXPECT_TRUE(
      contains(refusal_of([] { CudnnSession(nullptr); }), "/nowhere/libcudnn.so.9: cannot open"));
}

TEST_F(CudnnRefusals, TooOld) {
  setenv("FUSEPLAN_FAKE_CUDNN", "8907", 1);
  const std::string said = refusal_of([] { CudnnBackend(); });
  EXPECT_TRUE(contains(said, " is cuDNN 8.9.7: its graph API is used from 9.0 on")) << said;
  EXPECT_TRUE(contains(said, FUSEPLAN_FAKE_CUDNN_LIBRARY)) << said;
}

TEST_F(CudnnRefusals, MissingFunctions) {
  use("libm.so.6");
  const std::string said = refusal_of([] { CudnnBackend(); });
  EXPECT_TRUE(contains(said, "libm.so.6 lacks cudnnGetVersion")) << said;
}

TEST_F(CudnnRefusals, Versions) {
  EXPECT_EQ(cudnn_version_text(91900), "9.19.0");
  EXPECT_EQ(cudnn_version_text(91902), "9.19.2");
  EXPECT_EQ(cudnn_version_text(8907), "8.9.7");
  EXPECT_EQ(CudnnSession(nullptr).version(), "9.19.0");
}

std::string chain_refusal(const std::string& text, const std::string& chain) {
  ProblemSpec problem = parse_problem(text);
  append_chain(problem, chain, true);
  return refusal_of([&] { graph_of(problem); });
}

TEST_F(CudnnRefusals, Chains) {
  const std::string image = "f32:2x4x5x5:nhwc;activation(relu)";
  EXPECT_EQ(chain_refusal(image, "norm(per_activation)"),
            "cuDNN's graph is asked for parameters of channels only");
  EXPECT_TRUE(contains(chain_refusal(image, "norm_training"), "cuDNN's graph is not asked for "));
  EXPECT_EQ(chain_refusal(image, "activation(tanh)"),
            "cuDNN's tanh has no factors, and this one has");
  EXPECT_EQ(chain_refusal("f32:2x4x5:nchw;activation(relu)", ""),
            "cuDNN's graph is asked for tensors of 4 or 5 axes");
  EXPECT_EQ(chain_refusal("u8:2x4x5x5:nhwc;activation(relu)", ""),
            "cuDNN's graph is asked for f32, f16 and bf16 only");
}

/// A graph's choice by the fake: `seconds` says how long each takes.
GraphChoice choose(const ProblemSpec& problem, GraphNumbers numbers, const PlanTimer& seconds) {
  static const CudnnBackend backend;
  static const CudnnSession session(nullptr);
  return choose_plan(backend, {session.handle(), nullptr}, graph_of(problem), numbers, seconds);
}

const ProblemSpec& small_problem(bool last) {
  static const ProblemSpec problems[] = {
      parse_problem("f32:1x4x4x4:nchw;conv(f32:4x4x1x1:nchw);norm(spatial,f32:1x4x1x1)"),
      parse_problem("f32:1x4x4x4:nhwc;conv(f32:4x4x1x1:nhwc);norm(spatial,f32:1x4x1x1)")};
  return problems[last ? 1 : 0];
}

TEST_F(CudnnRefusals, NoEngine) {
  EXPECT_EQ(refusal_of([] {
              choose(small_problem(false), GraphNumbers::any, [](const CudnnPlan&) { return 1.0; });
            }),
            "cuDNN has no engine for the graph");
}

TEST_F(CudnnRefusals, NoEngineThatRuns) {
  const std::string said = refusal_of([] {
    choose(small_problem(true), GraphNumbers::any,
           [](const CudnnPlan&) -> double { throw std::runtime_error("the device is on fire"); });
  });
  EXPECT_EQ(said, "the device is on fire");
}

// The first that is built runs once, and never again.
TEST_F(CudnnRefusals, NoEngineThatRunsTwice) {
  std::set<const CudnnPlan*> seen;
  const std::string said = refusal_of([&] {
    choose(small_problem(true), GraphNumbers::any, [&](const CudnnPlan& plan) -> double {
      if (seen.insert(&plan).second && seen.size() == 1) return 1;
      throw std::runtime_error("once is enough");
    });
  });
  EXPECT_EQ(said, "once is enough");
}

TEST_F(CudnnRefusals, TheFastestPlanWins) {
  // Of five proposals one cannot be built; the clock says that each that can is slower than the
  // last.
  std::size_t calls = 0;
  double longest = 100;
  const GraphChoice choice = choose(small_problem(true), GraphNumbers::any, [&](const CudnnPlan&) {
    ++calls;
    return longest -= 1;
  });
  EXPECT_EQ(calls, 4u * 3);
  EXPECT_EQ(choice.text,
            "engine 8, knobs 24=1, compiled at run time, workspace 0 KiB; the fastest of 4 tried, "
            "heuristic A proposes 5");
  EXPECT_GT(choice.times.build_us, 0);
  EXPECT_TRUE(choice.times.load_us);
  double shortest = 0;
  EXPECT_TRUE(choose(small_problem(true), GraphNumbers::any, [&](const CudnnPlan&) {
                return shortest += 1;
              }).text.starts_with("engine 7, knobs 24=28,"));
  EXPECT_TRUE(choose(small_problem(true), GraphNumbers::no_tensor_cores, [&](const CudnnPlan&) {
                return shortest += 1;
              }).text.starts_with("engine 8, knobs 24=0,"));
}

class FakeCudnn : public WithFakeCudnn {
 protected:
  const CudnnBackend backend_;
};

TEST_F(FakeCudnn, MissesWhatIsNotSet) {
  CudnnDescriptor tensor(backend_, CudnnObjectKind::tensor);
  tensor.set(CudnnAttribute::tensor_id, std::int64_t{1});
  const std::string said = refusal_of([&] { tensor.finalize("finalising a tensor"); });
  EXPECT_EQ(said,
            "finalising a tensor: CUDNN_STATUS_BAD_PARAM: attribute 900 of kind 17 is not set");
}

TEST_F(FakeCudnn, RefusesWhatIsNotFinalised) {
  CudnnDescriptor mode(backend_, CudnnObjectKind::pointwise);
  CudnnDescriptor operation(backend_, CudnnObjectKind::pointwise_operation);
  EXPECT_TRUE(
      contains(refusal_of([&] { operation.set(CudnnAttribute::operation_pointwise, mode); }),
               "NOT_FINALIZED: attribute 750 of kind 13 is not finalised"));
}

TEST_F(FakeCudnn, RefusesOtherElementsKindsAndCounts) {
  CudnnDescriptor tensor(backend_, CudnnObjectKind::tensor);
  EXPECT_TRUE(contains(refusal_of([&] { tensor.set(CudnnAttribute::tensor_id, 1.0); }),
                       "another element type"));
  EXPECT_TRUE(contains(refusal_of([&] { tensor.set(CudnnAttribute::forward_alpha, 1.0); }),
                       "there is no attribute 700 of kind 17"));
  const std::int64_t lens[] = {1, 2};
  EXPECT_TRUE(contains(refusal_of([&] { tensor.set(CudnnAttribute::tensor_lens, lens); }),
                       "another count"));
}

TEST_F(FakeCudnn, RefusesGraphsThatDoNotFit) {
  const CudnnSession session(nullptr);
  const ProblemSpec& problem = small_problem(true);
  GraphSpec spec = graph_of(problem);
  spec.tensors[spec.nodes[0].y].spec.lens[2] += 1;
  const auto make = [&] { CudnnGraph(backend_, {session.handle(), nullptr}, spec); };
  EXPECT_TRUE(contains(refusal_of(make), "a convolution whose output does not fit"));
  spec = graph_of(problem);
  spec.nodes[1].x = spec.nodes[1].y;
  EXPECT_TRUE(contains(refusal_of(make), "a virtual tensor that nothing has written"));
}

}  // namespace
}  // namespace fuseplan::driver
