// Check macros and the two error classes of the house.
// UserError: something the user can fix; it carries the documented exit code. DeviceError: a CUDA,
// cuDNN or cuBLAS call failed; it carries the call, the place and the library's own words. Thrown
// everywhere, caught only in main.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <stdexcept>
#include <string>

#include "kernels/exit_code.h"

namespace annulus {

// What, where, the fact and the fix, in one line.
class UserError : public std::runtime_error {
 public:
  UserError(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An allocation of device memory that failed: the size wanted, what is free, and the fix.
[[noreturn]] void throw_out_of_device_memory(std::size_t wanted);

// Called by the macros below when a call did not succeed; each throws DeviceError.
[[noreturn]] void throw_cuda_error(cudaError_t status, const char* call, const char* file,
                                   int line);
[[noreturn]] void throw_cudnn_error(cudnnStatus_t status, const char* call, const char* file,
                                    int line);
[[noreturn]] void throw_cublas_error(cublasStatus_t status, const char* call, const char* file,
                                     int line);

}  // namespace annulus

#define CUDA_CHECK(call)                                               \
  do {                                                                 \
    if (const cudaError_t status_ = (call); status_ != cudaSuccess)    \
      ::annulus::throw_cuda_error(status_, #call, __FILE__, __LINE__); \
  } while (0)
#define CUDNN_CHECK(call)                                                      \
  do {                                                                         \
    if (const cudnnStatus_t status_ = (call); status_ != CUDNN_STATUS_SUCCESS) \
      ::annulus::throw_cudnn_error(status_, #call, __FILE__, __LINE__);        \
  } while (0)
#define CUBLAS_CHECK(call)                                                       \
  do {                                                                           \
    if (const cublasStatus_t status_ = (call); status_ != CUBLAS_STATUS_SUCCESS) \
      ::annulus::throw_cublas_error(status_, #call, __FILE__, __LINE__);         \
  } while (0)
