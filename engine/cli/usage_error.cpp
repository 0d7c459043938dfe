// See usage_error.h.
#include "engine/cli/usage_error.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "engine/cli/option_facts.h"
#include "engine/cli/suggestion.h"

namespace annulus {
namespace {

// The innermost command that was recognised.
const CLI::App& recognised(const CLI::App& command) {
  for (const CLI::App* sub : subcommands(command))
    if (sub->parsed()) return recognised(*sub);
  return command;
}

std::vector<std::string> names_in(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : subcommands(command)) names.push_back(sub->get_name());
  for (const OptionGroup& group : option_groups(command))
    for (const CLI::Option* option : group.options)
      std::ranges::move(flags_of(*option), std::back_inserter(names));
  return names;
}

// "no option '--bach-size'; did you mean --batch-size?"
std::string unknown(std::string word, const CLI::App& command) {
  const bool option = word.starts_with('-');
  word = word.substr(0, option ? word.find('=') : word.npos);
  const char* kind = option ? "option" : subcommands(command).empty() ? "argument" : "command";
  const std::string nearest = nearest_name(word, names_in(command));
  return fmt::format("no {} '{}'{}", kind, word,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

bool is_about_words(const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  return code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
}

}  // namespace

std::string usage_message(const CLI::ParseError& error, const CLI::App& root) {
  const CLI::App& command = recognised(root);
  const std::vector<std::string> extras = command.remaining();
  const std::string fact =
      is_about_words(error) && !extras.empty() ? unknown(extras.front(), command) : error.what();
  return fmt::format("{} ({} --help lists what there is)", fact, path_of(command));
}

}  // namespace annulus
