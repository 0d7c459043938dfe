// How `annulus --help` and `annulus COMMAND --help` look: what to type, then commands or options by
// what they are for, each with its default once; 80 columns, or as wide as the terminal, up to 100.
// Given to CLI11 by main.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <string>

namespace annulus {

struct Example {
  const char* command;
  const char* purpose;
};

// What a newcomer types first; the man page shows them too.
inline constexpr std::array kExamples{
    Example{"annulus train", "made-up images: a first try"},
    Example{"annulus train --data FOLDER --epochs 10", "seed-cnn on CIFAR-10"},
    Example{"annulus train --data FOLDER --ranks 2", "on two devices"},
    Example{"annulus eval --weights runs/RUN --data FOLDER", "accuracy on the test images"},
    Example{"annulus doctor", "is this machine ready?"},
};

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

// "annulus train [OPTION...]".
std::string usage_of(const CLI::App& command);

}  // namespace annulus
