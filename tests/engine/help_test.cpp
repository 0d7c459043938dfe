// What the program says about itself: help, exit codes, environment knobs, completions, manual
// page. The docs, the sources and the shells themselves are asked whether it is true.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "kernels/exit_code.h"
#include "tests/engine/program.h"
#include "tests/pattern.h"

namespace {

using annulus::test::all_matches;
using annulus::test::Groups;
using annulus::test::Outcome;
using annulus::test::slurp;

class Help : public annulus::test::Program {};

std::string source(const std::string& path) {
  return slurp(std::filesystem::path(ANNULUS_SOURCE) / path);
}

// The lines of a page that are indented by four blanks, without the indentation.
std::string indented_lines(const std::string& page) {
  std::istringstream lines(page);
  std::string block, line;
  while (std::getline(lines, line))
    if (line.starts_with("    ")) block += line.substr(4) + "\n";
  return block;
}

TEST_F(Help, ExitCodesAreThoseOfTheDocsPage) {
  const Outcome outcome = run("--help-exit-codes");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, indented_lines(source("docs/exit-codes.md")));
}

TEST_F(Help, EveryExitCodeHasARow) {
  const std::string header = source("kernels/exit_code.h");
  std::size_t rows = 0;
  for (const Groups& enumerator : all_matches(header, R"(\n  (\w+) = (\d+),)")) {
    ASSERT_LT(rows, annulus::kExitCodes.size()) << enumerator[1];
    EXPECT_EQ(annulus::kExitCodes[rows++].number(), std::stoi(enumerator[2])) << enumerator[1];
  }
  EXPECT_EQ(rows, annulus::kExitCodes.size());
}

