// Weights survive the file bit for bit, PyTorch's files give PyTorch's logits and are written as
// PyTorch writes them; a damaged or foreign file is an error that names what is wrong and changes
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "data/file_writer.h"
#include "engine/evaluate.h"
#include "engine/model/builder.h"
#include "engine/model/models.h"
#include "engine/model_file.h"

namespace annulus {
namespace {

class ModelFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("annulus-model-file-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "model.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::ptrdiff_t(bytes.size()));
  }
  std::string error_of(const std::function<void()>& act) const {
    try {
      act();
    } catch (const UserError& error) {
      EXPECT_EQ(error.code(), ExitCode::data);
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_, path_;
  Model model_ = seed_cnn({.image = {8, 8, 3}, .classes = 4});
};

TEST_F(ModelFileTest, RoundTripKeepsEveryBit) {
  Weights saved(model_, 5), loaded(model_, 6);
  std::vector<float> running = saved.running.download();
  for (std::size_t i = 0; i < running.size(); ++i) running[i] = 0.25f * float(i);
  saved.running.upload(running);
  save_model(path_, model_, saved, {{1, 2, 3}, {4, 5, 6.25f}});
  const ModelFile file(path_);
  EXPECT_EQ(file.model_name(), "seed-cnn");
  EXPECT_EQ(file.normalisation()->mean[1], 2.f);
  EXPECT_EQ(file.normalisation()->std_dev[2], 6.25f);
  file.load(model_, loaded);
  EXPECT_EQ(loaded.parameters.download(), saved.parameters.download());
  EXPECT_EQ(loaded.running.download(), running);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "a temporary file was left behind";
}

TEST_F(ModelFileTest, AnotherModelsFileNamesTheTensor) {
  save_model(path_, model_, Weights(model_, 5), {});
  const Model wider = seed_cnn({.image = {8, 8, 3}, .classes = 7});
  Weights weights(wider, 6);
  const auto before = weights.parameters.download();
  const std::string error = error_of([&] { ModelFile(path_).load(wider, weights); });
  EXPECT_NE(error.find("dense2.weight"), std::string::npos) << error;
  EXPECT_NE(error.find("[4,128]"), std::string::npos) << error;
  EXPECT_NE(error.find("[7,128]"), std::string::npos) << error;
  EXPECT_EQ(weights.parameters.download(), before);
}

TEST_F(ModelFileTest, DamagedFilesAreErrors) {
  save_model(path_, model_, Weights(model_, 5), {});
  const std::string good = bytes();
  Weights weights(model_, 6);
  const auto load = [&] { ModelFile(path_).load(model_, weights); };
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{4}, std::size_t{8}, good.size() / 2, good.size() - 1}) {
    write(good.substr(0, size));
    EXPECT_NE(error_of(load), "no error") << "cut to " << size << " bytes";
  }
  std::string lying = good;
  lying[7] = 0x3f;  // a header of 2^62 bytes
  write(lying);
  EXPECT_NE(error_of(load).find("header"), std::string::npos);
  const std::string no_object =
      std::string(1, 2) + std::string(7, 0) + "[]" + std::string(100, 'x');
  write(no_object);
  EXPECT_NE(error_of(load), "no error");
  std::filesystem::remove(path_);
  EXPECT_NE(error_of(load).find("No such file"), std::string::npos);
}

// conv1 with 32 filters where the model has 64; as many bytes, but of another type.
TEST_F(ModelFileTest, ShapesAndTypesUnlikeTheModelsAreNamed) {
  const auto network = [](int width) {
    ModelBuilder m({8, 8, 3});
    m.conv({.filters = width, .kernel = 3, .padding = 1}).batch_norm().relu();
    m.global_average_pool().dense(4);
    return m.build("network");
  };
  const Model narrow = network(32), wide = network(64);
  save_model(path_, narrow, Weights(narrow, 1), {});
  Weights weights(wide, 2);
  const std::vector<float> before = weights.parameters.download();
  const auto load = [&] { ModelFile(path_).load(wide, weights); };
  EXPECT_NE(error_of(load).find("conv1.weight is F32 [32,3,3,3], the model needs F32 [64,3,3,3]"),
            std::string::npos)
      << error_of(load);

  save_model(path_, wide, Weights(wide, 1), {});
  TensorFile file = read_tensor_file(path_);
  for (Tensor& tensor : file.tensors)
    if (tensor.name == "bn1.weight") {
      tensor.type = "F16";
      tensor.shape = {128};
    }
  write_file(path_, tensor_file_bytes({}, file.tensors));
  EXPECT_NE(error_of(load).find("bn1.weight is F16 [128], the model needs F32 [64]"),
            std::string::npos)
      << error_of(load);
  EXPECT_EQ(weights.parameters.download(), before);
}

