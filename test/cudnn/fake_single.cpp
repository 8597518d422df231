// SPDX-License-Identifier: MIT
// The single functions for convolution, bias, batch normalisation and RELU, computed by their
// definition: sums in f32, results stored in the tensors' type.
#include <cmath>

#include "fake_graph.hpp"
#include "fake_tensor.hpp"

namespace fuseplan::fake_cudnn {
namespace {

// cudnnMathType_t, cudnnActivationMode_t, cudnnTensorFormat_t, cudnnConvolutionMode_t
enum { kDefaultMath = 0, kTensorMath = 1, kFmaMath = 3 };
enum { kRelu = 1 };
enum { kNchw = 0, kNhwc = 1 };
enum { kCrossCorrelation = 1 };
constexpr int kAlgorithm = 4;
constexpr std::size_t kWorkspace = 96;

struct OldConvolution {
  std::int64_t pad[2] = {}, stride[2] = {}, dilation[2] = {}, groups = 1;
  int math = kDefaultMath;
};
struct OldActivation {
  int mode = -1;
};
/// cudnnConvolutionFwdAlgoPerf_t
struct Algorithm {
  int algorithm, status;
  float ms;
  std::size_t workspace;
  int deterministic, math;
  int reserved[3];
};

const OldConvolution& convolution_at(const void* object) {
  return *static_cast<const OldConvolution*>(object);
}

std::string fault_of(const FourAxes& x, const FourAxes& w, const OldConvolution& conv,
                     const FourAxes& y) {
  if (x.type != w.type || x.type != y.type) return "a convolution of different types";
  if (x.lens[1] != w.lens[1] * conv.groups || w.lens[0] % conv.groups != 0 ||
      y.lens[1] != w.lens[0] || x.lens[0] != y.lens[0])
    return "a convolution whose channels do not fit";
  for (std::size_t i = 0; i < 2; ++i)
    if (y.lens[i + 2] != (x.lens[i + 2] + 2 * conv.pad[i] - conv.dilation[i] * (w.lens[i + 2] - 1) -
                          1) / conv.stride[i] +
                             1)
      return "a convolution whose output does not fit";
  return "";
}

float sum_at(const FourAxes& x_form, const void* x, const FourAxes& w_form, const void* w,
             const OldConvolution& conv, const Four& out) {
  const bool tf32 = x_form.type == 0 && conv.math != kFmaMath;
  const auto load = [&](const FourAxes& form, const void* memory, const Four& at) {
    const float value = form.load(memory, at);
    return tf32 ? rounded_to_tf32(value) : value;
  };
  const std::int64_t group = out[1] / (w_form.lens[0] / conv.groups);
  float sum = 0;
  for (std::int64_t c = 0; c < w_form.lens[1]; ++c)
    for (std::int64_t r = 0; r < w_form.lens[2]; ++r)
      for (std::int64_t s = 0; s < w_form.lens[3]; ++s) {
        const std::int64_t h = out[2] * conv.stride[0] - conv.pad[0] + r * conv.dilation[0];
        const std::int64_t v = out[3] * conv.stride[1] - conv.pad[1] + s * conv.dilation[1];
        if (h < 0 || v < 0 || h >= x_form.lens[2] || v >= x_form.lens[3]) continue;
        sum += load(x_form, x, {out[0], group * w_form.lens[1] + c, h, v}) *
               load(w_form, w, {out[1], c, r, s});
      }
  return sum;
}

/// What both convolutions have to be given.
int check(const FourAxes& x, const FourAxes& w, const OldConvolution& conv, const FourAxes& y,
          int algorithm, void* workspace, std::size_t bytes) {
  const std::string fault = fault_of(x, w, conv, y);
  if (!fault.empty()) return answer(kBadParameter, fault);
  if (algorithm != kAlgorithm) return answer(kNotSupported, "an algorithm that was not found");
  if (workspace == nullptr || bytes < kWorkspace)
    return answer(kBadParameter, "too little workspace");
  return kSuccess;
}

float relu(float x) { return x > 0 || std::isnan(x) ? x : 0; }

}  // namespace
}  // namespace fuseplan::fake_cudnn

