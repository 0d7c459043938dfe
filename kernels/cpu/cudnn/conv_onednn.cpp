// Builds oneDNN primitives from a ConvProblem (oneDNN 2.6 developer guide, "Convolution").
#include "kernels/cpu/cudnn/conv_onednn.h"

#include <utility>

#include "kernels/cpu/single_threaded.h"

namespace annulus::cpu {
namespace {

using dnnl::memory;
using tag = memory::format_tag;

// Other numbers are read as fp32 before (conv_rounded.cpp).
constexpr memory::data_type kType = memory::data_type::f32;

struct Geometry {
  memory::dims stride, dilation, pad_before, pad_after;

  explicit Geometry(const ConvProblem& p)
      : stride{p.stride[0], p.stride[1]},
        dilation{p.dilation[0] - 1, p.dilation[1] - 1},  // oneDNN counts the holes
        pad_before{p.pad_before[0], p.pad_before[1]},
        pad_after{p.pad_after[0], p.pad_after[1]} {}
};

dnnl::primitive_attr attributes(const ConvProblem& problem) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (problem.relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(after);
  }
  return attributes;
}

// `fixed`: the format that weights must have, or null to choose freely.
OnednnConv make_onednn_conv(const ConvProblem& p, std::int64_t images, const memory::desc* fixed) {
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc x({images, p.channels, p.in[0], p.in[1]}, kType, tag::nhwc);
  const memory::desc y({images, p.filters, p.out[0], p.out[1]}, kType, tag::nhwc);
  const memory::desc any({p.filters, p.channels, p.kernel[0], p.kernel[1]}, kType, tag::any);
  const memory::desc w = fixed ? *fixed : any;
  const memory::desc bias = p.bias ? plain_bias(p) : memory::desc();
  const Geometry g(p);

  const bool is_forward = p.pass == ConvPass::forward;
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, x, is_forward ? w : any, bias, y, g.stride,
       g.dilation, g.pad_before, g.pad_after},
      attributes(p), onednn_engine());
  if (is_forward) {
    return {dnnl::convolution_forward(forward), x, y, forward.weights_desc(),
            forward.scratchpad_desc()};
  }
  if (p.pass == ConvPass::data_gradient) {
    const dnnl::convolution_backward_data::primitive_desc backward(
        {algorithm, x, w, y, g.stride, g.dilation, g.pad_before, g.pad_after}, attributes(p),
        onednn_engine(), forward);
    return {dnnl::convolution_backward_data(backward), x, y, backward.weights_desc(),
            backward.scratchpad_desc()};
  }
  const dnnl::convolution_backward_weights::primitive_desc backward(
      {algorithm, x, w, y, g.stride, g.dilation, g.pad_before, g.pad_after}, attributes(p),
      onednn_engine(), forward);
  return {dnnl::convolution_backward_weights(backward), x, y, backward.diff_weights_desc(),
          backward.scratchpad_desc()};
}

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

dnnl::memory::desc plain_weights(const ConvProblem& p) {
  return {{p.filters, p.channels, p.kernel[0], p.kernel[1]}, kType, tag::ohwi};
}

dnnl::memory::desc plain_bias(const ConvProblem& p) { return {{p.filters}, kType, tag::x}; }

std::map<std::int64_t, OnednnConv> make_onednn_convs(const ConvProblem& problem,
                                                     const std::vector<ImageRange>& cut) {
  const SingleThreaded single_threaded;
  std::map<std::int64_t, OnednnConv> convs;
  for (const ImageRange& range : cut) {
    if (convs.contains(range.count)) continue;
    const memory::desc* weights = convs.empty() ? nullptr : &convs.begin()->second.weights;
    convs.emplace(range.count, make_onednn_conv(problem, range.count, weights));
  }
  return convs;
}

}  // namespace annulus::cpu
