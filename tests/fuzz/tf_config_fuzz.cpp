// TF_CONFIG: what is read has this task among its workers, and is read again from what is written.
#include "comm/tf_config.h"

#include "comm/topology.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  fuzz::allow_errors(ExitCode::usage, [&] {
    const TfConfig config = parse_tf_config(fuzz::text_of(data, size));
    if (config.task_type == "evaluator") return;
    fuzz::require(config.index >= 0 &&
                  static_cast<std::size_t>(config.index) < config.workers.size());
    Topology topology;
    topology.workers = config.workers;
    topology.index = config.index;
    topology.chief = config.chief;
    const TfConfig again = parse_tf_config(tf_config_text(topology));
    fuzz::require(again.workers == config.workers && again.index == config.index);
    fuzz::require(again.task_type == config.task_type && again.task_index == config.task_index);
  });
  return 0;
}