TEST_F(ModelFileTest, ATensorTooManyIsNamed) {
  save_model(path_, model_, Weights(model_, 5), {});
  TensorFile file = read_tensor_file(path_);
  file.tensors.push_back(float_tensor("fc.weight", {0}, {}));
  write_file(path_, tensor_file_bytes({}, file.tensors));
  Weights weights(model_, 6);
  const std::string error = error_of([&] { ModelFile(path_).load(model_, weights); });
  EXPECT_NE(error.find("has a tensor fc.weight, which model seed-cnn does not"), std::string::npos)
      << error;
}

TEST_F(ModelFileTest, WhatPyTorchWroteDoesNotSayItsModel) {
  save_model(path_, model_, Weights(model_, 5), {});
  write_file(path_, tensor_file_bytes({{"format", "pt"}}, read_tensor_file(path_).tensors));
  const ModelFile file(path_);
  EXPECT_NE(error_of([&] { file.model_name(); }).find("--model"), std::string::npos);
  EXPECT_FALSE(file.normalisation());
  write_file(path_, tensor_file_bytes({{"mean", "[1,"}}, {}));
  EXPECT_NE(error_of([&] { ModelFile(path_).normalisation(); }).find("mean"), std::string::npos);
}

// tests/golden/make_pytorch_file.py made the file and the logits, these in double precision.
class PyTorchFile : public ModelFileTest {
 protected:
  static std::filesystem::path golden(const char* name) {
    return std::filesystem::path(ANNULUS_GOLDEN) / name;
  }
  static Model network() {
    ModelBuilder m({6, 4, 3});
    m.conv({.filters = 4, .kernel = 3, .padding = 1}).batch_norm().relu().max_pool();
    const int shortcut = m.here();
    m.conv({.filters = 4, .kernel = 1, .bias = false}).batch_norm().add(shortcut).relu();
    m.flatten().dense(5).batch_norm().relu().dense(3);
    return m.build("tiny");
  }
  const nlohmann::json facts_ = nlohmann::json::parse(std::ifstream(golden("pytorch-tiny.json")));
};

TEST_F(PyTorchFile, GivesPyTorchsLogits) {
  const Model model = network();
  const Device device;
  Dataset data{.name = "golden", .image = model.input(), .classes = 3, .class_names = {}};
  data.images = facts_["images"].get<std::vector<std::uint8_t>>();
  data.labels.resize(facts_["logits"].size());
  const ResidentData resident(data, {100, 120, 140, 0}, {50, 60, 70, 1});
  Weights weights(model, 0);
  ModelFile(golden("pytorch-tiny.safetensors")).load(model, weights);
  const Buffer<float> logits(data.size() * 3);
  Evaluator(model, device, resident, 3).run(weights, nullptr, logits.span());
  const std::vector<float> values = logits.download();
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], facts_["logits"][i / 3][i % 3].get<double>(), 1e-5) << i;
}

TEST_F(PyTorchFile, IsWrittenAsPyTorchWroteIt) {
  const Model model = network();
  Weights weights(model, 0);
  const TensorFile theirs = read_tensor_file(golden("pytorch-tiny.safetensors"));
  ModelFile(golden("pytorch-tiny.safetensors")).load(model, weights);
  save_model(path_, model, weights, {});
  const TensorFile ours = read_tensor_file(path_);
  EXPECT_EQ(ours.metadata.at("format"), "pt");
  EXPECT_EQ(ours.tensors.size(), theirs.tensors.size());
  for (const Tensor& tensor : theirs.tensors) {
    const Tensor* own = ours.find(tensor.name);
    ASSERT_NE(own, nullptr) << tensor.name;
    EXPECT_EQ(own->type, tensor.type) << tensor.name;
    EXPECT_EQ(own->shape, tensor.shape) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(own->bytes, tensor.bytes)) << tensor.name;
  }
}

}  // namespace
}  // namespace annulus
