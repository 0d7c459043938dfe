// Where memory is short: which batch would fit. Found by trying, so that it is true whatever a
// batch is made of; nothing is tried as long as memory lasts. Called by engine/trainer and
// `annulus eval`, for which the batch is a choice of the user's.
#pragma once

#include <functional>

namespace annulus {

// Makes, by `make`, what runs batches of so many images. Where that runs out of device memory,
// throws OutOfDeviceMemory with the largest batch of which it does not, or that none fits. `make`
// leaves nothing behind of what it made before or failed to make.
void make_for_batch(int images, const std::function<void(int images)>& make);

}  // namespace annulus
