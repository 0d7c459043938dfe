// What `annulus bench allreduce` prints, on rank 0 alone: nccl-tests' table, to which the noise of
// each time is added, or a JSON object a line; each size as soon as it is measured. Called by
// engine/cli/bench_allreduce.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/allreduce_bench.h"

namespace annulus {

class AllReduceReport {
 public:
  // Prints the head.
  AllReduceReport(std::string type, std::string op, int ranks, std::string transport, bool json);

  void add(const AllReduceRow& row);
  void end() const;

 private:
  void print_head() const;
  std::string cells(const AllReduceResult& result, std::size_t bytes) const;
  nlohmann::ordered_json object_of(const AllReduceResult& result, std::size_t bytes) const;
  nlohmann::ordered_json object_of(const AllReduceRow& row) const;

  const std::string type_, op_;
  const int ranks_;
  const std::string transport_;
  const bool json_;
  double bandwidths_ = 0;  // busbw of both placements, over the rows
  std::size_t rows_ = 0;
  std::optional<std::size_t> wrong_;
};

}  // namespace annulus
