// SPDX-License-Identifier: MIT
#include "kernels/gpu/chain_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "expr/readers.hpp"

namespace fuseplan::gpu {
namespace {

/// Stride of the channel axis: axis 1, or the only one; 0 where one value serves all channels.
std::int64_t channel_stride(const Tensor& tensor) {
  const std::size_t axis = tensor.rank() > 1 ? 1 : 0;
  return tensor.lens[axis] == 1 ? 0 : tensor.strides[axis];
}

std::string leaf_text(const Node& node) {
  switch (node.leaf) {
    case Leaf::input:
      return "x";
    case Leaf::previous:
      return "before";
    case Leaf::channel:
      return fmt::format("c[{}]", node.index);
    case Leaf::element:
      return fmt::format("e[{}]", node.index);
    default:
      return fmt::format("a.uniforms[{}]", node.index);
  }
}

std::string channels_function(const SplitChain& chain) {
  std::string text =
      "FP_FN void fp_channels(const fp_args& a, long long k, float* to) {\n"
      "(void)a, (void)k, (void)to;\n";
  for (std::size_t i = 0; i < chain.channels_in.size(); ++i) {
    const Tensor& tensor = chain.channels_in[i].tensor;
    text += fmt::format("const float p{} = fp_load<{}>(a.channels[{}], k * {}ll);\n", i,
                        static_cast<int>(tensor.dtype), i, channel_stride(tensor));
  }
  text += gpu_source(
      chain.channels,
      [](const Node& node) {
        return node.leaf == Leaf::channel ? fmt::format("p{}", node.index) : leaf_text(node);
      },
      [](std::size_t root, const std::string& name) {
        return fmt::format("to[{}] = {};\n", root, name);
      });
  return text + "}\n";
}

std::string chain_function(const SplitChain& chain) {
  return "FP_FN float fp_chain(const fp_args& a, float x, float before, const float* c,\n"
         "                     const float* e) {\n"
         "(void)a, (void)x, (void)before, (void)c, (void)e;\n" +
         gpu_source(chain.body, leaf_text,
                    [](std::size_t, const std::string& name) {
                      return fmt::format("return {};\n", name);
                    }) +
         "}\n";
}

std::size_t at_least_one(std::size_t count) { return std::max<std::size_t>(count, 1); }

SplitChain only_uniforms(const SplitChain& chain) {
  SplitChain result;
  result.scalars = chain.scalars;
  result.uniforms = chain.uniforms;
  return result;
}

}  // namespace

std::string chain_macros(const Problem& problem, const SplitChain& chain) {
  return fmt::format(
      "#define FP_INPUT {}\n#define FP_OUTPUT {}\n#define FP_CHANNELS {}\n#define FP_ELEMENTS {}\n"
      "#define FP_READS_OUTPUT {:d}\n",
      static_cast<int>(problem.input().dtype), static_cast<int>(problem.output().dtype),
      chain.channels.roots.size(), chain.elements.size(), chain.reads_previous());
}

std::string chain_declarations(const SplitChain& chain, std::string_view fields) {
  std::string types;
  for (const Operand& element : chain.elements)
    types += fmt::format("{}, ", static_cast<int>(element.tensor.dtype));
  return fmt::format(
             "struct fp_args {{\nconst void* input;\nvoid* output;\nconst void* weights;\n"
             "const void* channels[{}];\nconst void* elements[{}];\n{}float uniforms[{}];\n}};\n"
             "constexpr int fp_element_types[] = {{{}0}};\n",
             at_least_one(chain.channels_in.size()), at_least_one(chain.elements.size()), fields,
             at_least_one(chain.uniforms.roots.size()), types) +
         channels_function(chain) + chain_function(chain);
}

ChainArguments::ChainArguments(const SplitChain& chain)
    : uniform_count_(chain.uniforms.roots.size()), uniforms_(only_uniforms(chain), 1, nullptr) {}

void ChainArguments::put_pointers(const cpu::Arguments& arguments, ArgumentBlock& block) const {
  block.put(arguments.input);
  block.put(arguments.output);
  block.put(arguments.weights);
  for (const auto& pointers : {arguments.channels, arguments.elements}) {
    for (const void* pointer : pointers) block.put(pointer);
    if (pointers.empty()) block.put(static_cast<const void*>(nullptr));
  }
}

void ChainArguments::put_uniforms(const cpu::Arguments& arguments, ArgumentBlock& block,
                                  Scratch& scratch) const {
  const float* values = uniforms_.prepare(arguments, scratch).uniforms;
  for (std::size_t i = 0; i < uniform_count_; ++i) block.put(values[i]);
  if (uniform_count_ == 0) block.put(0.0f);
}

}  // namespace fuseplan::gpu
