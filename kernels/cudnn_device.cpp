// Describes a device, and lets cuDNN find a driver's library.
#include "kernels/cudnn_device.h"

#include <dlfcn.h>

#include <filesystem>

#include "kernels/check.h"

namespace annulus::cudnn_graph {
namespace {

Descriptor empty_description() {
  try {
    return Descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  } catch (const DeviceError&) {
    throw UserError(
        ExitCode::device,
        "this cuDNN takes no description of a device: NVIDIA's does, from 9.8 on (preset "
        "cuda), the CPU device in its place does not");
  }
}

// cuDNN looks for libcuda.so.1 before it answers anything, and calls little of it for a device that
// it is told about. The toolkit's stub carries that very soname, so once it is loaded under its own
// file name, cuDNN's search by soname ends at it: no folder of links, no second start of the
// program. A process that loaded the stub cannot use a GPU any more; one with a driver never does.
void load_some_driver() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) return;
  for (const void* function : {reinterpret_cast<const void*>(&cudaGetErrorString),
                               reinterpret_cast<const void*>(&cudnnGetVersion)}) {
    Dl_info library{};
    if (!dladdr(function, &library)) continue;
    const auto stub =
        std::filesystem::path(library.dli_fname).parent_path() / "stubs" / "libcuda.so";
    if (dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL)) return;
  }
  throw UserError(ExitCode::device,
                  "cuDNN cannot be asked: neither a driver's libcuda.so.1 nor the CUDA toolkit's "
                  "stubs/libcuda.so beside its libraries; install the toolkit's development files");
}

}  // namespace

Descriptor described_device(const std::string& properties) {
  Descriptor device = empty_description();
  load_some_driver();
  return device
      .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
           std::int64_t(properties.size()), properties.data())
      .finalize();
}

}  // namespace annulus::cudnn_graph
