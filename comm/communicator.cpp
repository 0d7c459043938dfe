// NCCL's calls, and what to make of what they say.
#include "comm/communicator.h"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "kernels/cast.h"

namespace annulus {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestCall = 200ms;   // that returns at all
constexpr auto kReasonIsLate = 800ms;  // for the channel to say what NCCL has noticed

// Short waits stay short, long ones cost nothing: 20 us, growing to 1 ms.
class Pause {
 public:
  void operator()() {
    std::this_thread::sleep_for(next_);
    next_ = std::min<std::chrono::microseconds>(2 * next_, 1ms);
  }

 private:
  std::chrono::microseconds next_{20};
};

// The id as text for the channel, which carries any bytes.
std::string share_unique_id(int rank, ControlChannel& control) {
  ncclUniqueId id{};
  std::string bytes;
  if (rank == 0) {
    if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess)
      throw DeviceError(fmt::format("ncclGetUniqueId: {}: {}", ncclGetErrorString(result),
                                    ncclGetLastError(nullptr)));
    bytes.assign(id.internal, sizeof id.internal);
  }
  return control.broadcast(bytes);
}

}  // namespace

WireType parse_wire_type(const std::string& name) {
  if (name == "fp32") return WireType::fp32;
  if (name == "bf16") return WireType::bf16;
  if (name == "fp16") return WireType::fp16;
  throw UserError(ExitCode::usage,
                  fmt::format("--wire {}: there is no such type; one of: fp32, bf16, fp16", name));
}

Communicator::Communicator(int rank, int world, ControlChannel& control,
                           const ControlOptions& deadlines)
    : rank_(rank),
      world_(world),
      control_(control),
      rendezvous_timeout_(deadlines.rendezvous_timeout),
      exit_patience_(deadlines.exit_patience) {
  CUDA_CHECK(cudaGetDevice(&link_->device));
}

void Communicator::join() {
  const std::string bytes = share_unique_id(rank_, control_);
  ncclUniqueId id{};
  bytes.copy(id.internal, sizeof id.internal);
  control_.on_loss([weak = std::weak_ptr(link_), patience = exit_patience_](const Loss& loss) {
    if (const auto link = weak.lock()) {
      link->backstop.arm(loss.code, loss.message, patience);
      cudaSetDevice(link->device);
      link->freeze_and_abort();
    }
  });
  call("ncclCommInitRankConfig", [&] {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return ncclCommInitRankConfig(&link_->comm, world_, id, rank_, &config);
  });
  const std::lock_guard lock(link_->calls);
  if (!link_->aborted) link_->memory.join(link_->comm);
}

Communicator::~Communicator() {
  if (std::uncaught_exceptions() || !finalize()) abort();  // what is queued will never be answered
  {
    const std::lock_guard lock(link_->calls);
    if (!link_->aborted.exchange(true) && link_->comm) ncclCommDestroy(link_->comm);
  }
  link_->backstop.disarm();
}

// Whether what all ranks have queued is done, so that destroying does not wait for it.
bool Communicator::finalize() {
  ncclResult_t result = ncclSuccess;
  if (const std::lock_guard lock(link_->calls); !link_->aborted && link_->comm) {
    link_->memory.leave();
    result = ncclCommFinalize(link_->comm);
  }
  return settle(result, std::chrono::steady_clock::now() + rendezvous_timeout_) == ncclSuccess;
}

// The memory keeps the link, as it may be freed after this object.
std::shared_ptr<void> Communicator::allocate(std::size_t bytes) {
  const std::lock_guard lock(link_->calls);
  return {link_->memory.allocate(bytes), [link = link_](void* data) {
            const std::lock_guard lock(link->calls);
            link->memory.free(data);
          }};
}

ncclResult_t Communicator::Link::state() {
  const std::lock_guard lock(calls);
  ncclResult_t result = ncclSuccess;
  if (aborted) return ncclRemoteError;
  return ncclCommGetAsyncError(comm, &result) == ncclSuccess ? result : ncclInternalError;
}

// In this order: an error ends collectives that are not done.
void Communicator::Link::look() {
  const std::size_t ended = flight_record.ended();
  if (state() == ncclSuccess) flight_record.confirm(ended);
}

// A call that does not come back (the CPU device's eager mode runs a collective inside it) must be
// unblocked all the same.
void Communicator::Link::freeze_and_abort() {
  const std::size_t ended = flight_record.ended();
  std::unique_lock lock(calls, std::defer_lock);
  const auto deadline = std::chrono::steady_clock::now() + kLongestCall;
  for (Pause pause; !lock.try_lock() && std::chrono::steady_clock::now() < deadline;) pause();
  if (aborted.exchange(true)) return;
  ncclResult_t result = ncclSuccess;
  if (comm && ncclCommGetAsyncError(comm, &result) == ncclSuccess && result == ncclSuccess)
    flight_record.confirm(ended);
  flight_record.freeze();
  memory.abort();
  if (lock.owns_lock()) lock.unlock();  // nobody calls NCCL any more, and it may wait for graphs
  if (comm) ncclCommAbort(comm);
}

