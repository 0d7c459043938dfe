// NcclError: thrown inside comm/cpu, with the result that the entry point gives back; no exception
// leaves an entry point.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace annulus::cpu::nccl {

class NcclError : public std::runtime_error {
 public:
  NcclError(ncclResult_t result, const std::string& message)
      : std::runtime_error(message), result_(result) {}
  ncclResult_t result() const { return result_; }

 private:
  ncclResult_t result_;
};

}  // namespace annulus::cpu::nccl
