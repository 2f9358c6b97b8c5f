// FastForward: a slot is empty or full, and says so itself.
//
//   slots  [ empty | empty | full | full | empty ]
//                            ^ next of the receiver  ^ next of the sender
//
// 1. The sender looks a quarter of the ring ahead of the slots that it will write: slots become empty in their order,
//    so where that one is empty, all before it are, and it need not look again before it has come there. If it is not,
//    the queue is full.
// 2. It writes the payload, then "full" and the length into the word; of a message of several slots the first one's
//    word is the last.
// 3. The receiver polls the word of the slot that comes next until it is full.
// 4. It reads the payload, then writes "empty".
//
// Neither ever looks at how far the other has come, so there is no line that both need for every message besides the
// slot. The price is that the slot goes back and forth: the receiver writes it too. As long as sender and receiver are
// some slots apart they do not get in each other's way; the paper calls that temporal slipping. They meet at a full
// queue. A sender that waits for the slot which it will write next gets one at a time, each just emptied and still in
// the receiver's cache. It takes its line away while the receiver is about to write the next. Looking ahead, it waits
// until a quarter is free, writes that without looking at anything, and is behind again by so much. Nothing that was
// sent waits for it; and since a queue holds its capacity beside that quarter (create.cc), neither does a sender that
// may send.
//
// Source: Giacomoni, Moseley and Vachharajani, "FastForward for Efficient Pipeline Parallelism", PPoPP 2008. Looking
// ahead: Wang, Zhang, Tang and Hua, "B-Queue: Efficient and Practical Queuing for Fast Core-to-Core Communication",
// International Journal of Parallel Programming 41(1), 2013.
#include "library/queue/messages.h"

namespace smelt::queue {
namespace {

constexpr uint64_t kEmpty = 0, kFull = 1;  // upper half of the word; an empty slot's word is 0

struct FastForward {
  static uint64_t mark(uint64_t) { return kFull; }

  static bool has_room(Sender& sender, uint64_t end) {
    if (end <= sender.free) [[likely]]
      return true;
    // We have written the slot there, a lap ago: the longest message and a quarter are no more than the ring.
    const uint64_t ahead = end + sender.ring / 4 - 1;
    // acquire: the receiver's reads of the slot, and of all before it, come before our writing them.
    if (sender.at(ahead - 1).word.load(std::memory_order_acquire) != kEmpty) return false;
    sender.free = ahead;
    return true;
  }

  static void occupy(Slot& slot) {
    // relaxed: the word of the first slot, which is stored afterwards, releases it.
    slot.word.store(kFull << 32, std::memory_order_relaxed);
  }

  static void give_back(Receiver& receiver, uint64_t slots) {
    for (uint64_t i = 0; i < slots; ++i)
      // release: the payload has been read, and the slots before are empty.
      receiver.at(receiver.next + i).word.store(kEmpty, std::memory_order_release);
    receiver.next += slots;
    ring(receiver.channel->read, receiver.own->cpu);
  }
};

}  // namespace

constinit const QueueKind kFastForward = Messages<FastForward>::kind;

}  // namespace smelt::queue
