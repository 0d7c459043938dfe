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
// Each piece of a weight gradient makes a partial sum that is read once more: fewer pieces, and at
// least this many multiply-adds for each weight of a piece, keep that under 3 % of the work.
constexpr std::int64_t kPiecesOfSums = 8;
constexpr std::int64_t kLeastWorkPerWeight = 1024;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t images_per_piece(const ConvProblem& problem) {
  const std::int64_t least = std::int64_t(kLeastFlops / problem.flops_per_image()) + 1;
  if (problem.pass == ConvPass::weight_gradient) {
    const std::int64_t worth_a_sum =
        divide_up(kLeastWorkPerWeight, problem.out[0] * problem.out[1]);
    return std::max({least, worth_a_sum, divide_up(problem.images, kPiecesOfSums)});
  }
  const std::int64_t bytes_per_image =
      (problem.x_per_image() + problem.y_per_image()) * std::int64_t(sizeof(float));
  const std::int64_t in_cache = std::max<std::int64_t>(1, kPieceBytes / bytes_per_image);
  return std::max(least, std::min(in_cache, divide_up(problem.images, kUsualPieces)));
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
