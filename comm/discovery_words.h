// What an answer of DNS means to whoever has to mend it. Called by comm/discovery and
// comm/discovery_count for their errors.
#pragma once

#include "comm/resolver.h"

namespace annulus {

// "is the headless service there, with publishNotReadyAddresses?"
const char* dns_advice(const DnsAnswer& answer, bool own_name);

}  // namespace annulus
