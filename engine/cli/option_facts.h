// What a command line says about itself, read from CLI11's table of it: groups in the order in
// which they were declared, what an option takes, and its default. Invariant: help, completions,
// the man page and --help-env know options from here alone, so a new option appears in all four.
//
// What an option takes is its option_text, alternatives parted by '|': a word in capitals stands
// for a value (N, SECONDS; FILE, FOLDER, PATH and RUN are completed as paths), any other is meant
// as it is, "sgd|adam|adamw" or "N|auto". Without an option_text it follows from the type.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/cli11.h"

namespace annulus {

struct OptionGroup {
  std::string heading;
  std::vector<const CLI::Option*> options;  // without positional ones
};

// Of one command, without its subcommands; what only asks for help comes last, under "Help".
std::vector<OptionGroup> option_groups(const CLI::App& command);
std::vector<const CLI::Option*> positionals(const CLI::App& command);

std::vector<const CLI::App*> subcommands(const CLI::App& command);
// The command and all below it, the command first.
std::vector<const CLI::App*> commands_from(const CLI::App& command);
// Headings of subcommands in the order of their declaration.
std::vector<std::string> subcommand_groups(const CLI::App& command);
std::string path_of(const CLI::App& command);  // "annulus bench allreduce"

std::vector<std::string> flags_of(const CLI::Option& option);  // "-b", "--min-bytes"
std::string value_of(const CLI::Option& option);               // "N|auto"; empty: takes none
std::vector<std::string> choices_of(const CLI::Option& option);
bool takes_folder(const CLI::Option& option);
bool takes_file(const CLI::Option& option);  // or a folder

std::string joined(const std::vector<std::string>& words, const char* between);

std::string default_of(const CLI::Option& option);  // empty: none, or none that CLI11 knows

// Its help, and in brackets its default or that it is required.
std::string description_of(const CLI::Option& option);

}  // namespace annulus
