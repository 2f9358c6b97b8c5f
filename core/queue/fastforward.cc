// FastForward: a slot is empty or full, and says so itself.
//
//   slots  [ empty | empty | full | full | empty ]
//                            ^ next of the receiver  ^ next of the sender
//
// 1. The sender looks at the slot that it will write: empty, or the queue is full. Of a message that takes several it
//    looks at the last one: slots become empty in their order.
// 2. It writes the payload, then "full" and the length into the word; of a message of several slots the first one's
//    word is the last.
// 3. The receiver polls the word of the slot that comes next until it is full.
// 4. It reads the payload, then writes "empty".
//
// Neither ever looks at how far the other has come, so there is no line that both need for every message besides the
// slot. The price is that the slot goes back and forth: the receiver writes it too. As long as sender and receiver are
// some slots apart they do not get in each other's way; the paper calls that temporal slipping, and leaves it to the
// stages of the program, as is done here.
//
// Source: Giacomoni, Moseley and Vachharajani, "FastForward for Efficient Pipeline Parallelism", PPoPP 2008.
#include "queue/messages.h"

namespace smelt::queue {
namespace {

constexpr uint64_t kEmpty = 0, kFull = 1;  // upper half of the word; an empty slot's word is 0

struct FastForward {
  static uint64_t mark(uint64_t) { return kFull; }

  static bool has_room(Sender& sender, uint64_t end) {
    // acquire: the receiver's reads of the slot, and of all before it, come before our writing them.
    return sender.at(end - 1).word.load(std::memory_order_acquire) == kEmpty;
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

constinit const Kind kFastForward = Messages<FastForward>::kind;

}  // namespace smelt::queue
