// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "driver/bench/options.hpp"
#include "driver/bench/report.hpp"
#include "driver/commands.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

// Only a file of its own is replaced: not a pipe, a terminal or a link, /dev/stdout among them.
bool is_replaceable(const std::string& path) {
  const std::filesystem::file_status status = std::filesystem::symlink_status(path);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const std::string beside = is_replaceable(path) ? path + ".new" : path;
  std::ofstream file(beside);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + beside);
  if (beside != path) std::filesystem::rename(beside, path);
}

void bench(const BenchOptions& options) {
  const auto write_json = [&](const std::vector<BenchRun>& runs) {
    write_file(options.json, bench_json(runs).dump(1) + "\n");
  };
  // A bench that is stopped leaves what it had measured.
  const auto keep = [&](const std::vector<BenchRun>& runs) {
    if (is_replaceable(options.json)) write_json(runs);
  };
  const std::vector<BenchRun> runs = run_bench(options, keep);
  if (!is_replaceable(options.json)) write_json(runs);
  write_file(options.svg, bench_svg(runs));
  for (const BenchRun& run : runs)
    if (!std::all_of(run.rows.begin(), run.rows.end(), [](const BenchRow& r) { return r.right(); }))
      throw ExitCode{1};
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Compare with a peer over problem lists, in turns, and check both");
  command->add_option("--list", options->lists, "CSV lists, paths or names in problems/")
      ->required()
      ->delimiter(',');
  command->add_option("--device", options->device, "cpu or cuda:N")->capture_default_str();
  command
      ->add_option("--peer", options->peers,
                   "onednn on CPUs, cudnn on GPUs; unfused: fuseplan op by op")
      ->check(CLI::IsMember({"onednn", "cudnn", "unfused"}))
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--layout", options->layouts, "nchw, nhwc or both")
      ->check(CLI::IsMember({"nchw", "nhwc"}))
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--dtype", options->types, "f32, f16, bf16, i8, u8; weights for u8 are i8")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "i8", "u8"}))
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--batch", options->batches, "batch sizes instead of the list's")
      ->check(at_least(1))
      ->delimiter(',');
  command->add_option("--chain", options->chain,
                      "ops behind each shape, e.g. \"bias;activation(relu)\"");
  command
      ->add_option("--training", options->training,
                   "the chain is batchnorm and RELU in training, forward or backward")
      ->check(CLI::IsMember({"forward", "backward"}))
      ->excludes("--chain");
  command->add_option("--activation", options->activation, "the chain's, such as gelu_tanh");
  command->add_option("--rows", options->rows, "only rows whose name contains one of these")
      ->delimiter(',');
  command->add_option("--threads", options->threads, "CPU threads of both")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--options", options->library_options, "library options");
  command->add_option("--time", options->seconds, "seconds spent timing each row")
      ->check(duration())
      ->capture_default_str();
  command->add_flag("--raw-weights", options->raw_weights,
                    "change the weights before every call; peers reorder them each time too");
  command->add_flag("--create", options->creation,
                    "time creating without any cache instead of executing");
  command->add_option("--json", options->json, "file for everything measured");
  command->add_option("--svg", options->svg, "file for a chart");
  command->callback([options] { bench(*options); });
}

}  // namespace fuseplan::driver