// Lines of help stay within 80 columns where stdout is no terminal, and hold nothing of CLI11's
// own.
TEST_F(Help, FitsAndSpeaksPlainly) {
  for (const char* command : {"", "train", "eval", "runs", "plot", "data convert", "doctor", "plan",
                              "bench", "bench allreduce", "k8s", "k8s lint", "completion"}) {
    const Outcome outcome = run(std::string(command) + " --help");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(outcome.out.ends_with('\n'));
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "colours in a pipe";
    for (const char* noise : {"TEXT", "UINT", "FLOAT", " in [", "(Env:", "REQUIRED"})
      EXPECT_EQ(outcome.out.find(noise), std::string::npos) << command << ": " << noise;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

// script(1) gives the program a terminal of its own.
TEST_F(Help, ColoursOnlyOnATerminalThatWantsThem) {
  if (std::system("script --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "skipped: no script";
  const auto in_terminal = [&](const std::string& environment, const std::string& arguments) {
    const std::string command = "script -qec \"stty cols 100; env -u NO_COLOR " + environment +
                                " " + ANNULUS_PROGRAM + " " + arguments + "\" /dev/null > " +
                                (folder_ / "typescript").string() + " 2>&1 </dev/null";
    [[maybe_unused]] const int status = std::system(command.c_str());
    return slurp(folder_ / "typescript");
  };
  const std::string coloured = "TERM=xterm", escape = "\x1b[";
  EXPECT_NE(in_terminal(coloured, "train --help").find(escape + "1mRecipe"), std::string::npos);
  EXPECT_NE(in_terminal(coloured, "--nothing").find(escape + "1;31mannulus:"), std::string::npos);
  EXPECT_NE(in_terminal(coloured + " NO_COLOR=", "train --help").find(escape), std::string::npos);
  for (const char* environment : {"TERM=dumb", "TERM=xterm NO_COLOR=1"})
    for (const char* arguments : {"train --help", "--nothing", "doctor"})
      EXPECT_EQ(in_terminal(environment, arguments).find(escape), std::string::npos)
          << environment << " annulus " << arguments;
}

TEST_F(Help, NamesThatDoNotExistAreAnsweredByTheNearest) {
  const std::pair<const char*, const char*> cases[] = {
      {"train --bach-size 3", "no option '--bach-size'; did you mean --batch-size? (annulus train"},
      {"train --batch-sise=3", "no option '--batch-sise'; did you mean --batch-size?"},
      {"trian", "no command 'trian'; did you mean train? (annulus --help"},
      {"bench alreduce", "no command 'alreduce'; did you mean allreduce? (annulus bench --help"},
      {"train --zzzz", "no option '--zzzz' (annulus train --help"},
      {"train 5", "no argument '5' (annulus train --help"},
      {"", "A subcommand is required (annulus --help"}};
  for (const auto& [arguments, says] : cases) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

// The sources of the program, one after another.
std::string all_sources() {
  std::string text;
  for (const char* room : {"kernels", "comm", "data", "engine"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(ANNULUS_SOURCE) / room)) {
      const std::string kind = entry.path().extension().string();
      if (kind == ".h" || kind == ".cpp" || kind == ".cu") text += slurp(entry.path());
    }
  return text;
}

// A name that is read, or stands alone in quotes and looks like a variable of ours or NCCL's.
TEST_F(Help, EveryVariableInTheSourcesIsPrinted) {
  const Outcome outcome = run("--help-env", "ANNULUS_BATCH_SIZE=32");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<Groups> names = all_matches(
      all_sources(),
      R"re(\b(?:getenv|environment|environment_or_empty|text|number)\("([A-Z][A-Z0-9_]+)"|"((?:ANNULUS|NCCL)_[A-Z0-9_]+)")re");
  for (const Groups& name : names) {
    const std::string variable = name[1] + name[2];
    EXPECT_NE(outcome.out.find("  " + variable), std::string::npos) << variable;
  }
  EXPECT_GT(names.size(), 30u);
  EXPECT_NE(outcome.out.find("(default: 64; now: '32')"), std::string::npos) << outcome.out;
}

class Completion : public Help {
 protected:
  // What bash offers after `line`, of which the last word is being typed; sorted, one a line.
  std::string bash(const std::string& words) const {
    const Outcome script = run("completion bash");
    EXPECT_EQ(script.code, 0) << script.err;
    std::ofstream(folder_ / "driver") << script.out << R"(
shift 0
COMP_WORDS=(annulus "$@"); COMP_CWORD=$#
_annulus
printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd' '
)";
    const std::string command = "cd " + folder_.string() + " && bash driver " + words;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 1 << 14> text{};
    const std::size_t size = fread(text.data(), 1, text.size(), pipe);
    EXPECT_EQ(pclose(pipe), 0);
    return {text.data(), size};
  }
};

TEST_F(Completion, InBash) {
  std::filesystem::create_directories(folder_ / "runs here");
  std::ofstream(folder_ / "runs.txt") << "";
  EXPECT_EQ(bash("tr"), "train\n");
  EXPECT_EQ(bash("bench ''"), "--help allreduce\n");
  EXPECT_EQ(bash("bench allreduce --st"), "--step-factor\n");
  EXPECT_EQ(bash("k8s lint --tr"), "--trainer-version\n");
  EXPECT_EQ(bash("k8s lint r"), "runs here runs.txt\n");
  EXPECT_EQ(bash("train --optim"), "--optimizer\n");
  EXPECT_EQ(bash("train --optimizer ''"), "adam adamw sgd\n");
  EXPECT_EQ(bash("train --optimizer = ad"), "adam adamw\n")
      << "--optimizer=ad, as readline parts it";
  EXPECT_EQ(bash("train --optimizer ="), "adam adamw sgd\n");
  EXPECT_EQ(bash("train --seed ''"), "\n");
  EXPECT_EQ(bash("train --out r"), "runs here\n");
  EXPECT_EQ(bash("train --data s"), "stderr synthetic\n");
  EXPECT_EQ(bash("eval --weights r"), "runs here runs here runs.txt\n");
  EXPECT_EQ(bash("completion ''"), "--help bash zsh\n");
  EXPECT_NE(bash("eval --model ''").find("resnet-8"), std::string::npos);
}

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> chunk{};
  while (const std::size_t size = fread(chunk.data(), 1, chunk.size(), pipe))
    output.append(chunk.data(), size);
  pclose(pipe);
  return output;
}

// zsh in a terminal of its own: typed to, until it has offered what is expected.
TEST_F(Completion, InZsh) {
  if (!is_installed("zsh")) GTEST_SKIP() << "skipped: no zsh";
  ASSERT_EQ(run("completion zsh > _annulus").code, 0);
  EXPECT_EQ(output_of("cd " + folder_.string() + " && zsh -n _annulus 2>&1"), "");
  std::ofstream(folder_ / "driver") << R"(
zmodload zsh/zpty zsh/datetime
offers() {  # what is typed, what must then be shown
  local shown='' more deadline=$((EPOCHSECONDS + 60))
  zpty -w -n shell $'\C-u'$1$'\t\t'
  while [[ $shown != *$2* ]] && ((EPOCHSECONDS < deadline)); do
    if zpty -r -t shell more; then shown+=$more; else sleep 0.05; fi
  done
  [[ $shown == *$2* ]] || print -r -- "not offered after '$1': $2"
}
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D; unset zle_bracketed_paste; source ./_annulus'
zpty -w shell 'bindkey "^I" complete-word; COLUMNS=200; PS1=""; print REA""DY'
offers '' READY
offers 'annulus do' 'doctor'
offers 'annulus train --optimizer=' 'adamw'
offers 'annulus bench allreduce --step-f' 'actor'
offers 'annulus completion ' 'zsh'
zpty -d shell
)";
  EXPECT_EQ(output_of("cd " + folder_.string() + " && zsh driver 2>&1"), "");
}

TEST_F(Help, TheManualPageIsCleanRoff) {
  const Outcome page = run("man > annulus.1");
  ASSERT_EQ(page.code, 0) << page.err;
  const std::string text = slurp(folder_ / "annulus.1");
  for (const char* part : {R"(\-\-batch\-size)", "NO_COLOR", ".SH EXIT STATUS", R"(\fB201\fR)"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  const std::string path = (folder_ / "annulus.1").string();
  if (!is_installed("groff")) GTEST_SKIP() << "skipped: no groff";
  EXPECT_EQ(output_of("groff -man -ww -Tutf8 " + path + " 2>&1 >/dev/null"), "");
  if (!is_installed("mandoc")) GTEST_SKIP() << "skipped: no mandoc";
  // It bears the version, not a date: a build gives the same page every day.
  EXPECT_EQ(output_of("mandoc -T lint -W warning " + path + " | grep -v 'missing date'"), "");
}

}  // namespace