extern "C" {
using namespace fuseplan::fake_cudnn;

FAKE_CUDNN_API int cudnnCreateFilterDescriptor(void** object) {
  return enter_and_create<FourAxes>(object);
}
FAKE_CUDNN_API int cudnnDestroyFilterDescriptor(void* object) { return destroy<FourAxes>(object); }
FAKE_CUDNN_API int cudnnSetFilter4dDescriptor(void* object, int type, int format, int k, int c,
                                              int h, int w) {
  if (const int status = enter()) return status;
  const std::int64_t n[] = {k, c, h, w};
  FourAxes& filter = *static_cast<FourAxes*>(object);
  filter = {type, {k, c, h, w}, {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}};
  if (format == kNhwc) filter.strides = {n[1] * n[2] * n[3], 1, n[3] * n[1], n[1]};
  return format == kNchw || format == kNhwc ? answer(kSuccess)
                                            : answer(kBadParameter, "no format of a filter");
}
FAKE_CUDNN_API int cudnnCreateConvolutionDescriptor(void** object) {
  return enter_and_create<OldConvolution>(object);
}
FAKE_CUDNN_API int cudnnDestroyConvolutionDescriptor(void* object) {
  return destroy<OldConvolution>(object);
}
FAKE_CUDNN_API int cudnnSetConvolution2dDescriptor(void* object, int pad_h, int pad_w, int stride_h,
                                                   int stride_w, int dilation_h, int dilation_w,
                                                   int mode, int compute) {
  if (const int status = enter()) return status;
  if (mode != kCrossCorrelation || compute != 0)
    return answer(kNotSupported, "a convolution of another kind");
  *static_cast<OldConvolution*>(object) = {
      {pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}};
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnSetConvolutionGroupCount(void* object, int groups) {
  if (const int status = enter()) return status;
  static_cast<OldConvolution*>(object)->groups = groups;
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnSetConvolutionMathType(void* object, int math) {
  if (const int status = enter()) return status;
  static_cast<OldConvolution*>(object)->math = math;
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnCreateActivationDescriptor(void** object) {
  return enter_and_create<OldActivation>(object);
}
FAKE_CUDNN_API int cudnnDestroyActivationDescriptor(void* object) {
  return destroy<OldActivation>(object);
}
FAKE_CUDNN_API int cudnnSetActivationDescriptor(void* object, int mode, int, double) {
  if (const int status = enter()) return status;
  static_cast<OldActivation*>(object)->mode = mode;
  return mode == kRelu ? answer(kSuccess) : answer(kNotSupported, "another activation");
}

FAKE_CUDNN_API int cudnnFindConvolutionForwardAlgorithm(void* handle, void* x, void* w, void* conv,
                                                        void* y, int asked, int* returned,
                                                        Algorithm* rows) {
  if (const int status = enter_on(handle)) return status;
  const std::string fault =
      fault_of(tensor_at(x), tensor_at(w), convolution_at(conv), tensor_at(y));
  if (!fault.empty()) return answer(kBadParameter, fault);
  *returned = asked > 0 ? 1 : 0;
  if (asked > 0)
    rows[0] = {kAlgorithm, kSuccess, 0.1f, kWorkspace, 1, convolution_at(conv).math, {}};
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnConvolutionForward(void* handle, const void* alpha, void* x_desc,
                                           const void* x, void* w_desc, const void* w, void* conv,
                                           int algorithm, void* workspace, std::size_t bytes,
                                           const void* beta, void* y_desc, void* y) {
  if (const int status = enter_on(handle)) return status;
  const FourAxes &xs = tensor_at(x_desc), &ws = tensor_at(w_desc), &ys = tensor_at(y_desc);
  const OldConvolution& c = convolution_at(conv);
  if (const int status = check(xs, ws, c, ys, algorithm, workspace, bytes)) return status;
  if (factor_at(beta) != 0) return answer(kNotSupported, "a convolution that adds");
  ys.each([&](const Four& at) { ys.store(y, at, factor_at(alpha) * sum_at(xs, x, ws, w, c, at)); });
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnConvolutionBiasActivationForward(
    void* handle, const void* alpha, void* x_desc, const void* x, void* w_desc, const void* w,
    void* conv, int algorithm, void* workspace, std::size_t bytes, const void* alpha2, void* z_desc,
    const void* z, void* bias_desc, const void* bias, void* activation, void* y_desc, void* y) {
  if (const int status = enter_on(handle)) return status;
  const FourAxes &xs = tensor_at(x_desc), &ws = tensor_at(w_desc), &ys = tensor_at(y_desc),
                 &bs = tensor_at(bias_desc);
  const OldConvolution& c = convolution_at(conv);
  if (const int status = check(xs, ws, c, ys, algorithm, workspace, bytes)) return status;
  if (factor_at(alpha2) != 0 || z == nullptr || tensor_at(z_desc).lens != ys.lens)
    return answer(kNotSupported, "an addition");
  if (bs.lens != Four{1, ys.lens[1], 1, 1} || bs.type != xs.type)
    return answer(kBadParameter, "a bias of another form");
  if (static_cast<const OldActivation*>(activation)->mode != kRelu)
    return answer(kBadParameter, "no activation");
  ys.each([&](const Four& at) {
    ys.store(y, at, relu(factor_at(alpha) * sum_at(xs, x, ws, w, c, at) + bs.load(bias, at)));
  });
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnAddTensor(void* handle, const void* alpha, void* a_desc, const void* a,
                                  const void* beta, void* c_desc, void* c) {
  if (const int status = enter_on(handle)) return status;
  const FourAxes &as = tensor_at(a_desc), &cs = tensor_at(c_desc);
  if (as.lens != Four{1, cs.lens[1], 1, 1} || as.type != cs.type)
    return answer(kBadParameter, "a sum of other forms");
  cs.each([&](const Four& at) {
    cs.store(c, at, factor_at(alpha) * as.load(a, at) + factor_at(beta) * cs.load(c, at));
  });
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnBatchNormalizationForwardInference(
    void* handle, int mode, const void* alpha, const void* beta, void* x_desc, const void* x,
    void* y_desc, void* y, void* form, const void* scale, const void* bias, const void* mean,
    const void* variance, double epsilon) {
  if (const int status = enter_on(handle)) return status;
  const FourAxes &xs = tensor_at(x_desc), &ys = tensor_at(y_desc), &ps = tensor_at(form);
  constexpr int kSpatial = 1;
  if (mode != kSpatial || factor_at(alpha) != 1 || factor_at(beta) != 0 || xs.lens != ys.lens)
    return answer(kNotSupported, "a normalisation of another kind");
  if (ps.lens != Four{1, ys.lens[1], 1, 1} || ps.type != 0)
    return answer(kBadParameter, "parameters of another form");
  ys.each([&](const Four& at) {
    const double apart = xs.load(x, at) - ps.load(mean, at);
    const double inverse = 1 / std::sqrt(ps.load(variance, at) + epsilon);
    ys.store(y, at, static_cast<float>(ps.load(scale, at) * apart * inverse + ps.load(bias, at)));
  });
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnActivationForward(void* handle, void* activation, const void* alpha,
                                          void* x_desc, const void* x, const void* beta,
                                          void* y_desc, void* y) {
  if (const int status = enter_on(handle)) return status;
  const FourAxes &xs = tensor_at(x_desc), &ys = tensor_at(y_desc);
  if (static_cast<const OldActivation*>(activation)->mode != kRelu || factor_at(alpha) != 1 ||
      factor_at(beta) != 0 || xs.lens != ys.lens)
    return answer(kBadParameter, "an activation of another form");
  ys.each([&](const Four& at) { ys.store(y, at, relu(xs.load(x, at))); });
  return answer(kSuccess);
}
}  // extern "C"
