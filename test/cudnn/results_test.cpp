// SPDX-License-Identifier: MIT
// Graphs of every kind of chain, computed by the library that stands in for cuDNN from what the
// peer told it, against the oracle.
#include <cmath>

#include "driver/problem_list.hpp"
#include "host_run.hpp"

namespace fuseplan::driver {
namespace {

struct Shape {
  const char *name, *input, *conv;
};
constexpr Shape kShapes[] = {
    {"plain", "3x6x7x5", "5x6x3x3,pad=1x1"},
    {"strided", "2x4x9x8", "6x4x3x2,pad=1x0,stride=2x3"},
    {"dilated", "1x3x11x10", "4x3x3x3,pad=2x1,dilation=2x2"},
    {"groups", "2x6x5x4", "8x3x1x3,pad=0x1,groups=2"},
    {"depthwise", "2x5x6x6", "5x1x3x3,pad=1x1,groups=5"},
    {"volume", "1x3x4x5x3", "4x3x2x3x2,pad=1x1x0"},
};
constexpr const char* kChains[] = {"bias;activation(relu)",
                                   "bias;norm;activation(relu)",
                                   "norm;add;activation(gelu_tanh)",
                                   "bias;activation(silu);add",
                                   "scale_shift;bias;activation(mish);norm;activation(elu)",
                                   "norm;activation(leakyrelu)",
                                   "bias;activation(clippedrelu)",
                                   "bias;activation(softplus);bias"};
// All that cuDNN has engines for in NCHW.
constexpr const char* kChainsNchw[] = {"", "bias", "bias;activation(relu)"};

ProblemSpec problem_of(const std::string& type, const Shape& shape, const std::string& chain,
                       bool conv, bool last) {
  const std::string layout = last ? ":nhwc" : ":nchw";
  const bool volume = std::string(shape.name) == "volume";
  const std::string order = volume ? (last ? ":ndhwc" : ":ncdhw") : layout;
  std::string text = type + ":" + shape.input + order + ";";
  const std::string weights = std::string(shape.conv);
  const std::size_t comma = weights.find(',');
  if (conv)
    text += "conv(" + type + ":" + weights.substr(0, comma) + order + weights.substr(comma) + ")";
  else
    text += "activation(pasthru)";
  ProblemSpec problem = parse_problem(text);
  append_chain(problem, chain, last);
  return problem;
}

/// Parameters of 7 bits, which lose nothing where a graph takes them in the data's type, nor where
/// an added tensor comes multiplied by -3/4.
void shorten_parameters(Case& data) {
  for (std::size_t i = data.problem().conv() != nullptr ? 1 : 0; i < data.parameter_count(); ++i) {
    std::vector<double> values = data.parameter(i).values();
    for (double& value : values) value = std::nearbyint(value * 64) / 64;
    data.set_parameter(i, values);
  }
}

struct Form {
  Shape shape;
  const char* chain;
  bool conv, last;
};
std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (const Shape& shape : kShapes) {
    forms.push_back({shape, "", true, true});
    for (const char* chain : kChains) {
      forms.push_back({shape, chain, true, true});
      forms.push_back({shape, chain, false, true});
    }
    for (const char* chain : kChainsNchw) forms.push_back({shape, chain, true, false});
  }
  return forms;
}
std::string name_of(const Form& form) {
  std::string name = std::string(form.shape.name) + (form.conv ? "_conv_" : "_") + form.chain +
                     (form.last ? "_nhwc" : "_nchw");
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}
void PrintTo(const Form& form, std::ostream* stream) { *stream << name_of(form); }

class GraphResults : public WithFakeCudnn, public testing::WithParamInterface<Form> {};

TEST_P(GraphResults, AgreeWithTheOracle) {
  const auto& [shape, chain, conv, last] = GetParam();
  for (const char* type : {"f32", "f16", "bf16"}) {
    Case data(problem_of(type, shape, chain, conv, last));
    shorten_parameters(data);
    const test::Comparison comparison = run_on_host(data, {}, GraphNumbers::no_tensor_cores);
    EXPECT_TRUE(comparison.ok()) << to_text(data.problem()) << "\n" << comparison.describe();
  }
}

INSTANTIATE_TEST_SUITE_P(All, GraphResults, testing::ValuesIn(all_forms()),
                         [](const auto& info) { return name_of(info.param); });

class GraphForms : public WithFakeCudnn {};

TEST_F(GraphForms, FactorsInTheWeightsComputeTheSame) {
  Case data(problem_of("f32", kShapes[3], "bias;norm;activation(relu)", true, true));
  const GraphForm folded{.folded = true};
  const GraphSpec spec = graph_of(data.problem(), folded);
  EXPECT_EQ(spec.nodes.size(), 3u);  // no MUL
  const test::Comparison comparison = run_on_host(data, folded, GraphNumbers::no_tensor_cores);
  EXPECT_TRUE(comparison.ok()) << comparison.describe();
}

// One value lies in either layout: the result goes where fuseplan puts it.
TEST_F(GraphForms, ImagesThatGrowFromOneValue) {
  Case data(parse_problem(
      "f32:2x1x1x1:nhwc;conv(f32:5x1x3x3:nhwc,pad=2x2);bias(f32:1x5x1x1);activation(relu)"));
  const test::Comparison comparison = run_on_host(data, {}, GraphNumbers::no_tensor_cores);
  EXPECT_TRUE(comparison.ok()) << comparison.describe();
}

TEST_F(GraphForms, ATermAloneHasTheDataType) {
  const Case data(problem_of("f16", kShapes[0], "bias;activation(relu);bias", true, true));
  const GraphSpec spec = graph_of(data.problem());
  std::vector<fuseplanDataType_t> types;
  for (const GraphTensor& tensor : spec.tensors)
    if (tensor.role == GraphRole::shift) types.push_back(tensor.spec.type);
  EXPECT_EQ(types, (std::vector{fuseplanHalf, fuseplanFloat}));
}

TEST_F(GraphForms, TensorCoresRoundWhatIsF32) {
  Case data(problem_of("f32", kShapes[0], "bias;activation(relu)", true, true));
  EXPECT_FALSE(run_on_host(data, {}, GraphNumbers::tensor_cores).ok());
  data.expect_tf32(Tf32::half_away);
  Case rounded(problem_of("f32", kShapes[0], "bias;activation(relu)", true, true));
  rounded.expect_tf32(Tf32::half_away);
  const test::Comparison comparison = run_on_host(rounded, {}, GraphNumbers::tensor_cores);
  EXPECT_TRUE(comparison.ok()) << comparison.describe();
}

TEST_F(GraphForms, EveryActivationIsComputedOrRefused) {
  for (const NamedActivation& activation : all_activations()) {
    ProblemSpec problem =
        parse_problem("f32:2x3x4x5:nhwc;activation(" + std::string(activation.name) + ")");
    problem.ops[0].parameters = activation.mode == fuseplanActivationTANH
                                    ? ActivationParameters{1, 1, 0}
                                    : usual_parameters(activation.mode);
    Case data(problem);
    switch (activation.mode) {
      case fuseplanActivationPOWER:
      case fuseplanActivationCLAMP:
      case fuseplanActivationHARDSWISH:
      case fuseplanActivationHARDSIGMOID:
      case fuseplanActivationTRUNCATEDPOWER:
        EXPECT_EQ(refusal_of([&] { graph_of(problem); }),
                  "cuDNN has no pointwise mode for " + std::string(activation.name));
        continue;
      default:
        break;
    }
    const test::Comparison comparison = run_on_host(data, {}, GraphNumbers::any);
    EXPECT_TRUE(comparison.ok()) << activation.name << ": " << comparison.describe();
  }
}

}  // namespace
}  // namespace fuseplan::driver
