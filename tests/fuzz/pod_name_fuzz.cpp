// Host names: what is read out of one gives it again.
#include "comm/pod_name.h"

#include <fmt/format.h>

#include "tests/fuzz/input.h"

namespace {

std::string written(const annulus::PodName& pod) {
  using Pattern = annulus::PodName::Pattern;
  if (pod.pattern == Pattern::role) return fmt::format("{}-{}-{}", pod.job, pod.role, pod.index);
  if (pod.pattern == Pattern::replica) return fmt::format("{}-node-{}-0", pod.job, pod.index);
  return fmt::format("{}-node-0-{}", pod.job, pod.index);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  const std::string_view name = fuzz::text_of(data, size);
  fuzz::allow_errors(ExitCode::usage, [&] {
    const std::optional<PodName> pod = parse_pod_name(name);
    if (!pod) return;
    fuzz::require(!pod->job.empty() && pod->index >= 0);
    fuzz::require(written(*pod) == name.substr(0, name.find('.')));
  });
  return 0;
}
