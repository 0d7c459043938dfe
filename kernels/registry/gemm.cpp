// Entries of kernels/gemm: the product in double, with each combination of transposes, for fp32 and
// the half types, and halves into fp32 as weight gradients are.
#include "kernels/gemm.h"

#include <fmt/format.h>

#include <memory>
#include <type_traits>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

struct GemmShape {
  int m, n, k;
  float beta;
};

struct Transposes {
  Transpose a, b;
};

// Element [row, column] of op(stored), which is rows x columns.
double element(const Values& stored, Transpose transpose, int rows, int columns, int row,
               int column) {
  return transpose == Transpose::yes
             ? stored[std::size_t(column) * std::size_t(rows) + std::size_t(row)]
             : stored[std::size_t(row) * std::size_t(columns) + std::size_t(column)];
}

Values reference(const Transposes& transposes, const GemmShape& s, const Arrays& in) {
  Values c = in.at("c");
  for (int row = 0; row < s.m; ++row)
    for (int column = 0; column < s.n; ++column) {
      double sum = 0;
      for (int inner = 0; inner < s.k; ++inner)
        sum += element(in.at("a"), transposes.a, s.m, s.k, row, inner) *
               element(in.at("b"), transposes.b, s.k, s.n, inner, column);
      double& out = c[std::size_t(row) * std::size_t(s.n) + std::size_t(column)];
      out = sum + s.beta * out;
    }
  return c;
}

// a and b hold T, c holds C.
template <class T, class C>
Case make_case(const Transposes& transposes, const GemmShape& s) {
  const auto product = [](int a, int b) { return std::size_t(a) * std::size_t(b); };
  const auto handle = std::make_shared<const CublasHandle>();
  Case c(fmt::format("m={} n={} k={} beta={}", s.m, s.n, s.k, s.beta));
  c.flops = 2.0 * s.m * s.n * s.k;
  c.input<T>("a", uniform_values(product(s.m, s.k), -1, 1, 1));
  c.input<T>("b", uniform_values(product(s.k, s.n), -1, 1, 2));
  const Tolerance tolerance{4 * (s.k + 2) * kUnitRoundoff, 0,
                            "k roundings of a sum of k products (see conv.cpp)"};
  c.in_out<C>("c", uniform_values(product(s.m, s.n), -1, 1, 3), tolerance);
  c.launch = [=](cudaStream_t stream, const DeviceArrays& device) {
    gemm(*handle, stream, transposes.a, transposes.b, s.m, s.n, s.k, device.span<T>("a"),
         device.span<T>("b"), s.beta, device.span<C>("c"), kPrecisionOf<T>);
  };
  c.reference = [=](const Arrays& in) { return Arrays{{"c", reference(transposes, s, in)}}; };
  return c;
}

template <class T, class C>
Entry entry_of(const std::string& name, const Transposes& transposes) {
  Entry entry{.name = name};
  for (const GemmShape& shape :
       {GemmShape{1, 1, 1, 0}, GemmShape{3, 5, 7, 1}, GemmShape{64, 10, 128, 0},
        GemmShape{53, 70, 65, 0.5f}, GemmShape{7, 300, 129, 1}, GemmShape{65, 66, 1000, 0}})
    entry.tested.push_back([=] { return make_case<T, C>(transposes, shape); });
  // The dense layers of seed-cnn at batch 64.
  for (const GemmShape& shape : {GemmShape{64, 128, 2048, 0}, GemmShape{64, 10, 128, 0}})
    entry.timed.push_back([=] { return make_case<T, C>(transposes, shape); });
  return entry;
}

}  // namespace

std::vector<Entry> gemm_entries() {
  std::vector<Entry> entries;
  for (const Transpose a : {Transpose::no, Transpose::yes})
    for (const Transpose b : {Transpose::no, Transpose::yes}) {
      const std::string name = fmt::format("gemm {}{}", a == Transpose::yes ? "T" : "N",
                                           b == Transpose::yes ? "T" : "N");
      for_activation_types([&]<class T>() {
        entries.push_back(entry_of<T, T>(name_with<T>(name), {a, b}));
      });
    }
  const Transposes weight_gradient{Transpose::yes, Transpose::no};
  for_activation_types([&]<class T>() {
    if constexpr (!std::is_same_v<T, float>)
      entries.push_back(
          entry_of<T, float>(name_with<T>("gemm TN") + " into fp32", weight_gradient));
  });
  return entries;
}

}  // namespace annulus::registry
