// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.hpp"

namespace fuseplan::cpu {

/// A piece of position-independent machine code with its constants behind it. Called as
/// `void (*)(const void* arguments)` unless its family says otherwise.
struct Function {
  std::string name;
  std::vector<std::byte> code;
};

/// An entry point, as the function it is.
template <typename Kernel>
Kernel kernel_at(const void* entry) {
  return reinterpret_cast<Kernel>(const_cast<void*>(entry));
}

/// One launch, with every pointer resolved and every shape checked by the caller.
struct Arguments {
  const void* input = nullptr;
  void* output = nullptr;
  const void* weights = nullptr;          ///< in the program's prepared form
  std::span<const void* const> channels;  ///< raw, by SplitChain::channels_in index
  std::span<const void* const> elements;  ///< raw, by SplitChain::elements index
  std::span<const double> scalars;        ///< by SplitChain::scalars index
  std::span<void* const> results;         ///< by SplitChain::results index; null: not wanted
  const Parallel& parallel;
  bool weights_are_raw = false;  ///< they are the plan's tensor instead; see takes_raw_weights()
};

/// A compiled kernel of one geometry. Immutable; run() may be called from many threads at once.
class Program {
 public:
  virtual ~Program() = default;
  virtual void run(const Arguments& arguments) const = 0;

  /// Bytes of the prepared weights; 0 if the program reads none.
  virtual std::size_t prepared_bytes() const { return 0; }
  /// Programs with equal format strings can share one prepared copy of the same weights.
  virtual std::string weight_format() const { return {}; }
  /// Whether run() can also prepare the weights itself, piece by piece as it uses them, with the
  /// same result: where they differ from call to call that saves writing them out as a whole.
  virtual bool takes_raw_weights() const { return false; }
  /// Rewrites raw weights (the plan's weight tensor) into the prepared form.
  virtual void prepare(const void* /*raw*/, void* /*prepared*/, const Parallel&) const {}
};

/// How to make a kernel: a pure function of problem, chain, instruction set and configuration.
/// emit() generates code; bind() attaches code, freshly emitted or from the cache, to the tables
/// the launch needs. bind() gets the entry points in the order of emit()'s functions; they outlive
/// the program.
class Recipe {
 public:
  virtual ~Recipe() = default;
  virtual std::vector<Function> emit() const = 0;
  virtual std::unique_ptr<Program> bind(std::span<const void* const> entries) const = 0;
};

}  // namespace fuseplan::cpu
