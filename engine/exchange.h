// Small things that ranks tell each other over the control channel, between steps: lists of
// numbers, and checksums that must be equal. Called by engine/profile and engine/trainer.
#pragma once

#include <string>
#include <vector>

#include "comm/control.h"
#include "engine/weights.h"

namespace annulus {

// Every rank's list, by rank.
std::vector<std::vector<double>> gather_numbers(ControlChannel& control,
                                                const std::vector<double>& mine);

// SHA-256 over the bits of parameters and running statistics, in hex.
std::string checksum(const Weights& weights);

// Collective: throws UserError (`code`) naming the ranks whose text is not that of rank 0. `what`
// says what is compared and when: "the weights after epoch 3".
void expect_same(ControlChannel& control, ExitCode code, const std::string& what,
                 const std::string& mine);

}  // namespace annulus
