// Rank 0 looks for itself; see comm/control_mirror.h.
#include "comm/control_mirror.h"

#include <utility>

#include "comm/control_applicant.h"

namespace annulus::control {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{200};  // of one try: nobody waits long for this thread's end
constexpr milliseconds pause{1'000};

}  // namespace

Mirror::Mirror(Hello hello, ControlOptions options, std::function<void(const Refusal&)> on_other)
    : hello_(std::move(hello)),
      options_(std::move(options)),
      on_other_(std::move(on_other)),
      thread_([this] { run(); }) {}

Mirror::~Mirror() {
  stop_ = true;
  thread_.join();
}

void Mirror::run() {
  while (!stop_ && !look())
    for (const Deadline next = after(pause); !stop_ && Clock::now() < next;)
      std::this_thread::sleep_for(milliseconds{10});
}

bool Mirror::look() {
  try {
    Connection connection = connect_to_rank_0(options_, after(patience));
    Applicant(hello_, options_).apply(connection, after(patience));
    return true;  // this process has hung up on itself
  } catch (const PeerError& error) {
    on_other_({error.code(), error.what()});
    return true;
  } catch (const std::exception&) {  // nobody is there yet, or no Annulus
    return false;
  }
}

}  // namespace annulus::control
