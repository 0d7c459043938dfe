// What the tests of identity start with: an environment as a map, the place that it gives, or the
// complaint about it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "comm/identity.h"
#include "kernels/check.h"

namespace annulus::test {

using Texts = std::map<std::string, std::string>;

struct Around {
  Texts variables;
  std::string hostname;
  Texts files;
  bool in_cluster = false;
};

// Refers to `around`.
inline Surroundings surroundings(const Around& around) {
  return {.environment = [&around](const char* name) -> const char* {
            const auto found = around.variables.find(name);
            return found == around.variables.end() ? nullptr : found->second.c_str();
          },
          .hostname = around.hostname,
          .file = [&around](const std::string& path) -> std::optional<std::string> {
            const auto found = around.files.find(path);
            return found == around.files.end() ? std::nullopt : std::optional(found->second);
          },
          .in_cluster = around.in_cluster};
}

inline Place place(const Around& around, const IdentityFlags& flags = {}) {
  return detect_place(flags, surroundings(around));
}
inline Identity rank(const Around& around, const IdentityFlags& flags = {}) {
  return std::get<Identity>(place(around, flags));
}
inline NodeIdentity node(const Around& around, const IdentityFlags& flags = {}) {
  return std::get<NodeIdentity>(place(around, flags));
}

// The message of the UserError (usage) that `act` throws, or "".
template <class Act>
std::string message_of(Act act) {
  try {
    act();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

inline std::string complaint(const Around& around, const IdentityFlags& flags = {}) {
  return message_of([&] { place(around, flags); });
}

inline ::testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << message << "' does not say '" << part << "'";
}

}  // namespace annulus::test
