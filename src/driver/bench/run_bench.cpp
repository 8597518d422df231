// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "driver/bench/measure_creation.hpp"
#include "driver/bench/measure_row.hpp"
#include "driver/bench/options.hpp"
#include "driver/bench/report.hpp"
#include "driver/device/measure_device_row.hpp"
#include "driver/measure.hpp"
#include "driver/problem_list.hpp"
#include "driver/report.hpp"

namespace fuseplan::driver {
namespace {

/// Parameters with which a peer's activation is the same function as MIOpen's of that name.
ActivationParameters plain_parameters(fuseplanActivationMode_t mode) {
  return mode == fuseplanActivationTANH ? ActivationParameters{1, 1, 0} : usual_parameters(mode);
}

bool wanted(const std::string& name, const std::vector<std::string>& pieces) {
  return pieces.empty() || std::any_of(pieces.begin(), pieces.end(), [&](const std::string& piece) {
           return name.find(piece) != std::string::npos;
         });
}

std::string chain_text(const BenchOptions& options) {
  if (options.training.empty()) return options.chain;
  return options.training == "forward" ? "norm_training;activation(relu)"
                                       : "activation_backward(relu);norm_backward";
}

std::vector<ProblemSpec> problems_of(const BenchOptions& options, const BenchRun& run) {
  std::vector<ProblemSpec> chosen;
  const ListOptions form{chain_text(options), run.batch, parse_type(run.dtype),
                         run.layout == "nhwc"};
  for (ProblemSpec& problem : read_list(run.list, form)) {
    if (!wanted(problem.name, options.rows)) continue;
    for (OpSpec& op : problem.ops) {
      if (op.kind != OpKind::activation && op.kind != OpKind::activation_backward) continue;
      if (!options.activation.empty()) op.mode = parse_activation(options.activation);
      if (!op.parameters) op.parameters = plain_parameters(op.mode);
    }
    chosen.push_back(std::move(problem));
  }
  if (chosen.empty()) throw std::invalid_argument("--rows: " + run.list + " has none of that name");
  return chosen;
}

std::string chain_of(const ProblemSpec& problem) {
  constexpr const char* kNames[] = {"conv",
                                    "bias",
                                    "batchnorm",
                                    "",
                                    "add",
                                    "scale and shift",
                                    "batchnorm training",
                                    "",
                                    "batchnorm backward",
                                    "statistics"};
  std::string text;
  for (const OpSpec& op : problem.ops)
    text += (text.empty() ? "" : " + ") +
            (op.kind == OpKind::activation            ? std::string(name_of(op.mode))
             : op.kind == OpKind::activation_backward ? name_of(op.mode) + std::string(" backward")
                                                      : kNames[static_cast<int>(op.kind)]);
  return text;
}

/// What a bench on a GPU has besides its handle.
class DeviceSide {
 public:
  DeviceSide(fuseplanHandle_t handle, const std::vector<std::string>& peers)
      : handle_(handle), clock_(handle), copy_gbps_(device_copy_gbps(handle, clock_)) {
    for (const std::string& name : peers) peers_.push_back(make_device_peer(name, handle));
  }

  std::vector<std::string> titles() const {
    std::vector<std::string> titles;
    for (const auto& peer : peers_) titles.push_back(peer->title());
    return titles;
  }
  /// A problem that cannot be measured does not end the bench.
  BenchRow row(const ProblemSpec& problem, double seconds) const {
    try {
      return measure_device_row({handle_, clock_, copy_gbps_, seconds}, problem, peers_);
    } catch (const std::exception& error) {
      BenchRow row;
      row.name = problem.name;
      row.problem = to_text(problem);
      row.failure = error.what();
      for (std::size_t i = 0; i < peers_.size(); ++i)
        row.peers.emplace_back().refusal = "not asked";
      return row;
    }
  }

 private:
  fuseplanHandle_t handle_;
  DeviceClock clock_;
  double copy_gbps_;
  DevicePeers peers_;
};

/// One handle and its peers, for all runs.
class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {
    MeasureOptions measure;
    measure.threads = options.threads;
    measure.library_options = options.library_options;
    if (options.creation) measure.library_options += " --cache=off";
    measure.device = options.device;
    handle_ = make_handle(measure);
    if (is_gpu(options.device)) {
      device_.emplace(handle_.get(), options.peers);
      return;
    }
    for (const std::string& name : options.peers) peers_.push_back(make_peer(name, handle_.get()));
  }

  /// Adds to `run`; calls `keep` after each row.
  void measure(BenchRun& run, const std::string& list, const std::string& layout,
               const std::string& type, std::int64_t batch, const std::function<void()>& keep) {
    run.list = list, run.layout = layout, run.dtype = type, run.batch = batch;
    run.threads = options_.threads;
    run.raw_weights = options_.raw_weights;
    run.creation = options_.creation;
    run.device = text_of([this](char* text, std::size_t* size) {
      return fuseplanGetDeviceName(handle_.get(), text, size);
    });
    for (const auto& peer : peers_) run.peers.push_back(peer->title());
    if (device_) run.peers = device_->titles();
    const std::vector<ProblemSpec> problems = problems_of(options_, run);
    run.chain = chain_of(problems.front());
    run.batch = problems.front().input.lens[0];
    Progress progress(problems.size());
    for (const ProblemSpec& problem : problems) {
      progress.step(problem.name);
      run.rows.push_back(row(problem));
      keep();
    }
  }

 private:
  BenchRow row(const ProblemSpec& problem) {
    if (device_) return device_->row(problem, options_.seconds);
    const auto measure_one = options_.creation ? measure_creation : measure_row;
    return measure_one(handle_.get(), problem, peers_,
                       {options_.threads, options_.raw_weights, options_.seconds});
  }

  const BenchOptions& options_;
  Handle handle_;
  Peers peers_;
  std::optional<DeviceSide> device_;
};

}  // namespace

std::vector<BenchRun> run_bench(const BenchOptions& options,
                                const std::function<void(const std::vector<BenchRun>&)>& keep) {
  Bench bench(options);
  std::vector<BenchRun> runs;
  for (const std::string& list : options.lists)
    for (const std::string& layout : options.layouts)
      for (const std::string& type : options.types)
        for (std::int64_t batch : options.batches) {
          bench.measure(runs.emplace_back(), list, layout, type, batch, [&] { keep(runs); });
          std::puts(bench_table(runs.back()).c_str());
          std::fflush(stdout);
        }
  return runs;
}

}  // namespace fuseplan::driver
