// Members are destroyed in reverse: the transport first, which uses the monitor.
#include "comm/cpu/communicator.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "comm/cpu/bootstrap.h"
#include "comm/cpu/error.h"
#include "comm/cpu/log.h"
#include "comm/cpu/options.h"
#include "comm/cpu/ring_links.h"
#include "comm/cpu/ring_transport.h"
#include "comm/cpu/shared_memory_transport.h"
#include "comm/interfaces.h"
#include "kernels/check.h"
#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/runtime.h"

namespace annulus::cpu::nccl {
namespace {

constexpr std::chrono::milliseconds kLook{1};

// The calling thread's device, for calls of communicators of other devices.
class DeviceScope {
 public:
  explicit DeviceScope(int device) : device_(device) {
    cudaGetDevice(&outer_);
    if (device != outer_) cudaSetDevice(device);
  }
  ~DeviceScope() {
    if (device_ != outer_) cudaSetDevice(outer_);
  }
  DeviceScope(const DeviceScope&) = delete;

 private:
  const int device_;
  int outer_ = 0;
};

// The capture that the stream is part of; null: none. Nothing for a stream that is gone: it has
// done its work, and asking CUDA about it would leave an error behind.
std::optional<std::shared_ptr<Capture>> capture_of(cudaStream_t stream) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const auto found = runtime.stream(stream);
  if (found == nullptr) return std::nullopt;
  return found->capture;
}

// Rank 0 makes the control area before the others ask for it.
std::shared_ptr<ControlArea> make_area(const Nonce& nonce, int world, Member& mine) {
  try {
    auto area = ControlArea::make(nonce, world);
    mine.area_file = area->file();
    return area;
  } catch (const std::system_error&) {
    mine.shares_memory = 0;  // the ring needs none
    return nullptr;
  }
}

bool all_share_memory(const Members& members) {
  for (const Member& member : members) {
    if (member.shares_memory == 0 || !share_host(member, members.front())) return false;
  }
  return true;
}

// A host thread that waits in shuffled mode runs whatever stream it draws, also another rank's
// collective, which waits for what this thread has yet to call.
void refuse_shuffled_threads(const Members& members, int rank) {
  if (cpu::options().mode != Mode::shuffled) return;
  for (std::size_t other = 0; other < members.size(); ++other) {
    if (static_cast<int>(other) == rank ||
        !share_process(members[other], members[static_cast<std::size_t>(rank)]))
      continue;
    throw NcclError(ncclInvalidUsage,
                    fmt::format("ranks {} and {} are threads of one process: that needs "
                                "ANNULUS_CPU_MODE=eager or threads",
                                rank, other));
  }
}

}  // namespace

Communicator::Communicator(const IdContents& id, int world, int rank, int device)
    : id_(id), world_(world), rank_(rank), device_(device) {}

Communicator::~Communicator() = default;

ncclResult_t Communicator::connect() {
  try {
    make_transport();
    connected_ = true;
    return ncclSuccess;  // what a faster peer has done wrong since is an asynchronous error
  } catch (const NcclError& error) {
    failure_.set(error.result(), error.what());
  } catch (const UserError& error) {
    failure_.set(ncclInvalidUsage, error.what());
  } catch (const std::exception& error) {
    failure_.set(ncclSystemError, error.what());
  }
  return failure_.result();
}

void Communicator::connect_in_background() {
  std::thread([self = shared_from_this()] { self->connect(); }).detach();
}

void Communicator::make_transport() {
  const Options options = read_options();
  const auto interface = socket_interfaces().front();
  const std::string address = interface.addresses.front();
  const Socket listener = listen_on(address, 0);
  Member mine = describe_this_process(options, device_);
  mine.address = make_text(address);
  mine.port = listener.local_port();
  std::shared_ptr<ControlArea> area;
  if (rank_ == 0 && options.shared_memory) area = make_area(id_.nonce, world_, mine);

  const Bootstrap bootstrap(id_, world_, rank_, mine, options.timeout);
  const Members& members = bootstrap.members();
  refuse_shuffled_threads(members, rank_);
  if (!area && all_share_memory(members)) area = ControlArea::open(id_.nonce, members);
  const bool shared = bootstrap.agree(area != nullptr && all_share_memory(members));

  RingLinks links;
  if (world_ > 1) {
    links = connect_ring(listener, members, rank_, id_.nonce, after(options.timeout));
    monitor_ = std::make_unique<Monitor>(std::move(links.control), rank_, world_, options.silent,
                                         failure_);
  }
  if (shared) {
    transport_ = std::make_unique<SharedMemoryTransport>(std::move(area), members, rank_,
                                                         monitor_.get(), failure_);
  } else {
    transport_ = std::make_unique<RingTransport>(std::move(links.data), rank_, world_,
                                                 options.silent, monitor_.get(), failure_);
  }
  log_links(interface, members, shared);
}

