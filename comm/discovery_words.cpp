// See comm/discovery_words.h.
#include "comm/discovery_words.h"

namespace annulus {

const char* dns_advice(const DnsAnswer& answer, bool own_name) {
  if (!answer.absent()) return "is the cluster's DNS up, and allowed by the network policies?";
  return own_name ? "is the headless service there, with publishNotReadyAddresses?"
                  : "has its pod started?";
}

}  // namespace annulus
