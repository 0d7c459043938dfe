// KernelFault: thrown by a kernel's own code (Span checks, barriers) to end the kernel; the
// scheduler turns it into a report of this kind and a sticky error.
#pragma once

#include <stdexcept>
#include <string>

namespace annulus::cpu {

class KernelFault : public std::runtime_error {
 public:
  KernelFault(const char* kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  const char* kind() const { return kind_; }

 private:
  const char* kind_;
};

}  // namespace annulus::cpu
