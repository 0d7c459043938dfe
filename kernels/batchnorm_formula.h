// What BatchNorm's forward and backward pass both compute for one element and for one 2x2 window.
// The backward pass repeats it from the same inputs, so it sees the same pre-activations and the
// same maxima, bit for bit.
#pragma once

#include "kernels/activation_formula.h"
#include "kernels/batchnorm.h"
#include "kernels/columns.h"
#include "kernels/packet.h"
#include "kernels/span.h"

namespace annulus::batchnorm {

// One channel's parameters: z = gamma * (x - mean) * inv_std + beta. The mean is subtracted first:
// x * scale + shift would cancel where the mean is large against the deviation.
struct Channel {
  float mean, inv_std, gamma, beta;

  SPAN_FN float normalize(float x) const { return (x - mean) * inv_std; }
  SPAN_FN float pre_activation(float x) const { return fmaf(normalize(x), gamma, beta); }
};

// The four pixels of a 2x2 window, in row-major order: places 0 to 3.
struct WindowPixels {
  float top_left, top_right, bottom_left, bottom_right;
};

// The winner of a window: the first of the largest f(z); a NaN wins, so that it is not hidden.
struct WindowMax {
  float value, x;
  int place;
};

SPAN_FN WindowMax candidate(Activation f, const Channel& channel, int place, float x) {
  return {activate(f, channel.pre_activation(x)), x, place};
}
SPAN_FN WindowMax winner(const WindowMax& best, const WindowMax& next) {
  const bool wins = (next.value > best.value) | (next.value != next.value);
  return {select(wins, next.value, best.value), select(wins, next.x, best.x),
          select(wins, next.place, best.place)};
}
SPAN_FN WindowMax window_max(Activation f, const Channel& channel, const WindowPixels& pixels) {
  WindowMax best = candidate(f, channel, 0, pixels.top_left);
  best = winner(best, candidate(f, channel, 1, pixels.top_right));
  best = winner(best, candidate(f, channel, 2, pixels.bottom_left));
  return winner(best, candidate(f, channel, 3, pixels.bottom_right));
}

// A batch of images cut into 2x2 cells. Windows of the pool are whole cells; rounding up, an odd
// last row or column makes cells of fewer pixels, which no window covers.
struct Cells {
  int height, width, down, across;

  SPAN_FN static Cells windows(const BatchNormShape& s) {
    return {s.height, s.width, s.height / 2, s.width / 2};
  }
  SPAN_FN static Cells all(const BatchNormShape& s) {
    return {s.height, s.width, (s.height + 1) / 2, (s.width + 1) / 2};
  }
  SPAN_FN std::size_t count(int images) const { return std::size_t(images) * down * across; }

  struct Position {
    std::size_t row;     // of the top left pixel in [N*H*W, C]
    std::size_t window;  // of [N*P*Q], where the cell is whole
    bool has_right, has_below;

    SPAN_FN bool whole() const { return has_right && has_below; }
    SPAN_FN bool has(int pixel) const {
      return (has_right || !(pixel & 1)) && (has_below || !(pixel & 2));
    }
  };
  SPAN_FN Position at(std::size_t cell) const {
    const unsigned int index = static_cast<unsigned int>(cell);
    const unsigned int q = index % across, line = index / across;
    const unsigned int p = line % down, n = line / down;
    return {(std::size_t(n) * height + 2 * p) * width + 2 * q,
            (std::size_t(n) * (height / 2) + p) * (width / 2) + q,
            2 * q + 1 < static_cast<unsigned int>(width),
            2 * p + 1 < static_cast<unsigned int>(height)};
  }
  // The row of pixel 0 to 3 of a cell.
  SPAN_FN std::size_t pixel(const Position& cell, int k) const {
    return cell.row + static_cast<std::size_t>(k & 1) + (k & 2 ? std::size_t(width) : 0);
  }
};

// A whole cell's pixels in `width` neighbouring channels.
template <int width>
struct Window {
  Floats<width> pixel[4];

  template <class T>
  SPAN_FN Window(Span<const T> x, const Cells& cells, const Cells::Position& cell,
                 std::size_t columns, std::size_t column) {
    for (int k = 0; k < 4; ++k) pixel[k] = load<width>(x, cells.pixel(cell, k) * columns + column);
  }
  SPAN_FN WindowPixels operator[](int i) const {
    return {pixel[0][i], pixel[1][i], pixel[2][i], pixel[3][i]};
  }
};

// The parameters of `width` neighbouring channels.
template <int width>
struct Channels {
  Channel at[width];

  SPAN_FN Channels(std::size_t first, Span<const float> means, Span<const float> inv_stds,
                   Span<const float> gammas, Span<const float> betas) {
    for (int i = 0; i < width; ++i)
      at[i] = {means[first + i], inv_stds[first + i], gammas[first + i], betas[first + i]};
  }
  SPAN_FN const Channel& operator[](int i) const { return at[i]; }
};

#if !defined(__CUDACC__)
// The parameters of a block of channels, side by side as the CPU forms' vector loops want them.
struct ChannelBlock {
  float mean[kColumnBlock], inv_std[kColumnBlock], gamma[kColumnBlock], beta[kColumnBlock];

  ChannelBlock(int first, int width, Span<const float> means, Span<const float> inv_stds,
               Span<const float> gammas, Span<const float> betas) {
    for (int c = 0; c < width; ++c) {
      mean[c] = means[first + c];
      inv_std[c] = inv_stds[first + c];
      gamma[c] = gammas[first + c];
      beta[c] = betas[first + c];
    }
  }
  SPAN_FN Channel operator[](int c) const { return {mean[c], inv_std[c], gamma[c], beta[c]}; }
};

// Where a whole cell's pixels begin in an array whose channels begin at `base`.
template <class T>
struct PixelRows {
  T *top_left, *top_right, *bottom_left, *bottom_right;

  PixelRows(T* base, const Cells& cells, const Cells::Position& cell, std::size_t columns)
      : top_left(base + cells.pixel(cell, 0) * columns),
        top_right(base + cells.pixel(cell, 1) * columns),
        bottom_left(base + cells.pixel(cell, 2) * columns),
        bottom_right(base + cells.pixel(cell, 3) * columns) {}
  SPAN_FN WindowPixels at(int c) const {
    return {static_cast<float>(top_left[c]), static_cast<float>(top_right[c]),
            static_cast<float>(bottom_left[c]), static_cast<float>(bottom_right[c])};
  }
};
#endif

}  // namespace annulus::batchnorm
