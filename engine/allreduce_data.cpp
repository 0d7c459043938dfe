// See allreduce_data.h.
#include "engine/allreduce_data.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "kernels/check.h"

namespace annulus {
namespace {

constexpr int kLargestSum = 256;  // bf16 holds every whole number up to it

template <class Work>
void with_type(ElementType type, const Work& work) {
  switch (type) {
    case ElementType::fp32:
      return work(float{});
    case ElementType::bf16:
      return work(__nv_bfloat16{});
    case ElementType::fp16:
      return work(__half{});
    case ElementType::int32:
      return work(std::int32_t{});
  }
}

}  // namespace

const char* name_of(ElementType type) {
  constexpr const char* kNames[] = {"fp32", "bf16", "fp16", "int32"};
  return kNames[static_cast<int>(type)];
}

std::size_t size_of(ElementType type) {
  std::size_t size = 0;
  with_type(type, [&]<class T>(T) { size = sizeof(T); });
  return size;
}

ncclDataType_t nccl_type(ElementType type) {
  constexpr ncclDataType_t kTypes[] = {ncclFloat32, ncclBfloat16, ncclFloat16, ncclInt32};
  return kTypes[static_cast<int>(type)];
}

AllReduceData::AllReduceData(ElementType type, ncclRedOp_t op, int ranks)
    : type_(type), ranks_(ranks), unit_(op == ncclAvg ? ranks : 1), average_(op == ncclAvg) {
  const int units = kLargestSum / unit_;
  if (units == 0)
    throw UserError(ExitCode::usage, fmt::format("-o avg of {} ranks: no exact test data for "
                                                 "more than {}; say -o sum",
                                                 ranks, kLargestSum));
  givers_ = std::min(ranks, units);
  choices_ = units / givers_ + 1;
}

// Neighbouring elements and neighbouring ranks differ, so that a shifted slice is found.
int AllReduceData::input_value(int rank, std::size_t index) const {
  const auto number = static_cast<std::uint32_t>(index);
  const auto turn = static_cast<std::uint32_t>(rank);
  if ((number + turn) % static_cast<std::uint32_t>(ranks_) >= static_cast<std::uint32_t>(givers_))
    return 0;
  const std::uint32_t mixed = (number + 1) * 2654435761u ^ (turn + 1) * 2246822519u;
  return unit_ * static_cast<int>((mixed >> 8) % static_cast<std::uint32_t>(choices_));
}

int AllReduceData::output_value(std::size_t index) const {
  int sum = 0;
  for (int rank = 0; rank < ranks_; ++rank) sum += input_value(rank, index);
  return average_ ? sum / ranks_ : sum;
}

std::vector<std::byte> AllReduceData::input(int rank, std::size_t count) const {
  std::vector<std::byte> bytes(count * size_of(type_));
  with_type(type_, [&]<class T>(T) {
    T* values = reinterpret_cast<T*>(bytes.data());
    for (std::size_t i = 0; i < count; ++i) values[i] = T(static_cast<float>(input_value(rank, i)));
  });
  return bytes;
}

// A NaN is unlike every number.
std::size_t AllReduceData::count_wrong(const std::vector<std::byte>& output) const {
  std::size_t wrong = 0;
  with_type(type_, [&]<class T>(T) {
    const T* values = reinterpret_cast<const T*>(output.data());
    const std::size_t count = output.size() / sizeof(T);
    for (std::size_t i = 0; i < count; ++i)
      wrong += static_cast<float>(values[i]) != static_cast<float>(output_value(i)) ? 1 : 0;
  });
  return wrong;
}

}  // namespace annulus
