// What the registry cannot show of the optimizers: that their formulas are PyTorch's, and that
// slices can be updated one by one.
#include "kernels/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/philox.h"

namespace annulus {
namespace {

// The arrays of an optimizer over one slice; `second` is Adam's alone.
struct Slice {
  Span<const StepState> state;
  Span<const std::uint32_t> diverged;
  Span<float> p, first, second;
  Span<const float> g, decay;
};
using Update = std::function<void(cudaStream_t, const Slice&)>;

Update sgd(bool nesterov) {
  return [nesterov](cudaStream_t stream, const Slice& s) {
    sgd_update(stream, s.state, s.diverged, 0.9f, nesterov, s.p, s.first, s.g, s.decay);
  };
}
Update adam(bool decoupled) {
  return [decoupled](cudaStream_t stream, const Slice& s) {
    adam_update(stream, s.state, s.diverged, {.decoupled = decoupled}, s.p, s.first, s.second, s.g,
                s.decay);
  };
}

// A parameter vector and its optimizer in device memory.
class Trained {
 public:
  Trained(const std::vector<float>& start, float decay)
      : p_(start),
        first_(std::vector<float>(start.size())),
        second_(std::vector<float>(start.size())),
        g_(start.size()),
        decay_(std::vector<float>(start.size(), decay)) {}

  // One update, in slices that end at `borders`.
  void step(const Update& update, const std::vector<float>& gradient, std::uint32_t step,
            const std::vector<std::size_t>& borders) {
    const Stream stream;
    state_.upload(
        {{.seed = 1, .step = step, .epoch = 0, .first_sample = 0, .learning_rate = 0.1f}});
    g_.upload(gradient);
    std::size_t begin = 0;
    for (std::size_t end : borders) {
      const std::size_t count = end - begin;
      update(stream.get(),
             {state_.cspan(), diverged_.cspan(), p_.span().subspan(begin, count),
              first_.span().subspan(begin, count), second_.span().subspan(begin, count),
              g_.cspan().subspan(begin, count), decay_.cspan().subspan(begin, count)});
      begin = end;
    }
    stream.synchronize();
  }
  std::vector<float> parameters() const { return p_.download(); }
  std::vector<float> moments() const { return first_.download(); }
  void diverge() { diverged_.upload({1}); }

 private:
  Buffer<StepState> state_{1};
  Buffer<std::uint32_t> diverged_{std::vector<std::uint32_t>{0}};
  Buffer<float> p_, first_, second_, g_, decay_;
};

struct Trajectory {
  const char* name;
  Update update;
  std::vector<std::vector<float>> parameters;  // after each of three updates
};

// Printed by optimizer_golden.py.
const Trajectory kTrajectories[] = {
    {"sgd", sgd(false), {{0.969f, -1.898f}, {0.930131f, -2.004302f}, {0.964218769f, -2.1479695f}}},
    {"nesterov",
     sgd(true),
     {{0.9411f, -1.8062f}, {0.89520191f, -2.10014822f}, {0.995039735f, -2.27733692f}}},
    {"adam",
     adam(false),
     {{0.900000003f, -1.9f}, {0.812096907f, -1.93550442f}, {0.840681857f, -1.9758096f}}},
    {"adamw",
     adam(true),
     {{0.899000003f, -1.898f}, {0.810994612f, -1.93271235f}, {0.840710616f, -1.97234476f}}},
};

// A few roundings of numbers near 2 in each of three updates.
TEST(Optimizer, FollowsPyTorch) {
  const std::vector<std::vector<float>> gradients{{0.3f, -1.f}, {0.1f, 2.f}, {-0.7f, 0.5f}};
  for (const Trajectory& golden : kTrajectories) {
    Trained trained({1.f, -2.f}, 0.01f);
    for (std::uint32_t step = 0; step < gradients.size(); ++step) {
      trained.step(golden.update, gradients[step], step, {2});
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(trained.parameters()[i], golden.parameters[step][i], 1e-6)
            << golden.name << " step " << step;
    }
  }
}

TEST(Optimizer, SlicesGiveTheSameBitsAsTheWhole) {
  constexpr std::size_t kSize = 1003;
  std::vector<float> start, gradient;
  for (std::uint32_t i = 0; i < kSize; ++i) {
    const Uint4 random = philox(9, 0, 0, 0, i);
    start.push_back(uniform(random.x) - 0.5f);
    gradient.push_back(uniform(random.y) - 0.5f);
  }
  for (const Trajectory& optimizer : kTrajectories) {
    Trained whole(start, 5e-4f), sliced(start, 5e-4f);
    for (std::uint32_t step = 0; step < 2; ++step) {
      whole.step(optimizer.update, gradient, step, {kSize});
      sliced.step(optimizer.update, gradient, step, {1, 10, 10, 531, kSize});
    }
    EXPECT_EQ(sliced.parameters(), whole.parameters()) << optimizer.name;
  }
}

TEST(Optimizer, ChangesNothingOnceTrainingHasDiverged) {
  for (const Trajectory& optimizer : kTrajectories) {
    Trained trained({1.f, -2.f}, 0.01f);
    trained.step(optimizer.update, {0.3f, -1.f}, 0, {2});
    const std::vector<float> parameters = trained.parameters(), moments = trained.moments();
    trained.diverge();
    trained.step(optimizer.update, {NAN, 5.f}, 1, {1, 2});
    EXPECT_EQ(trained.parameters(), parameters) << optimizer.name;
    EXPECT_EQ(trained.moments(), moments) << optimizer.name;
  }
}

}  // namespace
}  // namespace annulus
