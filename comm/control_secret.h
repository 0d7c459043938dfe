// The shared secret of a run: HMAC-SHA256 (RFC 2104) over a challenge of rank 0 and the hello's
// bytes, by OpenSSL. Invariant: the secret itself never crosses the wire and is in no message; a
// proof is compared in constant time. What it protects and what not: docs/protocol.md. Called by
// comm/control_lobby and comm/control_applicant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace annulus::control {

constexpr std::size_t challenge_bytes = 32;

// Fresh random bytes of rank 0, for one hello.
std::string new_challenge();

// Each side proves in its own words, so that neither's proof can be sent back to it.
std::string proof_of_rank(std::string_view secret, std::string_view challenge,
                          std::string_view hello_payload);
std::string proof_of_rank_0(std::string_view secret, std::string_view challenge,
                            std::string_view hello_payload);

bool same_proof(std::string_view a, std::string_view b);

}  // namespace annulus::control
