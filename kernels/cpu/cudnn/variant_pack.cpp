// Looks pointers up by the tensors' unique ids.
#include "kernels/cpu/cudnn/variant_pack.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/cudart/device.h"

namespace annulus::cpu {
namespace {

void* find_pointer(const Tensor& tensor, const Descriptor& pack) {
  const auto uids = pack.values<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto found = std::find(uids.begin(), uids.end(), tensor.uid);
  require(found != uids.end(), CUDNN_STATUS_BAD_PARAM,
          fmt::format("variant pack: tensor {} has no pointer", tensor.uid));
  void* pointer = pointers[std::size_t(found - uids.begin())];
  require(pointer != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
          fmt::format("variant pack: tensor {} has a null pointer", tensor.uid));
  return pointer;
}

}  // namespace

void* pointer_of(const Tensor& tensor, const Descriptor& pack) {
  void* pointer = find_pointer(tensor, pack);
  require(reinterpret_cast<std::uintptr_t>(pointer) % std::size_t(tensor.alignment) == 0,
          CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
          fmt::format("variant pack: tensor {} is at {}, its descriptor promises {} bytes",
                      tensor.uid, pointer, tensor.alignment));
  return pointer;
}

float scalar_of(const Tensor& tensor, const Descriptor& pack) {
  return *static_cast<const float*>(find_pointer(tensor, pack));
}

void* workspace_of(const Descriptor& pack, std::size_t needed) {
  void* workspace = pack.value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  if (!workspace || !is_device_memory(workspace, needed)) {
    const std::string words = fmt::format(
        "cudnnBackendExecute: {} is not {} bytes of device memory; give the plan the workspace "
        "that CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE asks for",
        workspace, needed);
    report("workspace", words);
    throw CudnnFailure(CUDNN_STATUS_BAD_PARAM, words);
  }
  return workspace;
}

}  // namespace annulus::cpu
