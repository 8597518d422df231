// SPDX-License-Identifier: MIT
// Each of the peer's calls of cuDNN may fail: that is said in words, or another of cuDNN's
// proposals is taken and computes the same, and nothing is left behind.
#include <dlfcn.h>

#include <functional>

#include "driver/cudnn/transposition.hpp"
#include "fake_control.hpp"
#include "host_run.hpp"

namespace fuseplan::driver {
namespace {

const fake_cudnn::Control& control() {
  static const fake_cudnn::Control& found = *[] {
    void* library = dlopen(FUSEPLAN_FAKE_CUDNN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<decltype(&fuseplan_fake_cudnn_control)>(
        dlsym(library, "fuseplan_fake_cudnn_control"))();
  }();
  return found;
}

struct Outcomes {
  long calls = 0;  ///< of cuDNN, where none fails
  long refused = 0;
};

/// Runs `role` once as it is, and once with each call failing; it checks what it has computed.
Outcomes with_each_call_failing(const std::function<void()>& role) {
  const long before = control().calls(), living = control().living();
  role();
  Outcomes outcomes;
  outcomes.calls = control().calls() - before;
  EXPECT_EQ(control().living(), living);
  for (long number = 1; number <= outcomes.calls; ++number) {
    SCOPED_TRACE("call " + std::to_string(number) + " of " + std::to_string(outcomes.calls));
    control().fail_call(number);
    try {
      role();
    } catch (const std::exception& error) {
      ++outcomes.refused;
      EXPECT_NE(std::string(error.what()).find(": CUDNN_STATUS_INTERNAL_ERROR"), std::string::npos)
          << error.what();
    }
    control().fail_call(0);
    EXPECT_EQ(control().living(), living);
    if (testing::Test::HasFailure()) break;
  }
  return outcomes;
}

class CudnnFailures : public WithFakeCudnn {};

TEST_F(CudnnFailures, OfGraphs) {
  Case data(
      parse_problem("f32:1x3x4x5:nhwc;conv(f32:2x3x3x3:nhwc,pad=1x1);norm(spatial,f32:1x2x1x1);"
                    "activation(silu)"));
  const Outcomes outcomes = with_each_call_failing([&] {
    data.reset_output();
    const test::Comparison comparison = run_on_host(data, {}, GraphNumbers::no_tensor_cores);
    EXPECT_TRUE(comparison.ok()) << comparison.describe();
  });
  // A session, nine tensors and five operations of what must be there; the rest is of proposals, of
  // which there are others, but for the last execution.
  EXPECT_GT(outcomes.refused, 60);
  EXPECT_GT(outcomes.calls, 3 * outcomes.refused);
}

TEST_F(CudnnFailures, OfTranspositions) {
  const Dims lens{2, 3, 4, 5};
  const TensorSpec first = packed(fuseplanHalf, lens, false),
                   last = packed(fuseplanHalf, lens, true);
  test::HostTensor x(test::Element::f16, first.lens, first.strides);
  test::Random(1).fill(x);
  const Outcomes outcomes = with_each_call_failing([&] {
    test::HostTensor y(test::Element::f16, last.lens, last.strides);
    const CudnnSession session(nullptr);
    CudnnTransposition(session.handle()).run(first, x.data(), last, y.data());
    EXPECT_EQ(y.values(), x.values());
  });
  EXPECT_EQ(outcomes.calls, 7);
  EXPECT_EQ(outcomes.refused, 7);
}

}  // namespace
}  // namespace fuseplan::driver
