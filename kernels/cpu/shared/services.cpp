// See services.h.
#include "kernels/cpu/shared/services.h"

#include "comm/cpu/transport_name.h"
#include "kernels/simt_host.h"

const annulus::cpu::Services* annulus_cpu_services() {
  using namespace annulus;
  static constexpr cpu::Services kServices = {
      .reports = cpu::reports,
      .report_count = cpu::report_count,
      .clear_reports = cpu::clear_reports,
      .use_cpu_forms = simt::use_cpu_forms,
      .environment = []() -> const std::vector<DeclaredEnvironment::Table>& {
        return DeclaredEnvironment::all();
      },
      .transport_name =
          [](void* communicator) {
            return cpu::nccl::transport_name(static_cast<ncclComm_t>(communicator));
          },
  };
  return &kServices;
}