// A non-blocking communicator answers "in progress" and goes on by itself; the next call must wait.
template <class Call>
void Communicator::call(const char* name, Call&& nccl_call) {
  ncclResult_t result = ncclRemoteError;
  if (const std::lock_guard lock(link_->calls); !link_->aborted) result = nccl_call();
  result = settle(result, std::chrono::steady_clock::now() + rendezvous_timeout_);
  if (result == ncclInProgress)
    throw PeerError(ExitCode::rendezvous, -1,
                    fmt::format("{}: not done after {} ms; does every rank reach the others' "
                                "NCCL ports? (NCCL_SOCKET_IFNAME, --rendezvous-timeout)",
                                name, rendezvous_timeout_.count()));
  if (result != ncclSuccess) fail(result, name);
}

// What the call came to; still in progress at the deadline.
ncclResult_t Communicator::settle(ncclResult_t result,
                                  std::chrono::steady_clock::time_point deadline) {
  for (Pause pause; result == ncclInProgress && std::chrono::steady_clock::now() < deadline;
       pause())
    result = link_->state();
  return result;
}

// The channel knows who is lost and why; NCCL at best knows that somebody is.
void Communicator::fail(ncclResult_t result, const char* name) {
  link_->flight_record.freeze();
  const std::string words = link_->aborted ? "" : ncclGetLastError(link_->comm);
  const bool peer = link_->aborted || result == ncclRemoteError;
  const bool may_be_a_peer = peer || result == ncclSystemError;  // its memory went away with it
  const auto deadline = std::chrono::steady_clock::now() + kReasonIsLate;
  for (Pause pause;
       may_be_a_peer && !control_.lost() && std::chrono::steady_clock::now() < deadline;)
    pause();
  if (const auto loss = control_.lost()) throw PeerError(loss->code, loss->rank, loss->message);
  const std::string text = fmt::format("{}: {}: {}", name, ncclGetErrorString(result), words);
  link_->backstop.arm(peer ? ExitCode::peer_lost : ExitCode::device_fault, text, exit_patience_);
  if (peer) throw PeerError(ExitCode::peer_lost, -1, text);
  throw DeviceError(fmt::format("{}; rank {}", text, rank_));
}

void Communicator::all_reduce(Span<float> values, const Stream& stream, const Phase& phase) {
  all_reduce(values.data, values.size, ncclFloat32, "fp32", stream, phase);
}

void Communicator::all_reduce_rounded(Span<float> values, WireType type, Span<std::uint16_t> wire,
                                      const Stream& stream, const Phase& phase) {
  const auto reduce_as = [&](auto zero, ncclDataType_t nccl_type, const char* name) {
    using Half = decltype(zero);
    const Span<Half> rounded{reinterpret_cast<Half*>(wire.data), values.size};
    cast(stream.get(), Span<const float>(values), rounded);
    all_reduce(rounded.data, rounded.size, nccl_type, name, stream, phase);
    cast(stream.get(), Span<const Half>(rounded), values);
  };
  if (type == WireType::bf16)
    reduce_as(__nv_bfloat16{}, ncclBfloat16, "bf16");
  else
    reduce_as(__half{}, ncclFloat16, "fp16");
}

void Communicator::all_reduce(void* values, std::size_t count, ncclDataType_t type,
                              const char* type_name, const Stream& stream, const Phase& phase) {
  link_->flight_record.issued("all-reduce", type_name, count, phase);
  control_.set_phase(link_->flight_record.phase());
  call("ncclAllReduce", [&] {
    return ncclAllReduce(values, values, count, type, ncclSum, link_->comm, stream.get());
  });
  link_->flight_record.queued_on(stream);
}

void Communicator::all_reduce(const PlainAllReduce& plain, const Stream& stream) {
  call("ncclAllReduce", [&] {
    return ncclAllReduce(plain.input, plain.output, plain.count, plain.type, plain.op, link_->comm,
                         stream.get());
  });
}

void Communicator::broadcast(Span<float> values, const Stream& stream) {
  link_->flight_record.issued("broadcast", "fp32", values.size, {});
  call("ncclBroadcast", [&] {
    return ncclBroadcast(values.data, values.data, values.size, ncclFloat32, 0, link_->comm,
                         stream.get());
  });
  link_->flight_record.queued_on(stream);
}

// Under call(), as a graph must not be launched once the communicator is gone.
void Communicator::launch(const GraphExec& graph, const Stream& stream, const Captured& captured,
                          std::size_t step) {
  link_->flight_record.launching(captured, step);
  control_.set_phase(link_->flight_record.phase());
  call("cudaGraphLaunch", [&] {
    graph.launch(stream);
    return ncclSuccess;
  });
  link_->flight_record.launched();
}

void Communicator::check() {
  const ncclResult_t now = control_.lost() ? ncclRemoteError : link_->state();
  if (now != ncclSuccess && now != ncclInProgress) fail(now, "a collective");
}

void Communicator::wait(const Event& event) {
  for (Pause pause;; pause()) {
    const cudaError_t state = cudaEventQuery(event.get());
    link_->look();
    check();
    if (state == cudaSuccess) return;
    control_.set_phase(link_->flight_record.phase());
    if (state != cudaErrorNotReady) CUDA_CHECK(state);
  }
}

}  // namespace annulus
