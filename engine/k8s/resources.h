// What a container asks for, as Trainer's controller, device plugins and schedulers count it. Used
// by the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/k8s/value.h"

namespace annulus::k8s {

bool is_mig(std::string_view resource);   // nvidia.com/mig-1g.10gb
bool is_rdma(std::string_view resource);  // nvidia.com/hostdev, rdma/…, a virtual function

bool sets_any(const Value& resources);  // requests or limits

// The name of the first resource of this sort in requests or limits, and its value; or null.
struct Asked {
  std::string name;
  const Value* value = nullptr;
  explicit operator bool() const { return value != nullptr; }
};
Asked asked_rdma(const Value& resources);
Asked asked_mig(const Value& resources);
Asked asked_gpus(const Value& resources);  // whole or shared ones: the name contains "gpu"

// The bytes of a quantity: 64Mi, 1G, 1024 (k8s.io/apimachinery pkg/api/resource). Nothing where it
// is none.
std::optional<double> bytes_of(const Value& quantity);

// Devices on which a rank may run, MIG instances with them; nothing where none is asked for or the
// number is not one.
std::optional<std::int64_t> devices(const Value& resources);

}  // namespace annulus::k8s
