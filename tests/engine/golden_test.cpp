// Five training steps of seed-cnn and resnet-8 against PyTorch's double-precision losses,
// gradients, parameters and running statistics (tests/golden, where the formulas of the inputs and
// the tolerances are explained). A last test plants wrong formulas and sees that the files refuse
// them.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/model/models.h"
#include "engine/step.h"
#include "kernels/philox.h"

namespace annulus {
namespace {

using Json = nlohmann::json;

// The generator of tests/golden/inputs.py.
class Inputs {
 public:
  explicit Inputs(std::uint64_t seed) : seed_(seed) {}

  std::uint32_t number(std::uint32_t purpose, std::uint32_t position, std::size_t i) const {
    const Uint4 block = philox(seed_, purpose, 0, position, static_cast<std::uint32_t>(i / 4));
    const std::uint32_t words[] = {block.x, block.y, block.z, block.w};
    return words[i % 4];
  }

  float parameter(std::uint32_t tensor, std::size_t i, const Json& form) const {
    const double v = 2.0 * double(number(1, tensor, i) >> 8) * 0x1p-24 - 1.0;
    const double gap = form["gap"];
    return static_cast<float>(form["center"].get<double>() + form["half_width"].get<double>() * v +
                              (v < 0 ? -gap : gap));
  }

  Dataset images(std::size_t count) const {
    Dataset data{.name = "golden",
                 .image = {32, 32, 3},
                 .classes = 10,
                 .class_names = {},
                 .images = {},
                 .labels = {}};
    for (std::uint32_t k = 0; k < count; ++k) {
      for (std::size_t j = 0; j < data.image.size(); ++j)
        data.images.push_back(static_cast<std::uint8_t>(number(2, k, j) >> 24));
      data.labels.push_back(static_cast<std::uint8_t>(number(3, k, 0) % 10));
    }
    return data;
  }

 private:
  std::uint64_t seed_;
};

std::array<float, 4> four(const Json& three) { return {three[0], three[1], three[2], 1}; }

// Where a golden array is not met: the first few, in words.
using Complaints = std::vector<std::string>;

void compare(const std::string& what, const float* values, std::size_t count, const Json& golden,
             Complaints& complaints) {
  double square = 0, sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    square += double(values[i]) * values[i];
    sum += values[i];
  }
  const double norm_tolerance = golden["tolerance"][0], element_tolerance = golden["tolerance"][1];
  const auto check = [&](const std::string& which, double got, double want, double tolerance) {
    if (!(std::abs(got - want) <= tolerance))
      complaints.push_back(what + " " + which + ": got " + std::to_string(got) + ", PyTorch has " +
                           std::to_string(want) + " +- " + std::to_string(tolerance));
  };
  check("norm", std::sqrt(square), golden["l2"], norm_tolerance);
  check("sum", sum, golden["sum"], norm_tolerance * std::sqrt(double(count)));
  if (!golden.contains("samples")) return;
  for (const Json& sample : golden["samples"]) {
    const std::size_t index = sample[0];
    check("[" + std::to_string(index) + "]", values[index], sample[1], element_tolerance);
  }
}

// What a run may get wrong on purpose.
struct Fault {
  double momentum = 0, label_smoothing = 0, weight_decay = 0, batchnorm_momentum = 0;  // added
};

class GoldenRun {
 public:
  explicit GoldenRun(const std::string& name, const Fault& fault = {})
      : golden_(Json::parse(std::ifstream(std::string(ANNULUS_GOLDEN) + "/" + name + ".json"))),
        inputs_(golden_["seed"].get<std::uint64_t>()),
        images_(inputs_.images(golden_["images"])),
        model_(find_model(golden_["model"]).build({.dropout_scale = 0})),
        data_(images_, four(golden_["mean"]), four(golden_["std"])),
        weights_(model_, 0),
        optimizer_(model_, recipe(fault)),
        step_(model_, device_, data_,
              {.batches = {.samples = images_.size(),
                           .ranks = 1,
                           .batch_per_rank = golden_["batch"].get<int>()},
               .label_smoothing = static_cast<float>(golden_["label_smoothing"].get<double>() +
                                                     fault.label_smoothing),
               .batchnorm_momentum = static_cast<float>(
                   golden_["batchnorm_momentum"].get<double>() + fault.batchnorm_momentum),
               .augmentation = data_.normalisation()},
              weights_, optimizer_,
              [this](const StepResult& result, const StepTimes&) { loss_ = result.loss; }) {
    set_first_parameters();
  }

