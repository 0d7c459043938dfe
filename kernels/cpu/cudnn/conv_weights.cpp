// Makes the reorders of a weight format and runs them.
#include "kernels/cpu/cudnn/conv_weights.h"

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudnn/conv_onednn.h"
#include "kernels/cpu/single_threaded.h"

namespace annulus::cpu {

ConvWeights::ConvWeights(const ConvProblem& p, WeightOrder order, const dnnl::memory::desc& wanted)
    : wanted_(wanted, onednn_engine(), nullptr) {
  if (order == WeightOrder::plain) {
    if (wanted != plain_weights(p)) add_reorder(plain_weights(p), wanted);
    return;
  }
  // The program's [channels][kernel_h][kernel_w][filters], seen as filters, channels, kernel.
  const std::int64_t tap = p.filters, row = p.kernel[1] * tap;
  const dnnl::memory::desc seen({p.filters, p.channels, p.kernel[0], p.kernel[1]},
                                dnnl::memory::data_type::f32,
                                dnnl::memory::dims{1, p.kernel[0] * row, row, tap});
  const dnnl::memory::dims one_tap = {p.filters, p.channels, 1, 1};
  for (std::int64_t r = 0; r < p.kernel[0]; ++r) {
    for (std::int64_t s = 0; s < p.kernel[1]; ++s) {
      const dnnl::memory::dims opposite = {0, 0, p.kernel[0] - 1 - r, p.kernel[1] - 1 - s};
      add_reorder(seen.submemory_desc(one_tap, {0, 0, r, s}),
                  wanted.submemory_desc(one_tap, opposite));
    }
  }
}

void ConvWeights::add_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const dnnl::engine& engine = onednn_engine();
  PreparedCall reorder{dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to))};
  reorder.add(DNNL_ARG_FROM, from);
  reorder.add(DNNL_ARG_TO, to);
  reorders_.push_back(std::move(reorder));
}

std::size_t ConvWeights::workspace_bytes() const {
  return reorders_.empty() ? 0 : wanted_.get_desc().get_size();
}

void ConvWeights::arrange(const void* weights, void* workspace) {
  {
    const SingleThreaded single_threaded;  // zeroes the format's padding
    wanted_.set_data_handle(reorders_.empty() ? const_cast<void*>(weights) : workspace);
  }
  parallel(reorders_.size(), [&](std::size_t i) {
    const SingleThreaded single_threaded;
    reorders_[i].point(DNNL_ARG_FROM, weights);
    reorders_[i].point(DNNL_ARG_TO, workspace);
    reorders_[i].execute();
  });
}

}  // namespace annulus::cpu
