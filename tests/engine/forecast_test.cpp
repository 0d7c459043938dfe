// `annulus plan` and what it is made of: FLOPs, bytes and limits against what can be counted by
// hand, descriptions of GPUs, the table, the JSON, and errors. What cuDNN says of engines is asked
// in tests/oracle.
#include "engine/forecast/forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/model/models.h"
#include "tests/engine/program.h"

namespace annulus::forecast {
namespace {

using test::Outcome;
using Json = nlohmann::json;

// A GPU with round numbers: equal at 10 FLOP/B.
Gpu round_gpu() {
  return {.name = "round",
          .peak_flops = {{"fp32", 1e12}, {"bf16", 1e12}},
          .bytes_per_second = 1e11,
          .last_cudnn = {},
          .cudnn_properties = "{}"};
}

const StepCall& find(const std::vector<StepCall>& calls, const std::string& layer,
                     const std::string& pass) {
  const auto found = std::ranges::find_if(
      calls, [&](const StepCall& call) { return call.layer == layer && call.pass == pass; });
  if (found == calls.end()) throw std::runtime_error("no call " + layer + " " + pass);
  return *found;
}

std::size_t count(const std::vector<StepCall>& calls, const std::string& layer) {
  return std::size_t(std::ranges::count(calls, layer, &StepCall::layer));
}

TEST(StepCalls, OfAConvolutionAreCountedByHand) {
  const auto calls = step_calls(seed_cnn({}), 64, kFp32);
  const double images = 64.0 * 32 * 32 * 3, y = 64.0 * 32 * 32 * 32, weights = 32 * 27, bias = 32;
  const StepCall& forward = find(calls, "conv1", "forward");
  EXPECT_EQ(forward.flops, 2 * y * 27);
  EXPECT_EQ(forward.bytes, 4 * (images + weights + bias + y));
  const StepCall& weight_gradient = find(calls, "conv1", "weight gradient");
  EXPECT_EQ(weight_gradient.flops, forward.flops);
  EXPECT_EQ(weight_gradient.bytes, 4 * (images + y + weights + bias));
  EXPECT_EQ(count(calls, "conv1"), 2u) << "nobody needs the gradient of the images";
  EXPECT_EQ(count(calls, "conv2"), 3u);
  EXPECT_EQ(find(calls, "conv2", "data gradient").bytes, 4 * (y + 32 * 32 * 9 + 32 + y));
}

TEST(StepCalls, HalvesHalveActivationsButNotMasterWeights) {
  const auto calls = step_calls(seed_cnn({}), 64, kBf16);
  const double images = 64.0 * 32 * 32 * 3, y = 64.0 * 32 * 32 * 32, weights = 32 * 27 + 32;
  EXPECT_EQ(find(calls, "conv1", "forward").bytes, 2 * (images + weights + y));
  EXPECT_EQ(find(calls, "conv1", "weight gradient").bytes, 2 * (images + y) + 4 * weights);
  EXPECT_EQ(find(calls, "step", "update").bytes, 551722.0 * (5 * 4 + 2));
}

TEST(StepCalls, OfLayersWithoutWeights) {
  const auto calls = step_calls(resnet8({}), 8, kFp32);
  const double block = 4 * 8.0 * 32 * 32 * 16;
  EXPECT_EQ(find(calls, "add1", "forward").bytes, 3 * block);
  EXPECT_EQ(count(calls, "add1"), 1u) << "its gradient is passed through";
}

// Its activation and pool are rows of their own; dropout reads and writes a mask of one bit.
TEST(StepCalls, OfCudnnsBatchNormAndDropout) {
  const auto calls =
      step_calls(seed_cnn({.replacements = {.batchnorm = true, .dropout = true}}), 64, kFp32);
  const double block = 64.0 * 32 * 32 * 32, pooled = block / 4;
  for (const char* pass : {"forward", "backward"}) {
    const StepCall& call = find(calls, "bn2", pass);
    ASSERT_TRUE(call.batchnorm.has_value());
    EXPECT_EQ(call.batchnorm->shape.in_size(), std::size_t(block));
    EXPECT_EQ(find(calls, "act2", pass).bytes, 4 * block * (pass[0] == 'f' ? 2 : 3));
    EXPECT_EQ(find(calls, "drop1", pass).bytes, 4 * 2 * pooled + pooled / 8);
  }
  EXPECT_EQ(find(calls, "bn2", "forward").bytes, 4 * (2 * block + 4 * 32));
  EXPECT_FALSE(find(step_calls(seed_cnn({}), 64, kFp32), "bn2", "forward").batchnorm.has_value());
}

TEST(StepCalls, HaveTheFlopsOfTheModel) {
  for (const ModelEntry& entry : models()) {
    const Model model = entry.build({});
    double flops = 0;
    for (const StepCall& call : step_calls(model, 32, kFp32)) flops += call.flops;
    EXPECT_DOUBLE_EQ(flops, 32 * model.training_flops()) << entry.name;
  }
}

TEST(Forecast, TakesTheSlowerLimitOfEachCall) {
  const Forecast forecast = make_forecast(seed_cnn({}), round_gpu(), 64, kFp32);
  double seconds = 0, waiting = 0;
  for (const Row& row : forecast.rows) {
    EXPECT_EQ(row.memory_bound(), row.call.flops <= 10 * row.call.bytes) << row.call.layer;
    const double slower = std::max(row.call.flops / 1e12, row.call.bytes / 1e11);
    EXPECT_DOUBLE_EQ(row.seconds(), slower);
    seconds += slower;
    if (row.call.flops <= 10 * row.call.bytes) waiting += slower;
  }
  EXPECT_DOUBLE_EQ(forecast.seconds(), seconds);
  EXPECT_DOUBLE_EQ(forecast.memory_bound_seconds(), waiting);
  EXPECT_GT(waiting, 0);
  EXPECT_LT(waiting, seconds);
}

TEST(Gpus, AllAreReadAndStateTheirSources) {
  for (const KnownGpu& known : known_gpus()) {
    const Gpu gpu = find_gpu(known.name);
    const Json json = Json::parse(known.json);
    EXPECT_GE(json.at("sources").size(), 3u) << gpu.name;
    EXPECT_EQ(json.at("cudnn_properties").at("deviceName"), gpu.name);
    EXPECT_GT(gpu.peak_flops.at("fp16"), gpu.peak_flops.at("fp32"));
    EXPECT_EQ(gpu.peak_flops.contains("bf16"), json["cudnn_properties"]["deviceVer"] >= 800)
        << gpu.name << ": bf16 came with compute capability 8.0";
  }
  EXPECT_EQ(find_gpu("h200").bytes_per_second, 4.8e12);
}

class PlanCommand : public test::Program {
 protected:
  void refused(const std::string& arguments, const std::string& words) const {
    const Outcome outcome = run("plan " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "gpu.json") << text;
    return " --device gpu.json";
  }
  // The H200's description with a value put in another's place, null: taken out.
  std::string edited(const std::string& pointer, const Json& value) const {
    Json json;
    for (const KnownGpu& known : known_gpus())
      if (std::string(known.name) == "h200") json = Json::parse(known.json);
    const Json::json_pointer place(pointer);
    if (value.is_null())
      json[place.parent_pointer()].erase(place.back());
    else
      json[place] = value;
    return file(json.dump());
  }
};

TEST_F(PlanCommand, PrintsARowForEachCallAndTheStep) {
  const Outcome outcome = run("plan seed-cnn --device a100 --batch-size 128 --precision bf16");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* words :
       {"seed-cnn in bf16, 128 images, on NVIDIA A100-SXM4-80GB: 312 TFLOP/s and 2039 GB/s",
        "\nconv6   data gradient", "\nbn7     backward", "\nstep    update", "\nstep    in all",
        "images/s at most"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << " is not in\n" << outcome.out;
}

TEST_F(PlanCommand, SaysTheSameInJson) {
  const Outcome outcome = run("plan mnist-cnn --device t4 --precision fp16 --image 28x28x1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  const Forecast forecast =
      make_forecast(mnist_cnn({.image = {28, 28, 1}}), find_gpu("t4"), 64, kFp16);
  EXPECT_EQ(json["device"], "Tesla T4");
  EXPECT_EQ(json["rows"].size(), forecast.rows.size());
  EXPECT_DOUBLE_EQ(json["step"]["seconds"].get<double>(), forecast.seconds());
  EXPECT_DOUBLE_EQ(json["step"]["bytes"].get<double>(), forecast.bytes());
  EXPECT_EQ(json["rows"][1]["layer"], "conv1");
  EXPECT_EQ(json["rows"][1]["convolution"], true);
}

// The CPU device, here linked in or loaded in its place, knows nothing of other devices.
TEST_F(PlanCommand, SaysWhyThereAreNoEnginesWithoutCudnn) {
  const Outcome outcome = run("plan seed-cnn");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nno engines: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("this cuDNN takes no description of a device"), std::string::npos);
}

TEST_F(PlanCommand, TakesAGpuFromAFile) {
  const Outcome outcome = run("plan mlp" + edited("/peak_tflops/fp32", 1e-6));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("on NVIDIA H200: 1e-06 TFLOP/s and 4800 GB/s"), std::string::npos)
      << outcome.out;
}

TEST_F(PlanCommand, RefusesWhatItCannotUnderstand) {
  refused("", "model is required");
  refused("resnet-99", "resnet-99");
  refused("mlp --device z9", "--device z9: no file, and not one of t4, v100, a100, h200, b200");
  refused("mlp --device t4 --precision bf16",
          "--precision bf16: Tesla T4 does not compute in it; it has fp16, fp32");
  refused("mlp --image 28x28", "--image 28x28: give height, width and channels, as in 28x28x1");
  refused("mlp --image 28x28x1x1", "--image 28x28x1x1: give");
  refused("mlp --image 0x28x1", "--image 0x28x1: give");
  refused("mlp --replace pool=cudnn", "--replace pool=cudnn: 'pool=cudnn' cannot be replaced");
  refused("mlp" + file("{"), "--device gpu.json: it is not a JSON object");
  refused("mlp" + file(R"({"name": "x"})"), "--device gpu.json: it has no peak_tflops");
  refused("mlp" + file(R"({"name": "x", "peak_tflops": {"fp32": -1}})"),
          "--device gpu.json: peak_tflops.fp32 must be a positive number");
}

TEST_F(PlanCommand, NamesWhatIsWrongOfAGpusProperties) {
  const std::string begin = "--device gpu.json: cudnn_properties.";
  for (const Json& value : {Json(), Json("900"), Json(900.5), Json(-1)})
    refused("mlp" + edited("/cudnn_properties/deviceVer", value),
            begin + "deviceVer must be a whole number from 100 up");
  refused("mlp" + edited("/cudnn_properties/multiProcessorCount", 0),
          begin + "multiProcessorCount must be a whole number from 1 up");
  refused("mlp" + edited("/cudnn_properties/maxGridSize", Json::array()),
          begin + "maxGridSize must be three whole numbers from 1 up");
  refused("mlp" + edited("/cudnn_properties/deviceName", 1), begin + "deviceName must be a text");
  refused("mlp" + edited("/peak_tflops/fp17", 1), "peak_tflops has fp17, which is no precision");
  refused("mlp" + edited("/cudnn_properties/deviceVer", 750),
          "it has a peak for tf32, which begins with compute capability 8.0, but its deviceVer is "
          "750");
}

TEST_F(PlanCommand, RefusesImagesOfWhichNothingIsLeft) {
  refused("seed-cnn --image 3x3x3", "model seed-cnn: images of 3x3x3 are too small, layer");
  refused("mnist-cnn --image 1x1x1", "model mnist-cnn: images of 1x1x1 are too small, layer");
}

}  // namespace
}  // namespace annulus::forecast
