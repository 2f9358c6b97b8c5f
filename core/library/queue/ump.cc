// UMP: a ring of slots, each a cache line, that only the sender writes; and one line that only the receiver writes.
//
//   position     16   17   18   19   20          the word of slot i says which position it holds
//   slots      [ 16 | 17 | 18 | 3  | 4  | ... ]  here 19 is not there yet: its slot has the number of one lap before
//                          ^ next of the receiver
//   acknowledged: 16                             limits the sender: 16 + 16 is the first position that it may not write
//
// 1. The sender looks whether the slot is free: its position is less than the last acknowledged one plus the ring.
//    Its knowledge of that is out of date and on the safe side; it reads the line again only where that does not do.
// 2. It writes the payload, then the word, which has the position (modulo 2^32) and the length: one line, one transfer.
// 3. The receiver polls the word of the slot that comes next until it has its number. The bit above those of the
//    slot's index is the epoch bit of the paper, which changes with every lap; the others only make sure.
// 4. It reads the payload and now and then writes into its own line how far it has come.
//
// Source: Baumann et al., "The Multikernel", SOSP 2009, section 4.6 (UMP); Bershad et al., "User-level Interprocess
// Communication for Shared Memory Multiprocessors", ACM TOCS 1991 (URPC); Kaestle et al., "Machine-aware Atomic
// Broadcast Trees for Multicores", OSDI 2016, section 4.1.
#include "library/queue/acknowledged.h"

namespace smelt::queue {
namespace {

struct Ump : Acknowledged<Ump> {
  // acquire: the receiver's reads of the slots come before our writing them.
  static uint64_t slowest(const Sender& sender) { return sender.readers[0].read.load(std::memory_order_acquire); }
};

}  // namespace

constinit const QueueKind kUmp = Messages<Ump>::kind;

}  // namespace smelt::queue
