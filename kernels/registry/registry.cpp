// Collects the entry files' entries into the one list that tests and benches walk.
#include "kernels/registry/registry.h"

#include <iterator>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

std::vector<Entry> collect() {
  std::vector<Entry> all;
  for (const auto& entries_of_file : kEntryFiles) {
    std::vector<Entry> some = entries_of_file();
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  }
  return all;
}

}  // namespace

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = collect();
  return all;
}

}  // namespace annulus::registry
