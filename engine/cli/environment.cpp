// See environment.h.
#include "engine/cli/environment.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "engine/cli/help_page.h"
#include "engine/cli/option_facts.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

struct Twin {
  const CLI::Option* option;
  std::vector<std::string> commands;
};

// Options of one name in several commands share their twin.
std::map<std::string, Twin> twins_of(const CLI::App& root) {
  std::map<std::string, Twin> twins;
  for (const CLI::App* command : commands_from(root))
    for (const CLI::Option* option : command->get_options())
      if (!option->get_envname().empty())
        twins.try_emplace(option->get_envname(), Twin{option, {}})
            .first->second.commands.push_back(command->get_name());
  return twins;
}

VariableGroup options_group(const CLI::App& root) {
  VariableGroup group{"Options (the flag beats its variable)", {}};
  for (const auto& [name, twin] : twins_of(root))
    group.variables.push_back(
        {name,
         fmt::format("{} {} ({}): {}", flags_of(*twin.option).back(), value_of(*twin.option),
                     joined(twin.commands, ", "), twin.option->get_description()),
         default_of(*twin.option)});
  return group;
}

VariableGroup declared_group(const DeclaredEnvironment::Table& table) {
  VariableGroup group{table.heading, {}};
  for (const EnvironmentKnob& knob : table.knobs)
    group.variables.push_back(
        {knob.name, fmt::format("{}; {}", knob.meaning, knob.accepted), knob.standard});
  return group;
}

std::string described(const Variable& variable) {
  std::vector<std::string> facts;
  if (!variable.standard.empty()) facts.push_back("default: " + variable.standard);
  if (const char* value = std::getenv(variable.name.c_str()))
    facts.push_back(fmt::format("now: '{}'", value));
  if (facts.empty()) return variable.meaning;
  return fmt::format("{} ({})", variable.meaning, joined(facts, "; "));
}

}  // namespace

std::vector<VariableGroup> environment_variables(const CLI::App& root) {
  std::vector<DeclaredEnvironment::Table> tables = DeclaredEnvironment::all();
  std::ranges::sort(tables, {}, &DeclaredEnvironment::Table::heading);
  std::vector<VariableGroup> groups{options_group(root)};
  std::ranges::transform(tables, std::back_inserter(groups), declared_group);
  return groups;
}

std::string environment_table(const CLI::App& root) {
  HelpPage page;
  for (const VariableGroup& group : environment_variables(root)) {
    page.heading(group.heading);
    for (const Variable& variable : group.variables) page.entry(variable.name, described(variable));
  }
  return page.text();
}

}  // namespace annulus
