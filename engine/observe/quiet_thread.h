// A thread beside the training's: it takes no signal, as those are for the threads that train, and
// has a name that top and /proc show. Used by engine/observe.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace annulus {

// All signals are blocked in what is started while this lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// `name`: at most 15 characters.
template <class Work>
std::thread quiet_thread(const char* name, Work work) {
  const SignalsBlocked blocked;
  return std::thread([name, work = std::move(work)] {
    pthread_setname_np(pthread_self(), name);
    work();
  });
}

}  // namespace annulus
