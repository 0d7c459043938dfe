// Plants a fault into a program that is as it ships: a library that is loaded before NVIDIA's (the
// CPU device in their place) and makes one of the program's calls wrong. $PLANTED_FAULT says which;
// without it every call is passed on. Used by planted_faults_test.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <string_view>

namespace {

bool planted(std::string_view fault) {
  const char* chosen = std::getenv("PLANTED_FAULT");
  return chosen != nullptr && fault == chosen;
}

// Calls the library's own function of this name; its parameters have the types of the arguments.
template <class Result, class... Arguments>
Result pass_on(const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(RTLD_NEXT, name));
  return function(arguments...);
}

cudaStream_t other_stream() {
  static cudaStream_t const stream = [] {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  return stream;
}

cudaStream_t captured = nullptr;  // the stream on which a capture began

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  captured = stream;
  return pass_on<cudaError_t>("cudaStreamBeginCapture", stream, mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  captured = nullptr;
  return pass_on<cudaError_t>("cudaStreamEndCapture", stream, graph);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  if (planted("missing event wait")) return cudaSuccess;
  if (planted("unjoined capture") && captured != nullptr && stream == captured) return cudaSuccess;
  return pass_on<cudaError_t>("cudaStreamWaitEvent", stream, event, flags);
}

// 92 bytes: the labels of a batch of 23 images, which a kernel writes.
cudaError_t cudaMalloc(void** pointer, size_t size) {
  if (planted("host pointer") && size == 92) {
    *pointer = std::malloc(size);
    return cudaSuccess;
  }
  return pass_on<cudaError_t>("cudaMalloc", pointer, size);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const bool to_host = kind == cudaMemcpyDeviceToHost;
  if (to_host && planted("loss read on the wrong stream")) stream = other_stream();
  const cudaError_t status = pass_on<cudaError_t>("cudaMemcpyAsync", to, from, size, kind, stream);
  if (!to_host && planted("free in use")) cudaFree(to);
  return status;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  int rank = 0;
  ncclCommUserRank(communicator, &rank);
  if (planted("mismatched collective") && rank == 1) count /= 2;
  return pass_on<ncclResult_t>("ncclAllReduce", from, to, count, type, operation, communicator,
                               stream);
}

}  // extern "C"
