// SPDX-License-Identifier: MIT
// MIOpenDriver's CBAInfer command with its flags and defaults, so that published command lines run
// unchanged: https://rocm.docs.amd.com/projects/MIOpen (driver documentation).
#include <algorithm>
#include <array>

#include "driver/commands.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct CbaFlags {
  MeasureOptions measure;
  std::string layout = "NCHW", pad_mode = "conv";
  std::int64_t n = 32, c = 3, h = 32, w = 32, k = 32, y = 3, x = 3, groups = 1;
  std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation_h = 1, dilation_w = 1;
  int sequence = 0, mode = 3, norm_mode = 0, verify = 1, time = 0, wall = 0, pad_value = 0;
  double alpha = 1, beta = 0, gamma = 1;
  bool json = false;
};

// -F numbers: each a convolution (or none) and the ops behind it.
struct Sequence {
  bool conv, bias, norm, activation;
};
constexpr std::array<Sequence, 7> kSequences = {{{true, true, true, true},      // 0 cbna
                                                 {true, false, true, true},     // 1 cna
                                                 {false, false, true, true},    // 2 na
                                                 {true, false, true, false},    // 3 cn
                                                 {true, true, false, true},     // 4 cba
                                                 {true, false, false, true},    // 5 ca
                                                 {true, true, false, false}}};  // 6 cb

// "same": output lengths are input / stride, rounded up, the odd pixel of padding behind.
void set_padding(OpSpec& conv, const CbaFlags& flags) {
  conv.pad_lo = conv.pad_hi = {flags.pad_h, flags.pad_w};
  if (flags.pad_mode == "conv") return;
  conv.pad_lo = conv.pad_hi = {0, 0};
  if (flags.pad_mode == "valid") return;
  const Dims in = {flags.h, flags.w}, filter = {flags.y, flags.x};
  const Dims stride = {flags.stride_h, flags.stride_w};
  const Dims dilation = {flags.dilation_h, flags.dilation_w};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t out = (in[axis] + stride[axis] - 1) / stride[axis];
    const std::int64_t reach = 1 + dilation[axis] * (filter[axis] - 1);
    const std::int64_t pad = std::max<std::int64_t>(0, (out - 1) * stride[axis] + reach - in[axis]);
    conv.pad_lo[axis] = pad / 2;
    conv.pad_hi[axis] = pad - pad / 2;
  }
}

ProblemSpec problem_of(const CbaFlags& flags, fuseplanDataType_t type) {
  const Sequence& sequence = kSequences[static_cast<std::size_t>(flags.sequence)];
  const bool channels_last = flags.layout == "NHWC";
  ProblemSpec problem;
  problem.input = packed(type, {flags.n, flags.c, flags.h, flags.w}, channels_last);
  if (sequence.conv) {
    OpSpec conv;
    conv.kind = OpKind::conv;
    conv.tensor = packed(type, {flags.k, flags.c / flags.groups, flags.y, flags.x}, channels_last);
    set_padding(conv, flags);
    conv.stride = {flags.stride_h, flags.stride_w};
    conv.dilation = {flags.dilation_h, flags.dilation_w};
    conv.groups = flags.groups;
    problem.ops.push_back(std::move(conv));
  }
  if (sequence.bias) append_chain(problem, "bias", channels_last);
  if (sequence.norm)
    append_chain(problem, flags.norm_mode == 1 ? "norm" : "norm(per_activation)", channels_last);
  if (sequence.activation) {
    OpSpec activation;
    activation.kind = OpKind::activation;
    activation.mode = static_cast<fuseplanActivationMode_t>(flags.mode);
    activation.parameters = {flags.alpha, flags.beta, flags.gamma};
    problem.ops.push_back(activation);
  }
  problem.name = "CBAInfer";
  return problem;
}

void add_flags(CLI::App& command, CbaFlags& f) {
  command.set_help_flag("--help", "Print this help message and exit");  // -h is no help here
  command
      .add_option("-F,--fusion_mode", f.sequence, "0 cbna, 1 cna, 2 na, 3 cn, 4 cba, 5 ca, 6 cb")
      ->check(CLI::Range(0, 6));
  const std::pair<const char*, std::int64_t*> lengths[] = {{"-n,--batchsize", &f.n},
                                                           {"-c,--in_channels", &f.c},
                                                           {"-H,--in_h", &f.h},
                                                           {"-W,--in_w", &f.w},
                                                           {"-k,--out_channels", &f.k},
                                                           {"-y,--fil_h", &f.y},
                                                           {"-x,--fil_w", &f.x},
                                                           {"-u,--conv_stride_h", &f.stride_h},
                                                           {"-v,--conv_stride_w", &f.stride_w},
                                                           {"-l,--dilation_h", &f.dilation_h},
                                                           {"-j,--dilation_w", &f.dilation_w},
                                                           {"-g,--group_count", &f.groups}};
  for (const auto& [names, value] : lengths)
    command.add_option(names, *value)->check(at_least(1))->capture_default_str();
  command.add_option("-p,--pad_h", f.pad_h)->check(at_least(0))->capture_default_str();
  command.add_option("-q,--pad_w", f.pad_w)->check(at_least(0))->capture_default_str();
  command.add_option("-z,--pad_mode", f.pad_mode, "conv (as -p and -q say), same or valid")
      ->check(CLI::IsMember({"conv", "same", "valid"}));
  command.add_option("-r,--pad_val", f.pad_value, "padding is zeros; nothing else is accepted")
      ->check(CLI::Range(0, 0));
  command.add_option("-m,--activMode", f.mode, "activation, by MIOpen's number")
      ->capture_default_str();
  command.add_option("-M,--batchnormMode", f.norm_mode, "0 per activation, 1 spatial")
      ->check(CLI::Range(0, 1));
  command.add_option("-A,--alpha", f.alpha)->capture_default_str();
  command.add_option("-B,--beta", f.beta)->capture_default_str();
  command.add_option("-G,--gamma", f.gamma)->capture_default_str();
  command.add_option("-i,--iter", f.measure.iterations, "timed executions; 0: as long as sensible")
      ->check(at_least(0));
  command.add_option("-V,--verify", f.verify, "0 or 1")->check(CLI::Range(0, 1));
  command.add_option("-t,--time", f.time, "accepted; times are always printed");
  command.add_option("-w,--wall", f.wall, "accepted; times are always printed");
  command.add_option("--in_layout,--layout", f.layout, "NCHW or NHWC, of all tensors")
      ->transform(CLI::IsMember({"NCHW", "NHWC"}, CLI::ignore_case));
  command.add_flag("--json", f.json, "print JSON");
}

}  // namespace

void add_cbainfer(CLI::App& app) {
  const std::pair<const char*, fuseplanDataType_t> kCommands[] = {
      {"CBAInfer", fuseplanFloat},
      {"CBAInferfp16", fuseplanHalf},
      {"CBAInferbfp16", fuseplanBFloat16}};
  for (const auto& [name, type] : kCommands) {
    auto flags = std::make_shared<CbaFlags>();
    CLI::App* command = app.add_subcommand(
        name, std::string("MIOpenDriver's command of that name, in ") + name_of(type));
    add_flags(*command, *flags);
    add_handle_flags(*command, flags->measure);
    command->callback([flags, type = type] {
      flags->measure.verify = flags->verify == 1;
      measure_and_report({problem_of(*flags, type)}, flags->measure, flags->json);
    });
  }
}

}  // namespace fuseplan::driver
