// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <limits>

#include "miopen/convolution.hpp"
#include "miopen/loops.hpp"

using namespace fuseplan::miopen;

namespace {

struct Descriptors {
  miopenTensorDescriptor_t x, w;
  miopenConvolutionDescriptor_t convolution;
  miopenTensorDescriptor_t y;
};

Chain chain_of(const Descriptors& of) {
  const auto convolution = find(of.convolution, "convDesc");
  const Shape x = shape_of(of.x, "xDesc"), w = shape_of(of.w, "wDesc");
  convolution->check_operands(x, w);
  return {x, {convolution->op_text(w)}, shape_of(of.y, "yDesc")};
}

int algorithm_of(miopenConvFwdAlgorithm_t algo) {
  const bool known = algo >= miopenConvolutionFwdAlgoGEMM &&
                     algo <= miopenConvolutionFwdAlgoImplicitGEMM && algo != 4;
  return known ? algo : -1;
}

OpArguments weights(const void* w, float alpha = 1, float beta = 0) {
  return {.kind = OpKind::conv, .alpha = alpha, .beta = beta, .pointers = {w}};
}

// Solvers are known by name; an id is a hash of it (FNV-1a), the same in every process.
std::uint64_t id_of(std::string_view solver) {
  std::uint64_t id = 0xcbf29ce484222325u;
  for (const char c : solver) id = (id ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return id;
}

struct Solution {
  std::string solver;
  int algorithm;
};

/// The solvers that take the chain, best first.
std::vector<Solution> solutions_of(const Handle& handle, const Chain& chain) {
  const OwnedPlan plan = make_plan(chain);
  int count = 0;
  check(fuseplanPlanGetSolvers(handle.handle.get(), plan.get(), 0, &count, nullptr));
  std::vector<fuseplanSolverInfo_t> infos(static_cast<std::size_t>(std::max(1, count)));
  infos[0].structSize = sizeof infos[0];
  check(fuseplanPlanGetSolvers(handle.handle.get(), plan.get(), count, &count, infos.data()));
  std::vector<Solution> solutions;
  for (const auto& info : std::span(infos).first(static_cast<std::size_t>(count)))
    if (info.accepted != 0 && info.algorithm >= 0) solutions.push_back({info.name, info.algorithm});
  return solutions;
}

/// The chain with the solver of that id alone; id 0: any.
Chain with_solution(const Handle& handle, Chain chain, std::uint64_t id) {
  if (id == 0) return chain;
  const auto solutions = solutions_of(handle, chain);
  const auto found =
      std::ranges::find(solutions, id, [](const Solution& s) { return id_of(s.solver); });
  require(found != solutions.end(), miopenStatusBadParm, "no solution has the id {}", id);
  chain.solver = found->solver;
  return chain;
}

std::shared_ptr<CompiledChain> compiled_solution(Handle& handle, const Chain& chain,
                                                 std::uint64_t id) {
  std::string key = fmt::format("{}#{}", chain.key(), id);
  if (auto known = handle.chains.find(key)) return known;
  return handle.chains.keep(std::move(key), handle.compiled(with_solution(handle, chain, id)));
}

/// By the algorithm that a program asks for, or by any where that does not take the shape.
std::shared_ptr<CompiledChain> compiled_by_algorithm(Handle& handle, Chain chain, int algorithm) {
  std::string key = fmt::format("{}#by{}", chain.key(), algorithm);
  if (auto known = handle.chains.find(key)) return known;
  std::shared_ptr<CompiledChain> compiled;
  try {
    chain.algorithm = algorithm;
    compiled = handle.compiled(chain);
  } catch (const Error& error) {
    if (algorithm < 0 || error.status() != Status::UnsupportedOp) throw;
    chain.algorithm = -1;
    compiled = handle.compiled(chain);
  }
  return handle.chains.keep(std::move(key), std::move(compiled));
}

/// Milliseconds of the best of some runs. The first, which prepares the weights, does not count.
float time_of(CompiledChain& chain, const void* x, const void* w, void* y, int runs) {
  const OpArguments arguments[] = {weights(w)};
  chain.execute(x, y, arguments);
  float best = std::numeric_limits<float>::max();
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    chain.execute(x, y, arguments);
    const std::chrono::duration<float, std::milli> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

/// One entry for each algorithm, timed as miopenConvolutionForward will run it, fastest first.
std::vector<miopenConvAlgoPerf_t> measure(Handle& handle, Chain chain, const void* x, const void* w,
                                          void* y, int runs) {
  std::vector<int> algorithms;
  for (const Solution& solution : solutions_of(handle, chain))
    if (std::ranges::find(algorithms, solution.algorithm) == algorithms.end())
      algorithms.push_back(solution.algorithm);
  std::vector<miopenConvAlgoPerf_t> results;
  for (const int algorithm : algorithms) {
    chain.algorithm = algorithm;
    miopenConvAlgoPerf_t& result = results.emplace_back();
    result.fwd_algo = static_cast<miopenConvFwdAlgorithm_t>(algorithm);
    result.time = time_of(*handle.compiled(chain), x, w, y, runs);
    result.memory = 0;
  }
  std::ranges::stable_sort(results, {}, &miopenConvAlgoPerf_t::time);
  return results;
}

}  // namespace

miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, size_t* workSpaceSize) {
  return guard(__func__, [&] {
    find(handle, "handle");
    chain_of({xDesc, wDesc, convDesc, yDesc});
    *required(workSpaceSize, "workSpaceSize") = 0;
  });
}

miopenStatus_t miopenFindConvolutionForwardAlgorithm(
    miopenHandle_t handle, miopenTensorDescriptor_t xDesc, const void* x,
    miopenTensorDescriptor_t wDesc, const void* w, miopenConvolutionDescriptor_t convDesc,
    miopenTensorDescriptor_t yDesc, void* y, int requestAlgoCount, int* returnedAlgoCount,
    miopenConvAlgoPerf_t* perfResults, void*, size_t, bool exhaustiveSearch) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Chain chain = chain_of({xDesc, wDesc, convDesc, yDesc});
    required(x, "x");
    required(w, "w");
    required(y, "y");
    required(returnedAlgoCount, "returnedAlgoCount");
    required(perfResults, "perfResults");
    require(requestAlgoCount >= 1, miopenStatusBadParm,
            "requestAlgoCount is {}, expected 1 or more", requestAlgoCount);
    const auto results = measure(*object, chain, x, w, y, exhaustiveSearch ? 8 : 2);
    const auto count = std::min(results.size(), static_cast<std::size_t>(requestAlgoCount));
    std::copy_n(results.begin(), count, perfResults);
    *returnedAlgoCount = static_cast<int>(count);
  });
}

