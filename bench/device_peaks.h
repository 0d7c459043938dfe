// What the device can do at most, by the libraries that are built to reach it and measured in the
// same run: a copy within its memory and a large matrix product. Called by bench_kernels.
#pragma once

namespace annulus::bench {

struct DevicePeaks {
  double gflops;  // fp32, of a cuBLAS product of square matrices
  double
      gbytes;  // per second, of a copy far larger than the caches, counting bytes read and written
};

// Takes a second, two on the CPU device, and 1 GiB of device memory.
DevicePeaks measure_device_peaks();

}  // namespace annulus::bench
