// SPDX-License-Identifier: MIT
// A small residual network, the way frameworks run one: for each convolution with batch
// normalisation and RELU it tries one plan for all three, then the convolution alone and a plan for
// the other two, then everything by itself. Each layer is checked from what it really read.
#include <map>
#include <string>

#include "client.hpp"

using namespace fuseplan::test;

namespace {

/// Parameters of a convolution and the normalisation behind it.
struct Block {
  Block(Random& random, int in, int out, int size, int stride_)
      : w(Element::f32, {out, in, size, size}),
        scale(Element::f32, {1, out, 1, 1}),
        bias(scale),
        mean(scale),
        variance(scale),
        stride(stride_) {
    random.fill(w, -0.3, 0.3);
    random.fill(scale, 0.5, 1.5);
    random.fill(bias, -0.5, 0.5);
    random.fill(mean, -0.5, 0.5);
    random.fill(variance, 0.5, 1.5);
  }
  int pad() const { return static_cast<int>(w.dims()[2]) / 2; }
  HostTensor w, scale, bias, mean, variance;
  int stride;
};
constexpr double kEpsilon = 1e-5;

class Network {
 public:
  Network() {
    CLIENT_CHECK(miopenCreate(&handle_));
    CLIENT_CHECK(miopenCreateActivationDescriptor(&relu_));
    CLIENT_CHECK(miopenSetActivationDescriptor(relu_, miopenActivationRELU, 0, 0, 0));
    CLIENT_CHECK(miopenCreateOperatorArgs(&args_));
  }
  ~Network() {
    CLIENT_CHECK(miopenDestroyOperatorArgs(args_));
    CLIENT_CHECK(miopenDestroyActivationDescriptor(relu_));
    CLIENT_CHECK(miopenDestroy(handle_));
  }

  HostTensor conv_norm(const HostTensor& x, const Block& block, bool relu, const char* name) {
    HostTensor y = convolution_output(x, block);
    if (!fused_all(x, block, relu, y)) {
      convolve(x, block, y);
      HostTensor normalised = y;
      if (!fused_norm(y, block, relu, normalised)) separate_norm(y, block, relu, normalised);
      y = std::move(normalised);
    }
    std::vector<Step> steps{
        {Convolution{&block.w,
                     {block.stride, block.stride},
                     {1, 1},
                     {block.pad(), block.pad()},
                     {block.pad(), block.pad()}}},
        {BatchNorm{&block.scale, &block.bias, &block.mean, &block.variance, kEpsilon}}};
    if (relu) steps.push_back({Activation{Mode::RELU}});
    expect_right(y, run_reference(x, steps), name);
    return y;
  }

  /// relu(a + b)
  HostTensor join(HostTensor a, const HostTensor& b, const char* name) {
    const HostTensor before = a;
    const Descs desc{new_desc(a)};
    const float one = 1, zero = 0;
    CLIENT_CHECK(miopenOpTensor(handle_, miopenTensorOpAdd, &one, desc[0], a.data(), &one, desc[0],
                                b.data(), &zero, desc[0], a.data()));
    CLIENT_CHECK(
        miopenActivationForward(handle_, relu_, &one, desc[0], a.data(), &zero, desc[0], a.data()));
    expect_right(a, run_reference(before, std::vector<Step>{{Add{&b}}, {Activation{Mode::RELU}}}),
                 name);
    return a;
  }

  HostTensor pool(const HostTensor& x, miopenPoolingMode_t mode, int window, int pad, int stride) {
    miopenPoolingDescriptor_t pooling;
    int n, c, h, w;
    const float one = 1, zero = 0;
    CLIENT_CHECK(miopenCreatePoolingDescriptor(&pooling));
    CLIENT_CHECK(
        miopenSet2dPoolingDescriptor(pooling, mode, window, window, pad, pad, stride, stride));
    const Descs x_desc{new_desc(x)};
    CLIENT_CHECK(miopenGetPoolingForwardOutputDim(pooling, x_desc[0], &n, &c, &h, &w));
    HostTensor y(x.type(), {n, c, h, w});
    const Descs y_desc{new_desc(y)};
    CLIENT_CHECK(miopenPoolingForward(handle_, pooling, &one, x_desc[0], x.data(), &zero, y_desc[0],
                                      y.data(), false, nullptr, 0));
    CLIENT_CHECK(miopenDestroyPoolingDescriptor(pooling));
    return y;
  }

