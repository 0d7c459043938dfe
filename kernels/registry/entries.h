// The entry files of this folder, one function each, called by entries(). Calls, not static
// objects: a linker drops an object of a static library that nobody refers to.
#pragma once

#include <vector>

#include "kernels/registry/registry.h"

namespace annulus::registry {

std::vector<Entry> activation_entries();
std::vector<Entry> augment_entries();
std::vector<Entry> batchnorm_entries();
std::vector<Entry> bias_entries();
std::vector<Entry> cast_entries();
std::vector<Entry> conv_entries();
std::vector<Entry> dropout_entries();
std::vector<Entry> gemm_entries();
std::vector<Entry> loss_scale_entries();
std::vector<Entry> optimizer_entries();
std::vector<Entry> pool_entries();
std::vector<Entry> softmax_xent_entries();
std::vector<Entry> sum_ranks_entries();

// In the order in which entries() lists them.
inline constexpr std::vector<Entry> (*kEntryFiles[])() = {
    conv_entries,      gemm_entries,    activation_entries,   batchnorm_entries, pool_entries,
    bias_entries,      dropout_entries, softmax_xent_entries, augment_entries,   optimizer_entries,
    sum_ranks_entries, cast_entries,    loss_scale_entries,
};

}  // namespace annulus::registry
