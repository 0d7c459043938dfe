// The names of cuDNN's statuses and this thread's last words of failure.
#include "kernels/cpu/cudnn/status.h"

#include <cstring>

namespace annulus::cpu {
namespace {

std::string& last_words() {
  thread_local std::string words;
  return words;
}

}  // namespace

cudnnStatus_t remember_failure(cudnnStatus_t status, const std::string& words) {
  last_words() = words;
  return status;
}

}  // namespace annulus::cpu

#define ANNULUS_STATUS_NAME(status) \
  case status:                      \
    return #status;

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    ANNULUS_STATUS_NAME(CUDNN_STATUS_SUCCESS)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_NOT_INITIALIZED)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_INTERNAL_ERROR)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_EXECUTION_FAILED)
    ANNULUS_STATUS_NAME(CUDNN_STATUS_EXECUTION_FAILED_CUDART)
  }
  return "CUDNN_UNKNOWN_STATUS";
}

#undef ANNULUS_STATUS_NAME

void cudnnGetLastErrorString(char* message, size_t size) {
  if (!message || size == 0) return;
  std::string& words = annulus::cpu::last_words();
  const std::size_t length = std::min(words.size(), size - 1);
  std::memcpy(message, words.data(), length);
  message[length] = '\0';
  words.clear();
}
