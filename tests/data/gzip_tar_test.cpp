// gzip streams and tar archives: what went in comes out, and damage is found wherever it is.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/gzip.h"
#include "data/tar.h"
#include "tests/data/data_files.h"
#include "tests/data/made_files.h"

namespace annulus {
namespace {

using test::Bytes;
using test::bytes_of;
using test::data_error;
using test::joined;
using test::says;
using test::tar_member;

const std::filesystem::path kPath = "set.tar.gz";

Bytes counted(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * i >> 3);
  return bytes;
}

TEST(Gzip, GivesBackWhatWasPacked) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300000}})
    EXPECT_EQ(unpack_gzip(kPath, test::gzip(counted(size))), counted(size));
}

TEST(Gzip, StreamsInARowAreOne) {
  const Bytes packed = joined({test::gzip(bytes_of("one ")), test::gzip(bytes_of("two"))});
  EXPECT_EQ(unpack_gzip(kPath, packed), bytes_of("one two"));
}

TEST(Gzip, CutAnywhereItIsTruncated) {
  const Bytes packed = test::gzip(counted(1000));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const std::string message =
        data_error([&] { unpack_gzip(kPath, std::span(packed).first(size)); });
    EXPECT_TRUE(says(message, "set.tar.gz: truncated gzip")) << size << message;
  }
}

// Also in what the CRC alone can tell: no changed byte gives other contents.
TEST(Gzip, AChangedByteIsFound) {
  const Bytes contents = counted(1000), packed = test::gzip(contents);
  int found = 0;
  for (std::size_t at = 10; at < packed.size(); ++at) {  // after the header
    Bytes changed = packed;
    changed[at] ^= 0x10;
    try {
      EXPECT_EQ(unpack_gzip(kPath, changed), contents) << at;
    } catch (const UserError& error) {
      EXPECT_EQ(error.code(), ExitCode::data);
      ++found;
    }
  }
  EXPECT_GT(found, static_cast<int>(packed.size()) / 2);
}

std::vector<std::pair<std::string, Bytes>> members_of(const Bytes& archive) {
  MemorySource source(archive);
  TarReader tar(kPath, source);
  std::vector<std::pair<std::string, Bytes>> members;
  while (const auto member = tar.next()) members.emplace_back(member->name, tar.contents(1 << 20));
  return members;
}

std::string tar_error(const Bytes& archive) {
  return data_error([&] { members_of(archive); });
}

TEST(Tar, GivesRegularFilesAlone) {
  const auto members = members_of(test::tar({
      tar_member("folder/", {}, '5'),
      tar_member("folder/empty", {}),
      tar_member("link", {}, '2'),
      tar_member("name", counted(512), '\0', "deep/prefix"),
      tar_member("last", counted(513)),
  }));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0], std::pair(std::string("folder/empty"), Bytes()));
  EXPECT_EQ(members[1], std::pair(std::string("deep/prefix/name"), counted(512)));
  EXPECT_EQ(members[2], std::pair(std::string("last"), counted(513)));
}

TEST(Tar, LongNamesOfGnuAndPax) {
  const std::string gnu(150, 'g'), pax(200, 'p');
  const std::string record = "210 path=" + pax + "\n";
  ASSERT_EQ(record.size(), 210u);
  const auto members = members_of(test::tar({
      tar_member("././@LongLink", joined({bytes_of(gnu), {0}}), 'L'),
      tar_member("cut", {1}),
      tar_member("pax_global_header", bytes_of("11 path=no\n"), 'g'),
      tar_member("PaxHeaders/x", bytes_of(record), 'x'),
      tar_member("cut", {2}),
      tar_member("short", {3}),
  }));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0], std::pair(gnu, Bytes{1}));
  EXPECT_EQ(members[1], std::pair(pax, Bytes{2}));
  EXPECT_EQ(members[2], std::pair(std::string("short"), Bytes{3}));
}

TEST(Tar, WhatIsNotReadIsPassedOver) {
  const Bytes archive = test::tar({tar_member("one", counted(5000)), tar_member("two", {7})});
  MemorySource source(archive);
  TarReader tar(kPath, source);
  EXPECT_EQ(tar.next()->name, "one");
  EXPECT_EQ(tar.next()->name, "two");
  EXPECT_EQ(tar.contents(1), Bytes{7});
  EXPECT_FALSE(tar.next());
}

TEST(Tar, CutAnywhereItIsTruncated) {
  const Bytes archive = test::tar({tar_member("one", counted(700)), tar_member("two", {7})});
  for (std::size_t size = 0; size < archive.size() - 1024; size += 37)
    EXPECT_TRUE(says(tar_error({archive.begin(), archive.begin() + static_cast<long>(size)}),
                     "set.tar.gz: truncated tar"))
        << size;
}

TEST(Tar, DamageIsFound) {
  Bytes archive = test::tar({tar_member("one", {7})});
  archive[0] ^= 1;
  EXPECT_TRUE(says(tar_error(archive), "a wrong checksum"));
  EXPECT_TRUE(says(tar_error(Bytes(5000, 'x')), "not tar"));
  EXPECT_TRUE(
      says(tar_error(test::tar({tar_member("x", bytes_of("99 path=a\n"), 'x')})), "pax record"));
  EXPECT_TRUE(
      says(tar_error(test::tar({tar_member("x", bytes_of("30 size=9999999999999999999\n"), 'x'),
                                tar_member("one", {7})})),
           "damaged tar"));
}

// A size that a header claims is no reason to take memory.
TEST(Tar, AClaimedSizeIsRefusedOrRunsIntoTheEnd) {
  const std::string record = "19 size=0000800000\n";
  ASSERT_EQ(record.size(), 19u);
  const Bytes archive = joined({tar_member("x", bytes_of(record), 'x'), tar_member("one", {7})});
  EXPECT_TRUE(says(tar_error(archive), "of one's 800000 bytes"));
  const std::string larger = "19 size=8000000000\n";
  EXPECT_TRUE(
      says(tar_error(joined({tar_member("x", bytes_of(larger), 'x'), tar_member("one", {7})})),
           "one has 8000000000 bytes, more than the 1048576"));
}

}  // namespace
}  // namespace annulus