// As NCCL tells it: its network, and over what this rank sends to the next one.
void Communicator::log_links(const Interface& interface, const Members& members,
                             bool shared_memory) const {
  log_info(device_, fmt::format("NET/Socket : Using [0]{}:{}<0>", interface.name,
                                interface.addresses.front()));
  log_info(device_, "Using network Socket");
  if (world_ == 1) return;
  const auto named = [&](int rank) {
    return fmt::format("{}[{}]", rank, members[static_cast<std::size_t>(rank)].device);
  };
  log_info(device_,
           fmt::format("Channel 00/0 : {} -> {} {}", named(rank_), named((rank_ + 1) % world_),
                       shared_memory ? "via SHM/direct/direct" : "[send] via NET/Socket/0"));
}

ncclResult_t Communicator::state() const {
  if (failure_.happened()) return failure_.result();
  return connected_ ? ncclSuccess : ncclInProgress;
}

const char* Communicator::transport_name() const {
  return connected_ ? transport_->name() : nullptr;
}

ncclResult_t Communicator::issue(Collective collective, cudaStream_t stream) {
  if (failure_.happened()) return failure_.result();
  if (!connected_) {
    remember_error(
        "the communicator is not ready: ask ncclCommGetAsyncError until it says success");
    return ncclInvalidArgument;
  }
  const DeviceScope device(device_);
  const bool captured = capture_of(stream).value_or(nullptr) != nullptr;
  order_behind_last_stream(stream);
  return enqueue_on(stream, collective, captured ? in_graphs_ : count_pending(stream));
}

ncclResult_t Communicator::enqueue_on(cudaStream_t stream, const Collective& collective,
                                      const std::shared_ptr<void>& pending) {
  const bool broadcast = collective.call.kind == Kind::broadcast;
  const std::array accesses{
      Access{collective.input, collective.input ? collective.bytes() : 0, false},
      Access{collective.output, collective.bytes(), true}};
  const cudaError_t status =
      enqueue(stream, broadcast ? "ncclBroadcast" : "ncclAllReduce", accesses,
              [self = shared_from_this(), collective, pending] { self->run(collective); });
  if (status == cudaSuccess) return ncclSuccess;
  remember_error(fmt::format("{}: {}", describe(collective.call), cudaGetErrorString(status)));
  return ncclUnhandledCudaError;
}

// The calls of one communicator stay in order, also on different streams of one capture; what is
// not captured and what is are ordered by the graph's launch. The lock is not held over calls of
// the runtime: it takes its own before it throws queued work away, which takes this one.
void Communicator::order_behind_last_stream(cudaStream_t stream) {
  cudaStream_t last = nullptr;
  {
    const std::lock_guard lock(queueing_);
    last = std::exchange(last_stream_, stream);
    if (!std::exchange(has_last_stream_, true) || last == stream) return;
  }
  if (capture_of(last) != capture_of(stream)) return;
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return;
  cudaEventRecord(event, last);
  cudaStreamWaitEvent(stream, event, 0);
  cudaEventDestroy(event);
}

// Lives as long as the queued work, which may also be thrown away without running.
std::shared_ptr<void> Communicator::count_pending(cudaStream_t stream) {
  const std::lock_guard lock(queueing_);
  ++pending_[stream];
  return {nullptr, [self = shared_from_this(), stream](void*) {
            const std::lock_guard lock(self->queueing_);
            if (const auto it = self->pending_.find(stream); --it->second == 0)
              self->pending_.erase(it);
          }};
}

void Communicator::run(Collective collective) {
  const std::lock_guard lock(running_);
  if (failure_.happened()) return;
  collective.call.number = ++calls_;
  try {
    transport_->run(collective);
  } catch (const std::exception& error) {
    failure_.set(ncclSystemError, error.what());
  }
}

void Communicator::finish() {
  while (state() == ncclInProgress) std::this_thread::sleep_for(kLook);
  const DeviceScope device(device_);
  for (;;) {
    std::optional<cudaStream_t> stream;
    if (const std::lock_guard lock(queueing_); !pending_.empty()) stream = pending_.begin()->first;
    if (!stream) return;
    if (cudaStreamSynchronize(*stream) != cudaSuccess) return;
  }
}

void Communicator::leave() {
  if (in_graphs_.use_count() > 1)
    report(
        "graph outlives communicator",
        "ncclCommDestroy while there is a graph with collectives of the communicator: destroy it "
        "first, as NCCL waits for that");
  if (failure_.happened()) return;
  transport_->leave();
  if (monitor_) monitor_->leave();
}

void Communicator::abort() {
  failure_.set(ncclInternalError, "the communicator was aborted");
  const std::lock_guard lock(running_);
  if (connected_) monitor_.reset();
}

}  // namespace annulus::cpu::nccl
