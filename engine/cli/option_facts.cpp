// See option_facts.h.
#include "engine/cli/option_facts.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <functional>
#include <sstream>

namespace annulus {
namespace {

constexpr const char* kHelpGroup = "Help";
constexpr const char* kTruth = "true|false";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool stands_for_a_value(const std::string& word) {
  return std::ranges::all_of(word, [](char c) { return !std::islower(c) && !std::isdigit(c); });
}

// CLI11's "UINT:INT in [1 - 4096]", "TEXT:{auto,cpu}", "BOOLEAN".
std::string value_of_type(const std::string& type) {
  std::string name = type.substr(0, type.find(':'));
  if (const auto members = type.find(":{"); members != type.npos) {
    std::string text = type.substr(members + 2, type.rfind('}') - members - 2);
    std::ranges::replace(text, ',', '|');
    return text;
  }
  if (name == "INT" || name == "UINT") return "N";
  if (name == "FLOAT") return "NUMBER";
  if (name == "BOOLEAN") return kTruth;
  return name;
}

bool takes_one_of(const CLI::Option& option, std::initializer_list<const char*> kinds) {
  return std::ranges::any_of(split(value_of(option), '|'), [&](const std::string& word) {
    return std::ranges::find(kinds, word) != kinds.end();
  });
}

std::vector<const CLI::Option*> options_in(const CLI::App& command, const std::string& group) {
  return command.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && option->get_group() == group;
  });
}

// --help, --help-env, --version.
bool only_tells(const CLI::Option* option) {
  const std::string name = option->get_lnames().empty() ? "" : option->get_lnames().front();
  return name.starts_with("help") || name == "version";
}

}  // namespace

std::vector<OptionGroup> option_groups(const CLI::App& command) {
  std::vector<OptionGroup> groups;
  OptionGroup help{kHelpGroup, {}};
  for (const std::string& name : command.get_groups()) {
    std::vector<const CLI::Option*> options = options_in(command, name);
    const auto first =
        std::stable_partition(options.begin(), options.end(), std::not_fn(only_tells));
    help.options.insert(help.options.end(), first, options.end());
    options.erase(first, options.end());
    if (!name.empty() && !options.empty()) groups.push_back({name, std::move(options)});
  }
  if (!help.options.empty()) groups.push_back(std::move(help));
  return groups;
}

std::vector<const CLI::Option*> positionals(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<const CLI::App*> subcommands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::vector<const CLI::App*> commands_from(const CLI::App& command) {
  std::vector<const CLI::App*> all{&command};
  for (const CLI::App* sub : subcommands(command)) {
    const std::vector<const CLI::App*> below = commands_from(*sub);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::vector<std::string> subcommand_groups(const CLI::App& command) {
  std::vector<std::string> groups;
  for (const CLI::App* sub : subcommands(command))
    if (std::ranges::find(groups, sub->get_group()) == groups.end())
      groups.push_back(sub->get_group());
  return groups;
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent ? path_of(*parent) + " " : "") + command.get_name();
}

std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::string value_of(const CLI::Option& option) {
  if (!option.get_option_text().empty()) return option.get_option_text();
  return option.get_items_expected_max() == 0 ? "" : value_of_type(option.get_type_name());
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> words = split(value_of(option), '|');
  std::erase_if(words, stands_for_a_value);
  return words;
}

bool takes_folder(const CLI::Option& option) { return takes_one_of(option, {"FOLDER", "RUN"}); }

bool takes_file(const CLI::Option& option) { return takes_one_of(option, {"FILE", "PATH"}); }

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string default_of(const CLI::Option& option) {
  const std::string& text = option.get_default_str();
  if (text.empty() || value_of(option) != kTruth) return text;
  return text == "0" ? "false" : "true";
}

std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required()) text += " (required)";
  const std::string standard = default_of(option);
  if (!standard.empty()) text += fmt::format(" (default: {})", standard);
  return text;
}

}  // namespace annulus
