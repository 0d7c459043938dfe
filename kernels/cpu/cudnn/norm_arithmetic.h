// Batch norm on host threads. Rows are cut into pieces by the shape alone, the pieces' sums are
// doubles and added in order: the bits do not depend on the number of threads. Called by
// norm_plan.cpp.
#pragma once

#include <cstddef>

namespace annulus::cpu {

struct NormCut {
  std::size_t rows, channels;

  static constexpr std::size_t kPieceElements = 16384;  // enough work to be worth a thread

  std::size_t rows_per_piece() const {
    return channels < kPieceElements ? kPieceElements / channels : 1;
  }
  std::size_t pieces() const { return (rows + rows_per_piece() - 1) / rows_per_piece(); }
  // The sums of every piece, and what is made of them; two numbers a channel.
  std::size_t workspace_bytes() const { return (pieces() + 1) * 2 * channels * sizeof(double); }
};

// x, y [rows,C]; scale to inv_variance [C]. The running ones may all be null.
struct NormForwardArrays {
  const float *x, *scale, *bias;
  float *y, *mean, *inv_variance;
  const float *running_mean_in, *running_variance_in;
  float *running_mean_out, *running_variance_out;
  float epsilon, factor;
  double* workspace;
};
void norm_forward(const NormCut& cut, const NormForwardArrays& arrays);

// x, dy, dx [rows,C]; the others [C].
struct NormBackwardArrays {
  const float *x, *dy, *mean, *inv_variance, *scale;
  float *dx, *dscale, *dbias;
  double* workspace;
};
void norm_backward(const NormCut& cut, const NormBackwardArrays& arrays);

}  // namespace annulus::cpu
