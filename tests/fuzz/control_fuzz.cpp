// The control channel's frames and messages, as rank 0 reads them from whoever connects: cut from
// pieces of any size, each read as what it says it is. What was read is written in the same bytes,
// and a hello that is judged is answered in one printable line.
#include <algorithm>
#include <string_view>

#include "comm/control_admission.h"
#include "comm/control_frames.h"
#include "comm/control_messages.h"
#include "tests/fuzz/input.h"

namespace {

using namespace annulus;
using namespace annulus::control;

template <class Message>
void require_same_bytes(const Frame& frame) {
  fuzz::require(Message::from(frame).frame().payload == frame.payload);
}

void judge(const Hello& hello) {
  for (const bool counted : {false, true}) {
    const auto refusal = refuse_hello(hello, {"job", "1", 4, 2, counted});
    if (!refusal) continue;
    fuzz::require(std::none_of(refusal->reason.begin(), refusal->reason.end(),
                               [](unsigned char c) { return c < ' ' || c == 0x7f; }));
  }
  compare_facts({hello, hello});
}

void read(const Frame& frame) {
  switch (frame.type) {
    case FrameType::hello:
      judge(Hello::from(frame));
      break;
    case FrameType::contribution:
      Contribution::from(frame);
      break;
    case FrameType::leave:
      require_same_bytes<Leave>(frame);
      break;
    case FrameType::proof:
      require_same_bytes<Proof>(frame);
      break;
    case FrameType::heartbeat:
      require_same_bytes<Heartbeat>(frame);
      break;
    case FrameType::welcome:
      require_same_bytes<Welcome>(frame);
      break;
    case FrameType::refusal:
      fuzz::require(Refusal::from(frame).code != ExitCode::done);
      break;
    case FrameType::result:
      require_same_bytes<Result>(frame);
      break;
    case FrameType::loss:
      fuzz::require(loss_from(frame).code != ExitCode::done);
      break;
    case FrameType::challenge:
      require_same_bytes<Challenge>(frame);
      break;
    case FrameType::waiting:
      require_same_bytes<Waiting>(frame);
      break;
    case FrameType::farewell:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  std::string_view left(reinterpret_cast<const char*>(data + 1), size - 1);
  FrameBuffer buffer(hello_limit);
  try {
    while (!left.empty()) {
      fuzz::require(buffer.room() > 0 && buffer.room() <= header_bytes + hello_limit);
      const std::string_view next = left.substr(0, std::min(piece, buffer.room()));
      left.remove_prefix(next.size());
      buffer.append(next);
      while (const auto frame = buffer.next()) read(*frame);
    }
  } catch (const BadFrame&) {
  }
  return 0;
}
