// A data set on the device: uint8 images and labels, the order in which they are visited, and how
// they are normalised. Uploaded once; only the order changes, once an epoch. Called by engine/step
// and engine/evaluate.
#pragma once

#include "data/dataset.h"
#include "kernels/any_span.h"
#include "kernels/augment.h"
#include "kernels/cuda.h"

namespace annulus {

class ResidentData {
 public:
  // mean and std_dev are per channel, in units of the uint8 input.
  ResidentData(const Dataset& data, const std::array<float, 4>& mean,
               const std::array<float, 4>& std_dev);

  std::size_t size() const { return labels_.size(); }
  const ImageShape& image() const { return image_; }
  const Augmentation& normalisation() const { return normalisation_; }  // no augmentation

  void set_order(const std::vector<std::uint32_t>& order) { order_.upload(order); }

  // Fills images [N,H,W,C] and labels [N] with N samples from state.first_sample + first_position
  // on.
  void load(cudaStream_t stream, Span<const StepState> state, std::uint32_t first_position,
            const Augmentation& augmentation, AnyOutput images, Span<std::int32_t> labels) const {
    with_element(images.element, [&]<class T>() {
      load_batch(stream, state, first_position, image_, augmentation, images_.cspan(),
                 labels_.cspan(), order_.cspan(), images.as<T>(), labels);
    });
  }

 private:
  ImageShape image_;
  Augmentation normalisation_;
  Buffer<std::uint8_t> images_, labels_;
  Buffer<std::uint32_t> order_;
};

}  // namespace annulus
