// SHA-256 through OpenSSL's digest interface, which picks the processor's SHA instructions.
#include "data/checksum.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace annulus {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

namespace {

void require(int succeeded, const char* call) {
  if (succeeded != 1) throw std::runtime_error(fmt::format("{} failed in libcrypto", call));
}

}  // namespace

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  require(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr), "EVP_DigestInit_ex");
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::uint8_t> bytes) {
  require(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()), "EVP_DigestUpdate");
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(context_->evp, digest.data(), &length), "EVP_DigestFinal_ex");
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace annulus
