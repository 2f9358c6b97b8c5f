// The packets into which a participant's threads put messages that do not fit a cell: a fixed number in shared memory,
// a list per thread, and a stack for what comes back from other processes.
//
// After Dang, Snir and Gropp (EuroMPI 2016, section 3.3): one pool for all threads would hand a packet from core to
// core with every message, so each has its own list, last in first out, while its lines are still in the cache;
// whoever has none left takes from the others. Their lists are deques without locks; here each has a lock bit that
// only a thief ever finds taken, and nobody waits for one: who cannot have a list goes on to the next.
//
//   take:       own list;  what the others have returned, all of it at once;  any other thread's list;  nothing: the
//               packets are with receivers that have not read them yet, which is the flow control
//   give back:  by a thread of the owner, to its list; by a receiver, onto the stack in the owner's shared memory.
//               Nobody takes a single packet off the stack, so there is no ABA.
//
// A packet that a receiver held when it was killed is lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt {

inline constexpr uint32_t kNoPacket = ~0u;

// In shared memory: the stack of returned packets, and the links of every list.
struct PacketStack {
  alignas(kLineBytes) std::atomic<uint32_t> top;  // packet + 1; 0: empty
};

struct PacketReturns {
  PacketStack* stack = nullptr;
  uint32_t* next = nullptr;  // [packets] packet + 1; 0: the last

  // From any process that has the memory mapped.
  void give_back(uint32_t packet) const;
};

struct alignas(64) PacketList {
  std::atomic<uintptr_t> lock{0};
  uint32_t first = 0;  // packet + 1; 0: empty
};

// The owner's side. Safe from any of its threads.
class PacketPool {
 public:
  static constexpr uint32_t kLists = 16;  // threads beyond share them

  void write_full(const PacketReturns& returns, uint32_t packets);  // before anybody else looks

  uint32_t take();  // kNoPacket: none, just now
  void give_back(uint32_t packet);

 private:
  bool pop(PacketList* list, uint32_t* packet);
  bool push(PacketList* list, uint32_t first, uint32_t last);

  PacketReturns returns_;
  PacketList lists_[kLists];
};

}  // namespace smelt
