// What AddressSanitizer and ThreadSanitizer want to hear of each stack switch; empty without them.
// One per fiber; fiber.cpp calls the members in the order of resume and yield.
#pragma once

#include <cstddef>

#if defined(ANNULUS_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(ANNULUS_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace annulus::cpu {

#if defined(ANNULUS_ASAN)

class SwitchNotice {
 public:
  void to_fiber(const void* stack, std::size_t bytes) {
    __sanitizer_start_switch_fiber(&host_fake_stack_, stack, bytes);
  }
  void on_fiber() {
    __sanitizer_finish_switch_fiber(fiber_fake_stack_, &host_stack_, &host_bytes_);
  }
  void to_host() { __sanitizer_start_switch_fiber(&fiber_fake_stack_, host_stack_, host_bytes_); }
  void on_host() { __sanitizer_finish_switch_fiber(host_fake_stack_, nullptr, nullptr); }

 private:
  void* host_fake_stack_ = nullptr;
  void* fiber_fake_stack_ = nullptr;
  const void* host_stack_ = nullptr;
  std::size_t host_bytes_ = 0;
};

#elif defined(ANNULUS_TSAN)

class SwitchNotice {
 public:
  SwitchNotice() : fiber_(__tsan_create_fiber(0)) {}
  ~SwitchNotice() { __tsan_destroy_fiber(fiber_); }
  SwitchNotice(const SwitchNotice&) = delete;
  SwitchNotice& operator=(const SwitchNotice&) = delete;

  void to_fiber(const void*, std::size_t) {
    host_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber_, 0);
  }
  void on_fiber() {}
  void to_host() { __tsan_switch_to_fiber(host_, 0); }
  void on_host() {}

 private:
  void* fiber_;
  void* host_ = nullptr;
};

#else

class SwitchNotice {
 public:
  void to_fiber(const void*, std::size_t) {}
  void on_fiber() {}
  void to_host() {}
  void on_host() {}
};

#endif

}  // namespace annulus::cpu
