// See exchange.h.
#include "engine/exchange.h"

#include <fmt/format.h>

#include <cstring>

#include "data/checksum.h"

namespace annulus {
namespace {

void add(Sha256& sum, const std::vector<float>& values) {
  sum.add({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)});
}

}  // namespace

std::vector<std::vector<double>> gather_numbers(ControlChannel& control,
                                                const std::vector<double>& mine) {
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double));
  std::vector<std::vector<double>> all;
  for (const std::string& theirs : control.gather(bytes)) {
    std::vector<double>& numbers = all.emplace_back(theirs.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), theirs.data(), theirs.size());
  }
  return all;
}

std::string checksum(const Weights& weights) {
  Sha256 sum;
  add(sum, weights.parameters.download());
  add(sum, weights.running.download());
  return sum.finish();
}

void expect_same(ControlChannel& control, ExitCode code, const std::string& what,
                 const std::string& mine) {
  const std::vector<std::string> all = control.gather(mine);
  std::string others;
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      others += fmt::format("{}rank {} {}", others.empty() ? "" : ", ", rank, all[rank]);
  if (!others.empty())
    throw UserError(
        code, fmt::format("ranks differ in {}: rank 0 has {}, but {}; start all ranks with the "
                          "same program, options and data",
                          what, all[0], others));
}

}  // namespace annulus
