// Checkpoints: the container, its checksum and the run's state.
#include "engine/checkpoint.h"

#include <algorithm>
#include <span>

#include "data/checksum.h"
#include "tests/fuzz/input.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Mutations alone would never get past the checksum: it is made to fit again.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned) {
  constexpr std::size_t digest_bytes = 64;
  size = LLVMFuzzerMutate(data, size, most);
  if (size < digest_bytes) return size;
  annulus::Sha256 sum;
  sum.add({data, size - digest_bytes});
  const std::string digest = sum.finish();
  std::copy(digest.begin(), digest.end(), data + size - digest_bytes);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  fuzz::allow_data_errors([&] {
    const CheckpointFile file = parse_checkpoint(fuzz::kPath, {data, data + size});
    fuzz::require(text_of(run_state_of(text_of(file.state), "file")) == text_of(file.state));
  });
  return 0;
}
