// The cutting rules, with the reason of each number.
#include "kernels/cpu/cudnn/conv_pieces.h"

#include <algorithm>

namespace annulus::cpu {
namespace {

// Enough pieces that 2 to 8 threads end together; more would only add calls.
constexpr std::int64_t kUsualPieces = 16;
// A piece's input and output should stay in a core's L2 cache between the calls that read them.
constexpr std::int64_t kPieceBytes = 1 << 20;
// Below this a oneDNN call (about 5 us) costs more than the work it does.
constexpr double kLeastFlops = 1e6;
// Summing the partial weight gradients reads each of their elements once per piece; a piece of this
// many multiply-adds per element keeps that under 5 % of its work.
constexpr std::int64_t kLeastWorkPerWeight = 512;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t images_per_piece(const ConvProblem& problem) {
  std::int64_t least = std::int64_t(kLeastFlops / problem.flops_per_image()) + 1;
  std::int64_t usual = divide_up(problem.images, kUsualPieces);
  if (problem.pass == ConvPass::weight_gradient) {
    least = std::max(least, divide_up(kLeastWorkPerWeight, problem.out[0] * problem.out[1]));
  } else {
    const std::int64_t bytes_per_image =
        (problem.x_per_image() + problem.y_per_image()) * std::int64_t(sizeof(float));
    usual = std::min(usual, std::max<std::int64_t>(1, kPieceBytes / bytes_per_image));
  }
  return std::max(least, usual);
}

}  // namespace

std::vector<ImageRange> cut_images(const ConvProblem& problem) {
  const std::int64_t pieces = divide_up(problem.images, images_per_piece(problem));
  const std::int64_t smaller = problem.images / pieces, larger = problem.images % pieces;
  std::vector<ImageRange> cut;
  std::int64_t first = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t count = smaller + (piece < larger ? 1 : 0);
    cut.push_back({first, count});
    first += count;
  }
  return cut;
}

}  // namespace annulus::cpu
