// `annulus train`: what it is about to do is worked out and checked on every rank before the
// trainer begins; where a run goes on, rank 0 reads the checkpoint and tells the others.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "comm/console.h"
#include "comm/nccl_settings.h"
#include "engine/checkpoint_folder.h"
#include "engine/cli/commands.h"
#include "engine/cli/device.h"
#include "engine/cli/ranks.h"
#include "engine/cli/saved_options.h"
#include "engine/live_run.h"
#include "engine/observe/status_reporter.h"
#include "engine/outcome.h"
#include "engine/precision.h"
#include "engine/report.h"
#include "engine/run_config.h"
#include "engine/start_log.h"
#include "engine/stop_signals.h"
#include "engine/trainer.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

// Where a run goes on; without a state it begins.
struct Resumed {
  std::optional<RunState> state;
  std::optional<CheckpointFile> checkpoint;  // on rank 0
};

std::optional<CheckpointFile> find_checkpoint(const TrainCommand& command) {
  const std::optional<ResumeTarget> target = resume_target(command);
  if (!target) return std::nullopt;
  if (!target->checkpoint.empty()) return read_checkpoint(target->checkpoint);
  return newest_checkpoint(RunFolder(target->run).checkpoints());
}

Resumed find_resumed(const TrainCommand& command, const World& world) {
  Resumed resumed;
  std::string text;
  if (world.first()) resumed.checkpoint = find_checkpoint(command);
  if (resumed.checkpoint) text = text_of(resumed.checkpoint->state);
  if (world.control) text = world.control->broadcast(text);
  if (!text.empty()) resumed.state = run_state_of(text, "rank 0's checkpoint");
  return resumed;
}

// A new folder, or the one of the run that goes on: locked before anything in it is touched.
RunFolder open_run_folder(const TrainCommand& command, const TrainPlan& plan,
                          const nlohmann::ordered_json& config, std::optional<StartLog>& starts) {
  const fs::path path =
      command.out.empty() ? default_run_path(command.options.model) : fs::path(command.out);
  RunFolder folder(path);
  if (command.resume.empty() || !fs::exists(folder.config())) {
    folder = RunFolder(path, config);
    starts.emplace(folder.starts());
  } else {
    starts.emplace(folder.starts());
    starts->expect_progress(plan.start.updates, command.starts_per_update);
    folder = RunFolder::reopen(path, config, plan.start.epoch);
  }
  return folder;
}

void tell(const TrainCommand& command, const TrainPlan& plan, const RunFolder& folder,
          const Resumed& resumed) {
  std::string text = fmt::format("{}: {}\nrun folder: {}\n", command.options.model, plan.describe(),
                                 folder.path().string());
  if (resumed.checkpoint) {
    const RunState& saved = resumed.checkpoint->state;
    text += fmt::format("resumes {} after update {}\n", resumed.checkpoint->path.string(),
                        saved.updates);
    if (saved.global_batch != plan.start.global_batch)
      text += fmt::format(
          "the global batch was {} and is {} now: goes on from {} samples of epoch {}\n",
          saved.global_batch, plan.start.global_batch, saved.samples, saved.epoch + 1);
    const bool within_an_epoch = plan.start.samples > 0 && plan.first_epoch.steps() > 0;
    if (within_an_epoch && parse_replacements(command.options.replace).dropout)
      text +=
          "cuDNN's dropout cannot be resumed within an epoch: its rest is trained with other masks "
          "than the stopped run would have drawn\n";
  } else if (!command.resume.empty()) {
    text += "no checkpoint to resume: begins at update 1\n";
  }
  if (plan.start.updates >= plan.updates)
    text +=
        fmt::format("nothing is left to do: all {} updates are done; --epochs makes a run longer\n",
                    plan.updates);
  note(text);
}

// --config repeats a run on the data that it saw.
void expect_the_data_of(const TrainCommand& command, const Datasets& data) {
  if (!command.data_checksum.empty() && command.data_checksum != data.checksum)
    throw UserError(ExitCode::data,
                    fmt::format("{}: its run saw other data (SHA-256 {}) than {} is now ({}); give "
                                "the same with --data",
                                command.config, command.data_checksum, data.source, data.checksum));
}

