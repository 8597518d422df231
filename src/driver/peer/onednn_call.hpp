// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "driver/peer/onednn_chain.hpp"
#include "driver/peer/peer.hpp"

namespace fuseplan::driver {

/// The CPU engine and its stream, and memory that the ways of one problem share, as they never run
/// at the same time: the result, temporaries, scratchpads.
class OnednnPlace {
 public:
  explicit OnednnPlace(const test::HostTensor& output)
      : engine(dnnl::engine::kind::cpu, 0), stream(engine), output(output.like()) {}

  dnnl::memory wrap(const test::HostTensor& tensor) const;
  dnnl::memory wrap(const dnnl::memory::desc& desc, const void* data) const;
  /// Values of one float a channel, kept here, as a 1 x C x 1 ... tensor of `rank` axes, or rank 1.
  dnnl::memory channels(const std::vector<float>& values, int rank);
  /// A tensor kept here.
  dnnl::memory keep(test::HostTensor tensor);
  /// The same memory for the same purpose, unless a larger one is needed.
  enum class Purpose { source, destination, scratchpad };
  dnnl::memory temporary(Purpose purpose, const dnnl::memory::desc& desc);

  dnnl::engine engine;
  dnnl::stream stream;
  test::HostTensor output;

 private:
  std::deque<std::vector<float>> values_;
  std::deque<test::HostTensor> tensors_;
  std::map<Purpose, std::vector<dnnl::memory>> temporaries_;  // the last is the largest
};

dnnl::memory::data_type onednn_type(test::Element type);
/// Lengths and strides as they are.
dnnl::memory::desc onednn_desc(const test::HostTensor& tensor);

/// Post-ops, and the memory that they read.
class PostOps {
 public:
  void append(OnednnPlace& place, const Link& link, int rank);
  /// Multiplies integer sums by a factor of each output channel.
  void scale_weights(OnednnPlace& place, const std::vector<float>& factors, bool grouped);
  /// With a scratchpad of the user's.
  dnnl::primitive_attr attributes() const;
  const std::vector<std::pair<int, dnnl::memory>>& arguments() const { return arguments_; }

 private:
  dnnl::post_ops ops_;
  int weight_scales_ = 0;
  std::vector<std::pair<int, dnnl::memory>> arguments_;
};

/// A primitive with everything it takes, ready for the C API's call without any work of its own.
class OnednnCall {
 public:
  OnednnCall(dnnl::primitive primitive, const std::vector<std::pair<int, dnnl::memory>>& arguments);
  void execute(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // kept alive
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// Primitives one after another.
class OnednnWay : public PeerWay {
 public:
  OnednnWay(std::string name, WayRole role, std::shared_ptr<OnednnPlace> place)
      : PeerWay(std::move(name), role), place_(std::move(place)) {}

  OnednnPlace& place() { return *place_; }
  /// Adds a primitive with its post-ops and scratchpad.
  template <typename Descriptor>
  void add(const Descriptor& desc, std::vector<std::pair<int, dnnl::memory>> arguments,
           const PostOps& post_ops = {}) {
    for (const auto& argument : post_ops.arguments()) arguments.push_back(argument);
    if (const auto scratchpad = desc.scratchpad_desc(); scratchpad.get_size() > 0)
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD,
                             place_->temporary(OnednnPlace::Purpose::scratchpad, scratchpad));
    note(desc.impl_info_str());
    calls_.emplace_back(dnnl::primitive(desc.get()), arguments);
  }
  /// Copies between layouts.
  void add_reorder(const dnnl::memory& from, const dnnl::memory& to);
  /// The result lies elsewhere than in the place's output.
  void set_result(const dnnl::memory& memory) { result_ = memory; }

  std::string implementation() const override { return implementation_; }
  void execute() override;
  test::HostTensor result() override;

 private:
  void note(const std::string& implementation);

  std::shared_ptr<OnednnPlace> place_;
  std::vector<OnednnCall> calls_;
  dnnl::memory result_;
  std::string implementation_;
};

}  // namespace fuseplan::driver
