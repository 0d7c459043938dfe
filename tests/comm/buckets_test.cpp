// Bucket plans: they cover the buffer, whatever the sizes.
#include "comm/buckets.h"

#include <gtest/gtest.h>

#include "kernels/check.h"

namespace annulus {
namespace {

constexpr std::size_t kKiB = 1024;

TEST(Buckets, SizesHaveUnits) {
  EXPECT_EQ(parse_bucket_sizes("64K,1M"), (std::vector<std::size_t>{64 * kKiB, kKiB * kKiB}));
  EXPECT_EQ(parse_bucket_sizes("1.5K"), std::vector<std::size_t>{1536});
  EXPECT_EQ(parse_bucket_sizes("1G"), std::vector<std::size_t>{kKiB * kKiB * kKiB});
  EXPECT_EQ(parse_bucket_sizes("100"), std::vector<std::size_t>{100});
}

TEST(Buckets, WhatIsNoSizeIsRefused) {
  for (const char* text : {"", ",", "64K,", "K", "-1", "0", "1T", "1 M", "nan", "64K,x", "1e30"})
    EXPECT_THROW(parse_bucket_sizes(text), UserError) << "'" << text << "'";
}

TEST(Buckets, TheyCoverTheBufferInWholeLines) {
  for (const std::size_t floats : {1, 63, 64, 65, 1000, 551744, 1 << 20})
    for (const auto& sizes :
         std::vector<std::vector<std::size_t>>{{1}, {1000}, {64 * kKiB, kKiB * kKiB}, {1u << 30}}) {
      const std::vector<Bucket> buckets = plan_buckets(floats, sizes);
      std::size_t at = 0;
      for (const Bucket& bucket : buckets) {
        EXPECT_EQ(bucket.begin, at);
        EXPECT_GT(bucket.size(), 0u);
        EXPECT_TRUE(bucket.end == floats || bucket.end % 64 == 0);
        at = bucket.end;
      }
      EXPECT_EQ(at, floats);
    }
}

TEST(Buckets, TheListGivesTheFirstSizesAndASmallRestJoinsTheLast) {
  const auto sizes_of = [](std::size_t floats) {
    std::vector<std::size_t> sizes;
    for (const Bucket& b : plan_buckets(floats, {1 * kKiB, 2 * kKiB, 4 * kKiB}))
      sizes.push_back(b.bytes());
    return sizes;
  };
  EXPECT_EQ(sizes_of(1856), (std::vector<std::size_t>{1024, 2048, 4352}));
  EXPECT_EQ(sizes_of(2048), (std::vector<std::size_t>{1024, 2048, 4096, 1024}));
}

TEST(Buckets, DescribedForPeople) {
  EXPECT_EQ(describe(plan_buckets(256, {512})), "2 buckets: 512 B, 512 B");
  EXPECT_EQ(describe({{0, 16384}, {16384, 16384 + 288358}}), "2 buckets: 64 KiB, 1.1 MiB");
  EXPECT_EQ(describe({{0, 256}}), "1 bucket: 1 KiB");
}

}  // namespace
}  // namespace annulus
