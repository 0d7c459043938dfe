// The safetensors container: every tensor that it names lies within the file.
#include "engine/safetensors.h"

#include <numeric>

#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  fuzz::allow_data_errors([&] {
    const TensorFile file = parse_tensor_file(fuzz::kPath, {data, data + size});
    unsigned sum = 0;
    for (const Tensor& tensor : file.tensors) {
      fuzz::require(tensor.bytes.size() <= size);
      sum = std::accumulate(tensor.bytes.begin(), tensor.bytes.end(), sum);
      fuzz::require(file.find(tensor.name) != nullptr);
    }
    fuzz::require(sum <= 255 * size);
    for (const Tensor& tensor : file.tensors) float_values(fuzz::kPath, tensor, tensor.shape);
  });
  return 0;
}
