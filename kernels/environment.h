// The environment knobs of the whole program: whoever reads variables declares them, once, in a
// table at namespace scope beside the code that reads them, and `annulus --help-env` prints all
// tables. Invariant: a table is there if and only if the code that reads it is linked in.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace annulus {

struct EnvironmentKnob {
  const char* name;
  const char* standard;  // what holds when it is not set, in words; may be empty
  const char* accepted;
  const char* meaning;
};

class DeclaredEnvironment {
 public:
  struct Table {
    std::string heading;
    std::vector<EnvironmentKnob> knobs;
  };

  explicit DeclaredEnvironment(Table table) { all().push_back(std::move(table)); }
  DeclaredEnvironment(std::string heading, std::vector<EnvironmentKnob> knobs)
      : DeclaredEnvironment(Table{std::move(heading), std::move(knobs)}) {}

  // In no particular order.
  static std::vector<Table>& all() {
    static std::vector<Table> tables;
    return tables;
  }
};

}  // namespace annulus
