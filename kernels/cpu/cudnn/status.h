// How the entry points of kernels/cpu/cudnn fail: a cudnnStatus_t for the caller, and words for
// cudnnGetLastErrorString. Inside, a failure is thrown as CudnnFailure; `guarded` turns it into the
// status at the C boundary, so nothing throws across it. Used by every file of this folder.
#pragma once

#include <cudnn.h>

#include <stdexcept>
#include <string>

namespace annulus::cpu {

class CudnnFailure : public std::runtime_error {
 public:
  CudnnFailure(cudnnStatus_t status, const std::string& words)
      : std::runtime_error(words), status_(status) {}
  cudnnStatus_t status() const { return status_; }

 private:
  cudnnStatus_t status_;
};

// Keeps `words` for this thread's cudnnGetLastErrorString and returns `status`.
cudnnStatus_t remember_failure(cudnnStatus_t status, const std::string& words);

// Runs an entry point's body; what it throws becomes the status returned.
template <class Body>
cudnnStatus_t guarded(Body&& body) {
  try {
    body();
    return CUDNN_STATUS_SUCCESS;
  } catch (const CudnnFailure& failure) {
    return remember_failure(failure.status(), failure.what());
  } catch (const std::bad_alloc&) {
    return remember_failure(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                            "out of host memory");
  } catch (const std::exception& error) {
    return remember_failure(CUDNN_STATUS_INTERNAL_ERROR, error.what());
  }
}

// Throws `status` with `words` unless `holds`.
inline void require(bool holds, cudnnStatus_t status, const std::string& words) {
  if (!holds) throw CudnnFailure(status, words);
}

}  // namespace annulus::cpu
