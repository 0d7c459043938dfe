// Names, words and the memory of errors; every entry point of the runtime reports through here.
#include <algorithm>
#include <array>

#include "kernels/cpu/cudart/runtime.h"

namespace annulus::cpu {
namespace {

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* words;
};

#define ANNULUS_ERROR_TEXT(error, words) \
  ErrorText { error, #error, words }
constexpr std::array kErrors = {
    ANNULUS_ERROR_TEXT(cudaSuccess, "no error"),
    ANNULUS_ERROR_TEXT(cudaErrorInvalidValue, "an argument is not valid"),
    ANNULUS_ERROR_TEXT(cudaErrorMemoryAllocation, "not enough device memory"),
    ANNULUS_ERROR_TEXT(cudaErrorInitializationError, "the device could not be set up"),
    ANNULUS_ERROR_TEXT(cudaErrorCudartUnloading, "the process is ending"),
    ANNULUS_ERROR_TEXT(cudaErrorInvalidConfiguration,
                       "grid, block or shared memory exceed the device's limits"),
    ANNULUS_ERROR_TEXT(cudaErrorInvalidHostPointer, "not a page-locked host pointer"),
    ANNULUS_ERROR_TEXT(cudaErrorInvalidDevicePointer, "not a device pointer"),
    ANNULUS_ERROR_TEXT(cudaErrorInvalidMemcpyDirection, "the copy's direction is not valid"),
    ANNULUS_ERROR_TEXT(cudaErrorStubLibrary, "the toolkit's stub is in the place of the driver"),
    ANNULUS_ERROR_TEXT(cudaErrorInsufficientDriver, "the driver is too old"),
    ANNULUS_ERROR_TEXT(
        cudaErrorInvalidDeviceFunction,
        "not a registered kernel: its .cu file must end with SIMT_ELEMENTWISE or SIMT_KERNEL"),
    ANNULUS_ERROR_TEXT(cudaErrorNoDevice, "no device"),
    ANNULUS_ERROR_TEXT(cudaErrorInvalidDevice, "no device has this number"),
    ANNULUS_ERROR_TEXT(cudaErrorOperatingSystem, "a call of the operating system failed"),
    ANNULUS_ERROR_TEXT(cudaErrorInvalidResourceHandle, "not a living stream, event or graph"),
    ANNULUS_ERROR_TEXT(cudaErrorIllegalState, "not possible in this state"),
    ANNULUS_ERROR_TEXT(cudaErrorNotReady, "work is still under way"),
    ANNULUS_ERROR_TEXT(cudaErrorIllegalAddress,
                       "a call touches memory that is not living device memory"),
    ANNULUS_ERROR_TEXT(cudaErrorLaunchOutOfResources, "the launch needs too many resources"),
    ANNULUS_ERROR_TEXT(cudaErrorLaunchTimeout, "the kernel ran too long"),
    ANNULUS_ERROR_TEXT(cudaErrorAssert, "the checker stopped the device at its first report"),
    ANNULUS_ERROR_TEXT(cudaErrorMisalignedAddress, "misaligned address"),
    ANNULUS_ERROR_TEXT(cudaErrorLaunchFailure, "a kernel failed; the device is unusable"),
    ANNULUS_ERROR_TEXT(cudaErrorNotPermitted,
                       "not permitted from inside a kernel or host function"),
    ANNULUS_ERROR_TEXT(cudaErrorNotSupported, "not supported"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureUnsupported,
                       "not permitted while a stream is captured"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureInvalidated,
                       "the capture was invalidated by an error"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureMerge, "this would join two captures"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureUnmatched, "the capture did not begin on this stream"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureUnjoined,
                       "the capture has forked into streams that were not joined again"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureIsolation,
                       "a captured stream would wait for work outside its capture"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureImplicit,
                       "the default stream would wait for a stream that is being captured"),
    ANNULUS_ERROR_TEXT(cudaErrorCapturedEvent, "the event was recorded in a capture"),
    ANNULUS_ERROR_TEXT(cudaErrorStreamCaptureWrongThread, "another thread began the capture"),
    ANNULUS_ERROR_TEXT(cudaErrorTimeout, "the wait timed out"),
    ANNULUS_ERROR_TEXT(cudaErrorUnknown, "unknown error"),
};
#undef ANNULUS_ERROR_TEXT

const ErrorText* find(cudaError_t error) {
  const auto* it = std::find_if(kErrors.begin(), kErrors.end(),
                                [&](const ErrorText& text) { return text.error == error; });
  return it == kErrors.end() ? nullptr : it;
}

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t remember(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

}  // namespace annulus::cpu

using namespace annulus::cpu;

cudaError_t cudaPeekAtLastError() {
  const Runtime& runtime = Runtime::instance();
  if (last_error == cudaSuccess && !runtime.devices.empty())
    return Runtime::instance().current_device().sticky_error;
  return last_error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* text = find(error);
  return text ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* text = find(error);
  return text ? text->words : "unrecognized error code";
}
