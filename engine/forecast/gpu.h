// A GPU as `annulus plan` knows it: what it can do at most, and what cuDNN needs to be told of it.
// Five are built in (engine/forecast/gpus, each with the sources of its numbers); any other comes
// from a JSON file of the same form (docs/plan.md). Called by the plan command and its tests.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace annulus::forecast {

struct Gpu {
  std::string name;
  std::map<std::string, double> peak_flops;  // FLOP/s, dense, by precision ("bf16")
  double bytes_per_second = 0;               // of its memory
  std::optional<std::size_t> last_cudnn;  // CUDNN_VERSION of the last with kernels for it, if over
  std::string cudnn_properties;           // JSON, cuDNN's own keys
};

// A built-in description: its name on the command line, and the JSON text.
struct KnownGpu {
  const char* name;
  const char* json;
};
const std::vector<KnownGpu>& known_gpus();

// By a built-in name, else from the file. Throws UserError (usage).
Gpu find_gpu(const std::string& name_or_file);

}  // namespace annulus::forecast
