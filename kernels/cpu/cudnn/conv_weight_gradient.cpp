// Weight gradient: each piece of images makes a partial gradient in the workspace; the partials are
// summed in the order of the images, in parallel over the weights, and laid out as KRSC. The sum's
// order depends on the shape alone.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudnn/conv_execution.h"
#include "kernels/cpu/cudnn/conv_onednn.h"
#include "kernels/cpu/cudnn/conv_pieces.h"
#include "kernels/cpu/cudnn/prepared_call.h"
#include "kernels/cpu/single_threaded.h"

namespace annulus::cpu {
namespace {

// Weights summed by one pool piece: 16 KiB, which stay in the L1 cache while the partials stream
// through it.
constexpr std::size_t kWeightsPerSum = 4096;

class WeightGradient : public ConvExecution {
 public:
  explicit WeightGradient(const ConvProblem& problem);

  std::size_t workspace_bytes() const override { return layout_.size(); }
  void run(const ConvPointers& pointers) const override;

 private:
  struct Piece {
    PreparedCall call;
    std::size_t x_offset, y_offset;              // bytes from the tensor's beginning
    std::size_t partial_offset, scratch_offset;  // bytes from the workspace's beginning
  };

  void run_piece(Piece& piece, const ConvPointers& pointers) const;
  void sum_partials(std::size_t chunk, std::byte* workspace) const;
  void lay_out(const ConvPointers& pointers) const;

  WorkspaceLayout layout_;
  std::size_t partial_elements_ = 0;  // floats, padding included
  mutable std::optional<PreparedCall> to_plain_;
  mutable std::vector<Piece> pieces_;
  mutable std::mutex one_run_at_a_time_;
};

WeightGradient::WeightGradient(const ConvProblem& problem) {
  const SingleThreaded single_threaded;
  const std::vector<ImageRange> cut = cut_images(problem);
  const std::map<std::int64_t, OnednnConv> convs = make_onednn_convs(problem, cut);
  const dnnl::memory::desc& weights = convs.begin()->second.weights;
  partial_elements_ = weights.get_size() / sizeof(float);
  for (const ImageRange& range : cut) {
    const OnednnConv& conv = convs.at(range.count);
    Piece piece{PreparedCall(conv.primitive),
                std::size_t(range.first * problem.x_per_image()) * sizeof(float),
                std::size_t(range.first * problem.y_per_image()) * sizeof(float),
                layout_.take(conv.weights.get_size()), layout_.take(conv.scratchpad.get_size())};
    piece.call.add(DNNL_ARG_SRC, conv.x);
    piece.call.add(DNNL_ARG_DIFF_DST, conv.y);
    piece.call.add(DNNL_ARG_DIFF_WEIGHTS, conv.weights);
    piece.call.add(DNNL_ARG_SCRATCHPAD, conv.scratchpad);
    pieces_.push_back(std::move(piece));
  }
  const dnnl::reorder::primitive_desc reorder(onednn_engine(), weights, onednn_engine(),
                                              plain_weights(problem));
  to_plain_.emplace(dnnl::reorder(reorder));
  to_plain_->add(DNNL_ARG_FROM, weights);
  to_plain_->add(DNNL_ARG_TO, plain_weights(problem));
}

void WeightGradient::run(const ConvPointers& pointers) const {
  const std::lock_guard<std::mutex> lock(one_run_at_a_time_);
  auto* workspace = static_cast<std::byte*>(pointers.workspace);
  parallel(pieces_.size(), [&](std::size_t i) { run_piece(pieces_[i], pointers); });
  if (pieces_.size() > 1) {
    const std::size_t chunks = (partial_elements_ + kWeightsPerSum - 1) / kWeightsPerSum;
    parallel(chunks, [&](std::size_t chunk) { sum_partials(chunk, workspace); });
  }
  lay_out(pointers);
}

void WeightGradient::run_piece(Piece& piece, const ConvPointers& pointers) const {
  const SingleThreaded single_threaded;
  auto* workspace = static_cast<std::byte*>(pointers.workspace);
  piece.call.point(DNNL_ARG_SRC, static_cast<const std::byte*>(pointers.a) + piece.x_offset);
  piece.call.point(DNNL_ARG_DIFF_DST, static_cast<const std::byte*>(pointers.b) + piece.y_offset);
  piece.call.point(DNNL_ARG_DIFF_WEIGHTS, workspace + piece.partial_offset);
  piece.call.point(DNNL_ARG_SCRATCHPAD, workspace + piece.scratch_offset);
  piece.call.execute();
}

// Adds all later partials onto the first one, over one range of weights.
void WeightGradient::sum_partials(std::size_t chunk, std::byte* workspace) const {
  const std::size_t begin = chunk * kWeightsPerSum;
  const std::size_t count = std::min(kWeightsPerSum, partial_elements_ - begin);
  const auto partial = [&](const Piece& piece) {
    return reinterpret_cast<float*>(workspace + piece.partial_offset) + begin;
  };
  float* __restrict__ sum = partial(pieces_.front());
  for (std::size_t later = 1; later < pieces_.size(); ++later) {
    const float* __restrict__ addend = partial(pieces_[later]);
    for (std::size_t i = 0; i < count; ++i) sum[i] += addend[i];
  }
}

void WeightGradient::lay_out(const ConvPointers& pointers) const {
  const SingleThreaded single_threaded;
  to_plain_->point(DNNL_ARG_FROM, static_cast<const std::byte*>(pointers.workspace) +
                                      pieces_.front().partial_offset);
  to_plain_->point(DNNL_ARG_TO, pointers.out);
  to_plain_->execute();
}

}  // namespace

std::shared_ptr<const ConvExecution> plan_weight_gradient(const ConvProblem& problem) {
  return std::make_shared<WeightGradient>(problem);
}

std::shared_ptr<const ConvExecution> plan_convolution(const ConvProblem& problem) {
  if (!problem.is_fp32()) return plan_rounded_convolution(problem);
  return problem.pass == ConvPass::weight_gradient ? plan_weight_gradient(problem)
                                                   : plan_image_convolution(problem);
}

}  // namespace annulus::cpu
