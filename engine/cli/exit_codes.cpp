// See exit_codes.h.
#include "engine/cli/exit_codes.h"

#include <fmt/format.h>

#include "kernels/exit_code.h"

namespace annulus {
namespace {

const char* retry(const ExitCodeInfo& info) {
  if (info.code == ExitCode::done) return "-";
  return info.retryable() ? "yes" : "no";
}

}  // namespace

std::string exit_code_table() {
  std::string table = fmt::format("{:>4}  {:<13} {:<6} {}", "code", "name", "retry", "meaning");
  for (const ExitCodeInfo& info : kExitCodes)
    table += fmt::format("\n{:>4}  {:<13} {:<6} {}", info.number(), info.name, retry(info),
                         info.meaning);
  return table;
}

}  // namespace annulus
