// SPDX-License-Identifier: MIT
#pragma once

#include "driver/cudnn/graph_parameters.hpp"
#include "driver/cudnn/session.hpp"
#include "fake_library.hpp"

namespace fuseplan::driver {

/// Runs the graph of a case on the host. The fastest plan, or the first that is built.
inline test::Comparison run_on_host(Case& data, const GraphForm& form, GraphNumbers numbers) {
  const CudnnBackend backend;
  const CudnnSession session(nullptr);
  const GraphSpec spec = graph_of(data.problem(), form);
  GraphParameters parameters(nullptr, data, spec, form);
  std::vector<void*> pointers;
  for (const GraphTensor& tensor : spec.tensors)
    pointers.push_back(tensor.role == GraphRole::inside   ? nullptr
                       : tensor.role == GraphRole::input  ? data.input().data()
                       : tensor.role == GraphRole::output ? data.output().data()
                                                          : parameters.at(tensor));
  std::vector<unsigned char> workspace(4096);
  const auto execute = [&](const CudnnPlan& plan) {
    EXPECT_LE(plan.workspace(), workspace.size());
    plan.execute(session.handle(), spec, pointers, workspace.data());
    return 1.0;
  };
  const GraphChoice choice =
      choose_plan(backend, {session.handle(), nullptr}, spec, numbers, execute);
  execute(*choice.plan);
  return data.compare();
}

}  // namespace fuseplan::driver
