// The cut of a GEMM into tiles, and a tile's call.
#include "kernels/cpu/cublas/gemm_tiles.h"

#include <dnnl.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/single_threaded.h"

namespace annulus::cpu {
namespace {

// About 50 us on one AVX-512 core: long against waking a thread, short enough to share a dense
// layer.
constexpr double kTileFlops = 8e6;
constexpr std::int64_t kMostTiles = 16;
constexpr std::int64_t kSmallestSide =
    32;  // below two vectors of 16 the kernel is not at its speed

struct TileGrid {
  std::int64_t rows = 1, columns = 1;  // tiles down and across
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Halves the longer side of the tile until the tile is small enough.
TileGrid cut(const Gemm& gemm) {
  TileGrid grid;
  for (;;) {
    const std::int64_t height = divide_up(gemm.m, grid.rows);
    const std::int64_t width = divide_up(gemm.n, grid.columns);
    const double flops = 2.0 * double(height) * double(width) * double(gemm.k);
    if (flops <= kTileFlops || grid.rows * grid.columns >= kMostTiles ||
        std::max(height, width) < 2 * kSmallestSide)
      return grid;
    (height > width ? grid.rows : grid.columns) *= 2;
  }
}

struct Range {
  std::int64_t first, count;
};

// The i-th of `parts` ranges of [0, size), in whole vectors of 16 except at the end.
Range part(std::int64_t size, std::int64_t parts, std::int64_t i) {
  constexpr std::int64_t kVector = 16;
  const std::int64_t length = divide_up(divide_up(size, parts), kVector) * kVector;
  const std::int64_t first = std::min(size, i * length);
  return {first, std::min(length, size - first)};
}

// oneDNN is row-major: the column-major c is its transpose, so a and b change places.
void run_tile(const Gemm& gemm, Range rows, Range columns) {
  if (rows.count == 0 || columns.count == 0) return;
  const float* a = gemm.a + (gemm.transpose_a ? rows.first * gemm.lda : rows.first);
  const float* b = gemm.b + (gemm.transpose_b ? columns.first : columns.first * gemm.ldb);
  float* c = gemm.c + rows.first + columns.first * gemm.ldc;
  const SingleThreaded single_threaded;
  const dnnl_status_t status =
      dnnl_sgemm(gemm.transpose_b ? 'T' : 'N', gemm.transpose_a ? 'T' : 'N', columns.count,
                 rows.count, gemm.k, gemm.alpha, b, gemm.ldb, a, gemm.lda, gemm.beta, c, gemm.ldc);
  if (status != dnnl_success) {
    throw std::runtime_error(
        fmt::format("oneDNN sgemm {}x{}x{}: status {}", gemm.m, gemm.n, gemm.k, int(status)));
  }
}

// What is left of a product with an inner dimension of 0.
void scale(const Gemm& gemm) {
  for (std::int64_t column = 0; column < gemm.n; ++column) {
    float* c = gemm.c + column * gemm.ldc;
    for (std::int64_t row = 0; row < gemm.m; ++row)
      c[row] = gemm.beta == 0.0f ? 0.0f : gemm.beta * c[row];
  }
}

}  // namespace

void run_gemm(const Gemm& gemm) {
  if (gemm.k == 0) return scale(gemm);
  const TileGrid grid = cut(gemm);
  parallel(std::size_t(grid.rows * grid.columns), [&](std::size_t tile) {
    const auto i = std::int64_t(tile);
    run_tile(gemm, part(gemm.m, grid.rows, i % grid.rows),
             part(gemm.n, grid.columns, i / grid.rows));
  });
}

}  // namespace annulus::cpu
