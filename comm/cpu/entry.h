// What the files of entry points share: no exception leaves an entry point, and what was thrown is
// its result, with words for ncclGetLastError. Called by nccl_api.cpp and memory_api.cpp.
#pragma once

#include <nccl.h>

#include <exception>
#include <memory>
#include <string>

#include "comm/cpu/error.h"
#include "comm/cpu/group.h"
#include "comm/cpu/handle.h"
#include "kernels/check.h"

namespace annulus::cpu::nccl {

inline ncclResult_t refuse(ncclResult_t result, const std::string& message) {
  remember_error(message);
  return refuse_in_group(result);
}

template <class Body>
ncclResult_t api(const char* name, Body&& body) noexcept {
  try {
    return body();
  } catch (const NcclError& error) {
    return refuse(error.result(), std::string(name) + ": " + error.what());
  } catch (const UserError& error) {
    return refuse(ncclInvalidUsage, std::string(name) + ": " + error.what());
  } catch (const std::exception& error) {
    return refuse(ncclSystemError, std::string(name) + ": " + error.what());
  }
}

[[noreturn]] inline void throw_invalid(const char* message) {
  throw NcclError(ncclInvalidArgument, message);
}

inline std::shared_ptr<Communicator> communicator_of(ncclComm_t comm) {
  if (comm == nullptr) throw_invalid("the communicator is null");
  return comm->communicator;
}

}  // namespace annulus::cpu::nccl
