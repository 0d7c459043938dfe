// What tests and `annulus --help-env` ask of the CPU device and NVIDIA's libraries do not know. In
// the cpu presets they call it; in the cuda preset a program finds this table in the loaded library
// by name, or none, on a GPU. Both sides are of one build.
#pragma once

#include <vector>

#include "kernels/cpu/cudart/reports.h"
#include "kernels/environment.h"

namespace annulus::cpu {

struct Services {
  std::vector<Report> (*reports)();
  std::size_t (*report_count)();
  void (*clear_reports)();
  void (*use_cpu_forms)(bool use);
  const std::vector<DeclaredEnvironment::Table>& (*environment)();
  const char* (*transport_name)(void* communicator);  // see comm/cpu/transport_name.h
};

}  // namespace annulus::cpu

extern "C" const annulus::cpu::Services* annulus_cpu_services();
