// The annulus program: parses, runs a subcommand, turns errors into one line and a documented exit
// code. The only place that chooses an exit code.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "comm/console.h"
#include "engine/build_info.h"
#include "engine/cli/bench_allreduce.h"
#include "engine/cli/commands.h"
#include "engine/cli/completion.h"
#include "engine/cli/data.h"
#include "engine/cli/doctor.h"
#include "engine/cli/environment.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/help.h"
#include "engine/cli/man_page.h"
#include "engine/cli/runs.h"
#include "engine/cli/saved_options.h"
#include "engine/cli/usage_error.h"
#include "engine/outcome.h"
#include "kernels/check.h"
#include "kernels/environment.h"

namespace {

using annulus::ExitCode;

int fail(ExitCode code, const std::string& message) {
  annulus::report_error(message);
  return static_cast<int>(code);
}

const annulus::DeclaredEnvironment kDeclared("Other",
                                             {{"EPOCHS", "", "a number",
                                               "as ANNULUS_EPOCHS, where that is not set"}});

// $EPOCHS, which launchers set, stands in where $ANNULUS_EPOCHS is not set; a flag beats both.
void honour_epochs_variable() {
  if (const char* epochs = std::getenv("EPOCHS")) setenv("ANNULUS_EPOCHS", epochs, 0);
}

std::string version_line() {
  const annulus::BuildInfo& info = annulus::build_info();
  return fmt::format("annulus {} ({}{}, {})", info.version, info.commit.substr(0, 12),
                     info.dirty ? ", modified" : "", info.compiler);
}

// --help-NAME: prints a text and ends.
void add_text_flag(CLI::App& app, const char* flag, const char* help,
                   const std::function<std::string()>& text) {
  const auto say = [text] { throw CLI::CallForVersion(text(), 0); };  // CLI11's way to say a text
  app.add_flag_callback(flag, say, help);
}

struct ShellCommand {
  CLI::App *completion = nullptr, *man = nullptr;
  std::string shell;
};

void add_shell_commands(CLI::App& app, ShellCommand& command) {
  const char* group = "Shell";
  command.completion =
      app.add_subcommand("completion", "Print the script that completes annulus in bash or zsh")
          ->group(group);
  command.completion->add_option("shell", command.shell, "whose script")
      ->option_text("bash|zsh")
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->required();
  command.completion->footer(
      "bash: source <(annulus completion bash); zsh, after compinit: source <(annulus completion "
      "zsh). Put that line into ~/.bashrc or ~/.zshrc.");
  command.man =
      app.add_subcommand("man", "Print the manual page: annulus man | man -l -")->group(group);
}

std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

int run(int argc, char** argv) {
  CLI::App app("Annulus trains convolutional networks data-parallel, on GPUs or without one.",
               "annulus");
  app.formatter(std::make_shared<annulus::HelpFormatter>());
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "This page");
  app.set_version_flag("--version", version_line(), "What this program was built from");
  add_text_flag(app, "--help-env", "Every environment variable, and what it is set to",
                [&app] { return without_last_newline(annulus::environment_table(app)); });
  add_text_flag(app, "--help-exit-codes", "Every exit code, and whether another try may succeed",
                &annulus::exit_code_table);
  app.footer("Every option --name may be given as $ANNULUS_NAME too; the flag wins.");

  annulus::TrainCommand train;
  CLI::App* train_app = app.add_subcommand("train", "Train a model; one line an epoch on stdout")
                            ->group("Train and evaluate");
  annulus::add_train_options(*train_app, train);
  annulus::EvalCommand eval;
  CLI::App* eval_app = app.add_subcommand("eval", "Evaluate saved weights on the test images")
                           ->group("Train and evaluate");
  annulus::add_eval_options(*eval_app, eval);

  annulus::DataCommand data;
  CLI::App* data_app =
      app.add_subcommand("data", "Look at a data set, or convert it")->group("Look and measure");
  annulus::add_data_options(*data_app, data);

  annulus::RunsCommand runs;
  CLI::App* runs_app =
      app.add_subcommand("runs", "List runs, or compare some")->group("Look and measure");
  annulus::add_runs_options(*runs_app, runs);
  annulus::PlotCommand plot;
  CLI::App* plot_app = app.add_subcommand("plot", "Draw the curves of runs as an SVG picture")
                           ->group("Look and measure");
  annulus::add_plot_options(*plot_app, plot);

  annulus::DoctorCommand doctor;
  CLI::App* doctor_app =
      app.add_subcommand("doctor", "What this machine can do for a run, and what to mend")
          ->group("Look and measure");
  annulus::add_doctor_options(*doctor_app, doctor);

  annulus::BenchAllReduceCommand allreduce;
  CLI::App* bench_app = app.add_subcommand("bench", "Measure the parts that a run is made of")
                            ->group("Look and measure");
  bench_app->require_subcommand(1);
  annulus::add_bench_allreduce_options(
      *bench_app->add_subcommand("allreduce", "Sums over ranks: time and bandwidth by size"),
      allreduce);
  ShellCommand shell;
  add_shell_commands(app, shell);

  honour_epochs_variable();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      return fail(ExitCode::usage, annulus::usage_message(error, app));
    const bool help = error.get_name() == "CallForHelp";
    annulus::print_line(help ? without_last_newline(app.help()) : error.what());
    return static_cast<int>(ExitCode::done);
  }
  if (shell.completion->parsed()) {
    annulus::print_line(shell.shell == "bash" ? annulus::bash_completion(app)
                                              : annulus::zsh_completion(app));
    return static_cast<int>(ExitCode::done);
  }
  if (shell.man->parsed()) {
    annulus::print_line(annulus::man_page(app));
    return static_cast<int>(ExitCode::done);
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
  if (eval_app->parsed()) annulus::run_eval(eval);
  if (runs_app->parsed()) annulus::run_runs(runs);
  if (plot_app->parsed()) annulus::run_plot(plot);
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
