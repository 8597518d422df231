// SPDX-License-Identifier: MIT
// A framework's operator with a plan cache: keyed by a hash of the shape (not of the type, as real
// ones forget), shared by threads that each have their own handle and arguments. Where a plan does
// not fit what it is executed with, or none compiles, the ops run one by one.
#include <mutex>
#include <thread>
#include <unordered_map>

#include "client.hpp"

using namespace fuseplan::test;

namespace {

struct Layer {
  HostTensor x, w, b;
  int stride, groups;
  Dims out_dims() const {
    return {x.dims()[0], w.dims()[0], (x.dims()[2] - 1) / stride + 1,
            (x.dims()[3] - 1) / stride + 1};
  }
};

struct CachedPlan {
  miopenFusionPlanDescriptor_t plan;
  miopenFusionOpDescriptor_t conv, bias, act;
  bool usable;
};

miopenConvolutionDescriptor_t new_conv(const Layer& layer) {
  miopenConvolutionDescriptor_t conv;
  CLIENT_CHECK(miopenCreateConvolutionDescriptor(&conv));
  CLIENT_CHECK(miopenInitConvolutionDescriptor(conv, miopenConvolution, 1, 1, layer.stride,
                                               layer.stride, 1, 1));
  CLIENT_CHECK(miopenSetConvolutionGroupCount(conv, layer.groups));
  return conv;
}

class PlanCache {
 public:
  /// The plan of such a layer, compiled for the handle of whoever asks.
  CachedPlan get(miopenHandle_t handle, const Layer& layer) {
    const std::lock_guard lock(mutex_);
    std::size_t key = static_cast<std::size_t>(layer.stride * 31 + layer.groups);
    for (const HostTensor* tensor : {&layer.x, &layer.w})
      for (const std::int64_t length : tensor->dims())
        key = key * 1000003 + static_cast<std::size_t>(length);
    const auto [entry, is_new] = plans_.try_emplace(key);
    if (is_new) entry->second = make(layer);
    CachedPlan found = entry->second;
    const miopenStatus_t status = miopenCompileFusionPlan(handle, found.plan);
    CLIENT_EXPECT(status == miopenStatusSuccess || status == miopenStatusUnsupportedOp);
    found.usable = status == miopenStatusSuccess;
    counts.compiled += found.usable && is_new;
    return found;
  }

 private:
  static CachedPlan make(const Layer& layer) {
    CachedPlan made{};
    const auto x = new_desc(layer.x), w = new_desc(layer.w), b = new_desc(layer.b);
    const auto conv = new_conv(layer);
    CLIENT_CHECK(miopenCreateFusionPlan(&made.plan, miopenVerticalFusion, x));
    CLIENT_CHECK(miopenCreateOpConvForward(made.plan, &made.conv, conv, w));
    CLIENT_CHECK(miopenCreateOpBiasForward(made.plan, &made.bias, b));
    CLIENT_CHECK(
        miopenCreateOpActivationForward(made.plan, &made.act, miopenActivationCLIPPEDRELU));
    for (const auto desc : {x, w, b}) CLIENT_CHECK(miopenDestroyTensorDescriptor(desc));
    CLIENT_CHECK(miopenDestroyConvolutionDescriptor(conv));
    return made;
  }

