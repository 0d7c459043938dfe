// While it lives, OpenMP code called from this thread (oneDNN) uses this thread alone. The CPU
// device cuts work into pieces itself and gives each piece one thread, so that bits do not depend
// on the number of threads. Held around every call into oneDNN by kernels/cpu/cudnn and
// kernels/cpu/cublas.
#pragma once

// Of the OpenMP runtime that oneDNN itself is linked to (cmake/Finddnnl.cmake); OpenMP API 5.0,
// sections 3.2.1 and 3.2.3. Another compiler's omp.h would come with a runtime of its own.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace annulus::cpu {

class SingleThreaded {
 public:
  SingleThreaded() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SingleThreaded() { omp_set_num_threads(before_); }
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;

 private:
  int before_;
};

}  // namespace annulus::cpu
