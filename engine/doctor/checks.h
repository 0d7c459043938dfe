// The checks of `annulus doctor`. Each is a plain function from facts to findings; the facts of
// this machine are read by the read_… functions, so that a test can state others. Invariant: a
// check changes nothing on the machine and throws nothing. Called by doctor.cpp.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/identity.h"
#include "comm/infiniband.h"
#include "comm/interfaces.h"
#include "comm/launcher_cores.h"
#include "engine/doctor/finding.h"
#include "engine/visible_devices.h"

namespace annulus::doctor {

// --- devices.cpp ---

struct DeviceFacts {
  VisibleDevices visible;
  std::vector<cudaDeviceProp> devices;
  bool nvidia_driver = false;  // the kernel's half of one is loaded, whatever this build can use

  bool on_gpus() const;
};

DeviceFacts read_devices();
// `cores`: what a CPU device may compute on.
std::vector<Finding> check_devices(const DeviceFacts& facts, unsigned int cores,
                                   const Environment& environment);

// --- libraries.cpp ---

std::vector<Finding> check_libraries(bool on_gpus);

// --- rdma_memory.cpp ---

struct RdmaMemoryFacts {
  std::optional<std::uint64_t> lockable;  // bytes a process may lock; none: no limit
  bool peer_memory_module = false;        // nvidia_peermem or its predecessor is loaded
  bool dma_buf = false;                   // an adapter registers other devices' memory by itself
  bool on_gpus = false;
};

RdmaMemoryFacts read_rdma_memory(const std::vector<InfinibandDevice>& devices, bool on_gpus);
std::vector<Finding> check_rdma_memory(const RdmaMemoryFacts& facts);

// --- fabric.cpp ---

struct FabricFacts {
  std::vector<InfinibandDevice> devices;
  RdmaMemoryFacts memory;
};

FabricFacts read_fabric(bool on_gpus);
std::vector<Finding> check_fabric(const FabricFacts& facts, const Environment& environment);

// --- network.cpp ---

std::vector<Finding> check_network(const std::vector<Interface>& have,
                                   const Environment& environment);

// --- host.cpp ---

std::vector<Finding> check_cores(const Cores& cores, int ranks);

struct SharedMemoryFacts {
  struct Segment {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::string path;
  std::string problem;               // why it cannot be read; empty: it can
  std::uint64_t free = 0, size = 0;  // bytes
  std::vector<Segment> segments;     // what NCCL has left there: a run that goes on, or dead ones
};

SharedMemoryFacts read_shared_memory(const std::string& path);
// Free space against what NCCL takes for `ranks` on this host. It needs it where GPUs cannot reach
// each other's memory; the CPU device does without.
std::vector<Finding> check_shared_memory(const SharedMemoryFacts& facts, int ranks, bool on_gpus);

}  // namespace annulus::doctor
