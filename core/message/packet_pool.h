// The packets into which a participant's threads put messages that do not fit a cell: a fixed number in shared memory,
// a list per thread, and a stack for packets that come back from other processes.
//
// After Dang, Snir and Gropp (EuroMPI 2016, section 3.3): one pool for all threads would hand a packet from core to
// core with every message, so each has its own list, last in first out, while its lines are still in the cache; a
// thread that has none left takes from the others. Their lists are deques without locks; here each has a lock bit that
// only a thief ever finds taken, and nobody waits for one: a thief that cannot have a list goes on to the next.
//
//   take:       own list;  the packets that others have returned, all at once, into the own list;  any other thread's
//               list;  nothing: the packets are with receivers that have not read them yet, which is the flow control
//   give back:  by a thread of the owner, to its list; by a receiver, onto the stack in the owner's shared memory.
//               Nobody takes a single packet off the stack, so there is no ABA.
//
// The owner alone notes each packet's holder, so that the packets of a receiver that was killed can be taken back.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt {

inline constexpr uint32_t kNoPacket = ~0u;

// The stack of returned packets, and the links of every list, lie in shared memory.
struct PacketStack {
  alignas(kLineBytes) std::atomic<uint32_t> top;  // packet + 1; 0: empty
};

struct PacketReturns {
  PacketStack* stack = nullptr;
  uint32_t* next = nullptr;  // [packets] packet + 1; 0: the last

  // Any process that has the memory mapped may call it.
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

  // It must be called before anybody else looks. `holders`: [packets], the owner's memory.
  void write_full(const PacketReturns& returns, uint32_t packets, std::atomic<uint16_t>* holders);

  void set_alone(bool alone) { alone_ = alone; }  // lock_bit.h

  uint32_t take();  // kNoPacket: none, just now
  void give_back(uint32_t packet);

  // It must be called before a member is told of it.
  void hand_to(uint32_t packet, uint16_t member);
  // Takes back the packets of a member that has died: how many.
  uint32_t reclaim(uint16_t member);

 private:
  uint32_t own_list() const;
  bool pop(PacketList* list, uint32_t* packet);

  PacketReturns returns_;  // the stack of those that receivers have returned, and all lists' links
  uint32_t packets_ = 0;   // all that there are
  bool alone_ = false;
  std::atomic<uint16_t>* holders_ = nullptr;  // [packets] member + 1; 0: nobody
  PacketList lists_[kLists];                  // each of the threads whose number falls on it
};

}  // namespace smelt
