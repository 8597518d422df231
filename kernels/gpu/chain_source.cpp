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

/// How one chain's functions and uniform values are called in the source.
struct Names {
  const char *channels, *chain, *uniforms;
  bool computes = false;  ///< some of the operands are the kernel's own
};
constexpr Names kNames{"fp_channels", "fp_chain", "uniforms"};
constexpr Names kSecondPass{"fp_channels", "fp_chain", "uniforms", true};
constexpr Names kSums{"fp_sums_channels", "fp_sums", "sums_uniforms"};

std::string leaf_text(const Node& node, const Names& names) {
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
      return fmt::format("a.{}[{}]", names.uniforms, node.index);
  }
}

/// What the kernel calls an operand that it computes itself; nullptr for the caller's.
const char* computed_name(Role role) {
  if (role == Role::batch_mean || role == Role::gradient_mean) return "first";
  if (role == Role::batch_inv_deviation || role == Role::gradient_projection) return "second";
  return nullptr;
}

std::string channels_function(const SplitChain& chain, const Names& names) {
  std::string text = fmt::format(
      "FP_FN void {}(const fp_args& a, long long k, {}float* to) {{\n"
      "(void)a, (void)k, {}(void)to;\n",
      names.channels, names.computes ? "float first, float second, " : "",
      names.computes ? "(void)first, (void)second, " : "");
  for (std::size_t i = 0; i < chain.channels_in.size(); ++i) {
    const Tensor& tensor = chain.channels_in[i].tensor;
    if (const char* name = computed_name(chain.channels_in[i].role)) {
      if (names.computes) text += fmt::format("const float p{} = {};\n", i, name);
      continue;
    }
    text += fmt::format("const float p{} = fp_load<{}>(a.channels[{}], k * {}ll);\n", i,
                        static_cast<int>(tensor.dtype), i, channel_stride(tensor));
  }
  text += gpu_source(
      chain.channels,
      [&](const Node& node) {
        return node.leaf == Leaf::channel ? fmt::format("p{}", node.index) : leaf_text(node, names);
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
         gpu_source(
             chain.body, [](const Node& node) { return leaf_text(node, kNames); },
             [](std::size_t, const std::string& name) {
               return fmt::format("return {};\n", name);
             }) +
         "}\n";
}

/// Both roots of a backward pass's sums.
std::string sums_function(const SplitChain& sums) {
  return "FP_FN void fp_sums(const fp_args& a, float x, const float* c, const float* e,\n"
         "                   float* to) {\n(void)a, (void)x, (void)c, (void)e;\n" +
         gpu_source(
             sums.body, [](const Node& node) { return leaf_text(node, kSums); },
             [](std::size_t root, const std::string& name) {
               return fmt::format("to[{}] = {};\n", root, name);
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

namespace {

std::string argument_struct(const SplitChain& chain, std::string_view fields) {
  std::string types;
  for (const Operand& element : chain.elements)
    types += fmt::format("{}, ", static_cast<int>(element.tensor.dtype));
  return fmt::format(
      "struct fp_args {{\nconst void* input;\nvoid* output;\nconst void* weights;\n"
      "const void* channels[{}];\nconst void* elements[{}];\n{}float uniforms[{}];\n}};\n"
      "constexpr int fp_element_types[] = {{{}0}};\n",
      at_least_one(chain.channels_in.size()), at_least_one(chain.elements.size()), fields,
      at_least_one(chain.uniforms.roots.size()), types);
}

}  // namespace

std::string chain_declarations(const SplitChain& chain, std::string_view fields) {
  return argument_struct(chain, fields) + channels_function(chain, kNames) + chain_function(chain);
}

std::string training_declarations(const SplitChain& chain, std::string_view fields) {
  std::string all_fields(fields), sums;
  if (!chain.sums.empty()) {
    const SplitChain& first = chain.sums.front();
    all_fields +=
        fmt::format("float sums_uniforms[{}];\n", at_least_one(first.uniforms.roots.size()));
    sums = channels_function(first, kSums) + sums_function(first);
  }
  return argument_struct(chain, all_fields) + channels_function(chain, kSecondPass) +
         chain_function(chain) + sums;
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
