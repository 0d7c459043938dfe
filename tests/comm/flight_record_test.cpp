// The flight record: the last 64 collectives, and where the rank is.
#include "comm/flight_record.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

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

// A graph's collectives are issued by each launch, as those of another step.
TEST(FlightRecord, ALaunchIssuesWhatWasCaptured) {
  const Stream stream;
  FlightRecord record;
  Capture capture(stream);
  const auto captured = record.captured([&] {
    for (int bucket = 0; bucket < 3; ++bucket) {
      record.issued("all-reduce", "bf16", 10, {.name = "step", .step = 1, .bucket = bucket});
      record.queued_on(stream);
    }
  });
  const GraphExec graph = capture.finish();
  EXPECT_TRUE(nlohmann::json::parse(record.json(0, ""))["collectives"].empty());
  for (const std::size_t step : {5, 6}) {
    record.launching(captured, step);
    EXPECT_EQ(record.ended(), 3 * (step - 5)) << "the events are done, but by the launch before";
    graph.launch(stream);
    record.launched();
    stream.synchronize();
    record.confirm(record.ended());
    EXPECT_EQ(record.ended(), 3 * (step - 4));
    EXPECT_EQ(record.phase().step, step);
  }
  const auto collectives = nlohmann::json::parse(record.json(0, ""))["collectives"];
  ASSERT_EQ(collectives.size(), 6u);
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    EXPECT_EQ(collectives[i]["sequence"], i + 1);
    EXPECT_EQ(collectives[i]["type"], "bf16");
    EXPECT_EQ(collectives[i]["step"], 5 + i / 3);
    EXPECT_EQ(collectives[i]["bucket"], i % 3);
    EXPECT_EQ(collectives[i]["state"], "done");
  }
}

void wait_for_flag(void* flag) {
  while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
}

// While a launch goes on, be it inside its call, the record tells how far it is.
TEST(FlightRecord, WithinALaunchThePhaseIsTheBucketThatIsNotDone) {
  const Stream stream;
  FlightRecord record;
  std::atomic<bool> go_on = true;
  Capture capture(stream);
  const auto captured = record.captured([&] {
    for (int bucket = 0; bucket < 3; ++bucket) {
      if (bucket == 1) CUDA_CHECK(cudaLaunchHostFunc(stream.get(), wait_for_flag, &go_on));
      record.issued("all-reduce", "fp32", 10, {.name = "step", .step = 1, .bucket = bucket});
      record.queued_on(stream);
    }
  });
  const GraphExec graph = capture.finish();
  for (const std::size_t step : {1, 2}) {
    go_on = step == 1;
    record.launching(captured, step);
    std::thread launcher([&] {
      graph.launch(stream);
      stream.synchronize();
    });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (step == 2 && record.ended() < 4 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    if (step == 2) {
      record.confirm(record.ended());
      EXPECT_EQ(record.phase().step, 2u);
      EXPECT_EQ(record.phase().bucket, 1);
    }
    go_on = true;
    launcher.join();
    record.launched();
    record.confirm(record.ended());
    EXPECT_EQ(record.ended(), 3 * step);
  }
}

TEST(FlightRecord, ACaptureThatFailsLeavesNothing) {
  const Stream stream;
  FlightRecord record;
  EXPECT_THROW(record.captured([&]() {
    record.issued("all-reduce", "fp32", 10, {});
    throw DeviceError("planted");
  }),
               DeviceError);
  record.issued("broadcast", "fp32", 1, {});
  record.queued_on(stream);
  EXPECT_EQ(nlohmann::json::parse(record.json(0, ""))["collectives"].size(), 1u);
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