  std::mutex mutex_;
  std::unordered_map<std::size_t, CachedPlan> plans_;  // never destroyed: leaked on purpose
};
PlanCache& cache = *new PlanCache;

void run_separately(miopenHandle_t handle, const Layer& layer, miopenTensorDescriptor_t x_desc,
                    miopenTensorDescriptor_t y_desc, HostTensor& y) {
  const auto w = new_desc(layer.w), b = new_desc(layer.b);
  const auto conv = new_conv(layer);
  miopenActivationDescriptor_t act;
  CLIENT_CHECK(miopenCreateActivationDescriptor(&act));
  CLIENT_CHECK(miopenSetActivationDescriptor(act, miopenActivationCLIPPEDRELU, 0.75, 0, 0));
  const float one = 1, zero = 0;
  CLIENT_CHECK(miopenConvolutionForward(handle, &one, x_desc, layer.x.data(), w, layer.w.data(),
                                        conv, miopenConvolutionFwdAlgoDirect, &zero, y_desc,
                                        y.data(), nullptr, 0));
  CLIENT_CHECK(
      miopenConvolutionForwardBias(handle, &one, b, layer.b.data(), &zero, y_desc, y.data()));
  CLIENT_CHECK(
      miopenActivationForward(handle, act, &one, y_desc, y.data(), &zero, y_desc, y.data()));
  CLIENT_CHECK(miopenDestroyActivationDescriptor(act));
  CLIENT_CHECK(miopenDestroyConvolutionDescriptor(conv));
  for (const auto desc : {w, b}) CLIENT_CHECK(miopenDestroyTensorDescriptor(desc));
  ++counts.separate;
}

void run(miopenHandle_t handle, const Layer& layer, miopenOperatorArgs_t args, HostTensor& y) {
  const CachedPlan cached = cache.get(handle, layer);
  const auto x_desc = new_desc(layer.x), y_desc = new_desc(y);
  const float one = 1, zero = 0;
  CLIENT_CHECK(miopenSetOpArgsConvForward(args, cached.conv, &one, &zero, layer.w.data()));
  CLIENT_CHECK(miopenSetOpArgsBiasForward(args, cached.bias, &one, &one, layer.b.data()));
  CLIENT_CHECK(miopenSetOpArgsActivForward(args, cached.act, &one, &zero, 0.75, 0, 0));
  miopenStatus_t status = miopenStatusUnsupportedOp;
  if (cached.usable)
    status = miopenExecuteFusionPlan(handle, cached.plan, x_desc, layer.x.data(), y_desc, y.data(),
                                     args);
  // Another type under the same key.
  CLIENT_EXPECT(!cached.usable || status == miopenStatusSuccess || status == miopenStatusBadParm);
  if (status == miopenStatusSuccess)
    ++counts.fused;
  else
    run_separately(handle, layer, x_desc, y_desc, y);
  for (const auto desc : {x_desc, y_desc}) CLIENT_CHECK(miopenDestroyTensorDescriptor(desc));
}

std::vector<Layer> make_layers() {
  Random random;
  std::vector<Layer> layers;
  const auto add = [&](Element type, int n, int c, int size, int k, int stride, int groups) {
    Layer layer{{type, {n, c, size, size}},
                {type, {k, c / groups, 3, 3}},
                {type, {1, k, 1, 1}},
                stride,
                groups};
    random.fill(layer.x);
    random.fill(layer.w);
    random.fill(layer.b);
    layers.push_back(std::move(layer));
  };
  add(Element::f32, 2, 8, 12, 16, 1, 1);
  add(Element::f32, 1, 16, 14, 24, 2, 1);
  add(Element::f32, 3, 12, 9, 12, 1, 12);
  add(Element::f32, 2, 8, 12, 16, 1, 1);   // the first one's shape, other weights
  add(Element::bf16, 2, 8, 12, 16, 1, 1);  // and another type: the same key, a wrong plan
  return layers;
}

}  // namespace

int main() {
  constexpr int kThreads = 4, kRounds = 6;
  const std::vector<Layer> layers = make_layers();
  std::vector<ReferenceResult> expected;
  for (const Layer& layer : layers)
    expected.push_back(run_reference(
        layer.x,
        std::vector<Step>{
            {Convolution{
                &layer.w, {layer.stride, layer.stride}, {1, 1}, {1, 1}, {1, 1}, layer.groups}},
            {Bias{&layer.b}},
            {Activation{Mode::CLIPPEDRELU, 0.75}}}));
  // The first thread alone, so that the key that two types share belongs to the first of them.
  const auto work = [&] {
    miopenHandle_t handle;
    miopenOperatorArgs_t args;
    CLIENT_CHECK(miopenCreate(&handle));
    CLIENT_CHECK(miopenCreateOperatorArgs(&args));
    for (int round = 0; round < kRounds; ++round)
      for (std::size_t i = 0; i < layers.size(); ++i) {
        HostTensor y(layers[i].x.type(), layers[i].out_dims());
        run(handle, layers[i], args, y);
        // Op by op, bfloat16 values are rounded between the ops, which the bound does not know.
        if (layers[i].x.type() == Element::f32) expect_right(y, expected[i], "layer");
      }
    CLIENT_CHECK(miopenDestroyOperatorArgs(args));
    CLIENT_CHECK(miopenDestroy(handle));
  };
  std::thread(work).join();
  std::vector<std::thread> threads;
  for (int t = 1; t < kThreads; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  CLIENT_EXPECT(counts.fused + counts.separate == kThreads * kRounds * 5);
  return report("plan cache", 3, kThreads * kRounds * 4);
}
