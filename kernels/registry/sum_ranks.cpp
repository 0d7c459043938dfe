// Entries of kernels/sum_ranks. Their tolerance lets any order pass; that the order is the one
// promised, bit by bit, is tests/kernels/sum_ranks_test's business.
#include "kernels/sum_ranks.h"

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

Case make_case(SumOrder order, int ranks, std::size_t count) {
  Case c("ranks=" + std::to_string(ranks) + " count=" + std::to_string(count));
  c.flops = static_cast<double>(ranks - 1) * static_cast<double>(count);
  c.input("buffers", uniform_values(ranks * count, -1, 1, 1));
  c.output("out", count,
           {0.5 * ranks * ranks * kUnitRoundoff, 0, "the k-th of `ranks` sums is less than k"});
  c.launch = [=](cudaStream_t stream, const DeviceArrays& device) {
    sum_ranks(stream, order, ranks, count, device.span("buffers"), device.span("out"));
  };
  c.reference = [=](const Arrays& in) {
    Values sums(count);
    for (std::size_t i = 0; i < ranks * count; ++i) sums[i % count] += in.at("buffers")[i];
    return Arrays{{"out", sums}};
  };
  return c;
}

Entry entry(const std::string& name, SumOrder order) {
  Entry e{.name = name};
  for (int ranks : {1, 2, 3, 16})
    for (std::size_t count : {1, 7, 5003})
      e.tested.push_back([=] { return make_case(order, ranks, count); });
  e.timed.push_back([=] { return make_case(order, 16, 551722); });  // seed-cnn's gradients
  return e;
}

}  // namespace

std::vector<Entry> sum_ranks_entries() {
  return {entry("sum_ranks rank", SumOrder::rank), entry("sum_ranks ring", SumOrder::ring)};
}

}  // namespace annulus::registry
