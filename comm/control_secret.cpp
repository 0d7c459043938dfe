// Proofs of the shared secret; see comm/control_secret.h.
#include "comm/control_secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <stdexcept>

namespace annulus::control {
namespace {

// Of one length, so that no challenge can turn the one proof into the other.
constexpr std::string_view words_of_rank = "hello:  ", words_of_rank_0 = "welcome:";
static_assert(words_of_rank.size() == words_of_rank_0.size());

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string proof(std::string_view secret, std::string_view whose, std::string_view challenge,
                  std::string_view hello_payload) {
  std::string message(whose);
  message.append(challenge).append(hello_payload);
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(message),
           message.size(), code.data(), &size) == nullptr)
    throw std::runtime_error("OpenSSL gives no HMAC-SHA256");
  return {reinterpret_cast<const char*>(code.data()), size};
}

}  // namespace

std::string new_challenge() {
  std::array<unsigned char, challenge_bytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("OpenSSL gives no random bytes");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string proof_of_rank(std::string_view secret, std::string_view challenge,
                          std::string_view hello_payload) {
  return proof(secret, words_of_rank, challenge, hello_payload);
}

std::string proof_of_rank_0(std::string_view secret, std::string_view challenge,
                            std::string_view hello_payload) {
  return proof(secret, words_of_rank_0, challenge, hello_payload);
}

bool same_proof(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace annulus::control
