// SPDX-License-Identifier: MIT
#include "driver/peer/wider_peer.hpp"

namespace fuseplan::driver {
namespace {

ProblemSpec in_f32(ProblemSpec problem) {
  problem.input.type = fuseplanFloat;
  if (problem.output.rank() > 0) problem.output.type = fuseplanFloat;
  for (OpSpec& op : problem.ops)
    for (TensorSpec* tensor : {&op.tensor, &op.source})
      if (tensor->rank() > 0) tensor->type = fuseplanFloat;
  return problem;
}

std::shared_ptr<Case> wider_case(Case& problem) {
  auto wider = std::make_shared<Case>(in_f32(problem.problem()));
  wider->input().set_values(problem.input().values());
  for (std::size_t i = 0; i < problem.parameter_count(); ++i)
    wider->parameter(i).set_values(problem.parameter(i).values());
  return wider;
}

class WiderWay : public PeerWay {
 public:
  WiderWay(std::unique_ptr<PeerWay> way, std::shared_ptr<Case> wider, test::Element type)
      : PeerWay("f32, " + way->name(), way->role()),
        wider_(std::move(wider)),
        way_(std::move(way)),
        type_(type) {}
  std::string implementation() const override { return way_->implementation(); }
  void execute() override { way_->execute(); }
  test::HostTensor result() override {
    const test::HostTensor wide = way_->result();
    test::HostTensor narrow(type_, wide.dims(), wide.strides());
    narrow.set_values(wide.values());
    return narrow;
  }

 private:
  std::shared_ptr<Case> wider_;  // the way reads its tensors
  std::unique_ptr<PeerWay> way_;
  test::Element type_;
};

}  // namespace

PeerWays wider_ways(Case& problem, const std::function<PeerWays(Case& wider)>& ways_of) {
  const std::shared_ptr<Case> wider = wider_case(problem);
  PeerWays ways;
  for (auto& way : ways_of(*wider))
    ways.push_back(std::make_unique<WiderWay>(std::move(way), wider, problem.output().type()));
  return ways;
}

}  // namespace fuseplan::driver
