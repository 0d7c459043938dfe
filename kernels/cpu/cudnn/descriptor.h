// A backend descriptor: typed attributes that are set one by one and then finalized, after which
// they can only be read. This file knows which attributes each descriptor has, of which type and
// how many; what they mean together is checked by `finalize` hooks elsewhere (graph.cpp).
// Invariant: a finalized descriptor holds every required attribute, with the right type, and never
// changes. cuDNN developer guide, "cudnn_graph library", backend descriptor types.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/cudnn/status.h"

namespace annulus::cpu {

class Descriptor;
using DescriptorPtr = std::shared_ptr<Descriptor>;

class Descriptor {
 public:
  // Throws INTERNAL_ERROR_HOST_ALLOCATION_FAILED for an unknown type, as the real library does.
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptorType_t type() const { return type_; }
  bool finalized() const { return finalized_; }
  const char* name() const;  // "tensor", "operation graph", … for messages

  // Copies `count` elements in. BAD_PARAM when finalized, of another descriptor, or with a wrong
  // count; BAD_PARAM_ATTRIBUTE_TYPE for a wrong element type; BAD_PARAM_NULL_POINTER inside arrays
  // of descriptors.
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* elements);
  // Copies at most `requested` elements out and returns how many there are (or were copied, when
  // fewer).
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   std::int64_t requested, void* elements) const;

  // BAD_PARAM with the missing attribute's number unless every required attribute is there and
  // finalized.
  void require_complete() const;
  void mark_finalized() { finalized_ = true; }

  bool has(cudnnBackendAttributeName_t name) const { return attributes_.contains(name); }
  // Typed reading for code of this folder: the first element, or `otherwise` when the attribute was
  // not set.
  template <class T>
  T value(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return otherwise;
    T first;
    std::memcpy(&first, found->second.bytes.data(), sizeof first);
    return first;
  }
  template <class T>
  std::vector<T> values(cudnnBackendAttributeName_t name) const {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return {};
    std::vector<T> all(found->second.bytes.size() / sizeof(T));
    std::memcpy(all.data(), found->second.bytes.data(), found->second.bytes.size());
    return all;
  }
  const std::vector<DescriptorPtr>& children(cudnnBackendAttributeName_t name) const;
  const Descriptor& child(cudnnBackendAttributeName_t name) const { return *children(name).at(0); }

  // What finalize made of the attributes (a graph's task, a plan's prepared work); owned by the
  // descriptor.
  std::shared_ptr<const void> product;

 private:
  struct Attribute {
    std::vector<std::byte> bytes;         // plain elements
    std::vector<DescriptorPtr> children;  // elements that are descriptors
  };

  cudnnBackendDescriptorType_t type_;
  bool finalized_ = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes_;
};

// A cudnnBackendDescriptor_t points to one of these. Attributes share the Descriptor, so a program
// may destroy its handle as soon as the descriptor that refers to it is finalized.
struct DescriptorHandle {
  DescriptorPtr descriptor;
};

// BAD_PARAM_NULL_POINTER for null.
DescriptorPtr descriptor_of(cudnnBackendDescriptor_t handle);

}  // namespace annulus::cpu
