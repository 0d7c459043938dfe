// A convolution of numbers other than fp32: inputs are read as fp32 into the workspace, the fp32
// convolution runs there, and what is stored is rounded once, behind bias and ReLU. Products of
// halves and of TF32 are exact in fp32, as on tensor cores; sums are fp32.
#include "kernels/cpu/cudnn/conv_execution.h"
#include "kernels/cpu/cudnn/prepared_call.h"

namespace annulus::cpu {
namespace {

ConvProblem in_fp32(ConvProblem problem) {
  problem.input = problem.output = problem.bias_format = Format::fp32;
  return problem;
}

class RoundedConvolution : public ConvExecution {
 public:
  explicit RoundedConvolution(const ConvProblem& problem);

  std::size_t workspace_bytes() const override { return layout_.size(); }
  void run(const ConvPointers& pointers) const override;

 private:
  // An array of the problem and its place in fp32, in bytes from the workspace's beginning.
  struct Copy {
    Format format = Format::fp32;
    std::size_t count = 0, offset = 0;

    bool needed() const { return format != Format::fp32 && count > 0; }
  };

  Copy copy(Format format, std::int64_t count);
  static const void* read(const Copy& copy, const void* array, std::byte* workspace);

  std::shared_ptr<const ConvExecution> fp32_;
  WorkspaceLayout layout_;
  std::size_t fp32_workspace_;
  Copy a_, b_, bias_, out_;
};

RoundedConvolution::RoundedConvolution(const ConvProblem& problem)
    : fp32_(plan_convolution(in_fp32(problem))),
      fp32_workspace_(layout_.take(fp32_->workspace_bytes())) {
  const std::int64_t x = problem.images * problem.x_per_image();
  const std::int64_t y = problem.images * problem.y_per_image();
  const std::int64_t w = problem.w_elements();
  const bool data = problem.pass == ConvPass::data_gradient;
  const bool weight = problem.pass == ConvPass::weight_gradient;
  a_ = copy(problem.input, data ? y : x);
  b_ = copy(problem.input, weight ? y : w);
  bias_ = copy(problem.bias_format, problem.bias ? problem.filters : 0);
  out_ = copy(problem.output, data ? x : weight ? w : y);
}

RoundedConvolution::Copy RoundedConvolution::copy(Format format, std::int64_t count) {
  Copy made{.format = format, .count = std::size_t(count)};
  if (made.needed()) made.offset = layout_.take(made.count * sizeof(float));
  return made;
}

const void* RoundedConvolution::read(const Copy& copy, const void* array, std::byte* workspace) {
  if (!copy.needed()) return array;
  auto* const numbers = reinterpret_cast<float*>(workspace + copy.offset);
  read_numbers(copy.format, array, numbers, copy.count);
  return numbers;
}

void RoundedConvolution::run(const ConvPointers& pointers) const {
  auto* const workspace = static_cast<std::byte*>(pointers.workspace);
  auto* const rounded_later = reinterpret_cast<float*>(workspace + out_.offset);
  fp32_->run({.a = read(a_, pointers.a, workspace),
              .b = read(b_, pointers.b, workspace),
              .bias = read(bias_, pointers.bias, workspace),
              .out = out_.needed() ? rounded_later : pointers.out,
              .workspace = workspace + fp32_workspace_});
  if (out_.needed()) write_numbers(out_.format, rounded_later, pointers.out, out_.count);
}

}  // namespace

std::shared_ptr<const ConvExecution> plan_rounded_convolution(const ConvProblem& problem) {
  return std::make_shared<RoundedConvolution>(problem);
}

}  // namespace annulus::cpu
