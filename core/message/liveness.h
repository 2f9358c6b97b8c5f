// Liveness knows which of an endpoint's members have died.
//
// A member dies once. The kernel knows of those of this machine, and asking it takes microseconds; so of all threads
// together one asks, now and then, for all members at once. Those of other machines are gone when their carrier has
// failed with them (carrier.h). A process that finds a member gone may rely on all that it wrote while it lived.
//
// What follows from a death is the endpoint's: abandon.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arena.h"
#include "message/area.h"

namespace smelt::message {

class Carrier;

class Liveness {
 public:
  static constexpr int64_t kTimeout = 10'000'000;  // ns, until a waiter asks whether somebody lives

  static uint64_t arena_bytes(const Shape& shape) { return shape.members; }
  bool open(Arena* arena, const Areas& areas);  // false: no memory
  void set_far(const Carrier* far, uint32_t members) { far_ = far, members_ = members; }

  // Asks the kernel for all members of this machine, unless that was done just now.
  void ask();
  // The carrier has failed with a member of another machine, which is_gone() says from now on.
  void note_gone() {
    // relaxed: a hint. They do not die twice.
    somebody_.store(true, std::memory_order_relaxed);
  }

  // relaxed: a hint. They do not die twice.
  bool is_somebody_gone() const { return somebody_.load(std::memory_order_relaxed); }
  bool is_gone(uint16_t member) const;
  bool are_gone(int32_t source) const;  // below 0: all others

 private:
  Areas areas_;
  uint32_t members_ = 0;  // with those on other machines
  const Carrier* far_ = nullptr;
  std::atomic<bool> somebody_{false};
  std::atomic<uint8_t>* gone_ = nullptr;       // [members of this machine]
  alignas(64) std::atomic<int64_t> asked_{0};  // ns: when the kernel was last asked
};

}  // namespace smelt::message
