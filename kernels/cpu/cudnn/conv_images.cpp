// Forward convolution and data gradient: every image is computed alone, so a piece is some images,
// and the weights are rearranged once per run for all pieces.
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

class ImageConvolution : public ConvExecution {
 public:
  explicit ImageConvolution(const ConvProblem& problem);

  std::size_t workspace_bytes() const override { return layout_.size(); }
  void run(const ConvPointers& pointers) const override;

 private:
  struct Piece {
    PreparedCall call;
    std::size_t input_offset, output_offset;  // bytes from the tensor's beginning
    std::size_t scratch_offset;               // bytes from the workspace's beginning
  };

  void add_piece(const ConvProblem& problem, const ImageRange& range, const OnednnConv& conv);
  void arrange_weights(const ConvPointers& pointers) const;
  void run_piece(Piece& piece, const ConvPointers& pointers) const;

  int input_argument_, output_argument_;
  WorkspaceLayout layout_;
  std::size_t weights_offset_ = 0;
  mutable dnnl::memory weights_, bias_;
  mutable std::optional<PreparedCall> rearrange_;  // absent when the primitive takes KRSC
  mutable std::vector<Piece> pieces_;
  mutable std::mutex one_run_at_a_time_;
};

ImageConvolution::ImageConvolution(const ConvProblem& problem) {
  const bool is_forward = problem.pass == ConvPass::forward;
  input_argument_ = is_forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST;
  output_argument_ = is_forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC;

  const SingleThreaded single_threaded;
  const std::vector<ImageRange> cut = cut_images(problem);
  const OnednnConv larger = make_onednn_conv(problem, cut.front().count, nullptr);
  const OnednnConv smaller = cut.back().count == cut.front().count
                                 ? larger
                                 : make_onednn_conv(problem, cut.back().count, &larger.weights);
  weights_ = dnnl::memory(larger.weights, onednn_engine(), nullptr);
  if (problem.bias) bias_ = dnnl::memory(plain_bias(problem), onednn_engine(), nullptr);
  if (larger.weights != plain_weights(problem)) {
    const dnnl::reorder::primitive_desc reorder(onednn_engine(), plain_weights(problem),
                                                onednn_engine(), larger.weights);
    rearrange_.emplace(dnnl::reorder(reorder));
    rearrange_->add(DNNL_ARG_FROM, plain_weights(problem));
    rearrange_->share(DNNL_ARG_TO, weights_);
    weights_offset_ = layout_.take(larger.weights.get_size());
  }
  for (const ImageRange& range : cut) {
    add_piece(problem, range, range.count == cut.front().count ? larger : smaller);
  }
}

void ImageConvolution::add_piece(const ConvProblem& problem, const ImageRange& range,
                                 const OnednnConv& conv) {
  const bool is_forward = problem.pass == ConvPass::forward;
  const std::size_t x_offset = std::size_t(range.first * problem.x_per_image()) * sizeof(float);
  const std::size_t y_offset = std::size_t(range.first * problem.y_per_image()) * sizeof(float);
  Piece piece{PreparedCall(conv.primitive), is_forward ? x_offset : y_offset,
              is_forward ? y_offset : x_offset, layout_.take(conv.scratchpad.get_size())};
  piece.call.add(input_argument_, is_forward ? conv.x : conv.y);
  piece.call.add(output_argument_, is_forward ? conv.y : conv.x);
  piece.call.add(DNNL_ARG_SCRATCHPAD, conv.scratchpad);
  piece.call.share(DNNL_ARG_WEIGHTS, weights_);
  if (problem.bias) piece.call.share(DNNL_ARG_BIAS, bias_);
  pieces_.push_back(std::move(piece));
}

void ImageConvolution::run(const ConvPointers& pointers) const {
  const std::lock_guard<std::mutex> lock(one_run_at_a_time_);
  arrange_weights(pointers);
  parallel(pieces_.size(), [&](std::size_t i) { run_piece(pieces_[i], pointers); });
}

void ImageConvolution::arrange_weights(const ConvPointers& pointers) const {
  const SingleThreaded single_threaded;
  if (bias_) bias_.set_data_handle(const_cast<void*>(pointers.bias));
  if (!rearrange_) {
    weights_.set_data_handle(const_cast<void*>(pointers.b));
    return;
  }
  weights_.set_data_handle(static_cast<std::byte*>(pointers.workspace) + weights_offset_);
  rearrange_->point(DNNL_ARG_FROM, pointers.b);
  rearrange_->execute();
}

void ImageConvolution::run_piece(Piece& piece, const ConvPointers& pointers) const {
  const SingleThreaded single_threaded;
  piece.call.point(input_argument_, static_cast<const std::byte*>(pointers.a) + piece.input_offset);
  piece.call.point(output_argument_, static_cast<std::byte*>(pointers.out) + piece.output_offset);
  piece.call.point(DNNL_ARG_SCRATCHPAD,
                   static_cast<std::byte*>(pointers.workspace) + piece.scratch_offset);
  piece.call.execute();
}

}  // namespace

std::shared_ptr<const ConvExecution> plan_image_convolution(const ConvProblem& problem) {
  return std::make_shared<ImageConvolution>(problem);
}

}  // namespace annulus::cpu
