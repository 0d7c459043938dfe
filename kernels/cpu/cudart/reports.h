// The reports of the CPU device, as its tests read them. Programs see them on stderr.
#pragma once

#include <string>
#include <vector>

namespace annulus::cpu {

struct Report {
  std::string kind;  // "race", "host pointer", "out of bounds", "out of span", "use after free", …
  std::string message;
};

std::vector<Report> reports();  // the first thousand since the last clear
std::size_t report_count();
void clear_reports();

// Waits for all devices and clears their sticky errors, which no CUDA call can, so that a test that
// made a kernel fail can go on.
void recover_devices();

}  // namespace annulus::cpu
