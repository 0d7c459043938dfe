// The rendezvous under mpirun, and a library that is not there.
#include "comm/mpi_bootstrap.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "kernels/check.h"

namespace annulus {
namespace {

struct Outcome {
  int status;
  std::string out;
};

Outcome run(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> bytes;
  for (std::size_t count; (count = fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    out.append(bytes.data(), count);
  return {pclose(pipe), out};
}

TEST(MpiBootstrap, RanksOfMpirunMeet) {
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "mpi_rank";
  const Outcome outcome = run("mpirun --oversubscribe -np 3 " + program.string() + " 2>&1");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("Open MPI: 0 1 2 of 3\n"), std::string::npos) << outcome.out;
}

TEST(MpiBootstrap, AMissingLibraryIsNamedWithTheFix) {
  try {
    const MpiSession session("libannulus_no_such.so");
    FAIL() << "loaded";
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("libannulus_no_such.so"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("--rendezvous"), std::string::npos);
  }
}

TEST(MpiBootstrap, IsForMpirunAlone) {
  Identity identity;
  identity.world = 2;
  identity.source = "torchrun";
  EXPECT_FALSE(needs_mpi_rendezvous(identity));
  identity.source = "Open MPI";
  EXPECT_TRUE(needs_mpi_rendezvous(identity));
  identity.rendezvous_port = 29500;  // by --rendezvous
  EXPECT_FALSE(needs_mpi_rendezvous(identity));
}

}  // namespace
}  // namespace annulus
