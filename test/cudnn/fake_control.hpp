// SPDX-License-Identifier: MIT
#pragma once

// What tests tell the library that stands in for cuDNN, and what they ask it.
namespace fuseplan::fake_cudnn {

struct Control {
  /// The `number`-th call from now on, 1 being the next, fails and does nothing. 0: none does.
  void (*fail_call)(long number);
  /// Calls so far, but those that destroy: these never fail.
  long (*calls)();
  /// Handles and objects that have been created and not destroyed.
  long (*living)();
};

}  // namespace fuseplan::fake_cudnn

extern "C" const fuseplan::fake_cudnn::Control* fuseplan_fake_cudnn_control();
