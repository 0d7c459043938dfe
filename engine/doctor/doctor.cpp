// See doctor.h. The settings of the network are checked before the first CUDA call, which may take
// seconds and fail for reasons of its own.
#include "engine/doctor/doctor.h"

#include <algorithm>
#include <iterator>

#include "engine/doctor/checks.h"

namespace annulus::doctor {

std::vector<Group> examine(const Options& options, const Environment& environment) {
  Group network{"network", check_network(network_interfaces(), environment)};

  const DeviceFacts devices = read_devices();
  const bool on_gpus = devices.on_gpus();
  const int ranks =
      options.ranks > 0 ? options.ranks : std::max(1, static_cast<int>(devices.devices.size()));

  const Cores cores = cores_of_this_process();
  Group host{"host", check_cores(cores, ranks)};
  std::ranges::move(check_shared_memory(read_shared_memory(options.shared_memory), ranks, on_gpus),
                    std::back_inserter(host.findings));
  return {{"devices", check_devices(devices, usable_cores(cores), environment)},
          {"libraries", check_libraries(on_gpus)},
          std::move(network),
          {"InfiniBand and RoCE", check_fabric(read_fabric(on_gpus), environment)},
          std::move(host)};
}

}  // namespace annulus::doctor
