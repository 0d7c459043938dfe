// The text of a manifest: a file, a pipe such as <(kubectl kustomize …), or `-` for standard input.
// Called by engine/cli.
#pragma once

#include <string>

namespace annulus::k8s {

// Throws UserError (data) with the path and the system's reason, that nothing came for a minute, or
// that it is longer than 8 MiB: the API server takes objects of 1.5 MiB at most.
std::string read_source(const std::string& path);

}  // namespace annulus::k8s
