// The stack switch: a few instructions of assembly, between the sanitizers' announcements.
#include "kernels/cpu/cudart/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

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
#if defined(ANNULUS_ASAN) || defined(ANNULUS_TSAN)
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
}

Fiber::~Fiber() { munmap(stack_, kGuard + kStack); }

void Fiber::enter(Fiber* fiber) {
  fiber->notice_.on_fiber();
  fiber->body_(*fiber);
}

void Fiber::resume() {
  notice_.to_fiber(stack_ + kGuard, kStack);
  annulus_switch_stack(&host_pointer_, own_pointer_);
  notice_.on_host();
}

void Fiber::yield() {
  notice_.to_host();
  annulus_switch_stack(&own_pointer_, host_pointer_);
  notice_.on_fiber();
}

}  // namespace annulus::cpu
