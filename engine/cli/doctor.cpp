// See doctor.h. The report goes to stdout; a terminal gets it wrapped and coloured.
#include "engine/cli/doctor.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdlib>

#include "comm/console.h"
#include "engine/doctor/report.h"

namespace annulus {

void add_doctor_options(CLI::App& app, DoctorCommand& command) {
  const char* group = "What to look at";
  app.add_flag("--json", command.json, "one JSON array instead of lines")
      ->envname("ANNULUS_JSON")
      ->group(group);
  app.add_option("--ranks", command.options.ranks,
                 "ranks that shall run on this host; 0: one for each device")
      ->envname("ANNULUS_RANKS")
      ->group(group)
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--shm-path", command.options.shared_memory, "where NCCL keeps shared memory")
      ->envname("ANNULUS_SHM_PATH")
      ->option_text("FOLDER")
      ->group(group)
      ->capture_default_str();
}

ExitCode run_doctor(const DoctorCommand& command) {
  const std::vector<doctor::Group> report = doctor::examine(command.options, &std::getenv);
  std::string text =
      command.json ? doctor::to_json(report) : doctor::to_text(report, look_of(STDOUT_FILENO));
  text.pop_back();  // print_line ends the last line
  print_line(text);
  return doctor::exit_code(report);
}

}  // namespace annulus
