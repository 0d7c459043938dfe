// MPI host files: both forms, and lines that are none.
#include "comm/hostfile.h"

#include <gtest/gtest.h>

#include "tests/comm/places.h"

namespace annulus {
namespace {

using Hosts = std::vector<HostSlots>;

std::string complaint(const std::string& text) {
  return test::message_of([&] { parse_hostfile("hosts", text); });
}

TEST(Hostfile, OfOpenMpi) {
  EXPECT_EQ(parse_hostfile("hosts", "a.b slots=8\nc\n"), (Hosts{{"a.b", 8}, {"c", 1}}));
  EXPECT_EQ(parse_hostfile("hosts", "a  slots=2\tmax_slots=4\r\n"), (Hosts{{"a", 2}}));
  EXPECT_EQ(parse_hostfile("hosts", "fd00::7 slots=2"), (Hosts{{"fd00::7", 2}}));
}

TEST(Hostfile, OfMpich) {
  EXPECT_EQ(parse_hostfile("hosts", "a:8\nb:2"), (Hosts{{"a", 8}, {"b", 2}}));
}

TEST(Hostfile, EmptyLinesAndComments) {
  EXPECT_EQ(parse_hostfile("hosts", "# all\n\n  a slots=3 # the first\n \t\n"), (Hosts{{"a", 3}}));
  EXPECT_EQ(parse_hostfile("hosts", ""), Hosts{});
}

TEST(Hostfile, WrongLinesAreNamedByNumber) {
  for (const char* wrong : {"a slots=0", "a slots=", "a slots=-1", "a slots=8x",
                            "a slots=99999999999", "a 8", "a:", "a:x", ":8", "a:8 slots=8"})
    EXPECT_TRUE(test::says(complaint(std::string("# x\nb\n") + wrong + "\nc"), "hosts line 3: '"))
        << wrong;
}

}  // namespace
}  // namespace annulus
