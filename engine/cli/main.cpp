// The annulus program: parses, runs a subcommand, turns errors into one line and a documented exit
// code. The only place that chooses an exit code.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "comm/console.h"
#include "engine/build_info.h"
#include "engine/cli/bench_allreduce.h"
#include "engine/cli/commands.h"
#include "engine/cli/data.h"
#include "engine/cli/doctor.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/saved_options.h"
#include "engine/outcome.h"
#include "kernels/check.h"

namespace {

using annulus::ExitCode;

int fail(ExitCode code, const std::string& message) {
  annulus::note("annulus: " + message + "\n");
  return static_cast<int>(code);
}

// $EPOCHS, which launchers set, stands in where $ANNULUS_EPOCHS is not set; a flag beats both.
void honour_epochs_variable() {
  if (const char* epochs = std::getenv("EPOCHS")) setenv("ANNULUS_EPOCHS", epochs, 0);
}

std::string version_line() {
  const annulus::BuildInfo& info = annulus::build_info();
  return fmt::format("annulus {} ({}{}, {})", info.version, info.commit.substr(0, 12),
                     info.dirty ? ", modified" : "", info.compiler);
}

// "train ", "bench allreduce ", or nothing where no command was recognised.
std::string parsed_command(const CLI::App& app) {
  const std::vector<const CLI::App*> parsed =
      app.get_subcommands([](const CLI::App* command) { return command->parsed(); });
  return parsed.empty() ? "" : parsed.front()->get_name() + " " + parsed_command(*parsed.front());
}

int run(int argc, char** argv) {
  CLI::App app("Annulus trains convolutional networks data-parallel, on GPUs or without one.",
               "annulus");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_line());
  app.add_flag_callback(
      "--help-exit-codes",
      [] {
        throw CLI::CallForVersion(annulus::exit_code_table(), 0);
      },  // CLI11's way to say a text
      "Every exit code: its meaning, and whether another try may succeed");
  app.footer("Every option --name has a twin $ANNULUS_NAME; the flag wins.");

  annulus::TrainCommand train;
  CLI::App* train_app = app.add_subcommand("train", "Train a model; one line an epoch on stdout");
  annulus::add_train_options(*train_app, train);
  annulus::EvalCommand eval;
  CLI::App* eval_app = app.add_subcommand("eval", "Evaluate saved weights on the test images");
  annulus::add_eval_options(*eval_app, eval);

  annulus::DataCommand data;
  CLI::App* data_app = app.add_subcommand("data", "Look at a data set, or convert it");
  annulus::add_data_options(*data_app, data);

  annulus::DoctorCommand doctor;
  CLI::App* doctor_app =
      app.add_subcommand("doctor", "What this machine can do for a run, and what to mend");
  annulus::add_doctor_options(*doctor_app, doctor);

  annulus::BenchAllReduceCommand allreduce;
  CLI::App* bench_app = app.add_subcommand("bench", "Measure the parts that a run is made of");
  bench_app->require_subcommand(1);
  annulus::add_bench_allreduce_options(
      *bench_app->add_subcommand("allreduce", "Sums over ranks: time and bandwidth by size"),
      allreduce);

  honour_epochs_variable();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(ExitCode::usage, fmt::format("{} (annulus {}--help lists the options)",
                                             error.what(), parsed_command(app)));
  }
  if (doctor_app->parsed()) return static_cast<int>(annulus::run_doctor(doctor));
  const std::vector<std::string> command_line(argv, argv + argc);
  if (bench_app->parsed()) return annulus::run_bench_allreduce(allreduce, command_line);
  if (data_app->parsed()) {
    annulus::run_data(*data_app, data);
    return static_cast<int>(ExitCode::done);
  }
  if (train_app->parsed()) {
    annulus::take_saved_options(*train_app, train);
    return annulus::run_train(train, command_line);
  }
  annulus::run_eval(eval);
  return static_cast<int>(ExitCode::done);
}

}  // namespace

int main(int argc, char** argv) {
  annulus::keep_standard_streams();
  try {
    return run(argc, argv);
  } catch (...) {
    const annulus::Outcome outcome = annulus::outcome_of(std::current_exception());
    return fail(outcome.code, outcome.message);
  }
}