  // The inputs themselves, so that a difference in them is not looked for in the kernels.
  Complaints check_inputs() const {
    Complaints complaints;
    const Json& first = golden_["first_inputs"];
    for (std::size_t i = 0; i < first["image"].size(); ++i)
      if (images_.images[i] != first["image"][i]) complaints.push_back("image 0 differs");
    for (std::size_t i = 0; i < first["labels"].size(); ++i)
      if (images_.labels[i] != first["labels"][i]) complaints.push_back("labels differ");
    if (golden_["tensors"].size() != model_.parameters().size())
      complaints.push_back("another number of parameters");
    for (std::size_t t = 0; t < model_.parameters().size(); ++t)
      if (golden_["tensors"][t]["shape"] != Json(model_.parameters()[t]->shape))
        complaints.push_back("shape of " + model_.parameters()[t]->name);
    return complaints;
  }

  Complaints run() {
    Complaints complaints = check_inputs();
    const float rate = golden_["optimizer"]["learning_rate"];
    for (std::size_t s = 0; s < golden_["steps"].size() && complaints.empty(); ++s) {
      step_.run(0, s, rate);
      step_.finish();
      check_step(golden_["steps"][s], complaints);
    }
    return complaints;
  }

 private:
  Recipe recipe(const Fault& fault) const {
    const Json& optimizer = golden_["optimizer"];
    Recipe recipe;
    recipe.optimizer = optimizer["kind"];
    recipe.momentum = optimizer.value("momentum", 0.0) + fault.momentum;
    recipe.weight_decay = optimizer["weight_decay"].get<double>() + fault.weight_decay;
    return recipe;
  }

  void set_first_parameters() {
    std::vector<float> values(model_.layout().parameters, 0.f);
    std::uint32_t tensor = 0;
    for (const Parameter* p : model_.parameters()) {
      for (std::size_t i = 0; i < p->count(); ++i)
        values[p->slice.offset + i] = inputs_.parameter(tensor, i, golden_["tensors"][tensor]);
      ++tensor;
    }
    weights_.parameters.upload(values);
  }

  void check_step(const Json& step, Complaints& complaints) const {
    const std::string place = "step " + std::to_string(step["step"].get<int>()) + " ";
    if (!(std::abs(loss_ - step["loss"].get<double>()) <= step["loss_tolerance"].get<double>()))
      complaints.push_back(place + "loss " + std::to_string(loss_) + ", PyTorch has " +
                           step["loss"].dump());
    const GradientLayout& layout = model_.layout();
    std::vector<float> reduced(layout.size());
    CUDA_CHECK(cudaMemcpy(reduced.data(), step_.reduced_gradients().data,
                          step_.reduced_gradients().bytes(), cudaMemcpyDeviceToHost));
    const std::vector<float> parameters = weights_.parameters.download();
    for (std::size_t t = 0; t < model_.parameters().size(); ++t) {
      const Parameter& p = *model_.parameters()[t];
      compare(place + "gradient of " + p.name, reduced.data() + layout.head() + p.slice.offset,
              p.count(), step["gradients"][t], complaints);
      compare(place + p.name, parameters.data() + p.slice.offset, p.count(), step["parameters"][t],
              complaints);
    }
    const std::vector<float> running = weights_.running.download();
    std::size_t offset = 0, norm = 0;
    for (const Node& node : model_.nodes()) {
      const std::size_t channels = node.layer->statistics() / 2;
      if (!channels) continue;
      compare(place + "running mean of " + node.layer->name(), running.data() + offset, channels,
              step["running_means"][norm], complaints);
      compare(place + "running variance of " + node.layer->name(),
              running.data() + offset + channels, channels, step["running_variances"][norm],
              complaints);
      offset += 2 * channels;
      ++norm;
    }
  }

  Json golden_;
  Inputs inputs_;
  Dataset images_;
  Device device_;
  Model model_;
  ResidentData data_;
  Weights weights_;
  Optimizer optimizer_;
  double loss_ = 0;
  TrainStep step_;
};

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, FiveStepsAgreeWithPyTorch) {
  for (const std::string& complaint : GoldenRun(GetParam()).run()) ADD_FAILURE() << complaint;
}

INSTANTIATE_TEST_SUITE_P(Runs, Golden,
                         testing::Values("seed-cnn-sgd", "resnet-8-sgd", "resnet-8-adam",
                                         "resnet-8-adamw"),
                         [](const auto& run) {
                           std::string name = run.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Golden, WrongFormulasAreRefused) {
  EXPECT_FALSE(GoldenRun("resnet-8-sgd", {.momentum = 0.001}).run().empty());
  EXPECT_FALSE(GoldenRun("resnet-8-sgd", {.label_smoothing = 0.0001}).run().empty());
  EXPECT_FALSE(GoldenRun("resnet-8-sgd", {.weight_decay = 5e-5}).run().empty());
  EXPECT_FALSE(GoldenRun("resnet-8-sgd", {.batchnorm_momentum = 0.001}).run().empty());
}

}  // namespace
}  // namespace annulus
