// The identity table: each launcher's variables, the flags above them, contradictions, and the
// reference rows of cases/files/handout/env.jsonl that concern these launchers.
#include "comm/identity.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/check.h"

namespace annulus {
namespace {

using Variables = std::map<std::string, std::string>;

Identity detect(const Variables& variables, const IdentityFlags& flags = {}) {
  return detect_identity(flags, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// The message of the UserError, or "".
std::string complaint(const Variables& variables, const IdentityFlags& flags = {}) {
  try {
    detect(variables, flags);
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

::testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << message << "' does not say '" << part << "'";
}

TEST(Identity, WithoutALauncherARankIsAlone) {
  const Identity identity = detect({});
  EXPECT_TRUE(identity.alone());
  EXPECT_EQ(identity.source, "alone");
  EXPECT_EQ(identity.rendezvous_host, "");
}

TEST(Identity, Torchrun) {
  const Identity identity = detect({{"RANK", "3"},
                                    {"WORLD_SIZE", "4"},
                                    {"LOCAL_RANK", "1"},
                                    {"LOCAL_WORLD_SIZE", "2"},
                                    {"MASTER_ADDR", "h0"},
                                    {"MASTER_PORT", "29500"},
                                    {"TORCHELASTIC_RUN_ID", "run"}});
  EXPECT_EQ(identity.source, "torchrun");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(identity.world, 4);
  EXPECT_EQ(identity.local_rank, 1);
  EXPECT_EQ(identity.local_world, 2);
  EXPECT_EQ(identity.rendezvous_host, "h0");
  EXPECT_EQ(identity.rendezvous_port, 29500);
  EXPECT_EQ(identity.job, "run");
}

TEST(Identity, ThePortThatTorchrunHoldsItselfIsAvoided) {
  Variables variables{{"RANK", "0"},
                      {"WORLD_SIZE", "2"},
                      {"MASTER_ADDR", "h0"},
                      {"MASTER_PORT", "29500"},
                      {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  EXPECT_EQ(detect(variables).rendezvous_port, 29501);
  variables["MASTER_PORT"] = "65535";
  EXPECT_EQ(detect(variables).rendezvous_port, 65534);
}

TEST(Identity, OpenMpi) {
  const Identity identity = detect({{"OMPI_COMM_WORLD_RANK", "3"},
                                    {"OMPI_COMM_WORLD_SIZE", "4"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                    {"PMIX_RANK", "3"},
                                    {"PMIX_NAMESPACE", "3405840385"}});
  EXPECT_EQ(identity.source, "Open MPI");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(identity.local_world, 2);
  EXPECT_EQ(identity.job, "3405840385");
  EXPECT_TRUE(says(
      complaint({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}}),
      "OMPI_COMM_WORLD_RANK 3 but PMIX_RANK 1"));
}

TEST(Identity, OurLauncherIsTheInnermost) {
  const Identity identity = detect({{"ANNULUS_LAUNCHER_RANK", "1"},
                                    {"ANNULUS_LAUNCHER_RANKS", "2"},
                                    {"ANNULUS_LAUNCHER_LOCAL_RANK", "1"},
                                    {"ANNULUS_LAUNCHER_LOCAL_RANKS", "2"},
                                    {"ANNULUS_LAUNCHER_RENDEZVOUS", "127.0.0.1:4000"},
                                    {"ANNULUS_LAUNCHER_JOB", "abc"},
                                    {"RANK", "0"},
                                    {"WORLD_SIZE", "1"}});
  EXPECT_EQ(identity.source, "annulus launcher");
  EXPECT_EQ(identity.rank, 1);
  EXPECT_EQ(identity.world, 2);
  EXPECT_EQ(identity.local_rank, 1);
  EXPECT_EQ(identity.local_world, 2);
  EXPECT_EQ(identity.rendezvous_port, 4000);
  EXPECT_EQ(identity.job, "abc");
}

TEST(Identity, SourcesOfOneLevelMustAgree) {
  Variables variables{{"RANK", "1"},
                      {"WORLD_SIZE", "2"},
                      {"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(detect(variables).rank, 1);
  variables["OMPI_COMM_WORLD_RANK"] = "0";
  EXPECT_TRUE(says(complaint(variables), "torchrun says rank 1 of 2, Open MPI says rank 0 of 2"));
}

TEST(Identity, FlagsBeatTheEnvironment) {
  const Variables broken{{"RANK", "one"}, {"WORLD_SIZE", "2"}};
  const Identity identity =
      detect(broken, {.rank = 1, .world = 3, .rendezvous = "[fd00::7]:29500"});
  EXPECT_EQ(identity.source, "flags");
  EXPECT_EQ(identity.rank, 1);
  EXPECT_EQ(identity.world, 3);
  EXPECT_EQ(identity.rendezvous_host, "fd00::7");
  EXPECT_EQ(identity.rendezvous_port, 29500);

  const Identity local = detect({{"RANK", "1"}, {"WORLD_SIZE", "2"}}, {.local_rank = 1});
  EXPECT_EQ(local.rank, 1);
  EXPECT_EQ(local.local_rank, 1);
}

TEST(Identity, FlagsThatDoNotFitAreNamed) {
  EXPECT_TRUE(says(complaint({}, {.rank = 2, .world = 2}), "--rank 2 >= --world-size 2"));
  EXPECT_TRUE(says(complaint({}, {.rank = 1}), "--world-size missing"));
  EXPECT_TRUE(says(complaint({}, {.world = 2}), "--rank missing"));
  EXPECT_TRUE(says(complaint({}, {.rank = 0, .world = 0}), "--world-size 0"));
  EXPECT_TRUE(says(complaint({}, {.rank = 0, .world = 2, .local_rank = 1, .local_world = 1}),
                   "--local-rank 1 >= --local-world-size 1"));
  for (const char* wrong :
       {"host", ":29500", "host:", "host:0", "host:65536", "fd00::7:29500", "[]:1"})
    EXPECT_TRUE(says(complaint({}, {.rendezvous = wrong}), "--rendezvous")) << wrong;
}

TEST(Identity, ANumberIsDigitsAlone) {
  for (const char* wrong : {"1 ", " 1", "1\n", "+1", "-1", "0x1", "1.0", "99999999999"})
    EXPECT_TRUE(says(complaint({{"RANK", wrong}, {"WORLD_SIZE", "2"}}),
                     "RANK '" + std::string(wrong) + "'"))
        << wrong;
}

TEST(Identity, HalfOfAFamilyIsNamed) {
  EXPECT_TRUE(says(complaint({{"WORLD_SIZE", "2"}}), "RANK missing"));
  EXPECT_TRUE(says(complaint({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h0"}}),
                   "MASTER_PORT missing"));
  EXPECT_TRUE(says(complaint({{"OMPI_COMM_WORLD_RANK", "0"}}), "OMPI_COMM_WORLD_SIZE missing"));
}

// --- the reference rows --------------------------------------------------------------------------

using nlohmann::json;

// Rows about launchers that have no row in the table yet are left out.
bool concerns_the_table(const json& variables) {
  return variables.contains("RANK") || variables.contains("OMPI_COMM_WORLD_RANK");
}

bool meets(const json& expected, const Variables& variables) {
  const std::string message = complaint(variables);
  if (expected.contains("error")) {
    return message.find(expected["error"].get<std::string>()) != std::string::npos;
  }
  if (!message.empty()) return false;
  const Identity identity = detect(variables);
  if (expected.contains("same_as")) return identity.source == "alone";
  return identity.rank == expected["rank"] && identity.world == expected["world"] &&
         identity.local_rank == expected.value("local_rank", 0);
}

TEST(IdentityReference, Rows) {
  const char* shared = std::getenv("ANNULUS_SHARED");
  if (!shared || !*shared) GTEST_SKIP() << "skipped: no ../shared";
  std::ifstream file(std::string(shared) + "/cases/files/handout/env.jsonl");
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    const json row = json::parse(line);
    if (!concerns_the_table(row["env"])) continue;
    ++rows;
    const auto variables = row["env"].get<Variables>();
    const json& expected = row["expect"];
    const json choices = expected.contains("either") ? expected["either"] : json::array({expected});
    EXPECT_TRUE(std::any_of(choices.begin(), choices.end(),
                            [&](const json& choice) { return meets(choice, variables); }))
        << line << "\ncomplaint: " << complaint(variables);
  }
  EXPECT_EQ(rows, 8);
}

}  // namespace
}  // namespace annulus