miopenStatus_t miopenConvolutionForward(miopenHandle_t handle, const void* alpha,
                                        miopenTensorDescriptor_t xDesc, const void* x,
                                        miopenTensorDescriptor_t wDesc, const void* w,
                                        miopenConvolutionDescriptor_t convDesc,
                                        miopenConvFwdAlgorithm_t algo, const void* beta,
                                        miopenTensorDescriptor_t yDesc, void* y, void*, size_t) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Chain chain = chain_of({xDesc, wDesc, convDesc, yDesc});
    const OpArguments arguments[] = {weights(required(w, "w"), scalar(alpha, 1), scalar(beta, 0))};
    object->loop_ms = -1;
    compiled_by_algorithm(*object, chain, algorithm_of(algo))
        ->execute(required(x, "x"), required(y, "y"), arguments);
  });
}

miopenStatus_t miopenConvolutionForwardBias(miopenHandle_t handle, const void* alpha,
                                            miopenTensorDescriptor_t bDesc, const void* b,
                                            const void* beta, miopenTensorDescriptor_t yDesc,
                                            void* y) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const Shape bias = shape_of(bDesc, "bDesc"), output = shape_of(yDesc, "yDesc");
    require(output.rank() >= 2 && bias.elements() == output.lens[1], miopenStatusBadParm,
            "bDesc has {} values, expected one for each channel of yDesc", bias.elements());
    const Chain chain{output,
                      {fmt::format("bias({})", text_of(channel_vector(bias.type, output.lens[1],
                                                                      output.rank())))},
                      output};
    const OpArguments arguments[] = {{.kind = OpKind::bias,
                                      .alpha = scalar(alpha, 1),
                                      .beta = scalar(beta, 0),
                                      .pointers = {required(b, "b")}}};
    object->run(chain, required(y, "y"), y, arguments);
  });
}

miopenStatus_t miopenConvolutionForwardGetSolutionCount(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, size_t* solutionCount) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    *required(solutionCount, "solutionCount") =
        solutions_of(*object, chain_of({xDesc, wDesc, convDesc, yDesc})).size();
  });
}

miopenStatus_t miopenConvolutionForwardGetSolution(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, size_t maxSolutionCount,
    size_t* solutionCount, miopenConvSolution_t* solutions) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    required(solutionCount, "solutionCount");
    required(solutions, "solutions");
    const auto found = solutions_of(*object, chain_of({xDesc, wDesc, convDesc, yDesc}));
    *solutionCount = std::min(found.size(), maxSolutionCount);
    for (std::size_t i = 0; i < *solutionCount; ++i)
      solutions[i] = {-1, 0, id_of(found[i].solver),
                      static_cast<miopenConvAlgorithm_t>(found[i].algorithm)};
  });
}

miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, uint64_t solution_id,
    size_t* workSpaceSize) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    required(workSpaceSize, "workSpaceSize");
    with_solution(*object, chain_of({xDesc, wDesc, convDesc, yDesc}), solution_id);
    *workSpaceSize = 0;
  });
}

miopenStatus_t miopenConvolutionForwardCompileSolution(
    miopenHandle_t handle, miopenTensorDescriptor_t wDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t yDesc, uint64_t solution_id) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    compiled_solution(*object, chain_of({xDesc, wDesc, convDesc, yDesc}), solution_id);
  });
}

miopenStatus_t miopenConvolutionForwardImmediate(miopenHandle_t handle,
                                                 miopenTensorDescriptor_t wDesc, const void* w,
                                                 miopenTensorDescriptor_t xDesc, const void* x,
                                                 miopenConvolutionDescriptor_t convDesc,
                                                 miopenTensorDescriptor_t yDesc, void* y, void*,
                                                 size_t, uint64_t solution_id) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    const OpArguments arguments[] = {weights(required(w, "w"))};
    object->loop_ms = -1;
    compiled_solution(*object, chain_of({xDesc, wDesc, convDesc, yDesc}), solution_id)
        ->execute(required(x, "x"), required(y, "y"), arguments);
  });
}
