// What a model says about each image of a set, for people who look at its mistakes and for programs
// that compare models. Called by `annulus eval --predictions`.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace annulus {

// A JSON object a line and image, in the order of the set: its number from 0, its label, the class
// that the model takes it for and that class's name, and the logits [classes].
std::string prediction_lines(const Dataset& data, const std::vector<float>& logits);

}  // namespace annulus
