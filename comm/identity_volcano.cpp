// Volcano Jobs (volcano-sh/volcano, plugins env and svc): VC_TASK_INDEX counts within a role, each
// role's hosts stand in VC_{ROLE}_HOSTS or /etc/volcano/{role}.host. Interface and caller:
// comm/identity_operators.h.
#include <algorithm>
#include <cctype>

#include "comm/identity_operators.h"
#include "kernels/environment.h"

namespace annulus::identity {
namespace {

const DeclaredEnvironment kDeclared(
    "Volcano: which pod this is (flags beat them)",
    {{"VC_TASK_INDEX", "", "set by plugin env", "index of this pod within its role"},
     {"VK_TASK_INDEX", "", "set by plugin env", "the same by its older name"},
     {"VC_{ROLE}_HOSTS", "", "set by plugin svc",
      "the role's hosts; else /etc/volcano/{role}.host"},
     {"VC_{ROLE}_NUM", "", "set by plugin svc", "how many they are"}});

std::optional<int> task_index(const Variables& variables) {
  const std::optional<int> vc = variables.number("VC_TASK_INDEX");
  const std::optional<int> vk = variables.number("VK_TASK_INDEX");
  if (vc && vk && *vc != *vk)
    refuse("VC_TASK_INDEX {}, VK_TASK_INDEX {}: they are one; unset the wrong one", *vc, *vk);
  return vc ? vc : vk;
}

// "my-role", "HOSTS" -> "VC_MY_ROLE_HOSTS"
std::string variable_of(const std::string& role, const char* what) {
  std::string name = role;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return fmt::format("VC_{}_{}", name, what);
}

std::vector<std::string> split(const std::string& text) {
  constexpr const char* separators = ", \t\r\n";
  std::vector<std::string> items;
  for (std::size_t begin = text.find_first_not_of(separators); begin != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return items;
}

std::vector<std::string> hosts_of(const PodSurroundings& pod, const std::string& role) {
  std::string text = pod.variables.text(variable_of(role, "HOSTS").c_str());
  if (text.empty())
    text = pod.all.file(fmt::format("/etc/volcano/{}.host", role)).value_or(std::string());
  std::vector<std::string> hosts = split(text);
  const std::string counted = variable_of(role, "NUM");
  const std::optional<int> count = pod.variables.number(counted.c_str());
  if (count && !hosts.empty() && *count != static_cast<int>(hosts.size()))
    refuse("{} {} but {} names {}: the job is being scaled; start it again", counted, *count,
           variable_of(role, "HOSTS"), hosts.size());
  return hosts;
}

bool is_this(const PodSurroundings& pod, const std::string& host) {
  return host.substr(0, host.find('.')) == pod.host;
}

// Host {job}-{role}-{index}; both may hold dashes: the role is the one whose list names this pod.
std::string own_role(const PodSurroundings& pod) {
  const std::string front = pod.host.substr(0, pod.host.rfind('-'));
  for (std::size_t dash = front.find('-'); dash != std::string::npos;
       dash = front.find('-', dash + 1)) {
    std::string role = front.substr(dash + 1);
    const std::vector<std::string> hosts = hosts_of(pod, role);
    if (std::any_of(hosts.begin(), hosts.end(),
                    [&](const std::string& host) { return is_this(pod, host); }))
      return role;
  }
  return "";
}

// Master first, then workers: the index counts through both.
NodeIdentity place_among_hosts(const PodSurroundings& pod, const std::string& own) {
  std::vector<std::string> roles{"master", "chief", "worker"};
  if (std::find(roles.begin(), roles.end(), own) == roles.end()) roles.push_back(own);
  NodeIdentity node;
  for (const std::string& role : roles) {
    int index = 0;
    for (const std::string& host : hosts_of(pod, role)) {
      if (is_this(pod, host)) {
        node.index = static_cast<int>(node.workers.size());
        node.task_index = index;
      }
      node.workers.push_back({host, 0});
      ++index;
    }
  }
  node.nodes = static_cast<int>(node.workers.size());
  if (own == "master" || own == "chief") node.task_type = "chief";
  return node;
}

}  // namespace

std::optional<NodeClaim> detect_volcano(const PodSurroundings& pod) {
  const std::optional<int> index = task_index(pod.variables);
  const std::string role = own_role(pod);
  if (role.empty()) return std::nullopt;
  if (role == "ps")
    refuse(
        "this pod's Volcano task is 'ps': ps is not supported: workers sum gradients among "
        "themselves; leave the task out");
  NodeClaim claim{place_among_hosts(pod, role), "", variable_of(role, "HOSTS")};
  if (index && *index != claim.node.task_index)
    refuse("VC_TASK_INDEX {} but {} has host name '{}' at {}", *index, claim.nodes_name,
           printable(pod.host), claim.node.task_index);
  claim.node.source = "Volcano";
  claim.node.job = pod.host.substr(0, pod.host.rfind(fmt::format("-{}-", role)));
  return claim;
}

void refuse_volcano_without_hosts(const PodSurroundings& pod) {
  for (const char* role : {"master", "chief", "worker"})
    if (task_index(pod.variables) && !hosts_of(pod, role).empty())
      refuse(
          "{} does not name this host, '{}' (hostNetwork?), and so not which of its pods this is: "
          "give --workers and --index",
          variable_of(role, "HOSTS"), printable(pod.host));
  if (const std::optional<int> index = task_index(pod.variables); index && *index > 0)
    refuse(
        "VC_TASK_INDEX {} but no VC_*_HOSTS says how many pods there are: add Volcano's plugin "
        "svc, or give --workers and --index",
        *index);
}

}  // namespace annulus::identity
