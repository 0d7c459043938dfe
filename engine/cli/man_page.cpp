// See man_page.h.
#include "engine/cli/man_page.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "comm/terminal.h"
#include "engine/build_info.h"
#include "engine/cli/environment.h"
#include "engine/cli/help.h"
#include "engine/cli/option_facts.h"
#include "kernels/exit_code.h"

namespace annulus {
namespace {

// As roff shows it letter by letter: '-' as the sign that is typed, no line taken for a request.
std::string literal(const std::string& text) {
  std::string result;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) result += "\\&";
    starts_line = c == '\n';
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

// Broken into lines, which roff fills again.
std::string prose(const std::string& text) { return literal(wrap(text, 0, 76)); }

std::string section(const std::string& name) { return ".SH " + name + "\n"; }

std::string bold(const std::string& text) { return "\\fB" + literal(text) + "\\fR"; }

std::string entry(const std::string& head, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", head, prose(text));
}

std::string head_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& flag : flags_of(option)) flags.push_back(bold(flag));
  const std::string value = value_of(option);
  return fmt::format("{}{}", joined(flags, ", "),
                     value.empty() ? "" : " \\fI" + literal(value) + "\\fR");
}

std::string command_section(const CLI::App& command) {
  std::string text =
      ".SS " + literal(usage_of(command)) + "\n" + prose(command.get_description()) + "\n";
  for (const CLI::Option* argument : positionals(command))
    text += entry("\\fI" + literal(value_of(*argument)) + "\\fR", description_of(*argument));
  for (const OptionGroup& group : option_groups(command)) {
    text += ".PP\n" + bold(group.heading) + "\n";
    for (const CLI::Option* option : group.options)
      text += entry(head_of(*option), description_of(*option));
  }
  return text;
}

std::string examples() {
  std::string text = section("EXAMPLES");
  for (const Example& example : kExamples) text += entry(bold(example.command), example.purpose);
  return text;
}

std::string environment(const CLI::App& root) {
  std::string text = section("ENVIRONMENT");
  for (const VariableGroup& group : environment_variables(root)) {
    text += ".SS " + literal(group.heading) + "\n";
    for (const Variable& variable : group.variables)
      text += entry(bold(variable.name),
                    variable.standard.empty()
                        ? variable.meaning
                        : fmt::format("{} (default: {})", variable.meaning, variable.standard));
  }
  return text;
}

std::string exit_status() {
  std::string text = section("EXIT STATUS") + "From 128 up, another try may succeed.\n";
  for (const ExitCodeInfo& info : kExitCodes)
    text += entry(bold(std::to_string(info.number())), info.meaning);
  return text;
}

}  // namespace

std::string man_page(const CLI::App& root) {
  std::string page =
      fmt::format(".TH ANNULUS 1 \"\" \"annulus {}\" \"User Commands\"\n", build_info().version);
  page += section("NAME") + "annulus \\- trains convolutional networks data\\-parallel\n";
  page += section("SYNOPSIS") + bold(usage_of(root)) + "\n";
  page += section("DESCRIPTION") + prose(root.get_description()) + "\n";
  page += examples() + section("COMMANDS");
  for (const CLI::App* command : commands_from(root)) page += command_section(*command);
  page += environment(root) + exit_status();
  page.pop_back();
  return page;
}

}  // namespace annulus
