// Weights survive the file bit for bit; a damaged or foreign file is an error that names what is
// wrong and changes nothing.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "engine/model/models.h"
#include "engine/model_file.h"

namespace annulus {
namespace {

class ModelFile : public testing::Test {
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

TEST_F(ModelFile, RoundTripKeepsEveryBit) {
  Weights saved(model_, 5), loaded(model_, 6);
  std::vector<float> running = saved.running.download();
  for (std::size_t i = 0; i < running.size(); ++i) running[i] = 0.25f * float(i);
  saved.running.upload(running);
  save_weights(path_, model_, saved);
  EXPECT_EQ(saved_model_name(path_), "seed-cnn");
  load_weights(path_, model_, loaded);
  EXPECT_EQ(loaded.parameters.download(), saved.parameters.download());
  EXPECT_EQ(loaded.running.download(), running);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "a temporary file was left behind";
}

TEST_F(ModelFile, AnotherModelsFileNamesTheTensor) {
  save_weights(path_, model_, Weights(model_, 5));
  const Model wider = seed_cnn({.image = {8, 8, 3}, .classes = 7});
  Weights weights(wider, 6);
  const auto before = weights.parameters.download();
  const std::string error = error_of([&] { load_weights(path_, wider, weights); });
  EXPECT_NE(error.find("dense2.weight"), std::string::npos) << error;
  EXPECT_NE(error.find("[4,128]"), std::string::npos) << error;
  EXPECT_NE(error.find("[7,128]"), std::string::npos) << error;
  EXPECT_EQ(weights.parameters.download(), before);
}

TEST_F(ModelFile, DamagedFilesAreErrors) {
  save_weights(path_, model_, Weights(model_, 5));
  const std::string good = bytes();
  Weights weights(model_, 6);
  const auto load = [&] { load_weights(path_, model_, weights); };
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

}  // namespace
}  // namespace annulus
