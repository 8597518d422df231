// SPDX-License-Identifier: MIT
// Every function, every argument that is an object or a pointer, every way to get it wrong.
#include <cstdint>
#include <set>
#include <sstream>
#include <tuple>

#include "api_declarations.hpp"
#include "api_world.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

template <typename T>
inline constexpr bool is_object =
    std::is_same_v<T, fuseplanHandle_t> || std::is_same_v<T, fuseplanTensorDescriptor_t> ||
    std::is_same_v<T, fuseplanConvolutionDescriptor_t> ||
    std::is_same_v<T, fuseplanActivationDescriptor_t> || std::is_same_v<T, fuseplanPlan_t> ||
    std::is_same_v<T, fuseplanOp_t> || std::is_same_v<T, fuseplanOperatorArgs_t>;

using Bits = std::uintptr_t;

/// A live and a destroyed object of every type.
class Zoo {
 public:
  Zoo() {
    add(world_.handle, [] { return make_handle(); });
    add(world_.x, [] { return make_tensor({1, 2, 3, 4}); });
    add(world_.convolution, [] { return make_convolution(1); });
    add(world_.activation, [] {
      ActivationPtr activation;
      EXPECT_TRUE(ok(fuseplanCreateActivationDescriptor(&activation)));
      return activation;
    });
    add(world_.plan, [] { return make_plan("f32:1x4x6x6:nchw;activation(relu)"); });
    add(world_.args, [] {
      ArgsPtr args;
      EXPECT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
      return args;
    });
    PlanPtr plan = make_plan("f32:1x4x6x6:nchw;activation(relu)");
    fuseplanOp_t op;
    EXPECT_TRUE(ok(fuseplanPlanGetOp(plan, 0, &op)));
    dead_.push_back(reinterpret_cast<Bits>(op));
    live_.push_back(reinterpret_cast<Bits>(world_.conv_op));
  }

  World& world() { return world_; }

  /// Everything that must be refused where `valid` is right.
  std::vector<Bits> wrong_values(Bits valid, Random& random) const {
    std::vector<Bits> wrong = dead_;
    for (const Bits other : live_) {
      if (tag(other) == tag(valid)) continue;
      wrong.push_back(other);
      wrong.push_back((valid & ~kPlace) | (other & kPlace));  // what valid + 1 may be
    }
    for (const Bits odd : {Bits{1}, Bits{7}, Bits{0x1000}, ~Bits{0}, valid + 1 + (Bits{1} << 30)})
      wrong.push_back(odd);
    wrong.push_back(reinterpret_cast<Bits>(&world_));  // memory of the caller
    for (int i = 0; i < 4; ++i)
      wrong.push_back(static_cast<Bits>(random.between(INT64_MIN / 2, INT64_MAX / 2)));
    for (int bit = 24; bit < 64; ++bit) wrong.push_back(valid ^ (Bits{1} << bit));
    return wrong;
  }

 private:
  static constexpr Bits kPlace = (Bits{1} << 44) - 1;  // slot and generation of a token

  static Bits tag(Bits token) { return token >> 44 & 15; }

  template <typename Live, typename Make>
  void add(const Live& live, const Make& make) {
    const auto bits = [](const auto& owned) { return reinterpret_cast<Bits>(object(owned)); };
    live_.push_back(bits(live));
    dead_.push_back(bits(make()));  // destroyed at the end of the line
  }
  template <typename T, fuseplanStatus_t (*Destroy)(T)>
  static T object(const Owned<T, Destroy>& owned) {
    return owned;
  }

  World world_;
  std::vector<Bits> live_, dead_;
};

class BadArguments : public ::testing::Test {
 protected:
  /// `optional` names the pointers that may be NULL.
  template <typename... P>
  void probe(const std::string& name, const std::string& optional,
             fuseplanStatus_t (*function)(P...), std::type_identity_t<P>... valid) {
    probed_.insert(name);
    std::set<std::string> may_be_null;
    std::istringstream words(optional);
    for (std::string word; words >> word;) may_be_null.insert(word);
    probe_each(declaration_of(name), may_be_null, function, std::tuple<P...>(valid...),
               std::index_sequence_for<P...>{});
    if (name.find("Destroy") != std::string::npos) return;
    EXPECT_TRUE(ok(function(valid...))) << name << " with nothing wrong";
  }

  template <typename... P, std::size_t... I>
  void probe_each(const Declaration& declaration, const std::set<std::string>& may_be_null,
                  fuseplanStatus_t (*function)(P...), const std::tuple<P...>& valid,
                  std::index_sequence<I...>) {
    ASSERT_EQ(declaration.parameters.size(), sizeof...(P)) << declaration.name;
    (probe_one<I>(declaration, may_be_null, function, valid), ...);
  }

