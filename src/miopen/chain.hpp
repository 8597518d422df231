// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "miopen/shape.hpp"

// Everything this library computes by fuseplan is a chain: one line of text, which is its key, its
// definition (fuseplanCreatePlanFromString) and what logs and messages show.
namespace fuseplan::miopen {

enum class OpKind {
  conv,
  bias,
  norm,
  activation,
  add,
  norm_training,
  activation_backward,
  norm_backward
};

/// The arguments of one op, in the order of its fuseplanSetOpArgs* function.
struct OpArguments {
  OpKind kind = OpKind::activation;
  float alpha = 1, beta = 0;
  std::array<const void*, 7> pointers{};  ///< also those that are written
  std::array<double, 3> scalars{};
};

struct Chain {
  Shape input;
  std::vector<std::string> ops;  ///< "conv(...)", "bias(...)", "activation(relu)"
  Shape output;
  int algorithm = -1;       ///< a fuseplanConvFwdAlgorithm_t; -1: any
  std::string solver = {};  ///< empty: any

  std::string text() const;
  std::string key() const;
};

/// An object of fuseplan's API, destroyed with its owner.
template <typename T, fuseplanStatus_t (*Destroy)(T)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T value) : value_(value) {}
  ~Owned() {
    if (value_ != nullptr) static_cast<void>(Destroy(value_));
  }
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  T get() const { return value_; }
  T* out() { return &value_; }

 private:
  T value_ = nullptr;
};
using OwnedPlan = Owned<fuseplanPlan_t, fuseplanDestroyPlan>;
using OwnedTensor = Owned<fuseplanTensorDescriptor_t, fuseplanDestroyTensorDescriptor>;
using OwnedArgs = Owned<fuseplanOperatorArgs_t, fuseplanDestroyOperatorArgs>;

OwnedTensor make_tensor(const Shape& shape);
/// Appended and checked, not compiled.
OwnedPlan make_plan(const Chain& chain);

/// A chain compiled for one handle. Executed by many threads at once.
class CompiledChain {
 public:
  CompiledChain(fuseplanHandle_t handle, const Chain& chain);

  /// `output` is described by the chain. One entry of `arguments` for each op.
  void execute(const void* input, void* output, std::span<const OpArguments> arguments);
  fuseplanPlan_t plan() const { return plan_.get(); }

 private:
  // Argument objects keep the weights in their kernel's order, so that each goes to the weights it
  // had last: layers of one shape do not take turns in preparing theirs.
  struct Idle {
    const void* weights;
    OwnedArgs args;
  };
  OwnedArgs borrow(const void* weights);
  void give_back(const void* weights, OwnedArgs args);

  fuseplanHandle_t handle_;
  OwnedPlan plan_;
  OwnedTensor input_, output_;
  std::vector<fuseplanOp_t> ops_;
  std::mutex mutex_;
  std::vector<Idle> idle_;  // least recently used first
};

/// The chains of one handle. Programs that make a plan anew for each call find it here.
class ChainCache {
 public:
  std::shared_ptr<CompiledChain> get(fuseplanHandle_t handle, const Chain& chain);
  /// Under another key: what a question about solvers came to. find: nullptr if nothing is there.
  std::shared_ptr<CompiledChain> find(const std::string& key);
  std::shared_ptr<CompiledChain> keep(std::string key, std::shared_ptr<CompiledChain> chain);

 private:
  static constexpr std::size_t kEntries = 512;
  struct Entry {
    std::shared_ptr<CompiledChain> chain;
    std::uint64_t last_use;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t clock_ = 0;
};

}  // namespace fuseplan::miopen
