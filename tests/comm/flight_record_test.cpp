// The flight record: the last 64 collectives, and where the rank is.
#include "comm/flight_record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace annulus {
namespace {

TEST(FlightRecord, KeepsTheLast64InOrder) {
  const Stream stream;
  FlightRecord record;
  for (std::size_t i = 1; i <= 100; ++i) {
    record.issued("all-reduce", "fp32", 10 * i, {.name = "step", .step = i, .bucket = 2});
    record.queued_on(stream);
  }
  // On no stream yet: it hangs.
  record.issued("all-reduce", "fp32", 7, {.name = "step", .step = 101, .bucket = 3});
  stream.synchronize();
  record.confirm(record.ended());
  const auto json = nlohmann::json::parse(record.json(1, "rank 0 was lost"));
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["reason"], "rank 0 was lost");
  const auto& collectives = json["collectives"];
  ASSERT_EQ(collectives.size(), FlightRecord::kKept);
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const auto& c = collectives[i];
    EXPECT_EQ(c["sequence"], 38 + i);
    EXPECT_EQ(c["state"], i + 1 < collectives.size() ? "done" : "issued");
  }
  EXPECT_EQ(collectives.back()["bucket"], 3);
  EXPECT_EQ(collectives.front()["count"], 380);
}

TEST(FlightRecord, ThePhaseIsThatOfTheOldestThatIsNotDone) {
  const Stream stream;
  FlightRecord record;
  EXPECT_EQ(record.phase().step, 0u);
  for (int bucket = 0; bucket < 2; ++bucket) {
    record.issued("all-reduce", "fp32", 1, {.name = "step", .step = 5, .bucket = bucket});
    record.queued_on(stream);
  }
  record.issued("all-reduce", "fp32", 1, {.name = "step", .step = 6, .bucket = 0});
  stream.synchronize();
  EXPECT_EQ(record.ended(), 2u);
  EXPECT_EQ(record.phase().step, 5u);  // not confirmed yet
  record.confirm(2);
  EXPECT_STREQ(record.phase().name, "step");
  EXPECT_EQ(record.phase().step, 6u);
  EXPECT_EQ(record.phase().bucket, 0);
  record.queued_on(stream);
  stream.synchronize();
  record.confirm(record.ended());
  EXPECT_EQ(record.phase().step, 6u);  // all are done: the last one
}

// A communicator that fails ends all that is queued.
TEST(FlightRecord, WhatEndsAfterTheFailureIsNotDone) {
  const Stream stream;
  FlightRecord record;
  record.issued("broadcast", "fp32", 1, {});
  record.freeze();
  record.queued_on(stream);
  stream.synchronize();
  record.confirm(record.ended());
  const auto json = nlohmann::json::parse(record.json(0, ""));
  EXPECT_EQ(json["collectives"][0]["state"], "issued");
}

}  // namespace
}  // namespace annulus
