// What is wrong with the text, whatever the kind.
#include <fmt/format.h>

#include <map>

#include "engine/k8s/rules.h"

namespace annulus::k8s {
namespace {

void look_into(const Value& value, Findings& findings) {
  std::map<std::string_view, int> lines;
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const auto [first, is_new] = lines.try_emplace(value.keys[i], value.items[i].line);
    if (!is_new)
      findings.add(value.items[i],
                   {fmt::format("the key {} stands in line {} already", value.keys[i].substr(0, 60),
                                first->second),
                    "kustomize refuses it; kubectl apply -f takes the last and says nothing "
                    "(kubernetes/kubernetes issue 125885)",
                    "leave one of the two"});
  }
  for (const Value& item : value.items) look_into(item, findings);
}

}  // namespace

void check_duplicate_key(const Subject& subject, Findings& findings) {
  look_into(subject.manifest.root, findings);
}

}  // namespace annulus::k8s
