// SPDX-License-Identifier: MIT
#include "kernels/cpu/statistics/recipe.hpp"

#include "base/memory.hpp"
#include "expr/norm_stages.hpp"
#include "kernels/cpu/norm_results.hpp"
#include "kernels/cpu/statistics/moments.hpp"

namespace fuseplan::cpu {
namespace {

/// What a kernel may write before its output is read again: half of a usual second-level cache.
constexpr std::size_t kCachedBytes = 512 << 10;

Tensor with_images(Tensor tensor, std::int64_t images) {
  tensor.lens[0] = images;
  return tensor;
}

std::int64_t images_at_once(const Problem& problem) {
  const std::int64_t batch = problem.output().lens[0];
  const std::size_t bytes = with_images(problem.output(), 1).bytes();
  std::int64_t count = batch;
  while (batch % count != 0 ||
         (count > 1 && static_cast<std::size_t>(count) * bytes > kCachedBytes))
    --count;
  return count;
}

/// Tensors over the batch become tensors over some of its images.
OpBody over_images(OpBody body, std::int64_t images) {
  if (std::holds_alternative<StatisticsOp>(body)) return ActivationOp{Activation::PASTHRU};
  const auto cut = [images](Tensor& tensor) {
    if (tensor.lens[0] > 1) tensor.lens[0] = images;
  };
  if (auto* add = std::get_if<AddOp>(&body)) cut(add->other);
  if (auto* op = std::get_if<ActivationBackwardOp>(&body)) cut(op->source);
  return body;
}

Problem problem_of(const Problem& whole, std::int64_t images) {
  std::vector<Op> ops = whole.ops();
  for (Op& op : ops) op.body = over_images(std::move(op.body), images);
  return Problem(with_images(whole.input(), images), std::move(ops),
                 with_images(whole.output(), images));
}

/// Output that is to go to memory anyway gains nothing by being stored to the caches first,
/// although it is read there: on a core whose third level is hardly nearer than memory 51 MB
/// took 12.9 to 14.6 ms past them and 16.1 to 17.5 through them, 19 MB 3.8 and 2.7.
constexpr std::int64_t kMostKept = 32 << 20;

SplitChain chain_of(SplitChain chain, std::int64_t images, const Tensor& output) {
  for (Operand& element : chain.elements)
    if (element.tensor.lens[0] > 1) element.tensor.lens[0] = images;
  chain.results.clear();
  chain.output_is_reread = static_cast<std::int64_t>(output.bytes()) <= kMostKept;
  return chain;
}

std::int64_t step_of(const Tensor& tensor) {
  return tensor.lens[0] == 1 ? 0
                             : tensor.strides[0] * static_cast<std::int64_t>(size_of(tensor.dtype));
}

class StatisticsProgram final : public Program {
 public:
  StatisticsProgram(const Problem& problem, const SplitChain& chain, std::int64_t images,
                    std::unique_ptr<Program> inner, std::unique_ptr<OutputMoments> moments)
      : inner_(std::move(inner)),
        moments_(std::move(moments)),
        stages_(*statistics_stages(problem, chain)),
        results_(stages_, chain),
        batch_(problem.output().lens[0]),
        images_(images),
        input_step_(step_of(problem.input())),
        output_step_(step_of(problem.output())) {
    for (const Operand& element : chain.elements) element_steps_.push_back(step_of(element.tensor));
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const auto groups = static_cast<std::size_t>(stages_.groups);
    double* means = scratch.take_array<double>(groups);
    double* squares = scratch.take_array<double>(groups);
    const void** elements = scratch.take_array<const void*>(element_steps_.size());
    const std::int64_t values = stages_.count / batch_;
    for (std::int64_t image = 0; image < batch_; image += images_) {
      Arguments few = arguments;
      few.input = moved(arguments.input, image * input_step_);
      few.output = const_cast<void*>(moved(arguments.output, image * output_step_));
      for (std::size_t e = 0; e < element_steps_.size(); ++e)
        elements[e] = moved(arguments.elements[e], image * element_steps_[e]);
      few.elements = {elements, element_steps_.size()};
      few.results = {};
      inner_->run(few);
      moments_->join(few.output, arguments.parallel, image * values, means, squares);
    }
    float* unused = scratch.take_array<float>(2 * groups);
    results_.write_moments(arguments, {0, static_cast<long>(groups)}, means, squares, unused,
                           unused + groups);
  }

  std::size_t prepared_bytes() const override { return inner_->prepared_bytes(); }
  std::string weight_format() const override { return inner_->weight_format(); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    inner_->prepare(raw, prepared, parallel);
  }

 private:
  static const void* moved(const void* data, std::int64_t bytes) {
    return static_cast<const std::byte*>(data) + bytes;
  }

  std::unique_ptr<Program> inner_;
  std::unique_ptr<OutputMoments> moments_;
  NormStages stages_;
  NormResults results_;
  std::int64_t batch_, images_, input_step_, output_step_;
  std::vector<std::int64_t> element_steps_;
};

class StatisticsRecipe final : public Recipe {
 public:
  StatisticsRecipe(const Problem& problem, const SplitChain& chain,
                   std::shared_ptr<const Recipe> inner, Isa isa)
      : problem_(problem),
        chain_(chain),
        inner_(std::move(inner)),
        images_(images_at_once(problem)),
        moments_(with_images(problem.output(), images_),
                 statistics_stages(problem, chain)->statistics, isa) {}

  /// The kernels of the statistics first, as many as there are, then those of the rest.
  std::vector<Function> emit() const override {
    std::vector<Function> functions = moments_.emit();
    for (Function& function : inner_->emit()) functions.push_back(std::move(function));
    return functions;
  }
  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    const std::size_t own = moments_.functions();
    return std::make_unique<StatisticsProgram>(problem_, chain_, images_,
                                               inner_->bind(entries.subspan(own)),
                                               moments_.bind(entries.first(own)));
  }

 private:
  Problem problem_;
  SplitChain chain_;
  std::shared_ptr<const Recipe> inner_;
  std::int64_t images_;
  MomentsRecipe moments_;
};

}  // namespace

FewImages::FewImages(const Problem& whole, const SplitChain& whole_chain)
    : count(images_at_once(whole)),
      problem(problem_of(whole, count)),
      chain(chain_of(whole_chain, count, whole.output())) {}

std::shared_ptr<const Recipe> statistics_recipe(const Problem& problem, const SplitChain& chain,
                                                std::shared_ptr<const Recipe> inner, Isa isa) {
  return std::make_shared<StatisticsRecipe>(problem, chain, std::move(inner), isa);
}

}  // namespace fuseplan::cpu
