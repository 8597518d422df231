// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "base/memory.hpp"
#include "run/variant.hpp"

namespace fuseplan {

/// One problem with tensors of the right sizes full of random numbers, for kernels to be timed on.
class Trial {
 public:
  /// Throws Error(AllocFailed) where there is no room for the tensors.
  Trial(const CompileContext& context, const Question& question, const Parallel& parallel);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// A kernel that is ready to run on the trial's tensors.
  struct Entry {
    std::shared_ptr<const Executable> executable;
    Buffer weights;  ///< in its prepared form
  };
  Entry enter(std::shared_ptr<const Executable> executable) const;
  /// Microseconds that so many executions took together.
  double run(const Entry& entry, int repeats) const;

 private:
  enum class Fill { symmetric, positive };
  void release(void* memory) const noexcept;
  void* new_tensor(const Tensor& tensor, Fill fill);
  void* new_operand(const Operand& operand);

  const Backend& backend_;
  int device_;
  const Parallel& parallel_;
  std::vector<std::unique_ptr<void, std::function<void(void*)>>> memory_;
  const void* input_ = nullptr;
  void* output_ = nullptr;
  const void* weights_ = nullptr;
  std::vector<const void*> channels_, elements_;
  std::vector<double> scalars_;
  std::vector<void*> results_;
};

}  // namespace fuseplan
