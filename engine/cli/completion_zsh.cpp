// The script for zsh: a function for each command, in the words of zsh's own _arguments. It may lie
// in $fpath as _annulus or be read by `source`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "engine/cli/completion.h"
#include "engine/cli/option_facts.h"

namespace annulus {
namespace {

std::string function_of(const CLI::App& command) {
  std::string name = "_" + path_of(command);
  std::ranges::replace(name, ' ', '_');
  return name;
}

// Inside single quotes, with `special` escaped for _arguments.
std::string escaped(const std::string& text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != special.npos) result += '\\';
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result;
}

// ":N:", ":model:(mlp resnet-8)", ":FILE:_files".
std::string value_part(const CLI::Option& option) {
  const std::string value = value_of(option);
  if (value.empty()) return "";
  std::string action = " ";
  const std::vector<std::string> choices = choices_of(option);
  if (takes_file(option))
    action = "_files";
  else if (takes_folder(option))
    action = "_files -/";
  else if (!choices.empty())
    action = fmt::format("({})", joined(choices, " "));
  return fmt::format(":{}:{}", escaped(value, ":"), action);
}

std::string option_line(const std::string& flag, const CLI::Option& option) {
  const bool long_one = flag.starts_with("--");
  return fmt::format("    '{}{}[{}]{}' \\\n", flag,
                     value_of(option).empty() ? "" : (long_one ? "=" : "+"),
                     escaped(option.get_description(), "[]:"), value_part(option));
}

std::string option_lines(const CLI::App& command) {
  std::string lines;
  for (const OptionGroup& group : option_groups(command))
    for (const CLI::Option* option : group.options)
      for (const std::string& flag : flags_of(*option)) lines += option_line(flag, *option);
  for (const CLI::Option* argument : positionals(command))
    lines += fmt::format("    '{}{}' \\\n", argument->get_items_expected_max() > 1 ? "*" : "",
                         value_part(*argument));
  return lines;
}

std::string leaf(const CLI::App& command) {
  return fmt::format("{}() {{\n  _arguments -s -S \\\n{}    && return\n}}\n\n",
                     function_of(command), option_lines(command));
}

std::string branch(const CLI::App& command) {
  std::string described, calls;
  for (const CLI::App* sub : subcommands(command)) {
    described +=
        fmt::format("        '{}:{}'\n", sub->get_name(), escaped(sub->get_description(), ":"));
    calls += fmt::format("        {}) {} ;;\n", sub->get_name(), function_of(*sub));
  }
  return fmt::format(
      "{}() {{\n  local curcontext=$curcontext state line\n  local -a commands\n"
      "  typeset -A opt_args\n  _arguments -C \\\n{}"
      "    '1: :->command' '*:: :->rest' && return\n"
      "  case $state in\n    command)\n      commands=(\n{}      )\n"
      "      _describe -t commands command commands ;;\n"
      "    rest)\n      case $words[1] in\n{}      esac ;;\n  esac\n}}\n\n",
      function_of(command), option_lines(command), described, calls);
}

}  // namespace

std::string zsh_completion(const CLI::App& root) {
  std::string script = "#compdef annulus\n# zsh completion, made by `annulus completion zsh`\n\n";
  for (const CLI::App* command : commands_from(root))
    script += subcommands(*command).empty() ? leaf(*command) : branch(*command);
  return script +
         "if [[ $funcstack[1] == _annulus ]]; then\n  _annulus \"$@\"\nelse\n"
         "  compdef _annulus annulus\nfi";
}

}  // namespace annulus
