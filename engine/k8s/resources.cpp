// See resources.h.
#include "engine/k8s/resources.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace annulus::k8s {
namespace {

constexpr std::array<std::string_view, 6> kPowers = {"", "k", "M", "G", "T", "P"};
constexpr std::array<std::string_view, 6> kBinaryPowers = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};

bool is_gpu(std::string_view resource) {  // runtime.go's numGPU
  std::string lower(resource);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower.find("gpu") != std::string::npos;
}

template <class Predicate>
Asked first(const Value& resources, Predicate is) {
  for (const char* part : {"requests", "limits"}) {
    const Value& list = resources[part];
    for (std::size_t i = 0; i < list.keys.size(); ++i)
      if (is(list.keys[i]) && !list.items[i].is("0")) return {list.keys[i], &list.items[i]};
  }
  return {};
}

}  // namespace

bool is_mig(std::string_view resource) { return resource.starts_with("nvidia.com/mig-"); }

bool is_rdma(std::string_view resource) {
  const auto slash = resource.find('/');
  if (slash == std::string_view::npos) return false;
  constexpr std::array words = {"rdma", "hostdev", "sriov", "roce", "mlnx", "infiniband", "/efa"};
  return std::ranges::any_of(
      words, [&](const char* word) { return resource.find(word) != std::string_view::npos; });
}

bool sets_any(const Value& resources) {
  return resources["requests"].there() || resources["limits"].there();
}

Asked asked_rdma(const Value& resources) { return first(resources, is_rdma); }
Asked asked_mig(const Value& resources) { return first(resources, is_mig); }
Asked asked_gpus(const Value& resources) { return first(resources, is_gpu); }

std::optional<double> bytes_of(const Value& quantity) {
  if (quantity.kind != Value::Kind::scalar) return std::nullopt;
  const std::string& text = quantity.text;
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix(stop, text.data() + text.size());
  for (std::size_t power = 0; power < kPowers.size(); ++power)
    for (const auto& [word, base] :
         {std::pair(kPowers[power], 1000.0), std::pair(kBinaryPowers[power], 1024.0)})
      if (suffix == word) return number * std::pow(base, static_cast<double>(power));
  return std::nullopt;
}

std::optional<std::int64_t> devices(const Value& resources) {
  const Asked asked =
      first(resources, [](std::string_view name) { return is_gpu(name) || is_mig(name); });
  return asked ? asked.value->whole() : std::nullopt;
}

}  // namespace annulus::k8s
