// The public DNS scenarios (zones.json) as zones of the C++ responder. Used by tests/comm.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/dns/dns_responder.h"

namespace annulus::test {

// `scale` makes its times shorter: 0.1 turns 30 s into 3 s.
DnsZone zone_of(const nlohmann::json& scenario, double scale);

}  // namespace annulus::test