  HostTensor softmax(const HostTensor& x) {
    HostTensor y = x.like();
    const Descs desc{new_desc(x)};
    const float one = 1, zero = 0;
    CLIENT_CHECK(miopenSoftmaxForward(handle_, &one, desc[0], x.data(), &zero, desc[0], y.data()));
    return y;
  }

  /// A convolution by whatever Find measures as fastest.
  void convolve(const HostTensor& x, const Block& block, HostTensor& y) {
    const Descs desc{new_desc(x), new_desc(block.w), new_desc(y)};
    const auto conv = new_conv(block);
    miopenConvAlgoPerf_t best;
    int found = 0;
    std::size_t bytes = 0;
    const float one = 1, zero = 0;
    CLIENT_CHECK(
        miopenConvolutionForwardGetWorkSpaceSize(handle_, desc[1], desc[0], conv, desc[2], &bytes));
    std::vector<char> workspace(bytes);
    CLIENT_CHECK(miopenFindConvolutionForwardAlgorithm(
        handle_, desc[0], x.data(), desc[1], block.w.data(), conv, desc[2], y.data(), 1, &found,
        &best, workspace.data(), bytes, false));
    CLIENT_EXPECT(found == 1);
    CLIENT_CHECK(miopenConvolutionForward(handle_, &one, desc[0], x.data(), desc[1], block.w.data(),
                                          conv, best.fwd_algo, &zero, desc[2], y.data(),
                                          workspace.data(), bytes));
    CLIENT_CHECK(miopenDestroyConvolutionDescriptor(conv));
  }

 private:
  /// Tensor descriptors for the length of a block.
  struct Descs : std::vector<miopenTensorDescriptor_t> {
    using std::vector<miopenTensorDescriptor_t>::vector;
    Descs(const Descs&) = delete;
    ~Descs() {
      for (const auto desc : *this) CLIENT_CHECK(miopenDestroyTensorDescriptor(desc));
    }
  };

  static miopenConvolutionDescriptor_t new_conv(const Block& block) {
    miopenConvolutionDescriptor_t conv;
    CLIENT_CHECK(miopenCreateConvolutionDescriptor(&conv));
    CLIENT_CHECK(miopenInitConvolutionDescriptor(conv, miopenConvolution, block.pad(), block.pad(),
                                                 block.stride, block.stride, 1, 1));
    return conv;
  }

  static HostTensor convolution_output(const HostTensor& x, const Block& block) {
    const Descs desc{new_desc(x), new_desc(block.w)};
    const auto conv = new_conv(block);
    int n, c, h, w;
    CLIENT_CHECK(miopenGetConvolutionForwardOutputDim(conv, desc[0], desc[1], &n, &c, &h, &w));
    CLIENT_CHECK(miopenDestroyConvolutionDescriptor(conv));
    return {x.type(), {n, c, h, w}};
  }

  /// Appends and sets normalisation and RELU as ops `first` and `first` + 1, compiles and runs.
  bool finish(miopenFusionPlanDescriptor_t plan, const Block& block, bool relu, const HostTensor& x,
              HostTensor& y) {
    const Descs desc{new_desc(x), new_desc(y)};
    Descs derived(1);
    miopenFusionOpDescriptor_t norm, act;
    const float one = 1, zero = 0;
    CLIENT_CHECK(miopenCreateTensorDescriptor(&derived[0]));
    CLIENT_CHECK(miopenDeriveBNTensorDescriptor(derived[0], desc[1], miopenBNSpatial));
    CLIENT_CHECK(miopenCreateOpBatchNormInference(plan, &norm, miopenBNSpatial, derived[0]));
    if (relu) CLIENT_CHECK(miopenCreateOpActivationForward(plan, &act, miopenActivationRELU));
    const miopenStatus_t status = miopenCompileFusionPlan(handle_, plan);
    CLIENT_EXPECT(status == miopenStatusSuccess || status == miopenStatusUnsupportedOp);
    if (status == miopenStatusSuccess) {
      ++counts.compiled;
      CLIENT_CHECK(miopenSetOpArgsBatchNormInference(args_, norm, &one, &zero, block.scale.data(),
                                                     block.bias.data(), block.mean.data(),
                                                     block.variance.data(), kEpsilon));
      if (relu) CLIENT_CHECK(miopenSetOpArgsActivForward(args_, act, &one, &zero, 0, 0, 0));
      CLIENT_CHECK(
          miopenExecuteFusionPlan(handle_, plan, desc[0], x.data(), desc[1], y.data(), args_));
      ++counts.fused;
    }
    CLIENT_CHECK(miopenDestroyFusionPlan(plan));
    return status == miopenStatusSuccess;
  }

