// Turns a failed library call into one line with the call, the place and the library's own words.
#include "kernels/check.h"

#include <fmt/format.h>

#include <array>

namespace annulus {

void throw_out_of_device_memory(std::size_t wanted) {
  cudaGetLastError();  // clear the sticky error: it is reported here
  const auto mebibytes = [](std::size_t bytes) { return double(bytes) / double(1 << 20); };
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw UserError(
      ExitCode::device,
      fmt::format("not enough device memory: {:.1f} MiB more are wanted, {:.1f} of {:.1f} "
                  "MiB are free; try a smaller --batch-size",
                  mebibytes(wanted), mebibytes(free), mebibytes(total)));
}

void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line) {
  cudaGetLastError();  // clear the sticky error: it has been reported
  if (status == cudaErrorMemoryAllocation)
    throw UserError(
        ExitCode::device,
        fmt::format("not enough device memory (at {}:{}); try a smaller --batch-size", file, line));
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
