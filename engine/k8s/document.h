// YAML as text to documents. Invariant: whatever the bytes are, the answer is a list of documents
// or one line that says what is wrong; what is made of them is at most a fixed multiple of their
// size, however often aliases repeat a part. The one place that uses yaml-cpp. Called by lint.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/k8s/value.h"

namespace annulus::k8s {

// Of each document its root; empty documents are left out. `<<` is resolved, as kubectl does.
// Throws UserError (data): `name`, line, the fact and the fix.
std::vector<Value> read_documents(const std::string& name, std::string_view bytes);

}  // namespace annulus::k8s
