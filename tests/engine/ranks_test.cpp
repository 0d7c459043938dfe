// Several ranks, as threads with a device each, are one experiment with as many virtual ranks: the
// same bits, whatever the transport, the buckets and the order of the streams. Collectives are
// real; the device's checker watches.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "engine/evaluate.h"
#include "engine/exchange.h"
#include "engine/model/builder.h"
#include "engine/model/models.h"
#include "kernels/cpu/cudart/reports.h"
#include "tests/comm/control_ranks.h"
#include "tests/engine/no_reports.h"
#include "tests/engine/tiny_training.h"

namespace annulus {
namespace {

using test::Ranks;

constexpr ImageShape kImage{8, 8, 3};
constexpr std::size_t kBucket = 4096;  // floats: several buckets, cut inside layers
constexpr int kMostRanks = 4;

#if defined(ANNULUS_TSAN) || defined(ANNULUS_ASAN)
constexpr std::size_t kUpdates = 5;  // a sanitizer sees no more in the sixth
#else
constexpr std::size_t kUpdates = 20;
#endif

Model seed_cnn_small() { return seed_cnn({.image = kImage, .classes = 5}); }
Model mlp_small() { return mlp({.image = kImage, .classes = 5}); }

// Before the first CUDA call of the process.
const bool kDevices = setenv("ANNULUS_CPU_DEVICES", "4", 1) == 0;

class RanksTest : public test::NoReports<testing::TestWithParam<const char*>> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kDevices);
    NoReports::SetUp();
    setenv("NCCL_SHM_DISABLE", ring() ? "1" : "0", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  }
  static bool ring() { return std::string(GetParam()) == "tcp"; }
  static SumOrder order() { return ring() ? SumOrder::ring : SumOrder::rank; }
};

INSTANTIATE_TEST_SUITE_P(Transports, RanksTest, testing::Values("shared_memory", "tcp"));

struct Member {
  int rank;
  ControlChannel& control;
  Communicator& communicator;
};

// body on `ranks` threads, each with its device, joined to the others.
void on_ranks(int ranks, const std::function<void(Member&)>& body) {
  Ranks threads(ranks);
  threads.each([&](int rank) {
    CUDA_CHECK(cudaSetDevice(rank));
    const auto control = threads.join(rank);
    {
      Communicator communicator(rank, ranks, *control, threads.options());
      Member member{rank, *control, communicator};
      body(member);
      control->barrier("end");
    }
    control->leave(ExitCode::done, "");
  });
}

struct Trained {
  std::vector<float> parameters, running;
  std::vector<StepResult> results;
};

Trained trained(TinyTraining& run, std::size_t updates, float rate = 0.05f) {
  run.run(updates, rate);
  return {run.parameters(), run.running(), run.results()};
}

// Trains `updates` steps on `ranks` ranks; checks that all hold the same, and returns it.
Trained train_on_ranks(const std::function<Model()>& model, const Dataset& data, Batches batches,
                       int ranks, std::size_t updates, TinyOptions options = {}) {
  std::vector<Trained> all(ranks);
  options.bucket_floats = kBucket;
  on_ranks(ranks, [&](Member& member) {
    TinyOptions mine = options;
    mine.communicator = &member.communicator;
    TinyTraining run(model(), data, batches, mine);
    all[member.rank] = trained(run, updates);
  });
  for (int rank = 1; rank < ranks; ++rank) {
    EXPECT_EQ(all[rank].parameters, all[0].parameters) << "rank " << rank;
    EXPECT_EQ(all[rank].running, all[0].running) << "rank " << rank;
    for (std::size_t s = 0; s < updates; ++s)
      EXPECT_EQ(all[rank].results.at(s).loss, all[0].results.at(s).loss) << "step " << s;
  }
  return all[0];
}

Trained train_on_virtual_ranks(const std::function<Model()>& model, const Dataset& data,
                               Batches batches, std::size_t updates, SumOrder order,
                               TinyOptions options = {}) {
  options.order = order;
  options.bucket_floats = kBucket;
  TinyTraining run(model(), data, batches, options);
  return trained(run, updates);
}

void expect_same_bits(const Trained& a, const Trained& b) {
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.running, b.running);
  ASSERT_EQ(a.results.size(), b.results.size());
  for (std::size_t s = 0; s < a.results.size(); ++s)
    EXPECT_EQ(a.results[s].loss, b.results[s].loss) << "step " << s;
}

// 83 images: the last of an epoch's steps is short, and uneven over ranks.
TEST_P(RanksTest, SameBitsAsVirtualRanks) {
  const Dataset data = random_dataset(83, kImage, 5);
  for (const auto& model : {seed_cnn_small, mlp_small})
    for (const int ranks : {2, 3, kMostRanks}) {
      SCOPED_TRACE(ranks);
      const Batches batches{.samples = 83, .ranks = ranks, .batch_per_rank = 4};
      expect_same_bits(train_on_ranks(model, data, batches, ranks, kUpdates),
                       train_on_virtual_ranks(model, data, batches, kUpdates, order()));
    }
}

