// A stand-in for NVIDIA's driver (libcuda.so.1) that NVIDIA's runtime loads like the real one: it
// serves the CUDA of $STAND_IN_DRIVER_VERSION and has no device. Used by no_gpu_test.
#include <cuda.h>

#include <cstdlib>
#include <string_view>

namespace {

CUresult refuse() { return CUDA_ERROR_NOT_SUPPORTED; }

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

CUresult cuInit(unsigned int) { return CUDA_ERROR_NO_DEVICE; }

CUresult cuDriverGetVersion(int* version) {
  const char* number = std::getenv("STAND_IN_DRIVER_VERSION");
  *version = number ? std::atoi(number) : 0;
  return CUDA_SUCCESS;
}

// The runtime takes every other entry point from here, this one under the empty name too.
CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult*) {
  const std::string_view name = symbol;
  if (name == "cuInit")
    *function = address(cuInit);
  else if (name == "cuDriverGetVersion")
    *function = address(cuDriverGetVersion);
  else if (name.empty() || name == "cuGetProcAddress")
    *function = address(cuGetProcAddress);
  else
    *function = address(refuse);
  return CUDA_SUCCESS;
}
