// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <bit>

#include "base/status.hpp"
#include "kernels/gpu/conv_hopper.hpp"
#include "solvers/gpu_conditions.hpp"

namespace fuseplan {

// Conditions of the solvers whose kernels are for Hopper's tensor cores, however they are fed.

inline void need_hopper_convolution(const Question& question, Verdict& verdict,
                                    gpu::HopperFeed feed) {
  verdict.need(question.traits.arch == "sm_90a", RejectCode::Device, "architecture",
               question.traits.arch, "sm_90a",
               "a Hopper device, and a driver for CUDA 12 or later, which makes tensor maps");
  need_convolution(question, verdict, true);
  if (!verdict.accepted()) return;
  const ConvOp& op = *question.problem.conv();
  const Tensor& input = question.problem.input();
  const bool takes_f32 = feed == gpu::HopperFeed::copies;
  if (takes_f32 && input.dtype == DType::f32) {
    need_tf32(question, verdict);
  } else {
    verdict.need(input.dtype == DType::f16 || input.dtype == DType::bf16, RejectCode::DataType,
                 "input", name_of(input.dtype),
                 takes_f32 ? "f16, bf16, or f32 rounded to tf32" : "f16 or bf16");
  }
  verdict.need(op.weights.dtype == input.dtype, RejectCode::DataType, "filter",
               name_of(op.weights.dtype), name_of(input.dtype));
  verdict.need(input.spatial() <= 2, RejectCode::Convolution, "spatial dimensions",
               std::to_string(input.spatial()), "at most 2");
  if (feed == gpu::HopperFeed::threads)
    verdict.need(op.conv.groups == 1, RejectCode::Convolution, "groups",
                 std::to_string(op.conv.groups), "1");
}

/// A tile's groups are multiplied as one, by zeros where they differ. Of one channel each, most
/// rows of problems/depthwise.csv take longer so than by gpu_depthwise (56 x 56 pixels twice as
/// long).
inline void need_packed_groups(const Question& question, Verdict& verdict) {
  const ConvOp& op = *question.problem.conv();
  if (op.conv.groups == 1) return;
  const std::int64_t inputs = op.weights.lens[1], outputs = op.weights.lens[0] / op.conv.groups;
  verdict.need(inputs == outputs && std::has_single_bit(static_cast<std::uint64_t>(inputs)) &&
                   inputs >= gpu::kFewestPacked && inputs <= gpu::kMostPacked,
               RejectCode::Convolution, "channels of a group",
               fmt::format("{} to {}", inputs, outputs),
               fmt::format("as many outputs as inputs, a power of two from {} to {}",
                           gpu::kFewestPacked, gpu::kMostPacked),
               {}, 0);
  verdict.need(!op.conv.strict, RejectCode::Attribute, "strict", "1", "0",
               "infinities of a group meet zeros in others, which makes NaN", 0);
}

inline void need_hopper_tiles(const Question& question, Verdict& verdict, gpu::HopperFeed feed) {
  const Tensor& output = question.problem.output();
  need_count(verdict, "output pixels of the batch",
             static_cast<double>(output.elements() / output.lens[1]));
  verdict.need(!gpu::hopper_tiles(question.problem, question.chain, feed).empty(), RejectCode::Size,
               "values of the chain for each channel",
               std::to_string(question.chain.channels.roots.size()),
               "as many as shared memory holds");
}

}  // namespace fuseplan