// In fp16 the first steps overflow: all ranks skip the same ones.
TEST_P(RanksTest, SameBitsAsVirtualRanksInHalfPrecision) {
  const Dataset data = random_dataset(83, kImage, 5);
  const Batches batches{.samples = 83, .ranks = 3, .batch_per_rank = 4};
  for (const Precision& precision : {kBf16, kFp16}) {
    SCOPED_TRACE(precision.name);
    const TinyOptions options{.precision = precision, .loss_scale = {kLargestLossScale, 0}};
    const Trained ranks = train_on_ranks(seed_cnn_small, data, batches, 3, kUpdates, options);
    expect_same_bits(
        ranks, train_on_virtual_ranks(seed_cnn_small, data, batches, kUpdates, order(), options));
    if (precision.element == Element::fp16) {
      EXPECT_GT(ranks.results.back().loss_scale->skipped, 0u);
    }
  }
}

// With one graph a step, or call by call. Of 27 images the short step leaves none for some ranks.
TEST_P(RanksTest, SameBitsWithAndWithoutGraphs) {
  const Dataset data = random_dataset(27, kImage, 5);
  const Batches three{.samples = 27, .ranks = 3, .batch_per_rank = 4};
  const Batches accumulating{.samples = 27, .ranks = 4, .batch_per_rank = 3};
  const auto compare = [&](const Batches& batches, int ranks, const TinyOptions& options) {
    TinyOptions without = options;
    without.graph = false;
    expect_same_bits(train_on_ranks(seed_cnn_small, data, batches, ranks, kUpdates, options),
                     train_on_ranks(seed_cnn_small, data, batches, ranks, kUpdates, without));
  };
  compare(three, 3, {});
  compare(accumulating, 2, {});
  compare(three, 3, {.wire = WireType::bf16});
  compare(three, 3, {.sync_batchnorm = true});
}

// Each rank does two virtual ranks' work: it adds its own up first, then the ranks are added.
TEST_P(RanksTest, AccumulationReducesOnceAStep) {
  const Dataset data = random_dataset(32, kImage, 5);
  const Batches batches{.samples = 32, .ranks = 4, .batch_per_rank = 4};
  const Trained one = train_on_virtual_ranks(seed_cnn_small, data, batches, 4, SumOrder::rank);
  std::vector<std::string> records(2);
  std::size_t buckets = 0;
  on_ranks(2, [&](Member& member) {
    TinyTraining run(seed_cnn_small(), data, batches,
                     {.communicator = &member.communicator, .bucket_floats = kBucket});
    const Trained two = trained(run, 4);
    for (std::size_t i = 0; i < two.parameters.size(); ++i)
      ASSERT_NEAR(two.parameters[i], one.parameters[i], 1e-5);
    if (member.rank == 0) buckets = run.step().buckets().size();
    records[member.rank] = member.communicator.flight_record().json(member.rank, "");
  });
  const std::string last = "\"sequence\": " + std::to_string(4 * buckets);
  EXPECT_TRUE(test::says(records[0], last));
  EXPECT_FALSE(test::says(records[0], "\"sequence\": " + std::to_string(4 * buckets + 1)));
}

// The second step has one sample: two ranks have none, and are there for every collective.
TEST_P(RanksTest, ARankWithoutSamplesTakesPart) {
  const Dataset data = random_dataset(13, kImage, 5);
  const Batches batches{.samples = 13, .ranks = 3, .batch_per_rank = 4};
  expect_same_bits(train_on_ranks(seed_cnn_small, data, batches, 3, 4),
                   train_on_virtual_ranks(seed_cnn_small, data, batches, 4, order()));
  const Trained synced =
      train_on_ranks(seed_cnn_small, data, batches, 3, 4, {.sync_batchnorm = true});
  for (const float value : synced.parameters) ASSERT_TRUE(std::isfinite(value));
}

// A global batch of 16 on 1, 2 and 4 ranks. Later steps: four times the drift that one ulp in the
// initial parameters makes.
TEST_P(RanksTest, SyncBatchNormDoesNotSeeHowTheBatchIsCut) {
  const Dataset data = random_dataset(64, kImage, 5);
  const auto largest = [](const std::vector<float>& a, const std::vector<float>& b) {
    double difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      difference = std::max(difference, std::abs(double(a[i]) - double(b[i])));
    return difference;
  };
  const Batches one_rank{.samples = 64, .ranks = 1, .batch_per_rank = 16};
  const auto alone = [&](std::size_t updates, bool moved) {
    TinyTraining run(seed_cnn_small(), data, one_rank);
    if (moved) {
      std::vector<float> parameters = run.parameters();
      for (float& p : parameters) p = std::nextafter(p, 2 * p + 1);
      run.weights().parameters.upload(parameters);
    }
    return trained(run, updates);
  };
  for (const std::size_t updates : {1, 8}) {
    const Trained one = alone(updates, false);
    const double allowed =
        updates == 1 ? 1e-6 : 4 * largest(one.parameters, alone(updates, true).parameters);
    for (const int ranks : {2, 4}) {
      const Batches batches{.samples = 64, .ranks = ranks, .batch_per_rank = 16 / ranks};
      const Trained several =
          train_on_ranks(seed_cnn_small, data, batches, ranks, updates, {.sync_batchnorm = true});
      EXPECT_LE(largest(one.parameters, several.parameters), allowed)
          << ranks << " ranks, " << updates << " updates";
      EXPECT_LE(largest(one.running, several.running), updates == 1 ? 1e-6 : 1e-4);
    }
  }
}

