// The stack switch: a few instructions of assembly, between the sanitizers' announcements.
#include "kernels/cpu/cudart/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

// Saves the callee-saved registers and the stack pointer, loads the other side's (System V x86-64).
// The floating-point control words are not switched: no kernel changes them.
extern "C" void annulus_switch_stack(void** save_pointer, void* load_pointer);
asm(R"(
.text
.globl annulus_switch_stack
.hidden annulus_switch_stack
.type annulus_switch_stack, @function
annulus_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size annulus_switch_stack, .-annulus_switch_stack
.globl annulus_start_fiber
.hidden annulus_start_fiber
.type annulus_start_fiber, @function
annulus_start_fiber:
  movq %r12, %rdi
  xorl %ebp, %ebp
  callq *%rbx
  ud2
.size annulus_start_fiber, .-annulus_start_fiber
)");
extern "C" void annulus_start_fiber();

namespace annulus::cpu {
namespace {

constexpr std::size_t kGuard = 4096;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStack = 256 << 10;
#else
constexpr std::size_t kStack = 64 << 10;
#endif

}  // namespace

// What annulus_switch_stack pops when it first switches to a fiber.
struct Fiber::Frame {
  void *r15, *r14, *r13, *r12, *rbx, *rbp;
  void (*return_address)();
  void* padding[2];  // so that calls from the fiber see a stack aligned to 16 bytes
};

Fiber::Fiber(Body body) : body_(body) {
  void* mapping = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapping, kGuard, PROT_NONE);
  stack_ = static_cast<std::byte*>(mapping);
  auto* frame = reinterpret_cast<Frame*>(stack_ + kGuard + kStack - sizeof(Frame));
  *frame = {};
  frame->rbx = reinterpret_cast<void*>(&Fiber::enter);
  frame->r12 = this;
  frame->return_address = annulus_start_fiber;
  own_pointer_ = frame;
#if defined(__SANITIZE_THREAD__)
  own_tsan_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(own_tsan_);
#endif
  munmap(stack_, kGuard + kStack);
}

void Fiber::enter(Fiber* fiber) {
  fiber->switched_to_fiber();
  fiber->body_(*fiber);
}

void Fiber::switched_to_fiber() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(own_fake_stack_, &host_bottom_, &host_size_);
#endif
}

void Fiber::resume() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&host_fake_stack_, stack_ + kGuard, kStack);
#endif
#if defined(__SANITIZE_THREAD__)
  host_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_tsan_, 0);
#endif
  annulus_switch_stack(&host_pointer_, own_pointer_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(host_fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::yield() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&own_fake_stack_, host_bottom_, host_size_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(host_tsan_, 0);
#endif
  annulus_switch_stack(&own_pointer_, host_pointer_);
  switched_to_fiber();
}

}  // namespace annulus::cpu
