// Ioffe & Szegedy 2015 (arXiv:1502.03167), variance in two passes.
#include "kernels/cpu/cudnn/norm_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/cudart/device.h"

namespace annulus::cpu {
namespace {

// row(first element) for each row of each piece, with the piece's two sums a channel.
template <class Row>
void for_rows(const NormCut& cut, double* workspace, Row&& row) {
  parallel(cut.pieces(), [&](std::size_t piece) {
    double* sums = workspace + (piece + 1) * 2 * cut.channels;
    std::fill(sums, sums + 2 * cut.channels, 0.0);
    const std::size_t end = std::min(cut.rows, (piece + 1) * cut.rows_per_piece());
    for (std::size_t r = piece * cut.rows_per_piece(); r < end; ++r) row(r * cut.channels, sums);
  });
}

// The pieces' sums added up, piece by piece: at the head of the workspace.
double* add_pieces(const NormCut& cut, double* workspace) {
  const std::size_t width = 2 * cut.channels;
  std::fill(workspace, workspace + width, 0.0);
  for (std::size_t piece = 1; piece <= cut.pieces(); ++piece)
    for (std::size_t c = 0; c < width; ++c) workspace[c] += workspace[piece * width + c];
  return workspace;
}

// The moments of each channel: mean[C], then the biased variance[C].
const double* moments(const NormCut& cut, const NormForwardArrays& a) {
  const std::size_t channels = cut.channels;
  const auto rows = double(cut.rows);
  for_rows(cut, a.workspace, [&](std::size_t i, double* sums) {
    for (std::size_t c = 0; c < channels; ++c) sums[c] += double(a.x[i + c]);
  });
  double* totals = add_pieces(cut, a.workspace);
  for (std::size_t c = 0; c < channels; ++c) {
    totals[c] /= rows;
    a.mean[c] = float(totals[c]);
  }
  // About the rounded mean, which is what normalises; the rest is taken off below.
  for_rows(cut, a.workspace, [&](std::size_t i, double* sums) {
    for (std::size_t c = 0; c < channels; ++c) {
      const double deviation = double(a.x[i + c]) - double(a.mean[c]);
      sums[c] += deviation;
      sums[channels + c] += deviation * deviation;
    }
  });
  totals = add_pieces(cut, a.workspace);
  for (std::size_t c = 0; c < channels; ++c) {
    const double off = totals[c] / rows;
    totals[c] = double(a.mean[c]) + off;
    totals[channels + c] = totals[channels + c] / rows - off * off;
  }
  return totals;
}

void update_running(const NormCut& cut, const NormForwardArrays& a, const double* totals) {
  const double unbias = double(cut.rows) / double(std::max<std::size_t>(cut.rows - 1, 1));
  const auto factor = double(a.factor);
  for (std::size_t c = 0; c < cut.channels; ++c) {
    a.running_mean_out[c] = float((1 - factor) * double(a.running_mean_in[c]) + factor * totals[c]);
    a.running_variance_out[c] = float((1 - factor) * double(a.running_variance_in[c]) +
                                      factor * unbias * totals[cut.channels + c]);
  }
}

}  // namespace

void norm_forward(const NormCut& cut, const NormForwardArrays& a) {
  const double* totals = moments(cut, a);
  for (std::size_t c = 0; c < cut.channels; ++c)
    a.inv_variance[c] = float(1 / std::sqrt(totals[cut.channels + c] + double(a.epsilon)));
  if (a.running_mean_out) update_running(cut, a, totals);
  for_rows(cut, a.workspace, [&](std::size_t i, double*) {
    for (std::size_t c = 0; c < cut.channels; ++c)
      a.y[i + c] = (a.x[i + c] - a.mean[c]) * a.inv_variance[c] * a.scale[c] + a.bias[c];
  });
}

void norm_backward(const NormCut& cut, const NormBackwardArrays& a) {
  const std::size_t channels = cut.channels;
  for_rows(cut, a.workspace, [&](std::size_t i, double* sums) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float normalized = (a.x[i + c] - a.mean[c]) * a.inv_variance[c];
      sums[c] += double(a.dy[i + c]);
      sums[channels + c] += double(a.dy[i + c]) * double(normalized);
    }
  });
  double* totals = add_pieces(cut, a.workspace);
  for (std::size_t c = 0; c < channels; ++c) {
    a.dbias[c] = float(totals[c]);
    a.dscale[c] = float(totals[channels + c]);
    totals[c] /= double(cut.rows);
    totals[channels + c] /= double(cut.rows);
  }
  for_rows(cut, a.workspace, [&](std::size_t i, double*) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float normalized = (a.x[i + c] - a.mean[c]) * a.inv_variance[c];
      a.dx[i + c] = a.scale[c] * a.inv_variance[c] *
                    (a.dy[i + c] - float(totals[c]) - normalized * float(totals[channels + c]));
    }
  });
}

}  // namespace annulus::cpu
