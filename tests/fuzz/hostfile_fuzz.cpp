// MPI host files: every host has a name of one word and a slot.
#include "comm/hostfile.h"

#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  fuzz::allow_errors(ExitCode::usage, [&] {
    for (const HostSlots& host : parse_hostfile("hosts", fuzz::text_of(data, size)))
      fuzz::require(!host.host.empty() && host.slots >= 1 &&
                    host.host.find_first_of(" \t\r\n") == std::string::npos);
  });
  return 0;
}