// 16 bits on the wire: every rank still holds the same, near what fp32 gives.
TEST_P(RanksTest, HalfTypesOnTheWire) {
  const Dataset data = random_dataset(32, kImage, 5);
  const Batches batches{.samples = 32, .ranks = 2, .batch_per_rank = 4};
  const Trained exact = train_on_ranks(seed_cnn_small, data, batches, 2, 2);
  for (const WireType wire : {WireType::bf16, WireType::fp16}) {
    const Trained rounded = train_on_ranks(seed_cnn_small, data, batches, 2, 2, {.wire = wire});
    EXPECT_NE(rounded.parameters, exact.parameters);
    EXPECT_EQ(rounded.results[0].loss, exact.results[0].loss);  // the head travels in fp32
    double difference = 0, movement = 0;
    for (std::size_t i = 0; i < exact.parameters.size(); ++i) {
      difference += std::abs(double(rounded.parameters[i]) - exact.parameters[i]);
      movement += std::abs(double(exact.parameters[i]));
    }
    EXPECT_LT(difference, 2e-3 * movement);
  }
}

TEST_P(RanksTest, EvaluationCountsEveryImageOnceWhoeverDoesIt) {
  const Dataset data = random_dataset(103, kImage, 5);
  const Model model = seed_cnn_small();
  const auto evaluate = [&](Communicator* communicator) {
    const Device device;
    const ResidentData resident(data, kTinyMean, kTinyStd);
    const Weights weights(model, 3);
    const Evaluator evaluator(model, device, resident, 10);
    if (communicator) communicator->join();
    return evaluator.run(weights, communicator);
  };
  const Evaluation alone = evaluate(nullptr);
  for (const int ranks : {2, 3})
    on_ranks(ranks, [&](Member& member) {
      const Evaluation shared = evaluate(&member.communicator);
      EXPECT_EQ(shared.samples, 103u);
      EXPECT_EQ(shared.loss, alone.loss);
      EXPECT_EQ(shared.accuracy, alone.accuracy);
    });
}

TEST_P(RanksTest, RanksThatStartDifferentHoldTheBitsOfRank0) {
  on_ranks(3, [&](Member& member) {
    const Model model = mlp_small();
    const Weights weights(model, std::uint64_t(member.rank));
    const std::string before = checksum(weights);
    if (member.rank > 0)
      EXPECT_EQ(test::failure_of([&] {
                  expect_same(member.control, ExitCode::internal, "the weights", before);
                }).code,
                ExitCode::internal);
    else
      EXPECT_THROW(expect_same(member.control, ExitCode::internal, "the weights", before),
                   UserError);
    const Device device;
    member.communicator.join();
    member.communicator.broadcast(weights.parameters.span(), device.compute);
    device.compute.synchronize();
    expect_same(member.control, ExitCode::internal, "the weights", checksum(weights));
    const std::string of_rank_0 = member.control.broadcast(before);
    EXPECT_EQ(checksum(weights), of_rank_0);
  });
}

// Evaluation uses the running statistics: rank 0 alone may do it, also after synchronised training.
TEST_P(RanksTest, EvaluationWithoutTheOthersNeedsNoCollective) {
  const Dataset data = random_dataset(16, kImage, 5);
  on_ranks(2, [&](Member& member) {
    TinyTraining run(seed_cnn_small(), data, {.samples = 16, .ranks = 2, .batch_per_rank = 4},
                     {.communicator = &member.communicator, .sync_batchnorm = true});
    run.run(1, 0.05f);
    if (member.rank != 0) return;
    const ResidentData resident(data, kTinyMean, kTinyStd);
    EXPECT_EQ(Evaluator(run.model(), run.device(), resident, 5).run(run.weights()).samples, 16u);
  });
}

// A collective after which nobody waits: the checker must name both calls. (So does
// ThreadSanitizer.)
#if !defined(ANNULUS_TSAN)
TEST_P(RanksTest, AMissingWaitIsNamed) {
  on_ranks(2, [&](Member& member) {
    const Device device;
    const Buffer<float> values(std::vector<float>(1000, 1.f));
    member.communicator.join();
    CUDA_CHECK(cudaMemsetAsync(values.span().data, 0, values.bytes(), device.compute.get()));
    member.communicator.all_reduce(values.span(), device.communication, {});
    device.compute.synchronize();
    device.communication.synchronize();
  });
  EXPECT_EQ(cpu::report_count(), 4u);  // what it reads and what it writes, on both ranks
  for (const cpu::Report& report : cpu::reports()) {
    EXPECT_EQ(report.kind, "race");
    EXPECT_TRUE(test::says(report.message, "cudaMemsetAsync"));
    EXPECT_TRUE(test::says(report.message, "ncclAllReduce"));
  }
  cpu::clear_reports();
}
#endif

}  // namespace
}  // namespace annulus
