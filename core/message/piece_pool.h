// The memory for pieces of long messages, of one sender: which of it is free.
//
// Sender and receiver copy at the same time, so between two pieces neither should wait for a line that the other has
// written last. The stack of packets (packet_pool.h) makes each of them exchange such a line for every packet. Here the
// receiver stores a byte, for which nobody waits; and the sender looks at the bytes when it knows of no free piece.
//
//   take:       one that is known to be free;  one that has come back;  nothing: all are with receivers that have not
//               read them yet, which is the flow control
//   give back:  by a receiver, its byte in the owner's shared memory; by the owner, to those that are known to be free
//
// So all go round, and a piece is written long after it was last read. That matters: two CPUs of an Emerald Rapids, one
// way, us, 64 KiB in pieces of 16 KiB, 1 MiB in pieces of 32 KiB: the last one back first, from a stack 9.7, 95; all in
// turn, from a stack 8.8; by bytes, four in turn 9.4, 90, six 8.8, 84, eight 7.6, 74, twelve 7.6, 74, thirty-one 7.6,
// 79. By hand, eight slots of 16 KiB in turn: 6.9, 94.
//
// The owner alone notes each piece's holder, so that the pieces of a receiver that was killed can be taken back.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"
#include "message/packet_pool.h"

namespace smelt {

// It lies in shared memory.
struct alignas(kLineBytes) PieceReturns {
  std::atomic<uint8_t> is_back[kLineBytes];  // by piece

  // From any process that has the memory mapped. release: we have read the piece
  void give_back(uint32_t piece) { is_back[piece].store(1, std::memory_order_release); }
};

// The owner's side. Safe from any of its threads.
class PiecePool {
 public:
  static constexpr uint32_t kMost = 32;

  // It must be called before anybody else looks. `pieces`: 1 to kMost. `holders`: [pieces], the owner's memory.
  void write_full(PieceReturns* returns, uint32_t pieces, std::atomic<uint16_t>* holders);

  void set_alone(bool alone) { alone_ = alone; }  // lock_bit.h

  uint32_t take();  // kNoPacket: none, just now
  void give_back(uint32_t piece);

  // It must be called before a member is told of it.
  void hand_to(uint32_t piece, uint16_t member);
  // Takes back the pieces of a member that has died: how many. None is on its way there.
  uint32_t reclaim(uint16_t member);

 private:
  void collect();
  void set_free(uint32_t piece);

  PieceReturns* returns_ = nullptr;
  std::atomic<uint16_t>* holders_ = nullptr;  // [pieces] member + 1; 0: nobody
  uint32_t pieces_ = 0;                       // all that there are
  bool alone_ = false;
  std::atomic<uintptr_t> lock_{0};  // of free_
  uint32_t free_ = 0;               // those known to be free, a bit each
};

}  // namespace smelt