// Before NCCL's first call.
void set_up_nccl(const TrainOptions& options, const World& world, const RunFolder& folder) {
  for (const std::string& line : choose_nccl_sums(options.deterministic))
    if (world.first()) note(line + "\n");
  send_nccl_log_to(folder.path());
}

// On rank 0 of a TrainJob whose controller wants to know.
std::unique_ptr<StatusReporter> report_status(const World& world) {
  if (!world.first() || !world.live) return nullptr;
  const auto warn = [](const std::string& line) { note(fmt::format("annulus: {}\n", line)); };
  const std::optional<StatusServer> server =
      status_server_of([](const char* name) { return std::getenv(name); }, warn);
  if (!server) return nullptr;
  try {
    return std::make_unique<StatusReporter>(*server, *world.live, warn, StatusReporter::Pace{});
  } catch (const std::system_error& error) {
    warn(fmt::format("the TrainJob's status is not reported: no thread: {}", error.what()));
    return nullptr;
  }
}

int train_as_rank(const TrainCommand& command, World& world,
                  const std::vector<std::string>& command_line) {
  const TrainOptions& options = command.options;
  require_precision(parse_precision(options.precision));
  // A rank that the others know of does not vanish: they all stop after the first update.
  std::optional<DeferredStop> deferred;
  if (world.control) deferred.emplace();
  const Datasets data = load_data(command.data, world.first());
  if (!world.identity.alone() && data.choice == DataChoice::fallback)
    throw UserError(ExitCode::data,
                    "several ranks train only on data that was chosen; say --data FOLDER or --data "
                    "synthetic");
  expect_the_data_of(command, data);
  const Resumed resumed = find_resumed(command, world);
  const TrainPlan plan =
      plan_training(options, world.ranks(), {data.train.size(), data.checksum}, resumed.state);
  if (world.first()) check_report_files(options);
  std::optional<StartLog> starts;  // on rank 0, which makes the folder and tells the others where
  RunFolder folder{fs::path()};
  if (world.first()) {
    folder = open_run_folder(command, plan,
                             run_config(options, plan, world, data, command.threads, command_line),
                             starts);
    tell(command, plan, folder, resumed);
    starts->started(plan.start, command_line);
  }
  const std::string where = world.first() ? fs::absolute(folder.path()).string() : "";
  if (world.control) {
    folder = RunFolder(world.control->broadcast(where));
    set_up_nccl(options, world, folder);
  }
  if (world.live) world.live->training_begins(options.model, plan);
  const std::unique_ptr<StatusReporter> status = report_status(world);
  TrainResult result;
  try {
    result = train(options, plan, data, world, folder, resumed.checkpoint);
  } catch (...) {
    if (starts) starts->failed(outcome_of(std::current_exception()).message);
    throw;
  }
  if (starts) starts->ended(result.stopped_by ? "stopped" : "done", result.updates);
  if (!result.stopped_by) {
    if (world.live) world.live->finished();
    if (status) status->finish();
    return static_cast<int>(ExitCode::done);
  }
  if (world.identity.speaks())
    note(fmt::format(
        "annulus: stopped by SIG{} after update {} of {}; go on with: annulus train "
        "--resume {}{}\n",
        sigabbrev_np(*result.stopped_by), result.updates, plan.updates, folder.path().string(),
        world.identity.nodes ? ", on every worker as before" : ""));
  return 128 + *result.stopped_by;
}

}  // namespace

int run_train(TrainCommand& command, const std::vector<std::string>& command_line) {
  install_stop_signals();
  command.resolve();
  check_options(command.options);
  choose_device(command.device, command.threads);
  return run_as_ranks(command.ranks, command_line, train_facts(command.options),
                      [&](World& world) { return train_as_rank(command, world, command_line); });
}

}  // namespace annulus
