// A oneDNN call whose memory objects are made once and pointed at the run's bytes before each
// execution, so that a step creates no objects. Used by the two kinds of ConvExecution; one thread
// at a time.
#pragma once

#include <dnnl.hpp>

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "kernels/cpu/cudnn/conv_onednn.h"

namespace annulus::cpu {

class PreparedCall {
 public:
  explicit PreparedCall(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}

  void add(int argument, const dnnl::memory::desc& desc) {
    arguments_.emplace(argument, dnnl::memory(desc, onednn_engine(), nullptr));
  }
  // Shares a memory object that is pointed elsewhere (weights that all pieces read).
  void share(int argument, const dnnl::memory& memory) { arguments_.emplace(argument, memory); }

  void point(int argument, const void* bytes) {
    arguments_.at(argument).set_data_handle(const_cast<void*>(bytes));
  }
  void execute() const { primitive_.execute(onednn_stream(), arguments_); }

 private:
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// Hands out regions of a workspace that is not there yet: each 64-byte aligned, as offsets.
class WorkspaceLayout {
 public:
  std::size_t take(std::size_t bytes) {
    const std::size_t offset = size_;
    size_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  // Never 0, so that a caller that ignores workspaces is found out on every plan.
  std::size_t size() const { return size_ > 0 ? size_ : kAlignment; }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::size_t size_ = 0;
};

}  // namespace annulus::cpu
