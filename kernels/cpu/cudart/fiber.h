// A fiber: a stack of its own that a host thread switches to and back, without a system call. The
// sanitizers are told of every switch. Used by the block emulation, one per thread that waits at a
// barrier; a fiber stays on the host thread that made it.
#pragma once

#include <cstddef>

#include "kernels/cpu/cudart/switch_notice.h"

namespace annulus::cpu {

class Fiber {
 public:
  // The body never returns; it calls yield() when it has nothing to do.
  using Body = void (*)(Fiber& self);

  explicit Fiber(Body body);
  ~Fiber();
  Fiber(const Fiber&) = delete;

  void resume();  // from the host's stack, until the body yields
  void yield();   // from the body

 private:
  struct Frame;
  static void enter(Fiber* fiber);

  Body body_;
  std::byte* stack_;   // mapping: guard page, then the stack
  void* own_pointer_;  // stack pointer while suspended
  void* host_pointer_ = nullptr;
  SwitchNotice notice_;
};

}  // namespace annulus::cpu
