// tests/pattern.h over std::regex.
#include "tests/pattern.h"

#include <mutex>
#include <regex>

namespace annulus::test {
namespace {

// One thread at a time: libstdc++ fills a cache of the locale's without a lock.
std::mutex mutex;

}  // namespace

bool matches(const std::string& text, const std::string& pattern) {
  const std::scoped_lock lock(mutex);
  return std::regex_match(text, std::regex(pattern));
}

bool contains(const std::string& text, const std::string& pattern) {
  const std::scoped_lock lock(mutex);
  return std::regex_search(text, std::regex(pattern));
}

std::vector<Groups> all_matches(const std::string& text, const std::string& pattern) {
  const std::scoped_lock lock(mutex);
  const std::regex compiled(pattern);
  std::vector<Groups> all;
  for (std::sregex_iterator at(text.begin(), text.end(), compiled), end; at != end; ++at)
    all.emplace_back(at->begin(), at->end());
  return all;
}

}  // namespace annulus::test
