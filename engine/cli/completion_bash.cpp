// The script for bash, which needs no bash-completion package. In it `command` is the path of the
// command that was typed so far, "bench allreduce", and `previous` the option that a value is for.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "engine/cli/completion.h"
#include "engine/cli/option_facts.h"

namespace annulus {
namespace {

// "bench allreduce"; the root's is empty.
std::string path_below_root(const CLI::App& command) {
  const std::string path = path_of(command);
  const std::size_t space = path.find(' ');
  return space == path.npos ? "" : path.substr(space + 1);
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

// What fills COMPREPLY for the value of `option`.
std::string replies(const CLI::Option& option) {
  std::string call;
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) call += fmt::format("_annulus_words '{}'; ", joined(choices, " "));
  if (takes_folder(option)) call += "_annulus_paths -d; ";
  if (takes_file(option)) call += "_annulus_paths -f; ";
  return call + "return";
}

std::string known_commands(const CLI::App& root) {
  std::vector<std::string> paths;
  for (const CLI::App* command : commands_from(root))
    if (command != &root) paths.push_back(quoted(path_below_root(*command)));
  return joined(paths, " | ");
}

std::string value_cases(const CLI::App& command) {
  std::string cases;
  for (const OptionGroup& group : option_groups(command))
    for (const CLI::Option* option : group.options) {
      if (value_of(*option).empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& flag : flags_of(*option))
        patterns.push_back(quoted(path_below_root(command) + " " + flag));
      cases += fmt::format("    {}) {} ;;\n", joined(patterns, " | "), replies(*option));
    }
  return cases;
}

// What may come next: commands, options, values of arguments.
std::string word_case(const CLI::App& command) {
  std::vector<std::string> words;
  std::string paths;
  for (const CLI::App* sub : subcommands(command)) words.push_back(sub->get_name());
  for (const CLI::Option* argument : positionals(command)) {
    for (const std::string& choice : choices_of(*argument)) words.push_back(choice);
    if (takes_folder(*argument)) paths = " _annulus_paths -d;";
    if (takes_file(*argument)) paths = " _annulus_paths -f;";
  }
  for (const OptionGroup& group : option_groups(command))
    for (const CLI::Option* option : group.options) words.push_back(flags_of(*option).back());
  return fmt::format("    {}){} _annulus_words '{}' ;;\n", quoted(path_below_root(command)), paths,
                     joined(words, " "));
}

constexpr const char* kHead = R"(# bash completion for annulus, made by `annulus completion bash`
_annulus_words() {
  COMPREPLY+=($(compgen -W "$1" -- "$current"))
}

_annulus_paths() {
  compopt -o filenames 2>/dev/null
  local path
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$current")
}

_annulus() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command='' longer index
  # Readline parts "--name=value" into three words.
  if [[ $previous == '=' ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $current == '=' ]]; then current=''; fi
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    longer="$command${command:+ }${COMP_WORDS[index]}"
    case $longer in
)";

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string values, words;
  for (const CLI::App* command : commands_from(root)) {
    values += value_cases(*command);
    words += word_case(*command);
  }
  return fmt::format(
      "{}      {}) command=$longer ;;\n    esac\n  done\n  case \"$command $previous\" in\n{}  "
      "esac\n  case $command in\n{}  esac\n}}\n\ncomplete -F _annulus annulus",
      kHead, known_commands(root), values, words);
}

}  // namespace annulus
