// Declares what a norm reads and writes, and queues its arithmetic. Arrays of a half type pass
// through fp32 copies in the workspace and are rounded once, when they are written.
#include "kernels/cpu/cudnn/norm_plan.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudnn/norm_arithmetic.h"
#include "kernels/cpu/cudnn/norm_graph.h"
#include "kernels/cpu/cudnn/variant_pack.h"
#include "kernels/cpu/format.h"

namespace annulus::cpu {
namespace {

// An array of a half type and its copy in fp32.
struct HalfArray {
  Format format;
  void* stored;
  float* numbers;
  std::size_t count;
};

// The pointers of a pack, declared as they are asked for.
class DeclaredPointers {
 public:
  // The workspace: what the sums need, then the copies.
  DeclaredPointers(const Descriptor& pack, std::size_t sums_bytes, std::size_t workspace_bytes)
      : pack_(pack), workspace_(static_cast<std::byte*>(workspace_of(pack, workspace_bytes))) {
    accesses_.push_back({workspace_, workspace_bytes, true});
    next_copy_ = reinterpret_cast<float*>(workspace_ + sums_bytes);
  }

  const float* read(const Tensor& tensor) { return declare(tensor, false); }
  float* write(const Tensor& tensor) { return declare(tensor, true); }
  double* sums() const { return reinterpret_cast<double*>(workspace_); }
  const std::vector<Access>& accesses() const { return accesses_; }

  // `arithmetic` on fp32, between reading and rounding what is not.
  template <class Arithmetic>
  std::function<void()> work(Arithmetic arithmetic) const {
    return [arithmetic, read = read_, written = written_] {
      for (const HalfArray& array : read)
        read_numbers(array.format, array.stored, array.numbers, array.count);
      arithmetic();
      for (const HalfArray& array : written)
        write_numbers(array.format, array.numbers, array.stored, array.count);
    };
  }

 private:
  float* declare(const Tensor& tensor, bool write) {
    void* const pointer = pointer_of(tensor, pack_);
    accesses_.push_back({pointer, tensor.bytes(), write});
    if (tensor.format() == Format::fp32) return static_cast<float*>(pointer);
    const HalfArray array{tensor.format(), pointer, next_copy_, tensor.elements()};
    next_copy_ += array.count;
    (write ? written_ : read_).push_back(array);
    return array.numbers;
  }

  const Descriptor& pack_;
  std::byte* workspace_;
  float* next_copy_;
  std::vector<Access> accesses_;
  std::vector<HalfArray> read_, written_;
};

NormCut cut_of(const Tensor& x) {
  const auto channels = std::size_t(x.dimensions[1]);
  return {x.elements() / channels, channels};
}

// `like_x`: how many arrays have x's shape and type.
std::size_t workspace_bytes_for(const Tensor& x, std::size_t like_x) {
  const std::size_t copies = x.format() == Format::fp32 ? 0 : like_x * x.elements();
  return cut_of(x).workspace_bytes() + copies * sizeof(float);
}

void queue(cudaStream_t stream, const char* what, const DeclaredPointers& pointers,
           std::function<void()> work) {
  const cudaError_t queued = enqueue(stream, what, pointers.accesses(), std::move(work));
  require(queued == cudaSuccess, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
          fmt::format("{}: {}", what, cudaGetErrorString(queued)));
}

NormForwardArrays forward_arrays(const NormForwardTask& task, const Descriptor& pack,
                                 DeclaredPointers& pointers) {
  NormForwardArrays arrays{.x = pointers.read(task.x),
                           .scale = pointers.read(task.scale),
                           .bias = pointers.read(task.bias),
                           .y = pointers.write(task.y),
                           .mean = pointers.write(task.mean),
                           .inv_variance = pointers.write(task.inv_variance),
                           .running_mean_in = nullptr,
                           .running_variance_in = nullptr,
                           .running_mean_out = nullptr,
                           .running_variance_out = nullptr,
                           .epsilon = scalar_of(task.epsilon, pack),
                           .factor = 0,
                           .workspace = pointers.sums()};
  if (!task.running) return arrays;
  arrays.factor = scalar_of(task.running->factor, pack);
  arrays.running_mean_in = pointers.read(task.running->mean_in);
  arrays.running_variance_in = pointers.read(task.running->variance_in);
  arrays.running_mean_out = pointers.write(task.running->mean_out);
  arrays.running_variance_out = pointers.write(task.running->variance_out);
  return arrays;
}

PreparedPlan prepare_forward(const NormForwardTask& task, bool unsteady) {
  const NormCut cut = cut_of(task.x);
  const std::size_t workspace = workspace_bytes_for(task.x, 2);
  return {.workspace_bytes = workspace,
          .enqueue = [=](cudaStream_t stream, const Descriptor& pack) {
            DeclaredPointers pointers(pack, cut.workspace_bytes(), workspace);
            const NormForwardArrays arrays = forward_arrays(task, pack, pointers);
            queue(stream, "cudnn norm forward", pointers, pointers.work([=] {
              norm_forward(cut, arrays);
              if (unsteady) disturb(arrays.y);
            }));
          }};
}

PreparedPlan prepare_backward(const NormBackwardTask& task, bool unsteady) {
  const NormCut cut = cut_of(task.x);
  const std::size_t workspace = workspace_bytes_for(task.x, 3);
  return {.workspace_bytes = workspace,
          .enqueue = [=](cudaStream_t stream, const Descriptor& pack) {
            DeclaredPointers pointers(pack, cut.workspace_bytes(), workspace);
            const NormBackwardArrays arrays{.x = pointers.read(task.x),
                                            .dy = pointers.read(task.dy),
                                            .mean = pointers.read(task.mean),
                                            .inv_variance = pointers.read(task.inv_variance),
                                            .scale = pointers.read(task.scale),
                                            .dx = pointers.write(task.dx),
                                            .dscale = pointers.write(task.dscale),
                                            .dbias = pointers.write(task.dbias),
                                            .workspace = pointers.sums()};
            queue(stream, "cudnn norm backward", pointers, pointers.work([=] {
              norm_backward(cut, arrays);
              if (unsteady) disturb(arrays.dx);
            }));
          }};
}

}  // namespace

PreparedPlan prepare_norm(const Descriptor& graph, bool unsteady) {
  if (const auto forward = norm_forward_task(graph)) return prepare_forward(*forward, unsteady);
  return prepare_backward(*norm_backward_task(graph), unsteady);
}

}  // namespace annulus::cpu
