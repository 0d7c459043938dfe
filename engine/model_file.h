// model.safetensors: the parameters and running statistics of a model under the names and in the
// layouts that PyTorch gives them, so that load_state_dict takes the file as it is: convolutions
// [K,C,R,S], the columns of a Dense behind [H,W,C] in the order of nn.Flatten, which sees [C,H,W].
// The metadata says which model it is, and how images are normalised. docs/pytorch.md lists the
// names. Called by the trainer and `annulus eval`.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/safetensors.h"
#include "engine/weights.h"

namespace annulus {

// What a pixel goes through before the model: (value - mean) / std_dev, per channel, of values from
// 0 to 255.
struct Normalisation {
  std::array<float, 4> mean{}, std_dev{};
};

// Throws UserError (storage).
void save_model(const std::filesystem::path& path, const Model& model, const Weights& weights,
                const Normalisation& normalisation);

// A file that Annulus or PyTorch wrote. All members throw UserError (data).
class ModelFile {
 public:
  explicit ModelFile(std::filesystem::path path);

  // Where the file says so: what Annulus wrote does, what PyTorch wrote does not.
  std::string model_name() const;
  std::optional<Normalisation> normalisation() const;

  // Throws where the file says that its model is for images of another shape.
  void expect_images(const ImageShape& images) const;

  // The file must hold exactly the model's tensors, in shape and type; where it does not, the error
  // names the tensor, both shapes and both types, and `weights` are unchanged.
  void load(const Model& model, Weights& weights) const;

 private:
  std::array<float, 4> numbers(const char* key) const;

  std::filesystem::path path_;
  TensorFile file_;
};

}  // namespace annulus
