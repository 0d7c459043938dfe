// What this machine can do at most: its rate of fused multiply-adds and its memory bandwidth,
// measured in the same run and with as many threads as the work that is compared with them. Called
// by the benches, which print every rate as a share of it.
#pragma once

namespace annulus::bench {

struct Machine {
  unsigned int threads;
  double gflops;  // fp32, one fused multiply-add counted as two, in the widest vectors of the CPU
  double gbytes;  // per second, of a = b + s * c over arrays far larger than the caches (STREAM's
                  // triad, McCalpin 1995), counting the three accesses and not the write's fetch
};

// Takes about two seconds.
Machine measure_machine(unsigned int threads);

// The cores this process may use.
unsigned int usable_cores();

}  // namespace annulus::bench
