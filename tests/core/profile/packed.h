// A small packed profile in memory, to be written as it is or spoilt first.
#pragma once

#include <cstring>
#include <string>

#include "profile/profile.h"

namespace smelt::test {

class Packed {
 public:
  // `full`: with some of everything that profile/measured.h knows.
  explicit Packed(uint32_t n = 3, uint32_t curve_sets = 2, bool full = false)
      : counts(full ? PackedCounts{n, curve_sets, 2, 1, 1, 2, 2, 11} : PackedCounts{n, curve_sets}),
        at(packed_layout(counts)),
        bytes(at.bytes, '\0') {
    PackedHeader& head = header();
    head.cpus = n;
    head.fingerprint = 0x1234;
    head.created = 1'700'000'000;
    head.poller = 0.5f;
    head.one_way_hop = 57;
    head.spread = 0.1f;
    for (uint32_t d = 1; d < kDistances; ++d) head.service[d] = 0.5f * static_cast<float>(d);
    for (uint32_t d = 1; d < kDistances; ++d) head.crossing[d] = 3 * static_cast<float>(d);
    head.pairs_measured = n * (n - 1);
    head.curve_sets = counts.curve_sets;
    head.classes = counts.classes;
    head.fans = counts.fans;
    head.queues = counts.queues;
    head.distances = counts.distances;
    head.winners = counts.winners;
    head.winner_words = counts.winner_words;
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
    if (full) fill();
    seal();
  }

  PackedHeader& header() { return *array<PackedHeader>(0); }
  CurveSet* curves() { return array<CurveSet>(at.curves); }
  ClassFigures* classes() { return array<ClassFigures>(at.classes); }
  WaitFigures& wait() { return *array<WaitFigures>(at.wait); }
  FanCurves* fans() { return array<FanCurves>(at.fans); }
  QueueCurves* queues() { return array<QueueCurves>(at.queues); }
  DistanceCurves* distances() { return array<DistanceCurves>(at.distances); }
  Winner* winners() { return array<Winner>(at.winners); }
  uint32_t* winner_words() { return array<uint32_t>(at.winner_words); }
  uint32_t* os_cpu() { return array<uint32_t>(at.os_cpu); }
  template <typename T>
  T* array(uint64_t offset) {
    return reinterpret_cast<T*>(bytes.data() + offset);
  }
  // The checksum of what is in it now: for spoiling what the checksum cannot find.
  void seal() { seal_packed(bytes.data(), bytes.size()); }

  const PackedCounts counts;
  const PackedLayout at;
  std::string bytes;

 private:
  void fill() {
    classes()[0] = {1, 0, 1, 1, 0, 16.5f, 0.4f, 0.2f, 8, 0.05f};
    classes()[1] = {5, 1, 2, 1, kMarkUnsteady | kMarkWide, 260, 20, 2.6f, 119, 0.7f};
    wait() = {12.5f, 340, 1900, 5100};
    fans()[0].distance = 1;
    for (uint32_t i = 0; i < kFanSizes; ++i) {
      fans()[0].gather[i] = 100.0f + static_cast<float>(i);
      fans()[0].scatter[i] = 200.0f + static_cast<float>(i);
    }
    queues()[0] = {4, 1, {30, 31, 62, 124, 248}, 15.5f, 0.02f};
    for (uint32_t d = 0; d < 2; ++d) {
      distances()[d].distance = d;
      for (uint32_t s = 0; s < kCurveSizes; ++s) {
        distances()[d].copy[s] = static_cast<float>(10 * s + d);
        distances()[d].single_copy[s] = static_cast<float>(20 * s + d);
        distances()[d].reduce[s] = static_cast<float>(30 * s + d);
      }
    }
    winners()[0] = {2, 3, 0, 7, 150, 155.5f, 0.02f, 161.5f, 57, "tree:2"};
    winners()[1] = {0, 2, 7, 4, 50, 51, 0.03f, 0, 58, "sequential"};
    const uint32_t words[] = {2, 0, 1, 9, 8, 7, 6, 1, 2, 0xffffffff, 3};
    std::memcpy(winner_words(), words, sizeof words);
  }
};

}  // namespace smelt::test
