// The annulus program: parses, runs a subcommand, turns errors into one line and a documented exit
// code. The only place that chooses an exit code.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

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
#include "engine/cli/k8s.h"
#include "engine/cli/man_page.h"
#include "engine/cli/plan.h"
#include "engine/cli/runs.h"
#include "engine/cli/saved_options.h"
#include "engine/cli/topology.h"
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

// The subcommands, each with what it does once the command line is parsed.
class Commands {
 public:
  explicit Commands(CLI::App& app) : app_(app) {}

  // Under the heading `group`. `run` returns the exit code, or nothing.
  template <class Options, class AddOptions, class Run>
  void add(const char* group, const char* name, const char* help, AddOptions add_options, Run run) {
    CLI::App* command = app_.add_subcommand(name, help)->group(group);
    auto options = std::make_shared<Options>();
    add_options(*command, *options);
    commands_.push_back({command, [=] {
                           if constexpr (std::is_void_v<decltype(run(*command, *options))>)
                             return run(*command, *options), static_cast<int>(ExitCode::done);
                           else
                             return static_cast<int>(run(*command, *options));
                         }});
  }

  int run_the_chosen() const {
    for (const Command& command : commands_)
      if (command.app->parsed()) return command.run();
    return static_cast<int>(ExitCode::done);
  }

 private:
  struct Command {
    const CLI::App* app;
    std::function<int()> run;
  };
  CLI::App& app_;
  std::vector<Command> commands_;
};

void add_training(Commands& commands, const std::vector<std::string>& command_line) {
  const char* group = "Train and evaluate";
  commands.add<annulus::TrainCommand>(group, "train", "Train a model; one line an epoch on stdout",
                                      annulus::add_train_options,
                                      [&command_line](CLI::App& app, annulus::TrainCommand& train) {
                                        annulus::take_saved_options(app, train);
                                        return annulus::run_train(train, command_line);
                                      });
  commands.add<annulus::EvalCommand>(
      group, "eval", "Evaluate saved weights on the test images", annulus::add_eval_options,
      [](CLI::App&, annulus::EvalCommand& eval) { annulus::run_eval(eval); });
}

void add_measuring(Commands& commands, const std::vector<std::string>& command_line) {
  const char* group = "Look and measure";
  commands.add<annulus::DataCommand>(group, "data", "Look at a data set, or convert it",
                                     annulus::add_data_options, annulus::run_data);
  commands.add<annulus::RunsCommand>(
      group, "runs", "List runs, or compare some", annulus::add_runs_options,
      [](CLI::App&, annulus::RunsCommand& runs) { annulus::run_runs(runs); });
  commands.add<annulus::PlotCommand>(
      group, "plot", "Draw the curves of runs as an SVG picture", annulus::add_plot_options,
      [](CLI::App&, annulus::PlotCommand& plot) { annulus::run_plot(plot); });
  commands.add<annulus::DoctorCommand>(
      group, "doctor", "What this machine can do for a run, and what to mend",
      annulus::add_doctor_options,
      [](CLI::App&, annulus::DoctorCommand& doctor) { return annulus::run_doctor(doctor); });
  commands.add<annulus::PlanCommand>(
      group, "plan", "What a step would be on a GPU that need not be here",
      annulus::add_plan_options,
      [](CLI::App&, annulus::PlanCommand& plan) { annulus::run_plan(plan); });
  commands.add<annulus::TopologyCommand>(
      group, "topology", "The nodes (pods) of this run, in another program's words",
      annulus::add_topology_options,
      [](CLI::App&, annulus::TopologyCommand& topology) { annulus::run_topology(topology); });
  commands.add<annulus::BenchAllReduceCommand>(
      group, "bench", "Measure the parts that a run is made of",
      [](CLI::App& app, annulus::BenchAllReduceCommand& allreduce) {
        app.require_subcommand(1);
        annulus::add_bench_allreduce_options(
            *app.add_subcommand("allreduce", "Sums over ranks: time and bandwidth by size"),
            allreduce);
      },
      [&command_line](CLI::App&, annulus::BenchAllReduceCommand& allreduce) {
        return annulus::run_bench_allreduce(allreduce, command_line);
      });
}

void add_kubernetes(Commands& commands) {
  commands.add<annulus::K8sLintCommand>(
      "Kubernetes", "k8s", "Work with manifests",
      [](CLI::App& app, annulus::K8sLintCommand& lint) {
        app.require_subcommand(1);
        annulus::add_k8s_lint_options(
            *app.add_subcommand("lint", "What is wrong with manifests that schemas let pass"),
            lint);
      },
      [](CLI::App&, annulus::K8sLintCommand& lint) { return annulus::run_k8s_lint(lint); });
}

// These print what all the others are.
void add_shell(Commands& commands, const CLI::App& whole) {
  const char* group = "Shell";
  commands.add<std::string>(
      group, "completion", "Print the script that completes annulus in bash or zsh",
      [](CLI::App& app, std::string& shell) {
        app.add_option("shell", shell, "whose script")
            ->option_text("bash|zsh")
            ->check(CLI::IsMember({"bash", "zsh"}))
            ->required();
        app.footer(
            "bash: source <(annulus completion bash); zsh, after compinit: source <(annulus "
            "completion zsh). Put that line into ~/.bashrc or ~/.zshrc.");
      },
      [&whole](CLI::App&, const std::string& shell) {
        annulus::print_line(shell == "bash" ? annulus::bash_completion(whole)
                                            : annulus::zsh_completion(whole));
      });
  struct NoOptions {};
  commands.add<NoOptions>(
      group, "man", "Print the manual page: annulus man | man -l -", [](CLI::App&, NoOptions&) {},
      [&whole](CLI::App&, NoOptions&) { annulus::print_line(annulus::man_page(whole)); });
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

  const std::vector<std::string> command_line(argv, argv + argc);
  Commands commands(app);
  add_training(commands, command_line);
  add_measuring(commands, command_line);
  add_kubernetes(commands);
  add_shell(commands, app);

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
  return commands.run_the_chosen();
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
