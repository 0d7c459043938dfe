// NVIDIA's own cuDNN, without a GPU or a driver, is asked about every convolution of every model on
// every GPU that is built in. Needs the cuda preset; where the CPU device stands in for cuDNN these
// tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/forecast/forecast.h"
#include "engine/model/models.h"
#include "kernels/check.h"
#include "kernels/conv_graph.h"
#include "kernels/cudnn_device.h"
#include "tests/engine/program.h"

namespace annulus::forecast {
namespace {

using cudnn_graph::Engine;

// A batch, its short last part, and one image.
constexpr std::array kBatchSizes = {64, 17, 1};

// Empty: cuDNN can be asked.
std::string why_not() {
  try {
    cudnn_graph::described_device(find_gpu("h200").cudnn_properties);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

std::string where(const Forecast& forecast, const Row& row) {
  return fmt::format("{} {}, {}, {} images, {}, {}", forecast.model, row.call.layer, row.call.pass,
                     forecast.images, forecast.precision.name, forecast.gpu.name);
}

// An engine that can be built, one that gives the same bits again, and for fp32 none that rounds.
void expect_engines(const cudnn_graph::EngineList& list, const Precision& precision,
                    const std::string& where) {
  EXPECT_FALSE(list.engines.empty()) << where << ": " << list.refusal;
  EXPECT_TRUE(list.workspace_bytes.has_value()) << where << ": " << list.refusal;
  EXPECT_TRUE(std::ranges::any_of(list.engines, &Engine::deterministic)) << where;
  if (precision.name == kFp32.name) {
    EXPECT_TRUE(std::ranges::none_of(list.engines, &Engine::tensor_cores)) << where;
  }
}

void expect_engines(const Forecast& forecast) {
  EXPECT_EQ(forecast.not_asked, "") << forecast.gpu.name;
  for (const Row& row : forecast.rows) {
    if (!row.call.convolution) continue;
    ASSERT_TRUE(row.engines.has_value()) << where(forecast, row);
    expect_engines(*row.engines, forecast.precision, where(forecast, row));
  }
}

void expect_engines_of_every_model(const std::string& device) {
  const Gpu gpu = find_gpu(device);
  for (const Precision& precision : kPrecisions) {
    if (!gpu.peak_flops.contains(std::string(precision.name))) continue;
    for (const ModelEntry& entry : models())
      for (int images : kBatchSizes)
        expect_engines(make_forecast(entry.build({}), gpu, images, precision));
  }
}

// Of what layers may call and no model calls today: the other forward convolutions.
void expect_engines_of_every_forward_kind(const std::string& name) {
  const Gpu gpu = find_gpu(name);
  const auto device = cudnn_graph::described_device(gpu.cudnn_properties);
  const auto ask = [&](const StepCall& call, ConvKind kind, const Precision& precision) {
    const auto operations = conv_operations(call.convolution->shape, kind, precision.element);
    expect_engines(
        cudnn_graph::engines_for(device, operations, {.reduced_inputs = precision.reduced_inputs}),
        precision,
        fmt::format("{}, kind {}, {}, {}", call.layer, int(kind), precision.name, gpu.name));
  };
  for (const Precision& precision : kPrecisions) {
    if (!gpu.peak_flops.contains(std::string(precision.name))) continue;
    for (const ModelEntry& entry : models())
      for (const StepCall& call : step_calls(entry.build({}), kBatchSizes.front(), precision)) {
        if (call.pass != "forward" || !call.convolution) continue;
        for (const ConvKind kind :
             {ConvKind::forward, ConvKind::forward_bias, ConvKind::forward_bias_relu})
          if (kind != call.convolution->kind) ask(call, kind, precision);
      }
  }
}

class Oracle : public testing::TestWithParam<std::string> {};

TEST_P(Oracle, HasAnEngineForEveryConvolutionOfEveryModel) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  expect_engines_of_every_model(GetParam());
}

TEST_P(Oracle, HasAnEngineForEveryForwardConvolution) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  expect_engines_of_every_forward_kind(GetParam());
}

// Whether there are engines for every BatchNorm of a model that trains with cuDNN's.
void expect_batchnorm(const std::string& device, bool there) {
  const Gpu gpu = find_gpu(device);
  for (const Precision& precision : kPrecisions) {
    if (!gpu.peak_flops.contains(std::string(precision.name))) continue;
    for (const int images : kBatchSizes) {
      const Forecast forecast =
          make_forecast(seed_cnn({.replacements = {.batchnorm = true}}), gpu, images, precision);
      std::size_t rows = 0;
      for (const Row& row : forecast.rows) {
        if (!row.call.batchnorm) continue;
        ++rows;
        ASSERT_TRUE(row.engines.has_value()) << where(forecast, row);
        EXPECT_EQ(!row.engines->engines.empty(), there) << where(forecast, row);
        EXPECT_TRUE(std::ranges::all_of(row.engines->engines, &Engine::deterministic))
            << where(forecast, row);
      }
      EXPECT_EQ(rows, 14u) << "seven forward, seven backward";
    }
  }
}

// Since compute capability 8.0. Built they are with a driver only.
TEST(OracleOfBatchNorm, HasEnginesOnA100AndNewerOnly) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  expect_batchnorm("t4", false);
  for (const char* device : {"a100", "h200", "b200"}) expect_batchnorm(device, true);
}

INSTANTIATE_TEST_SUITE_P(Gpus, Oracle, testing::Values("t4", "a100", "h200", "b200"),
                         [](const auto& gpu) { return gpu.param; });

// Run by volta_test.py against the last cuDNN that has Volta.
TEST(Volta, HasAnEngineForEveryConvolutionOfEveryModel) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  if (cudnnGetVersion() > find_gpu("v100").last_cudnn)
    GTEST_SKIP() << "skipped: this cuDNN has no Volta";
  expect_engines_of_every_model("v100");
  expect_engines_of_every_forward_kind("v100");
}

