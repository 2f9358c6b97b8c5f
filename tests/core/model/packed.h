// A small packed profile in memory, to be written as it is or spoilt first.
#pragma once

#include <cstring>
#include <string>

#include "model/profile.h"

namespace smelt::test {

class Packed {
 public:
  explicit Packed(uint32_t n = 3, uint32_t curve_sets = 2) : at(packed_layout(n, curve_sets)), bytes(at.bytes, '\0') {
    PackedHeader& head = header();
    head.cpus = n;
    head.fingerprint = 0x1234;
    head.created = 1'700'000'000;
    head.poller = 0.5f;
    head.one_way_hop = 57;
    head.spread = 0.1f;
    head.pairs_measured = n * (n - 1);
    head.curve_sets = curve_sets;
    std::strcpy(head.method, "8x16 round trips, median");
    std::strcpy(head.machine, "Test CPU");
    for (uint32_t i = 0; i < n; ++i) {
      os_cpu()[i] = 2 * i;
      array<uint16_t>(at.core)[i] = static_cast<uint16_t>(i);
      for (uint32_t j = 0; j < n; ++j)
        for (uint64_t matrix : {at.hop, at.send_busy, at.recv_busy, at.ready_read})
          array<float>(matrix)[i * n + j] = i == j ? 0.0f : static_cast<float>(10 * i + j + 1);
    }
    for (uint32_t i = 0; i < curve_sets; ++i) {
      curves()[i].participants = 2 + 14 * i;
      for (uint32_t m = 0; m < kCurveMethods; ++m)
        for (uint32_t s = 0; s < kCurveSizes; ++s) curves()[i].ns[m][s] = static_cast<float>(1000 * i + 100 * m + s);
    }
    seal();
  }

  PackedHeader& header() { return *array<PackedHeader>(0); }
  CurveSet* curves() { return array<CurveSet>(at.curves); }
  uint32_t* os_cpu() { return array<uint32_t>(at.os_cpu); }
  template <typename T>
  T* array(uint64_t offset) {
    return reinterpret_cast<T*>(bytes.data() + offset);
  }
  // The checksum of what is in it now: for spoiling what the checksum cannot find.
  void seal() { seal_packed(bytes.data(), bytes.size()); }

  const PackedLayout at;
  std::string bytes;
};

}  // namespace smelt::test
