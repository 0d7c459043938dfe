// SHA-256 of bytes given piece by piece, over OpenSSL's libcrypto. Called by the data sets'
// readers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace annulus {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::uint8_t> bytes);
  std::string finish();  // 64 hex digits; nothing may be added after it

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace annulus
