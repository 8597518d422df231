// SPDX-License-Identifier: MIT
#include "driver/cudnn/graph_activation.hpp"

#include <stdexcept>

#include "driver/case.hpp"

namespace fuseplan::driver {

std::vector<ActivationNode> activation_nodes(const OpSpec& op) {
  using Mode = CudnnPointwise;
  const ActivationParameters p = op.parameters.value_or(usual_parameters(op.mode));
  switch (op.mode) {
    case fuseplanActivationPASTHRU:
      return {};
    case fuseplanActivationLOGISTIC:
      return {{Mode::sigmoid, {}}};
    case fuseplanActivationTANH:
      if (p.alpha != 1 || p.beta != 1)
        throw std::invalid_argument("cuDNN's tanh has no factors, and this one has");
      return {{Mode::tanh, {}}};
    case fuseplanActivationRELU:
      return {{Mode::relu, {}}};
    case fuseplanActivationSOFTRELU:
      return {{Mode::softplus, {{CudnnAttribute::softplus_beta, 1}}}};
    case fuseplanActivationABS:
      return {{Mode::abs, {}}};
    case fuseplanActivationCLIPPEDRELU:
      return {{Mode::relu,
               {{CudnnAttribute::relu_lower_clip, 0}, {CudnnAttribute::relu_upper_clip, p.alpha}}}};
    case fuseplanActivationLEAKYRELU:
      return {{Mode::relu, {{CudnnAttribute::relu_lower_slope, p.alpha}}}};
    case fuseplanActivationELU:
      return {{Mode::elu, {{CudnnAttribute::elu_alpha, p.alpha}}}};
    case fuseplanActivationGELU_ERF:
      return {{Mode::gelu, {}}};
    case fuseplanActivationGELU_TANH:
      return {{Mode::gelu_tanh, {}}};
    case fuseplanActivationSILU:
      return {{Mode::swish, {{CudnnAttribute::swish_beta, 1}}}};
    case fuseplanActivationSOFTPLUS:
      return {{Mode::softplus, {{CudnnAttribute::softplus_beta, p.alpha}}}};
    case fuseplanActivationMISH:
      return {{Mode::softplus, {{CudnnAttribute::softplus_beta, 1}}},
              {Mode::tanh, {}},
              {Mode::mul, {}, true}};
    default:
      throw std::invalid_argument(std::string("cuDNN has no pointwise mode for ") +
                                  name_of(op.mode));
  }
}

}  // namespace fuseplan::driver
