// The CPU device's services as programs of the cuda preset call them: of the library that was
// loaded in place of NVIDIA's. On a GPU there is none; then there are no reports, and nothing to
// set.
#include <dlfcn.h>

#include <algorithm>

#include "comm/cpu/transport_name.h"
#include "kernels/cpu/shared/services.h"
#include "kernels/simt_host.h"

namespace annulus::cpu {
namespace {

const Services* find_services() {
  using Find = const Services*();
  auto* const find = reinterpret_cast<Find*>(dlsym(RTLD_DEFAULT, "annulus_cpu_services"));
  return find ? find() : nullptr;
}

const Services* services() {
  static const Services* const found = find_services();
  return found;
}

// Tables that the program has itself, of rooms that both link, are there already.
[[maybe_unused]] const bool kDeclared = [] {
  auto& ours = DeclaredEnvironment::all();
  if (services() == nullptr) return false;
  for (const DeclaredEnvironment::Table& table : services()->environment()) {
    const auto same = [&](const auto& known) { return known.heading == table.heading; };
    if (std::none_of(ours.begin(), ours.end(), same)) ours.push_back(table);
  }
  return true;
}();

}  // namespace

std::vector<Report> reports() { return services() ? services()->reports() : std::vector<Report>(); }
std::size_t report_count() { return services() ? services()->report_count() : 0; }
void clear_reports() {
  if (services()) services()->clear_reports();
}

}  // namespace annulus::cpu

const char* annulus::cpu::nccl::transport_name(ncclComm_t communicator) {
  return services() ? services()->transport_name(communicator) : "as NCCL chose";
}

void annulus::simt::use_cpu_forms(bool use) {
  if (cpu::services()) cpu::services()->use_cpu_forms(use);
}