  bool fused_all(const HostTensor& x, const Block& block, bool relu, HostTensor& y) {
    const Descs desc{new_desc(x), new_desc(block.w)};
    const auto conv_desc = new_conv(block);
    miopenFusionPlanDescriptor_t plan;
    miopenFusionOpDescriptor_t conv;
    const float one = 1, zero = 0;
    CLIENT_CHECK(miopenCreateFusionPlan(&plan, miopenVerticalFusion, desc[0]));
    CLIENT_CHECK(miopenCreateOpConvForward(plan, &conv, conv_desc, desc[1]));
    CLIENT_CHECK(miopenDestroyConvolutionDescriptor(conv_desc));
    CLIENT_CHECK(miopenSetOpArgsConvForward(args_, conv, &one, &zero, block.w.data()));
    return finish(plan, block, relu, x, y);
  }

  bool fused_norm(const HostTensor& x, const Block& block, bool relu, HostTensor& y) {
    const Descs desc{new_desc(x)};
    miopenFusionPlanDescriptor_t plan;
    CLIENT_CHECK(miopenCreateFusionPlan(&plan, miopenVerticalFusion, desc[0]));
    return finish(plan, block, relu, x, y);
  }

  void separate_norm(const HostTensor& x, const Block& block, bool relu, HostTensor& y) {
    const Descs desc{new_desc(x)};
    Descs derived(1);
    float one = 1, zero = 0;
    const auto parameter = [](const HostTensor& t) { return const_cast<void*>(t.data()); };
    CLIENT_CHECK(miopenCreateTensorDescriptor(&derived[0]));
    CLIENT_CHECK(miopenDeriveBNTensorDescriptor(derived[0], desc[0], miopenBNSpatial));
    CLIENT_CHECK(miopenBatchNormalizationForwardInference(
        handle_, miopenBNSpatial, &one, &zero, desc[0], x.data(), desc[0], y.data(), derived[0],
        parameter(block.scale), parameter(block.bias), parameter(block.mean),
        parameter(block.variance), kEpsilon));
    if (relu)
      CLIENT_CHECK(miopenActivationForward(handle_, relu_, &one, desc[0], y.data(), &zero, desc[0],
                                           y.data()));
    ++counts.separate;
  }

  miopenHandle_t handle_;
  miopenActivationDescriptor_t relu_;
  miopenOperatorArgs_t args_;
};

HostTensor classify(Network& net, Random& random, HostTensor x) {
  const Block stem(random, 3, 8, 7, 2);
  x = net.conv_norm(x, stem, true, "stem");
  x = net.pool(x, miopenPoolingMax, 3, 1, 2);
  int channels = 8;
  for (const auto& [out, stride] : {std::pair{8, 1}, {16, 2}, {16, 1}}) {
    const Block first(random, channels, out, 3, stride), second(random, out, out, 3, 1),
        shortcut(random, channels, out, 1, stride);
    const std::string name = "block of " + std::to_string(out);
    HostTensor y = net.conv_norm(x, first, true, (name + ", first").c_str());
    y = net.conv_norm(y, second, false, (name + ", second").c_str());
    if (out != channels) x = net.conv_norm(x, shortcut, false, (name + ", shortcut").c_str());
    x = net.join(std::move(y), x, (name + ", sum").c_str());
    channels = out;
  }
  x = net.pool(x, miopenPoolingAverage, static_cast<int>(x.dims()[2]), 0, 1);
  const Block head(random, channels, 10, 1, 1);
  HostTensor scores(Element::f32, {x.dims()[0], 10, 1, 1});
  net.convolve(x, head, scores);
  return net.softmax(scores);
}

}  // namespace

int main() {
  Random random;
  HostTensor image(Element::f32, {2, 3, 32, 32});
  random.fill(image);
  Network net;
  const HostTensor probabilities = classify(net, random, image);
  for (std::int64_t n = 0; n < 2; ++n) {
    double sum = 0;
    for (std::int64_t c = 0; c < 10; ++c) sum += probabilities.get({n, c, 0, 0});
    CLIENT_EXPECT(sum > 1 - 1e-5 && sum < 1 + 1e-5);
  }
  return report("network", 8, 8);
}
