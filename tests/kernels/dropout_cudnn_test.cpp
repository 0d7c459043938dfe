// cuDNN's dropout: what is kept and how it is scaled, one mask for forward and backward, another
// one for each call, the same ones for the same seed.
#include "kernels/dropout_cudnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/cpu/numbers.h"

namespace annulus {
namespace {

using Floats = std::vector<float>;

Floats ones(std::size_t size) { return Floats(size, 1.f); }

// A dropout with memory of its own, on states of its own or another's.
class Layer {
 public:
  Layer(float rate, int images, std::size_t sample, std::uint64_t seed = 5)
      : Layer(rate, images, sample, std::make_shared<DropoutStates>()) {
    states_->seed(handle_, stream_.get(), seed);
  }
  Layer(float rate, int images, std::size_t sample, std::shared_ptr<DropoutStates> states)
      : states_(std::move(states)),
        plan_(handle_, states_->allocated(handle_), rate, images, sample),
        mask_(cudnn_dropout_mask_bytes(images, sample)),
        out_(std::size_t(images) * sample) {}

  Floats forward(const Floats& x) const {
    const Buffer<float> in(x);
    plan_.forward(handle_, stream_.get(), in.cspan(), out_.span(), mask_.span());
    return result();
  }
  Floats backward(const Floats& dy) const {
    const Buffer<float> in(dy);
    plan_.backward(handle_, stream_.get(), in.cspan(), out_.span(), mask_.span());
    return result();
  }
  void seed(std::uint64_t seed) const { states_->seed(handle_, stream_.get(), seed); }
  const std::shared_ptr<DropoutStates>& states() const { return states_; }

 private:
  Floats result() const {
    stream_.synchronize();
    return out_.download();
  }

  CudnnHandle handle_;
  Stream stream_;
  std::shared_ptr<DropoutStates> states_;
  CudnnDropoutPlan plan_;
  Buffer<std::byte> mask_;
  Buffer<float> out_;
};

// The bounds are five standard deviations; the counts are the same on every run.
TEST(CudnnDropout, KeepsTheRateAndTheMean) {
  constexpr int kImages = 16;
  constexpr std::size_t kSample = 4099, kSize = kImages * kSample;
  for (const float rate : {0.1f, 0.5f, 0.9f}) {
    const Floats y = Layer(rate, kImages, kSample).forward(ones(kSize));
    double kept = 0, sum = 0;
    for (const float value : y) {
      if (value == 0) continue;
      EXPECT_FLOAT_EQ(value, 1 / (1 - rate));
      ++kept;
      sum += double(value);
    }
    const double keep = 1.0 - double(rate), deviation = std::sqrt(keep * double(rate) / kSize);
    EXPECT_NEAR(kept / kSize, keep, 5 * deviation);
    EXPECT_NEAR(sum / kSize, 1.0, 5 * deviation / keep);
  }
}

TEST(CudnnDropout, TheBackwardCallHasTheForwardCallsMask) {
  const Layer layer(0.3f, 5, 77);
  const Floats gradient = test::numbers(std::size_t{5} * 77, 1);
  const Floats forward = layer.forward(ones(gradient.size()));
  const Floats backward = layer.backward(gradient);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    EXPECT_FLOAT_EQ(backward[i], forward[i] * gradient[i]) << i;
}

TEST(CudnnDropout, EachCallDrawsAnotherMaskAndASeedTheSameOnes) {
  const Layer layer(0.5f, 4, 50), same(0.5f, 4, 50), other(0.5f, 4, 50, 6);
  const Floats x = ones(200), first = layer.forward(x), second = layer.forward(x);
  EXPECT_NE(first, second);
  EXPECT_EQ(same.forward(x), first);
  EXPECT_EQ(same.forward(x), second);
  EXPECT_NE(other.forward(x), first);
  layer.seed(5);
  EXPECT_EQ(layer.forward(x), first);
}

// Layers share the states: the second one's mask is what the first one's next would have been.
TEST(CudnnDropout, LayersOfADeviceShareTheStates) {
  const Layer alone(0.5f, 4, 50), first(0.5f, 4, 50), second(0.5f, 4, 50, first.states());
  const Floats x = ones(200);
  EXPECT_EQ(first.forward(x), alone.forward(x));
  EXPECT_EQ(second.forward(x), alone.forward(x));
}

TEST(CudnnDropout, RateZeroCopies) {
  const Floats x = test::numbers(103, 1);
  EXPECT_EQ(Layer(0, 1, 103).forward(x), x);
}

// The states lie on the device: each launch of a graph moves them on.
TEST(CudnnDropout, ACapturedCallDrawsAnotherMaskAtEachLaunch) {
  const CudnnHandle handle;
  const Stream stream;
  DropoutStates states;
  const CudnnDropoutPlan plan(handle, states.allocated(handle), 0.5f, 4, 50);
  states.seed(handle, stream.get(), 5);
  const Buffer<float> x(ones(200)), y(200);
  const Buffer<std::byte> mask(cudnn_dropout_mask_bytes(4, 50));
  Capture capture(stream);
  plan.forward(handle, stream.get(), x.cspan(), y.span(), mask.span());
  const GraphExec graph = capture.finish();
  const Layer eager(0.5f, 4, 50);
  for (int launch = 0; launch < 3; ++launch) {
    graph.launch(stream);
    stream.synchronize();
    EXPECT_EQ(y.download(), eager.forward(ones(200))) << launch;
  }
}

}  // namespace
}  // namespace annulus
