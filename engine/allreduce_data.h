// What an all-reduce under test is given and what must come out of it. Invariant: the values are
// whole numbers whose sums stay within the eight bits of bf16, so the result is exact in any order
// of the ranks and in every type. Used by engine/allreduce_bench.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace annulus {

enum class ElementType { fp32, bf16, fp16, int32 };

const char* name_of(ElementType type);
std::size_t size_of(ElementType type);  // bytes
ncclDataType_t nccl_type(ElementType type);

class AllReduceData {
 public:
  // `op` is ncclSum or ncclAvg. Throws UserError (usage) for more ranks than sums can be exact of.
  AllReduceData(ElementType type, ncclRedOp_t op, int ranks);

  std::vector<std::byte> input(int rank, std::size_t count) const;

  // Elements of `output` that are not what all ranks' inputs make; as many bytes as input() has.
  std::size_t count_wrong(const std::vector<std::byte>& output) const;

 private:
  int input_value(int rank, std::size_t index) const;
  int output_value(std::size_t index) const;

  ElementType type_;
  int ranks_;
  int unit_;         // every value is a multiple: of the ranks, where they are averaged
  int choices_ = 2;  // 0, 1, … times the unit
  int givers_;       // of one element; the other ranks give 0
  bool average_;
};

}  // namespace annulus
