// NCCL's entry points: they check arguments and pass on. No exception leaves them.
#include <nccl.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "comm/cpu/bootstrap_root.h"
#include "comm/cpu/entry.h"
#include "comm/cpu/options.h"
#include "comm/cpu/registrations.h"
#include "comm/cpu/transport_name.h"

using namespace annulus::cpu::nccl;

namespace {

constexpr int kMostRanks = 1024;

IdContents contents_of(const ncclUniqueId& id) {
  IdContents contents;
  std::memcpy(&contents, id.internal, sizeof contents);
  if (contents.magic != kBootstrapMagic) throw_invalid("the unique id is none of ncclGetUniqueId");
  return contents;
}

bool is_blocking(const ncclConfig_t* config) {
  if (config == nullptr) return true;
  constexpr ncclConfig_t kMade = NCCL_CONFIG_INITIALIZER;
  if (config->size != kMade.size || config->magic != kMade.magic)
    throw_invalid("the config was not made by NCCL_CONFIG_INITIALIZER");
  if (config->blocking == NCCL_CONFIG_UNDEF_INT) return true;
  if (config->blocking != 0 && config->blocking != 1) throw_invalid("blocking is neither 0 nor 1");
  return config->blocking == 1;
}

ncclResult_t init(ncclComm_t* comm, int world, const ncclUniqueId& id, int rank, bool blocking) {
  if (comm == nullptr) throw_invalid("the place for the communicator is null");
  *comm = nullptr;
  if (world < 1 || world > kMostRanks) throw_invalid("the number of ranks is not in 1 to 1024");
  if (rank < 0 || rank >= world) throw_invalid("the rank is not below the number of ranks");
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return refuse(ncclUnhandledCudaError, "no device");
  auto handle = std::make_unique<ncclComm>();
  handle->communicator = std::make_shared<Communicator>(contents_of(id), world, rank, device);
  const ncclResult_t result = connect_or_keep(handle->communicator, blocking);
  if (result == ncclSuccess || result == ncclInProgress) *comm = handle.release();
  return result;
}

// What a collective reads or writes must be device memory.
void locate(const void* data, std::size_t bytes, annulus::cpu::SharedRange& range) {
  if (bytes == 0) return;
  const auto found = annulus::cpu::shared_range(data);
  if (!found)
    throw_invalid("a buffer is not device memory, or ulimit -f keeps it from being shared");
  if (found->bytes < bytes) throw_invalid("a buffer ends before its last element");
  range = *found;
}

ncclResult_t issue(const void* input, void* output, Call call, ncclComm_t comm,
                   cudaStream_t stream) {
  auto communicator = communicator_of(comm);
  Collective collective{.call = call,
                        .input = static_cast<const std::byte*>(input),
                        .output = static_cast<std::byte*>(output)};
  if (collective.element_bytes() == 0) throw_invalid("the data type is not implemented");
  if (call.root < 0 || call.root >= communicator->world()) throw_invalid("there is no such root");
  const bool reads = call.kind == Kind::all_reduce || call.root == communicator->rank();
  if (!reads) collective.input = nullptr;
  if (reads) locate(input, collective.bytes(), collective.input_range);
  locate(output, collective.bytes(), collective.output_range);
  return issue_or_keep(std::move(communicator), collective, stream);
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  return api("ncclGetVersion", [&] {
    if (version == nullptr) throw_invalid("the place for the version is null");
    const int pretended = read_options().version;
    *version = pretended > 0 ? pretended : NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr std::array kWords = {"no error",
                                 "unhandled cuda error",
                                 "unhandled system error",
                                 "internal error",
                                 "invalid argument",
                                 "invalid usage",
                                 "remote process exited or there was a network error",
                                 "operation in progress"};
  const auto index = static_cast<std::size_t>(result);
  return index < kWords.size() ? kWords[index] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  static thread_local std::string text;
  text = comm == nullptr ? std::string() : comm->communicator->error_text();
  if (text.empty()) text = remembered_error();
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return api("ncclGetUniqueId", [&] {
    if (id == nullptr) throw_invalid("the place for the id is null");
    *id = start_bootstrap_root();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int world, ncclUniqueId id, int rank) {
  return api("ncclCommInitRank", [&] { return init(comm, world, id, rank, true); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int world, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return api("ncclCommInitRankConfig",
             [&] { return init(comm, world, id, rank, is_blocking(config)); });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return api("ncclCommFinalize", [&] {
    communicator_of(comm)->finish();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return api("ncclCommDestroy", [&] {
    const auto communicator = communicator_of(comm);
    communicator->finish();
    communicator->leave();
    forget_registrations(*communicator);
    delete comm;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return api("ncclCommAbort", [&] {
    const auto communicator = communicator_of(comm);
    communicator->abort();
    forget_registrations(*communicator);
    delete comm;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  return api("ncclCommGetAsyncError", [&] {
    if (result == nullptr) throw_invalid("the place for the result is null");
    *result = communicator_of(comm)->state();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  return api("ncclCommCount", [&] {
    if (count == nullptr) throw_invalid("the place for the count is null");
    *count = communicator_of(comm)->world();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return api("ncclCommUserRank", [&] {
    if (rank == nullptr) throw_invalid("the place for the rank is null");
    *rank = communicator_of(comm)->rank();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return api("ncclCommCuDevice", [&] {
    if (device == nullptr) throw_invalid("the place for the device is null");
    *device = communicator_of(comm)->device();
    return ncclSuccess;
  });
}

ncclResult_t ncclAllReduce(const void* input, void* output, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return api("ncclAllReduce", [&] {
    if (op != ncclSum && op != ncclAvg) throw_invalid("only ncclSum and ncclAvg are implemented");
    const Call call{.count = count, .kind = Kind::all_reduce, .type = type, .op = op};
    return issue(input, output, call, comm, stream);
  });
}

ncclResult_t ncclBroadcast(const void* input, void* output, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return api("ncclBroadcast", [&] {
    const Call call{.count = count, .kind = Kind::broadcast, .type = type, .root = root};
    return issue(input, output, call, comm, stream);
  });
}

ncclResult_t ncclGroupStart() {
  start_group();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return api("ncclGroupEnd", [] { return end_group(); });
}

const char* annulus::cpu::nccl::transport_name(ncclComm_t comm) {
  return comm == nullptr ? nullptr : comm->communicator->transport_name();
}
