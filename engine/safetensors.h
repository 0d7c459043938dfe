// The safetensors container: a JSON header that names tensors, and their raw little-endian values
// (https://github.com/huggingface/safetensors, "Format"). Invariant: what was read has been
// checked against the file's size, so that no later access can leave it; memory stays within the
// file's size and what a header of at most 1 MiB unfolds to. Called by engine/model_file and
// engine/checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace annulus {

struct Tensor {
  std::string name;
  std::string type;  // "F32", "F16", "BF16", "I64", "U8", …
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;  // row-major; not aligned
};

using TensorMetadata = std::map<std::string, std::string>;  // the header's __metadata__

struct TensorFile {
  TensorMetadata metadata;
  std::vector<Tensor> tensors;  // in the order of their bytes; they look into `file`
  std::vector<std::uint8_t> file;

  const Tensor* find(const std::string& name) const;  // null: there is none
};

// `path` is for the words of errors alone. Throws UserError (data) with path, fact and fix.
TensorFile parse_tensor_file(const std::filesystem::path& path, std::vector<std::uint8_t> bytes);
TensorFile read_tensor_file(const std::filesystem::path& path);

// The whole file, for data/file_writer. Tensors keep their order.
std::vector<std::uint8_t> tensor_file_bytes(const TensorMetadata& metadata,
                                            const std::vector<Tensor>& tensors);

Tensor float_tensor(std::string name, std::vector<std::int64_t> shape,
                    std::span<const float> values);
// Throws UserError (data) naming the tensor, both types and both shapes where they differ from what
// is wanted.
std::vector<float> float_values(const std::filesystem::path& path, const Tensor& tensor,
                                const std::vector<std::int64_t>& shape);

}  // namespace annulus
