// What the program says about itself: the exit codes. The docs page and the enum hold the same.
#include <gtest/gtest.h>

#include <regex>

#include "kernels/exit_code.h"
#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;
using annulus::test::slurp;

class Help : public annulus::test::Program {};

std::string source(const std::string& path) {
  return slurp(std::filesystem::path(ANNULUS_SOURCE) / path);
}

// The lines of a page that are indented by four blanks, without the indentation.
std::string indented_lines(const std::string& page) {
  std::istringstream lines(page);
  std::string block, line;
  while (std::getline(lines, line))
    if (line.starts_with("    ")) block += line.substr(4) + "\n";
  return block;
}

TEST_F(Help, ExitCodesAreThoseOfTheDocsPage) {
  const Outcome outcome = run("--help-exit-codes");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, indented_lines(source("docs/exit-codes.md")));
}

TEST_F(Help, EveryExitCodeHasARow) {
  const std::string header = source("kernels/exit_code.h");
  const std::regex enumerator(R"(\n  (\w+) = (\d+),)");
  std::size_t rows = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), enumerator), end; at != end; ++at) {
    ASSERT_LT(rows, annulus::kExitCodes.size()) << at->str(1);
    EXPECT_EQ(annulus::kExitCodes[rows++].number(), std::stoi(at->str(2))) << at->str(1);
  }
  EXPECT_EQ(rows, annulus::kExitCodes.size());
}

}  // namespace
