// Judges registry entries: a kernel's outputs against its reference, a gradient against central
// differences. Returns what is wrong, one line each, so that a test can also show that a wrong
// formula is seen. Called by registry_test and by the tests of users' own kernels.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry/registry.h"

namespace annulus::registry {

using Failures = std::vector<std::string>;

// The entry's name as GoogleTest allows it for a test.
std::string test_name(const Entry& entry);

// Where `got` is not within the array's tolerance of `want`: the worst element.
Failures compare(const Array& array, const Values& got, const Values& want);

// Runs the case twice on its own device arrays. Also reports damage (guards, inputs) and a second
// run with other bits.
Failures check_case(const Entry& entry, const Case& c);

// All tested cases, in both forms of the CPU device: as the training step runs them, and with every
// thread emulated.
Failures check_entry(const Entry& entry);

// The timed cases, as the training step runs them: large, for slow tests.
Failures check_timed_cases(const Entry& entry);

// The entry's gradient against central differences of its loss; nothing to check gives no failure.
Failures check_gradient(const Entry& entry);
Failures check_gradient(const std::string& name, const GradientCheck& check);

}  // namespace annulus::registry
