// annulus bench allreduce: its data are exact in any order and a wrong element is counted, calls
// are held back while they are enqueued, and the program prints what it promises, over both
// transports.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/allreduce_bench.h"
#include "tests/engine/program.h"

namespace annulus {
namespace {

constexpr std::size_t kCount = 1000;

// Adds the ranks' inputs in the order given, rounded to the type after each, as a ring may.
template <class T>
std::vector<std::byte> reduce(const AllReduceData& data, const std::vector<int>& order,
                              bool average) {
  std::vector<std::byte> result(kCount * sizeof(T));
  T* sums = reinterpret_cast<T*>(result.data());
  for (const int rank : order) {
    const std::vector<std::byte> input = data.input(rank, kCount);
    const T* values = reinterpret_cast<const T*>(input.data());
    for (std::size_t i = 0; i < kCount; ++i)
      sums[i] = T(static_cast<float>(sums[i]) + static_cast<float>(values[i]));
  }
  for (std::size_t i = 0; average && i < kCount; ++i)
    sums[i] = T(static_cast<float>(sums[i]) / static_cast<float>(order.size()));
  return result;
}

template <class T>
void expect_exact(ElementType type) {
  for (const ncclRedOp_t op : {ncclSum, ncclAvg}) {
    for (const int ranks : {1, 2, 3, 7, 16, 100, 256}) {
      const AllReduceData data(type, op, ranks);
      std::vector<int> order(static_cast<std::size_t>(ranks));
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
      EXPECT_EQ(data.count_wrong(reduce<T>(data, order, op == ncclAvg)), 0u) << ranks;
      std::reverse(order.begin(), order.end());
      EXPECT_EQ(data.count_wrong(reduce<T>(data, order, op == ncclAvg)), 0u) << ranks;
    }
  }
}

TEST(AllReduceData, IsExactInAnyOrderInEveryType) {
  expect_exact<float>(ElementType::fp32);
  expect_exact<__nv_bfloat16>(ElementType::bf16);
  expect_exact<__half>(ElementType::fp16);
  expect_exact<std::int32_t>(ElementType::int32);
}

TEST(AllReduceData, CountsWhatIsWrong) {
  const AllReduceData data(ElementType::fp32, ncclSum, 2);
  std::vector<std::byte> output = reduce<float>(data, {0, 1}, false);
  auto* values = reinterpret_cast<float*>(output.data());
  values[0] += 1;
  values[kCount - 1] += 1e-3f;
  EXPECT_EQ(data.count_wrong(output), 2u);
  std::rotate(output.begin(), output.begin() + sizeof(float), output.end());
  EXPECT_GT(data.count_wrong(output), kCount / 2) << "all is one element off";
  EXPECT_GT(data.count_wrong(data.input(0, kCount)), kCount / 2) << "one rank's data alone";
}

TEST(AllReduceData, RefusesAveragesThatCannotBeExact) {
  EXPECT_THROW(AllReduceData(ElementType::bf16, ncclAvg, 257), UserError);
  EXPECT_NO_THROW(AllReduceData(ElementType::bf16, ncclSum, 1000));
}

TEST(Bandwidth, IsDecimalAndIndependentOfTheRanksOnTheBus) {
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(1'000'000, 1e-3), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth(1'000'000, 1e-3, 1), 0.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth(1'000'000, 1e-3, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth(1'000'000, 1e-3, 4), 1.5);
}

TEST(StreamHold, HoldsBackWhatAStreamWouldRunByItself) {
  std::atomic<bool> has_run{false};
  StreamHold hold;
  const Stream stream;
  hold.close(stream);
  CUDA_CHECK(cudaLaunchHostFunc(
      stream.get(), [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &has_run));
  const char* mode = std::getenv("ANNULUS_CPU_MODE");
  if (mode != nullptr && std::string(mode) == "threads") {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(has_run);
  }
  hold.open();
  stream.synchronize();
  EXPECT_TRUE(has_run);
}

class BenchAllReduce : public test::Program {
 protected:
  // Ranks choose the device's mode for themselves. The sizes take little time.
  test::Outcome bench(const std::string& options, const std::string& environment = "") const {
    return run("bench allreduce -n 3 -w 1 " + options, "-u ANNULUS_CPU_MODE " + environment);
  }

  void expect_refused(const std::string& options, const std::string& words) const {
    const test::Outcome outcome = bench(options);
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
};

std::vector<nlohmann::json> objects_of(const test::Outcome& outcome) {
  std::vector<nlohmann::json> found;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
  return found;
}

void expect_right(const test::Outcome& outcome, const char* transport, int ranks) {
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto objects = objects_of(outcome);
  ASSERT_EQ(objects.size(), 3u) << outcome.err;
  std::size_t size = 1024;
  for (const auto& object : objects) {
    EXPECT_EQ(object["size"], size);
    EXPECT_EQ(object["wrong"], 0);
    EXPECT_EQ(object["in_place"]["wrong"], 0);
    EXPECT_EQ(object["ranks"], ranks);
    EXPECT_EQ(object["transport"], transport);
    const double algbw = object["algbw"], busbw = object["busbw"], time = object["time_us"];
    EXPECT_NEAR(algbw, static_cast<double>(size) / time / 1e3, 1e-9 + 1e-6 * algbw);
    EXPECT_NEAR(busbw, algbw * 2 * (ranks - 1) / ranks, 1e-9 + 1e-6 * algbw);
    size *= 32;
  }
}

TEST_F(BenchAllReduce, SumsOverSharedMemory) {
  const test::Outcome outcome = bench("--ranks 2 -b 1K -e 1M -f 32 --json");
  expect_right(outcome, "shared memory", 2);
  const nlohmann::json first = objects_of(outcome).at(0);
  EXPECT_EQ(first["count"], 256);
  EXPECT_EQ(first["type"], "fp32");
  EXPECT_EQ(first["redop"], "sum");
}

TEST_F(BenchAllReduce, AveragesOverTcp) {
  const test::Outcome outcome = bench("--ranks 3 -b 1K -e 1M -f 32 -d bf16 -o avg --json",
                                      "NCCL_SHM_DISABLE=1 NCCL_SOCKET_IFNAME=lo");
  expect_right(outcome, "tcp", 3);
  const nlohmann::json first = objects_of(outcome).at(0);
  EXPECT_EQ(first["count"], 512);
  EXPECT_EQ(first["type"], "bf16");
  EXPECT_EQ(first["redop"], "avg");
}

TEST_F(BenchAllReduce, OneRankHasNoBus) {
  const test::Outcome outcome = bench("-b 1K -e 1M -f 32 -d int32 --json");
  expect_right(outcome, "shared memory", 1);
  EXPECT_NE(outcome.err.find("nothing is sent, so busbw is 0"), std::string::npos);
}

TEST_F(BenchAllReduce, UncheckedIsNotRight) {
  const test::Outcome outcome = bench("-b 1K -e 1K -c false --json");
  ASSERT_EQ(objects_of(outcome).size(), 1u) << outcome.err;
  EXPECT_TRUE(objects_of(outcome).at(0)["wrong"].is_null());
}

TEST_F(BenchAllReduce, PrintsNcclTestsColumns) {
  const test::Outcome outcome = bench("--ranks 2 -b 4 -e 16 -f 2 -d fp16");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  }
  ASSERT_EQ(rows.size(), 3u) << outcome.err;
  EXPECT_EQ(rows[1].size(), 14u) << outcome.err;
  EXPECT_EQ(std::vector(rows[1].begin(), rows[1].begin() + 4),
            (std::vector<std::string>{"8", "4", "fp16", "sum"}));
  EXPECT_EQ(rows[1][8], "0");
  EXPECT_EQ(rows[1][13], "0");
  EXPECT_NE(outcome.out.find("# wrong values: 0\n"), std::string::npos) << outcome.err;
}

TEST_F(BenchAllReduce, RefusesWhatDoesNotFit) {
  expect_refused("-b 2", "--min-bytes 2: an element of fp32 has 4 bytes");
  expect_refused("-b 2M -e 1M", "--min-bytes 2 MiB is above --max-bytes 1 MiB");
  expect_refused("-d int8", "--type int8: there is no such type");
  expect_refused("-o max", "--op max: there is no such operation");
  expect_refused("-f 1", "--step-factor");
  expect_refused("-b 1X", "--min-bytes");
  expect_refused("--ranks 0", "--ranks");
}

}  // namespace
}  // namespace annulus
