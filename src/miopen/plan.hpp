// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "miopen/convolution.hpp"
#include "miopen/handle.hpp"

namespace fuseplan::miopen {

/// MIOpen's ops, as their setters of arguments distinguish them.
enum class FusionOp {
  conv,
  bias,
  activation,
  activation_backward,
  norm_inference,
  norm_forward,
  norm_backward
};
const char* name_of(FusionOp kind);

/// What the creation of an op was asked for.
struct OpRequest {
  FusionOp kind;
  Convolution convolution{};
  Shape tensor{};  ///< of weights, bias or parameters
  int mode = 0;    ///< of the activation or normalisation
  bool running = false;
};

/// Where one op of the chain has its arguments from.
struct Source {
  int op;
  FusionOp kind;
  /// Scalars that replace the caller's: those of the mode that stands for the one asked for.
  std::optional<std::array<double, 3>> scalars = {};
};

/// A plan as fuseplan runs it.
struct Translation {
  Chain chain;
  std::vector<OpKind> kinds;
  std::vector<Source> sources;
};

/// Throws Error(UnsupportedOp) for a sequence that does not mean what it says, or nothing.
Translation translate(miopenFusionDirection_t direction, const Shape& input,
                      const std::vector<OpRequest>& ops);

/// Compiled for one handle.
struct Ready {
  std::weak_ptr<Handle> handle;
  Translation translation;
  std::shared_ptr<CompiledChain> chain;
};

struct Plan {
  miopenFusionDirection_t direction;
  Shape input;

  std::shared_mutex mutex;  ///< guards what follows
  std::vector<OpRequest> ops;
  std::vector<miopenFusionOpDescriptor_t> op_tokens;
  std::map<miopenHandle_t, std::shared_ptr<const Ready>> ready;  ///< emptied by every edit

  ~Plan();
};

/// What an op's token stands for: its number, as MIOpen's arguments are kept by that.
struct OpHandle {
  int index;
  FusionOp kind;
  bool running = false;  ///< of a normalisation created with runningMeanVariance
};

/// What a setter stored for one op.
struct StoredArguments {
  FusionOp kind;
  std::array<const void*, 7> pointers{};
  std::array<double, 3> scalars{};
};

struct Args {
  std::mutex mutex;
  std::vector<std::optional<StoredArguments>> ops;
};

}  // namespace fuseplan::miopen
