// The message is there before the result says so.
#include "comm/cpu/failure.h"

namespace annulus::cpu::nccl {
namespace {

struct Newest {
  std::mutex mutex;
  std::string message;
};

Newest& newest() {
  static Newest& value = *new Newest;
  return value;
}

}  // namespace

bool Failure::set(ncclResult_t result, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (happened()) return false;
  message_ = message;
  remember_error(message);
  result_.store(result, std::memory_order_release);
  return true;
}

std::string Failure::message() const {
  const std::lock_guard lock(mutex_);
  return message_;
}

void remember_error(const std::string& message) {
  const std::lock_guard lock(newest().mutex);
  newest().message = message;
}

std::string remembered_error() {
  const std::lock_guard lock(newest().mutex);
  return newest().message;
}

}  // namespace annulus::cpu::nccl
