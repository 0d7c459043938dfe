// See help.h.
#include "engine/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/cli/help_page.h"
#include "engine/cli/option_facts.h"

namespace annulus {
namespace {

void add_examples(HelpPage& page) {
  page.heading("Examples");
  std::size_t longest = 0;
  for (const Example& example : kExamples)
    longest = std::max(longest, std::string_view(example.command).size());
  for (const Example& example : kExamples)
    page.entry(example.command, example.purpose, longest + 4);
}

void add_subcommands(HelpPage& page, const CLI::App& command) {
  for (const std::string& group : subcommand_groups(command)) {
    page.heading(group);
    for (const CLI::App* sub : subcommands(command))
      if (sub->get_group() == group) page.entry(sub->get_name(), sub->get_description(), 14);
  }
}

void add_positionals(HelpPage& page, const CLI::App& command) {
  if (positionals(command).empty()) return;
  page.heading("Arguments");
  for (const CLI::Option* option : positionals(command))
    page.entry(value_of(*option), description_of(*option));
}

void add_options(HelpPage& page, const CLI::App& command) {
  for (const OptionGroup& group : option_groups(command)) {
    page.heading(group.heading);
    for (const CLI::Option* option : group.options)
      page.entry(fmt::format("{} {}", joined(flags_of(*option), ", "), value_of(*option)),
                 description_of(*option));
  }
}

}  // namespace

std::string usage_of(const CLI::App& command) {
  std::string usage = path_of(command);
  if (!subcommands(command).empty()) usage += " COMMAND";
  usage += " [OPTION...]";
  for (const CLI::Option* option : positionals(command)) {
    const bool several = option->get_items_expected_max() > 1;
    const std::string argument = value_of(*option) + (several ? "..." : "");
    usage += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  return usage;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  HelpPage page;
  page.paragraph(app->get_description());
  page.paragraph("usage: " + usage_of(*app));
  if (app->get_parent() == nullptr) add_examples(page);
  add_subcommands(page, *app);
  add_positionals(page, *app);
  add_options(page, *app);
  if (!app->get_footer().empty()) page.paragraph(app->get_footer());
  return page.text();
}

}  // namespace annulus