  template <std::size_t I, typename... P>
  void probe_one(const Declaration& declaration, const std::set<std::string>& may_be_null,
                 fuseplanStatus_t (*function)(P...), const std::tuple<P...>& valid) {
    using T = std::tuple_element_t<I, std::tuple<P...>>;
    const std::string& parameter = declaration.parameters[I];
    const auto expect_refusal = [&](T wrong, bool invalid_value_too) {
      std::tuple<P...> arguments = valid;
      std::get<I>(arguments) = wrong;
      const fuseplanStatus_t status = std::apply(function, arguments);
      ++cases_;
      EXPECT_TRUE(refused(status,
                          invalid_value_too && status == fuseplanStatusInvalidValue
                              ? status
                              : fuseplanStatusBadParm,
                          parameter))
          << declaration.name << ", argument " << parameter;
      EXPECT_EQ(std::string(fuseplanGetLastErrorMessage()).rfind(declaration.name, 0), 0u);
    };
    if constexpr (std::is_pointer_v<T>) {
      if (may_be_null.count(parameter) == 0) expect_refusal(nullptr, !is_object<T>);
    }
    if constexpr (is_object<T>) {
      const Bits right = reinterpret_cast<Bits>(std::get<I>(valid));
      for (const Bits wrong : zoo_.wrong_values(right, random_))
        expect_refusal(reinterpret_cast<T>(wrong), false);
    }
  }

  World& world() { return zoo_.world(); }

  Zoo zoo_;
  Random random_;
  std::set<std::string> probed_;
  long cases_ = 0;
};

PlanPtr plan_over(fuseplanTensorDescriptor_t input) {
  PlanPtr plan;
  EXPECT_TRUE(ok(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, input)));
  return plan;
}

ArgsPtr make_args() {
  ArgsPtr args;
  EXPECT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  return args;
}

#define PROBE(function, optional, ...) probe(#function, optional, function, __VA_ARGS__)

