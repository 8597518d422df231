// SPDX-License-Identifier: MIT
#include "driver/peer/onednn_call.hpp"

#include <stdexcept>

namespace fuseplan::driver {

using dnnl::memory;
using test::Element;
using test::HostTensor;

memory::data_type onednn_type(Element type) {
  switch (type) {
    case Element::f32:
      return memory::data_type::f32;
    case Element::f16:
      return memory::data_type::f16;
    case Element::bf16:
      return memory::data_type::bf16;
    case Element::i8:
      return memory::data_type::s8;
    case Element::u8:
      return memory::data_type::u8;
  }
  throw std::invalid_argument(std::string("oneDNN: no data type ") + test::name_of(type));
}

memory::desc onednn_desc(const HostTensor& tensor) {
  return {tensor.dims(), onednn_type(tensor.type()), tensor.strides()};
}

memory OnednnPlace::wrap(const HostTensor& tensor) const {
  return wrap(onednn_desc(tensor), tensor.data());
}

memory OnednnPlace::wrap(const memory::desc& desc, const void* data) const {
  return {desc, engine, const_cast<void*>(data)};  // NOLINT: only read where it is an input
}

memory OnednnPlace::channels(const std::vector<float>& values, int rank) {
  const std::vector<float>& kept = values_.emplace_back(values);
  memory::dims lens(static_cast<std::size_t>(rank), 1), strides(lens.size(), 1);
  lens[rank > 1 ? 1 : 0] = static_cast<memory::dim>(kept.size());
  strides[0] = rank > 1 ? lens[1] : 1;
  return wrap({lens, memory::data_type::f32, strides}, kept.data());
}

memory OnednnPlace::keep(HostTensor tensor) {
  return wrap(tensors_.emplace_back(std::move(tensor)));
}

memory OnednnPlace::temporary(Purpose purpose, const memory::desc& desc) {
  std::vector<memory>& kept = temporaries_[purpose];
  if (kept.empty() || kept.back().get_desc().get_size() < desc.get_size())
    kept.emplace_back(desc, engine);
  return wrap(desc, kept.back().get_data_handle());
}

void PostOps::append(OnednnPlace& place, const Link& link, int rank) {
  const auto binary = [&](dnnl::algorithm algorithm, const memory& other) {
    arguments_.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops_.len()) | DNNL_ARG_SRC_1, other);
    ops_.append_binary(algorithm, other.get_desc());
  };
  if (const auto* mul = std::get_if<ChannelMul>(&link)) {
    binary(dnnl::algorithm::binary_mul, place.channels(mul->values, rank));
  } else if (const auto* add = std::get_if<ChannelAdd>(&link)) {
    binary(dnnl::algorithm::binary_add, place.channels(add->values, rank));
  } else if (const auto* sum = std::get_if<TensorSum>(&link)) {
    binary(dnnl::algorithm::binary_add, place.keep(sum->other));
  } else {
    const Eltwise& eltwise = std::get<Eltwise>(link);
    ops_.append_eltwise(eltwise.algorithm, eltwise.alpha, eltwise.beta);
  }
}

void PostOps::scale_weights(OnednnPlace& place, const std::vector<float>& factors, bool grouped) {
  weight_scales_ =
      grouped ? 3 : 1;  // the axes that scales differ along: groups, and their channels
  arguments_.emplace_back(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, place.channels(factors, 1));
}

dnnl::primitive_attr PostOps::attributes() const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (ops_.len() > 0) attributes.set_post_ops(ops_);
  if (weight_scales_ != 0) attributes.set_scales_mask(DNNL_ARG_WEIGHTS, weight_scales_);
  return attributes;
}

OnednnCall::OnednnCall(dnnl::primitive primitive,
                       const std::vector<std::pair<int, memory>>& arguments)
    : primitive_(std::move(primitive)) {
  for (const auto& [index, memory] : arguments) {
    memories_.push_back(memory);
    arguments_.push_back({index, memory.get()});
  }
}

void OnednnCall::execute(const dnnl::stream& stream) const {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                             arguments_.data()),
      "could not execute a primitive");
}

void OnednnWay::add_reorder(const memory& from, const memory& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc desc(from, to, attributes);
  add(desc, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void OnednnWay::execute() {
  for (const OnednnCall& call : calls_) call.execute(place_->stream);
  place_->stream.wait();
}

HostTensor OnednnWay::result() {
  if (!result_) return place_->output;
  HostTensor copy = place_->output.like();
  memory to = place_->wrap(copy);
  dnnl::reorder(result_, to).execute(place_->stream, result_, to);
  place_->stream.wait();
  return copy;
}

void OnednnWay::note(const std::string& implementation) {
  if (!implementation_.empty()) implementation_ += " + ";
  implementation_ += implementation;
}

}  // namespace fuseplan::driver
