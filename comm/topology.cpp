// See comm/topology.h.
#include "comm/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace annulus {
namespace {

// Python's json.dumps writes ASCII only, as this does.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

template <class Workers>
std::string list_of(Workers begin, Workers end) {
  std::string list;
  std::for_each(begin, end, [&](const Endpoint& worker) {
    list += list.empty() ? "" : ", ";
    list += quoted(worker.text());
  });
  return fmt::format("[{}]", list);
}

}  // namespace

std::string tf_config_text(const Topology& topology) {
  const auto first = topology.workers.begin(), last = topology.workers.end();
  const auto first_worker = topology.chief ? first + 1 : first;
  std::string cluster;
  if (topology.chief) cluster = fmt::format(R"("chief": {})", list_of(first, first_worker));
  if (topology.chief && first_worker != last) cluster += ", ";
  if (first_worker != last) cluster += fmt::format(R"("worker": {})", list_of(first_worker, last));
  const bool is_chief = topology.chief && topology.index == 0;
  return fmt::format(R"({{"cluster": {{{}}}, "task": {{"type": "{}", "index": {}}}}})", cluster,
                     is_chief ? "chief" : "worker",
                     topology.index - (topology.chief && !is_chief ? 1 : 0));
}

std::vector<std::pair<std::string, std::string>> torchrun_variables(const Topology& topology,
                                                                    int local_rank) {
  const Endpoint& first = topology.workers.front();
  const int here = topology.local_ranks;
  return {{"MASTER_ADDR", first.host},
          {"MASTER_PORT", std::to_string(first.port)},
          {"RANK", std::to_string(topology.index * here + local_rank)},
          {"WORLD_SIZE", std::to_string(topology.nodes() * here)},
          {"LOCAL_RANK", std::to_string(local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(here)},
          {"GROUP_RANK", std::to_string(topology.index)}};
}

std::string torchrun_text(const Topology& topology) {
  const Endpoint& first = topology.workers.front();
  return fmt::format(
      "PET_MASTER_ADDR={}\nPET_MASTER_PORT={}\nPET_NNODES={}\nPET_NODE_RANK={}\n"
      "PET_NPROC_PER_NODE={}\n",
      first.host, first.port, topology.nodes(), topology.index, topology.local_ranks);
}

std::string hostfile_text(const Topology& topology) {
  std::string text;
  for (const Endpoint& worker : topology.workers)
    text += fmt::format("{} slots={}\n", worker.host, topology.local_ranks);
  return text;
}

}  // namespace annulus
