// Turns a failed library call into one line with the call, the place and the library's own words.
#include "kernels/check.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "kernels/out_of_memory.h"

namespace annulus {
namespace {

double mebibytes(std::size_t bytes) { return double(bytes) / double(1 << 20); }

// In use: by all that runs on the device.
[[noreturn]] void throw_out_of_memory(const std::string& wanted) {
  cudaGetLastError();  // clear the sticky error: it is reported here
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw OutOfDeviceMemory(
      fmt::format("not enough device memory: {}, {:.1f} of {:.1f} MiB are in use, {:.1f} are free",
                  wanted, mebibytes(total - free), mebibytes(total), mebibytes(free)),
      "use a device with more memory, or end what else runs on this one");
}

}  // namespace

void throw_out_of_device_memory(std::size_t wanted) {
  throw_out_of_memory(fmt::format("{:.1f} MiB more are wanted", mebibytes(wanted)));
}

void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaErrorMemoryAllocation)
    throw_out_of_memory(fmt::format("{} at {}:{} wants more", call, file, line));
  cudaGetLastError();  // clear the sticky error: it has been reported
  throw DeviceError(fmt::format("{} failed at {}:{}: {} ({})", call, file, line,
                                cudaGetErrorName(status), cudaGetErrorString(status)));
}

void throw_cudnn_error(cudnnStatus_t status, const char* call, const char* file, int line) {
  std::array<char, 512> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size());
  throw DeviceError(fmt::format("{} failed at {}:{}: {} ({})", call, file, line,
                                cudnnGetErrorString(status), detail.data()));
}

void throw_cublas_error(cublasStatus_t status, const char* call, const char* file, int line) {
  throw DeviceError(
      fmt::format("{} failed at {}:{}: {}", call, file, line, cublasGetStatusString(status)));
}

}  // namespace annulus
