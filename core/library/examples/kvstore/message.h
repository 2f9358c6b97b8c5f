// What travels: requests and answers between a client and a replica, over a pair of Smelt's queues; and the commands
// that the replicas agree on. All of it is plain data between threads of one program.
//
//   client -> replica   [Request | value]     a get, or a set with the whole value
//   replica -> client   [Answer | value]      of a get
//   agreed              [Fragment]            a piece of a set: of 16 bytes at most, so a short value is one command
//
// With an 8-byte key and a 16-byte value each of them fits into one slot of a queue (SMELT_QUEUE_SLOT), as in the
// paper.
#ifndef KVSTORE_MESSAGE_H
#define KVSTORE_MESSAGE_H

#include <smelt/queue.h>

#include <cstddef>
#include <cstdint>

#include "kvstore/history.h"
#include "onepaxos/replica.h"

namespace kvstore {

constexpr size_t kMaxValueBytes = 64 * 1024;

// Requests of a client are numbered, so that it knows an answer to an earlier one, which it has asked somebody else
// meanwhile. A set also has the sequence numbers of its fragments, which it keeps at whatever replica it is asked:
// `first` and as many as follow.
struct Request {
  uint64_t key;
  uint64_t number;
  uint64_t first;
  uint32_t bytes;
  Operation operation;
};

struct Answer {
  uint64_t number;
  uint32_t bytes;
  uint32_t found;  // 0: the key was never set
};

struct Fragment {
  static constexpr size_t kRoom = 16;

  uint64_t key;
  uint32_t total;   // bytes of the whole value
  uint32_t offset;  // of this piece, a multiple of kRoom
  uint8_t data[kRoom];

  static constexpr uint32_t count(size_t bytes) {
    return bytes == 0 ? 1 : static_cast<uint32_t>((bytes + kRoom - 1) / kRoom);
  }
};
static_assert(sizeof(Fragment) <= onepaxos::kCommandBytes);
static_assert(sizeof(Request) + 16 <= SMELT_QUEUE_SLOT && sizeof(Answer) + 16 <= SMELT_QUEUE_SLOT);

}  // namespace kvstore

#endif