TEST_F(BadArguments, AreRefusedByNameInEveryFunction) {
  World& o = world();
  int i[8] = {};
  std::size_t s[5] = {}, size = 0;
  const int dims[] = {1, 4, 6, 6}, ones[] = {1, 1}, zeros[] = {0, 0};
  const std::size_t big[] = {1, 4, 6, 6};
  void* pointer = nullptr;
  float time = 0;
  double d[3];
  char text[4096];
  fuseplanDataType_t type;
  fuseplanTensorLayout_t layout;
  fuseplanConvolutionMode_t conv_mode;
  fuseplanActivationMode_t mode;
  fuseplanConvFwdAlgorithm_t algorithms[4];
  const auto algo = static_cast<fuseplanConvFwdAlgorithm_t>(-1);

  // Objects created by the probes themselves are left to the end of the process.
  fuseplanHandle_t h = nullptr;
  PROBE(fuseplanGetVersion, "major minor patch", s, s + 1, s + 2);
  PROBE(fuseplanSetLogCallback, "callback context", nullptr, nullptr);
  PROBE(fuseplanSetLogLevel, "", fuseplanLogDefault);
  PROBE(fuseplanCreate, "", &h);
  PROBE(fuseplanCreateForDevice, "device", &h, "cpu");
  PROBE(fuseplanCreateWithStream, "stream", &h, nullptr);
  PROBE(fuseplanCreateForDeviceWithStream, "device stream", &h, "cpu", nullptr);
  PROBE(fuseplanDestroy, "", o.handle);
  PROBE(fuseplanSetStream, "streamID", o.handle, nullptr);
  PROBE(fuseplanGetStream, "", o.handle, &pointer);
  PROBE(fuseplanSynchronize, "", o.handle);
  size = sizeof text;
  PROBE(fuseplanGetDeviceName, "text", o.handle, text, &size);
  size = sizeof text;
  PROBE(fuseplanGetDevice, "text", o.handle, text, &size);
  PROBE(fuseplanSetThreadCount, "", o.handle, 2);
  PROBE(fuseplanGetThreadCount, "", o.handle, i);
  PROBE(fuseplanSetParallelFor, "parallelFor context", o.handle, nullptr, nullptr);
  PROBE(
      fuseplanSetAllocator, "allocatorContext", o.handle,
      [](void*, std::size_t bytes) { return std::malloc(bytes); },
      [](void*, void* memory) { std::free(memory); }, nullptr);
  PROBE(fuseplanMalloc, "", o.handle, 16, &pointer);
  PROBE(fuseplanFree, "memory", o.handle, pointer);
  PROBE(fuseplanCopy, "", o.handle, text, s, 8, fuseplanCopyToHost);
  PROBE(fuseplanEnableProfiling, "", o.handle, true);
  PROBE(fuseplanGetKernelTime, "", o.handle, &time);
  PROBE(fuseplanSetOptions, "", o.handle, "");
  size = sizeof text;
  PROBE(fuseplanGetOptions, "text", o.handle, text, &size);

  fuseplanTensorDescriptor_t t = nullptr;
  PROBE(fuseplanCreateTensorDescriptor, "", &t);
  PROBE(fuseplanDestroyTensorDescriptor, "", o.x);
  PROBE(fuseplanSet4dTensorDescriptor, "", t, fuseplanFloat, 1, 2, 3, 4);
  PROBE(fuseplanSet4dTensorDescriptorEx, "", t, fuseplanFloat, 1, 2, 3, 4, 24, 12, 4, 1);
  PROBE(fuseplanSetTensorDescriptor, "stridesA", t, fuseplanFloat, 4, dims, dims);
  PROBE(fuseplanSetTensorDescriptorV2, "stridesA", t, fuseplanFloat, 4, big, big);
  PROBE(fuseplanSetNdTensorDescriptorWithLayout, "", t, fuseplanFloat, fuseplanTensorNHWC, dims, 4);
  PROBE(fuseplanGet4dTensorDescriptor, "", t, &type, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6,
        i + 7);
  PROBE(fuseplanGetTensorDescriptor, "dataType dimsA stridesA", t, &type, i, i + 4);
  PROBE(fuseplanGetTensorDescriptorV2, "dataType dimsA stridesA", t, &type, s, s);
  PROBE(fuseplanGetTensorDescriptorSize, "", t, i);
  PROBE(fuseplanGetTensorNumBytes, "", t, s);
  PROBE(fuseplanGetTensorDescriptorLayout, "", t, &layout);
  PROBE(fuseplanDeriveBNTensorDescriptor, "", t, o.x, fuseplanBNSpatial);

  fuseplanConvolutionDescriptor_t c = nullptr;
  PROBE(fuseplanCreateConvolutionDescriptor, "", &c);
  PROBE(fuseplanDestroyConvolutionDescriptor, "", c);
  PROBE(fuseplanInitConvolutionDescriptor, "", c, fuseplanConvolution, 1, 1, 1, 1, 1, 1);
  PROBE(fuseplanInitConvolutionNdDescriptor, "", c, 2, zeros, ones, ones, fuseplanConvolution);
  PROBE(fuseplanSetConvolutionPadding, "", c, 2, zeros, ones);
  PROBE(fuseplanGetConvolutionPadding, "padLow padHigh", c, 2, i, i + 2);
  PROBE(fuseplanGetConvolutionDescriptor,
        "c_mode pad_h pad_w stride_h stride_w dilation_h dilation_w", c, &conv_mode, i, i + 1,
        i + 2, i + 3, i + 4, i + 5);
  PROBE(fuseplanGetConvolutionNdDescriptor, "spatialDim padA strideA dilationA c_mode", c, 2, i,
        i + 1, i + 3, i + 5, &conv_mode);
  PROBE(fuseplanGetConvolutionSpatialDim, "", c, i);
  PROBE(fuseplanGetConvolutionGroupCount, "", c, i);
  PROBE(fuseplanSetConvolutionGroupCount, "", c, 1);
  PROBE(fuseplanSetConvolutionAttribute, "", c, FUSEPLAN_CONVOLUTION_ATTRIB_STRICT, 1);
  PROBE(fuseplanGetConvolutionAttribute, "", c, FUSEPLAN_CONVOLUTION_ATTRIB_STRICT, i);
  PROBE(fuseplanGetConvolutionForwardOutputDim, "", o.convolution, o.x, o.w, i, i + 1, i + 2,
        i + 3);
  PROBE(fuseplanGetConvolutionNdForwardOutputDim, "", o.convolution, o.x, o.w, i, i + 1);

  fuseplanActivationDescriptor_t a = nullptr;
  PROBE(fuseplanCreateActivationDescriptor, "", &a);
  PROBE(fuseplanDestroyActivationDescriptor, "", a);
  PROBE(fuseplanSetActivationDescriptor, "", a, fuseplanActivationELU, 1.0, 0.0, 0.0);
  PROBE(fuseplanGetActivationDescriptor, "mode activAlpha activBeta activGamma", a, &mode, d, d + 1,
        d + 2);

  fuseplanPlan_t p = nullptr;
  fuseplanOp_t op = nullptr;
  PROBE(fuseplanCreatePlan, "", &p, fuseplanVerticalFusion, o.x);
  PROBE(fuseplanDestroyPlan, "", p);
  PROBE(fuseplanCreateOpConvForward, "", p, &op, o.convolution, o.w);
  PROBE(fuseplanCreateOpBiasForward, "", p, &op, o.channel);
  PROBE(fuseplanCreateOpBatchNormInference, "", p, &op, fuseplanBNSpatial, o.channel);
  PROBE(fuseplanCreateOpActivationForward, "", p, &op, fuseplanActivationTANH);
  PROBE(fuseplanCreateOpTensorAdd, "", p, &op, o.y);
  PROBE(fuseplanCreateOpScaleShift, "", p, &op, o.channel);
  const PlanPtr forward = plan_over(o.y), backward = plan_over(o.y);
  fuseplanOp_t forward_op = nullptr, activation_backward_op = nullptr, backward_op = nullptr;
  PROBE(fuseplanCreateOpBatchNormForward, "bnScaleBiasDesc", forward, &forward_op,
        fuseplanBNSpatial, true, o.channel);
  PROBE(fuseplanCreateOpActivationBackward, "xDesc", backward, &activation_backward_op,
        fuseplanActivationTANH, o.y);
  PROBE(fuseplanCreateOpBatchNormBackward, "xDesc bnScaleBiasDesc", backward, &backward_op,
        fuseplanBNSpatial, o.y, o.channel);
  const PlanPtr gathering = plan_over(o.y);
  fuseplanOp_t statistics_op = nullptr;
  PROBE(fuseplanCreateOpStatistics, "statisticsDesc", gathering, &statistics_op, o.channel);
  PROBE(fuseplanPlanGetOp, "", p, 0, &op);
  PROBE(fuseplanPlanGetOpCount, "", p, i);
  PROBE(fuseplanPlanGetOpOutputDescriptor, "", p, 0, t);
  PROBE(fuseplanPlanSetOutputDescriptor, "", p, o.y);
  PROBE(fuseplanPlanGetOutputDescriptor, "", p, t);
  PROBE(fuseplanPlanSetDynamicDims, "", p, fuseplanDimBatch);
  PROBE(fuseplanPlanSetSolver, "solver", p, "");
  PROBE(fuseplanPlanConvolutionGetAlgo, "returnedAlgos", p, 4, i, algorithms);
  PROBE(fuseplanPlanConvolutionSetAlgo, "", p, algo);
  PROBE(fuseplanPlanGetWorkSpaceSize, "", o.handle, p, s, algo);
  PROBE(fuseplanCompilePlan, "", o.handle, p);
  size = sizeof text;
  PROBE(fuseplanPlanToString, "text", p, text, &size);
  PROBE(fuseplanCreatePlanFromString, "", &p, "f32:1x4x6x6:nchw;activation(relu)");

  fuseplanOperatorArgs_t args = nullptr;
  const float one = 1;
  const float* v = o.channel_data.data();
  PROBE(fuseplanCreateOperatorArgs, "", &args);
  PROBE(fuseplanDestroyOperatorArgs, "", args);
  PROBE(fuseplanSetOpArgsConvForward, "alpha beta", o.args, o.conv_op, &one, nullptr,
        o.w_data.data());
  PROBE(fuseplanSetOpArgsBiasForward, "alpha beta", o.args, o.bias_op, &one, nullptr, v);
  PROBE(fuseplanSetOpArgsActivForward, "alpha beta", o.args, o.activation_op, &one, nullptr, 0.0,
        0.0, 0.0);
  PROBE(fuseplanSetOpArgsBatchNormInference, "alpha beta", o.args, o.norm_op, &one, nullptr, v, v,
        v, v, 1e-5);
  PROBE(fuseplanSetOpArgsTensorAdd, "alpha beta", o.args, o.add_op, &one, nullptr,
        o.other_data.data(), 1.0);
  PROBE(fuseplanSetOpArgsScaleShift, "alpha beta", o.args, o.scale_op, &one, nullptr, v, v);
  const ArgsPtr training = make_args();
  float* r = o.channel_data.data();
  PROBE(fuseplanSetOpArgsBatchNormForward, "alpha beta savedMean savedInvVariance", training,
        forward_op, &one, nullptr, v, v, r, r, r, r, 0.1, 1e-5);
  PROBE(fuseplanSetOpArgsActivBackward, "alpha beta y x", training, activation_backward_op, &one,
        nullptr, nullptr, o.x_data.data(), 0.0, 0.0, 0.0);
  PROBE(fuseplanSetOpArgsBatchNormBackward, "alpha beta bnBias resultBnScaleDiff resultBnBiasDiff",
        training, backward_op, &one, nullptr, o.x_data.data(), v, v, r, r, v, v);
  PROBE(fuseplanSetOpArgsStatistics, "alpha beta mean variance invVariance", training,
        statistics_op, &one, nullptr, r, r, r, r, r, 0.1, 1e-5);
  PROBE(fuseplanSetArgsFlags, "", o.args, fuseplanArgsConstantWeights);
  EXPECT_TRUE(ok(fuseplanCompilePlan(o.handle, o.plan)));
  PROBE(fuseplanExecutePlan, "", o.handle, o.plan, o.x, o.x_data.data(), o.y, o.y_data.data(),
        o.args);
  PROBE(fuseplanExecutePlan_v2, "workspace", o.handle, o.plan, o.x, o.x_data.data(), o.y,
        o.y_data.data(), o.args, nullptr, 0);
  PROBE(fuseplanConvolutionBiasActivationForward, "alpha1 workspace alpha2 zDesc z biasDesc bias",
        o.handle, &one, o.x, o.x_data.data(), o.w, o.w_data.data(), o.convolution, algo, nullptr, 0,
        &one, o.y, o.other_data.data(), o.channel, v, o.activation, o.y, o.y_data.data());

  auto support = sized<fuseplanFusionSupport_t>();
  auto solver = sized<fuseplanSolverInfo_t>();
  auto rejection = sized<fuseplanRejection_t>();
  auto entry = sized<fuseplanSupportEntry_t>();
  auto pass = sized<fuseplanPassInfo_t>();
  auto option = sized<fuseplanOptionInfo_t>();
  auto report = sized<fuseplanPassReport_t>();
  auto info = sized<fuseplanPlanInfo_t>();
  PROBE(fuseplanQueryFusionSupport, "", o.handle, o.plan, &support);
  PROBE(fuseplanPlanGetSolvers, "solvers", o.handle, o.plan, 1, i, &solver);
  PROBE(fuseplanPlanGetRejections, "rejections", o.handle, o.plan, 1, i, &rejection);
  size = sizeof text;
  fuseplanCandidate_t candidate = sized<fuseplanCandidate_t>();
  PROBE(fuseplanPlanGetCandidates, "candidates", o.handle, o.plan, 1, i, &candidate);
  PROBE(fuseplanPlanStoreWinner, "candidate", o.handle, o.plan, "cpu_portable:default");
  PROBE(fuseplanPlanExplain, "text", o.handle, o.plan, text, &size);
  PROBE(fuseplanGetSupportTable, "entries", o.handle, 1, i, &entry);
  PROBE(fuseplanGetPasses, "passes", 1, i, &pass);
  PROBE(fuseplanGetOptionTable, "options", 1, i, &option);
  PROBE(fuseplanPlanGetPassReport, "passes", o.handle, o.plan, 1, i, &report);
  size = sizeof text;
  PROBE(fuseplanPlanGetExpression, "text", o.handle, o.plan, fuseplanExpressionLowered, text,
        &size);
  PROBE(fuseplanPlanGetInfo, "", o.handle, o.plan, &info);
  PROBE(fuseplanPlanGetBinary, "buffer", o.handle, o.plan, nullptr, &size);

  auto statistics = sized<fuseplanCacheStatistics_t>();
  auto verified = sized<fuseplanCacheReport_t>();
  auto row = sized<fuseplanCacheEntry_t>();
  size = sizeof text;
  PROBE(fuseplanCacheGetLocation, "text", o.handle, text, &size);
  PROBE(fuseplanCacheGetStatistics, "", o.handle, &statistics);
  PROBE(fuseplanCacheVerify, "", o.handle, &verified);
  PROBE(fuseplanCacheClear, "", o.handle);
  PROBE(fuseplanCacheList, "entries", o.handle, 1, i, &row);

  probed_.insert({"fuseplanGetErrorString", "fuseplanGetLastErrorMessage"});  // cannot fail
  for (const Declaration& declaration : declarations())
    EXPECT_EQ(probed_.count(declaration.name), 1u) << declaration.name << " is not probed";
  EXPECT_GE(cases_, 5000);
  std::cout << cases_ << " wrong arguments, " << probed_.size() << " functions\n";
}

}  // namespace
}  // namespace fuseplan::test
