// The names of CLI11 that this room's headers speak of. The library is one header of 9,000 lines,
// which takes a compiler longer than any source here; only what fills an App or reads one includes
// <CLI/CLI.hpp>.
#pragma once

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
