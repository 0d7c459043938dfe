// The error of a device without enough memory. Thrown by kernels/check.cpp; caught where a smaller
// batch would do (engine/batch_fit).
#pragma once

#include <string>

#include "kernels/check.h"

namespace annulus {

// The fact: the size wanted, what is in use and what is free. Who knows a better fix throws it
// again.
class OutOfDeviceMemory : public UserError {
 public:
  OutOfDeviceMemory(const std::string& fact, const std::string& fix)
      : UserError(ExitCode::device, fact + "; " + fix), fact_(fact) {}
  const std::string& fact() const { return fact_; }

 private:
  std::string fact_;
};

}  // namespace annulus
