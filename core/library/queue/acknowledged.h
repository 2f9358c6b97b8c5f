// The common part of the kinds whose receivers acknowledge (ump.cc, one_to_many.cc): the word of a message has its
// sequence number, and the sender may overwrite the messages that the slowest reader has acknowledged. A kind K of them
// brings
//
//   slowest(sender)   how far the reader that is furthest behind has acknowledged, read with acquire: its reads of the
//                     slots come before our writing them; kGone where nobody is left
#pragma once

#include "library/queue/messages.h"

namespace smelt::queue {

template <typename K>
struct Acknowledged {
  // The position's lower 32 bits. They differ from the mark in the slot before, which is the number of one lap earlier
  // or, at first, 0.
  static uint64_t mark(uint64_t position) { return static_cast<uint32_t>(position); }

  static bool has_room(Sender& sender, uint64_t end) {
    // The known limit is out of date and on the safe side: the readers' lines are read again only where it does not do.
    if (end <= sender.free) [[likely]]
      return true;
    const uint64_t slowest = K::slowest(sender);
    if (slowest == kGone) return false;
    sender.free = slowest + sender.ring;
    return end <= sender.free;
  }

  static void occupy(Slot&) {}  // nobody looks at the words within a message

  // Tells the sender every quarter of the ring only: every store into that line may cost both a miss. So less than a
  // quarter is read and not given back yet, which create.cc adds to the ring.
  static void give_back(Receiver& receiver, uint64_t slots) {
    receiver.next += slots;
    if (receiver.next - receiver.acknowledged < receiver.ring / 4) return;
    receiver.acknowledged = receiver.next;
    // release: the slots have been read before they may be overwritten.
    receiver.own->read.store(receiver.next, std::memory_order_release);
    ring(receiver.channel->read, receiver.own->cpu);
  }
};

}  // namespace smelt::queue
