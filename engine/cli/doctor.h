// The options and the run of `annulus doctor`. Called by main.
#pragma once

#include "engine/cli/cli11.h"
#include "engine/doctor/doctor.h"

namespace annulus {

struct DoctorCommand {
  doctor::Options options;
  bool json = false;
};

void add_doctor_options(CLI::App& app, DoctorCommand& command);

// `done` unless a line of the report is an error.
ExitCode run_doctor(const DoctorCommand& command);

}  // namespace annulus
