// See outcome.h.
#include "engine/outcome.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <system_error>

#include "comm/control.h"

namespace annulus {

Outcome outcome_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const UserError& e) {
    return {e.code(), e.what()};
  } catch (const PeerError& e) {
    return {e.code(), e.what()};
  } catch (const DeviceError& e) {
    return {ExitCode::device_fault, e.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::device, "out of memory; try a smaller --batch-size"};
  } catch (const std::filesystem::filesystem_error& e) {
    return {ExitCode::usage, fmt::format("{}; choose another path", e.what())};
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::resource_unavailable_try_again)
      return {ExitCode::device,
              "no further thread can be started; raise the limits on memory (ulimit -v) and "
              "processes (ulimit -u)"};
    return {ExitCode::internal, fmt::format("internal error: {}", e.what())};
  } catch (const std::exception& e) {
    return {ExitCode::internal, fmt::format("internal error: {}", e.what())};
  }
}

}  // namespace annulus
