// See comm/tf_config.h.
#include "comm/tf_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "comm/identity_variables.h"

namespace annulus {
namespace {

using identity::refuse;
using nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // Linux: 128 KiB a variable
constexpr int kDeepest = 8;
constexpr std::array<std::string_view, 5> kTypes{"chief", "master", "worker", "ps", "evaluator"};

// nlohmann::json keeps the last of two equal keys; here that would be another cluster.
class KeysOnce {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kDeepest) refuse("TF_CONFIG is nested deeper than {} levels", kDeepest);
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key &&
        !keys_.back().insert(parsed.get_ref<const std::string&>()).second)
      refuse("TF_CONFIG has the key '{}' twice", printable(parsed.get_ref<const std::string&>()));
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of each open object
};

json parse(std::string_view text) {
  if (text.size() > kMostBytes) refuse("TF_CONFIG has {} bytes: too many", text.size());
  try {
    return json::parse(text, KeysOnce());
  } catch (const json::parse_error& error) {
    const std::size_t offset = std::min(error.byte, text.size() + 1) - 1;
    refuse("TF_CONFIG is no JSON: wrong byte at offset {} (counted from 0): '{}'", offset,
           printable(text.substr(offset)));
  } catch (const json::exception&) {
    refuse("TF_CONFIG holds a number that is too large");
  }
}

std::string keys_of(const json& object) {
  std::string keys;
  for (const auto& [key, value] : object.items()) {
    if (!keys.empty()) keys += ", ";
    keys += printable(key);
  }
  return keys.empty() ? "nothing" : keys;
}

const json& member(const json& object, const char* of, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) refuse("TF_CONFIG: {}{} missing", of, key);
  return *found;
}

Endpoint endpoint_of(const json& entry, const std::string& type) {
  if (!entry.is_string()) refuse("TF_CONFIG: a {} of the cluster is no text \"host:port\"", type);
  const auto& text = entry.get_ref<const std::string&>();
  const bool clean =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isgraph(c) != 0; });
  if (!clean) refuse("TF_CONFIG: '{}' is no host:port", printable(text));
  return parse_endpoint("TF_CONFIG", text);
}

std::vector<Endpoint> endpoints_of(const json& cluster, const std::string& type) {
  const auto found = cluster.find(type);
  if (found == cluster.end()) return {};
  if (found->is_object())
    refuse(
        "world size not in TF_CONFIG: its {} is an object (enableDynamicWorker), which names "
        "this task alone; give --workers and --index",
        type);
  if (!found->is_array()) refuse("TF_CONFIG: cluster.{} is no list", type);
  std::vector<Endpoint> endpoints;
  std::transform(found->begin(), found->end(), std::back_inserter(endpoints),
                 [&](const json& entry) { return endpoint_of(entry, type); });
  return endpoints;
}

const json& cluster_of(const json& config) {
  if (!config.is_object()) refuse("TF_CONFIG is no JSON object");
  if (config.contains("sparseCluster"))
    refuse(
        "world size not in TF_CONFIG: sparseCluster (enableDynamicWorker) names this task alone; "
        "give --workers and --index");
  const json& cluster = member(config, "", "cluster");
  if (!cluster.is_object()) refuse("TF_CONFIG: cluster is no object");
  return cluster;
}

std::string type_of(const json& task) {
  if (!task.is_object()) refuse("TF_CONFIG: task is no object");
  const json& type = member(task, "task.", "type");
  if (!type.is_string()) refuse("TF_CONFIG: task.type is no text");
  return type.get<std::string>();
}

int index_of(const json& task, std::size_t count, const std::string& type) {
  const json& index = member(task, "task.", "index");
  if (!index.is_number_integer()) refuse("TF_CONFIG: task.index is no whole number");
  const bool fits = index.is_number_unsigned() && index.get<std::uint64_t>() < count;
  if (!fits) refuse("TF_CONFIG: index {}, {} {}s: they count from 0", index.dump(), count, type);
  return index.get<int>();
}

void require_known_keys(const json& cluster) {
  for (const auto& [key, value] : cluster.items())
    if (std::find(kTypes.begin(), kTypes.end(), key) == kTypes.end())
      refuse(
          "TF_CONFIG: cluster has '{}', which is none of chief, master, worker, ps, evaluator "
          "(has: {})",
          printable(key), keys_of(cluster));
}

void require_different(const std::vector<Endpoint>& workers) {
  std::set<std::string> seen;
  for (const Endpoint& worker : workers)
    if (!seen.insert(worker.text()).second)
      refuse("TF_CONFIG has {} twice: each worker needs an address of its own",
             printable(worker.text()));
}

}  // namespace

TfConfig parse_tf_config(std::string_view text) {
  const json config = parse(text);
  const json& cluster = cluster_of(config);
  const json& task = member(config, "", "task");
  TfConfig result;
  result.task_type = type_of(task);
  if (result.task_type == "evaluator") return result;
  if (result.task_type == "ps")
    refuse(
        "TF_CONFIG makes this a parameter server: ps is not supported: workers sum gradients "
        "among themselves; leave the ps replicas out");
  if (!cluster.contains(result.task_type))
    refuse("TF_CONFIG: {} not in cluster (has: {})", printable(result.task_type), keys_of(cluster));
  require_known_keys(cluster);

  const std::string chief = cluster.contains("master") ? "master" : "chief";
  if (cluster.contains("master") && cluster.contains("chief"))
    refuse("TF_CONFIG has a chief and a master, which are one: leave one out");
  result.workers = endpoints_of(cluster, chief);
  if (result.workers.size() > 1)
    refuse("TF_CONFIG has {} {}s: a run has one", result.workers.size(), chief);
  result.chief = !result.workers.empty();
  const std::vector<Endpoint> workers = endpoints_of(cluster, "worker");
  result.workers.insert(result.workers.end(), workers.begin(), workers.end());
  require_different(result.workers);

  const bool is_chief = result.task_type == chief;
  const std::size_t chiefs = result.chief ? 1 : 0;
  result.task_index = index_of(task, is_chief ? chiefs : workers.size(), result.task_type);
  result.index = is_chief ? 0 : result.task_index + static_cast<int>(chiefs);
  if (is_chief) result.task_type = "chief";
  return result;
}

}  // namespace annulus