// The newest cuDNN's heuristics do answer for a V100; the kernels that they name are gone.
TEST(Volta, IsNotAskedAboutOfACudnnWithoutIt) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  if (cudnnGetVersion() <= find_gpu("v100").last_cudnn)
    GTEST_SKIP() << "skipped: this cuDNN has Volta";
  const Forecast forecast = make_forecast(seed_cnn({}), find_gpu("v100"), 64, kFp16);
  EXPECT_NE(forecast.not_asked.find("the last that does is 9.10.2"), std::string::npos)
      << forecast.not_asked;
}

class PlanCommand : public test::Program {};

TEST_F(PlanCommand, ShowsWhereThereIsNoBatchNorm) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  const std::string plan = "plan mnist-cnn --replace batchnorm=cudnn --device ";
  const test::Outcome t4 = run(plan + "t4"), h200 = run(plan + "h200");
  ASSERT_EQ(t4.code, 0) << t4.err;
  const std::string none = "bn1 forward: cuDNN has no engine";
  EXPECT_NE(t4.out.find(none), std::string::npos) << t4.out;
  EXPECT_EQ(h200.out.find(none), std::string::npos) << h200.out;
}

TEST_F(PlanCommand, ListsAnEngineForEveryConvolution) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  for (const ModelEntry& entry : models())
    for (const char* device : {"a100", "h200"})
      for (const char* precision : {"fp32", "bf16", "fp16"}) {
        const test::Outcome outcome = run(fmt::format("plan {} --device {} --precision {} --json",
                                                      entry.name, device, precision));
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const auto json = nlohmann::json::parse(outcome.out);
        for (const auto& row : json.at("rows"))
          if (row.at("convolution")) {
            EXPECT_FALSE(row.at("engines").empty())
                << entry.name << " " << device << " " << precision << ": " << row;
          }
      }
}

}  // namespace
}  // namespace annulus::forecast
