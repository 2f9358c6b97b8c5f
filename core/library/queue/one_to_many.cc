// One to many: UMP's ring, read by many. Every reader gets every message, in order; nobody's reading takes anything
// away, since readers write only the line in which each acknowledges.
//
//   slots         [ 16 | 17 | 18 | 19 | 4 | ... ]
//   reader 1                       ^ next      acknowledged 16
//   reader 2             ^ next                acknowledged 8    <- the sender may write up to 8 + ring
//
// 1. The sender looks whether the slot is free: for that all readers must have acknowledged its last message, so the
//    slowest one counts. It reads their lines only when its knowledge does not suffice.
// 2.-4. As with UMP (ump.cc). A line with a message is written once and fetched by every reader, which caches do
//    nearly at the same time: no tree is needed below a shared cache.
//
// A reader that frees its end is waited for no more, one that has not come yet is.
//
// Source: Kaestle et al., "Machine-aware Atomic Broadcast Trees for Multicores", OSDI 2016, sections 4.1 and 6: the
// shared-memory queue with one writer that its broadcasts are compared with.
#include "library/queue/acknowledged.h"

namespace smelt::queue {
namespace {

struct OneToMany : Acknowledged<OneToMany> {
  static uint64_t slowest(const Sender& sender) {
    uint64_t slowest = kGone;
    for (uint32_t i = 0; i < sender.count; ++i) {
      // acquire: this reader's reads of the slots come before our writing them.
      const uint64_t read = sender.readers[i].read.load(std::memory_order_acquire);
      if (read < slowest) slowest = read;
    }
    return slowest;
  }
};

}  // namespace

constinit const QueueKind kOneToMany = Messages<OneToMany>::kind;

}  // namespace smelt::queue
