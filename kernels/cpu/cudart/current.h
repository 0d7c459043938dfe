// The call whose work the calling thread is running, for reports and for refusing CUDA calls from
// inside it. Set by the scheduler around an operation and by the pool around pieces.
#pragma once

namespace annulus::cpu {

class CurrentCall {
 public:
  explicit CurrentCall(const char* name) : outer_(name_) { name_ = name; }
  ~CurrentCall() { name_ = outer_; }
  CurrentCall(const CurrentCall&) = delete;

  static const char* name() { return name_; }  // null outside any call

 private:
  static inline constinit thread_local const char* name_ = nullptr;
  const char* outer_;
};

}  // namespace annulus::cpu
