// A device that need not be there, described to cuDNN: its heuristics then answer for it without a
// GPU or a driver, and the answer is the library's own. cuDNN developer guide, "Deviceless
// Ahead-of-time Compilation" (from 9.8 on). Called by engine/forecast. The CPU device stands for
// itself alone and refuses.
#pragma once

#include <string>

#include "kernels/cudnn_graph.h"

namespace annulus::cudnn_graph {

// `properties`: a JSON object with cuDNN's own keys, as it serialises a real device's. Loads the
// toolkit's stub of the driver's library where there is no driver. Throws UserError (device) where
// this cuDNN cannot be asked, DeviceError where it refuses the properties.
Descriptor described_device(const std::string& properties);

}  // namespace annulus::cudnn_graph
