// Philox numbers as bits, bits as factors.
#include "kernels/cpu/cudnn/dropout_mask.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/cudart/device.h"
#include "kernels/philox.h"

namespace annulus::cpu {
namespace {

constexpr std::size_t kWordBits = 32;        // of the mask
constexpr std::size_t kPieceWords = 512;     // enough work to be worth a thread
constexpr std::size_t kNumbersPerBlock = 4;  // of Philox
constexpr std::uint32_t kPurpose = 0;        // the states have a seed of their own

std::size_t mask_words(std::size_t elements) { return (elements + kWordBits - 1) / kWordBits; }

// visit(word) for every word of a mask, in pieces.
template <class Visit>
void for_words(std::size_t elements, Visit&& visit) {
  const std::size_t words = mask_words(elements);
  parallel((words + kPieceWords - 1) / kPieceWords, [&](std::size_t piece) {
    const std::size_t end = std::min(words, (piece + 1) * kPieceWords);
    for (std::size_t word = piece * kPieceWords; word < end; ++word) visit(word);
  });
}

// Bit e: whether element e of the word is kept.
std::uint32_t draw_word(const GeneratorStates& states, float rate, std::size_t word) {
  std::uint32_t bits = 0;
  for (std::size_t e = 0; e < kWordBits; e += kNumbersPerBlock) {
    const std::uint64_t block = (word * kWordBits + e) / kNumbersPerBlock;
    const Uint4 random = philox(states.seed, kPurpose, states.draws, std::uint32_t(block >> 32),
                                std::uint32_t(block));
    const std::uint32_t lanes[] = {random.x, random.y, random.z, random.w};
    for (std::size_t lane = 0; lane < kNumbersPerBlock; ++lane)
      if (uniform(lanes[lane]) >= rate) bits |= 1u << (e + lane);
  }
  return bits;
}

// For the elements of one word.
void apply_word(std::uint32_t bits, float scale, std::size_t word, const DroppedArrays& arrays) {
  const std::size_t first = word * kWordBits;
  const std::size_t count = std::min(arrays.elements - first, kWordBits);
  const std::size_t offset = first * bytes_of(arrays.format);
  std::array<float, kWordBits> numbers;
  read_numbers_here(arrays.format, static_cast<const std::byte*>(arrays.in) + offset,
                    numbers.data(), count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = (bits >> i & 1) != 0 ? numbers[i] * scale : 0.f;
  write_numbers_here(arrays.format, numbers.data(), static_cast<std::byte*>(arrays.out) + offset,
                     count);
}

float scale_of(float rate) { return float(1 / (1 - double(rate))); }

}  // namespace

std::size_t mask_bytes(std::size_t elements) {
  return std::max<std::size_t>(1, mask_words(elements)) * sizeof(std::uint32_t);
}

void draw_mask_and_apply(GeneratorStates& states, float rate, const DroppedArrays& arrays,
                         std::uint32_t* mask) {
  const float scale = scale_of(rate);
  for_words(arrays.elements, [&](std::size_t word) {
    mask[word] = draw_word(states, rate, word);
    apply_word(mask[word], scale, word, arrays);
  });
  ++states.draws;
}

void apply_mask(float rate, const DroppedArrays& arrays, const std::uint32_t* mask) {
  const float scale = scale_of(rate);
  for_words(arrays.elements,
            [&](std::size_t word) { apply_word(mask[word], scale, word, arrays); });
}

}  // namespace annulus::cpu
