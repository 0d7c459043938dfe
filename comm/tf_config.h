// TF_CONFIG as training operators and users write it (TensorFlow's guide "Distributed training":
// cluster, task), read strictly. Renderings stand in comm/topology.h. Called by comm/identity_nodes
// and engine/cli.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/endpoint.h"

namespace annulus {

struct TfConfig {
  std::vector<Endpoint> workers;  // chief (or master, its older name) first, then the workers
  bool chief = false;             // the first is one
  int index = 0;                  // of this task among `workers`
  std::string task_type;          // "worker", "chief"; "evaluator": the rest says nothing
  int task_index = 0;             // within the type
};

// Throws UserError (usage): no JSON, with the byte's offset counted from 0; a key twice; a part
// missing; an index outside its list; two workers of one address; a task that trains nothing (ps);
// forms that do not tell how many workers there are.
TfConfig parse_tf_config(std::string_view text);

}  // namespace annulus
