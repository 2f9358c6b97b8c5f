// A pool: processes that have agreed once to share memory, so that groups of any of them are made without their host's
// collectives, and made again without anything at all.
//
// Each member has a box for every key in memory that all have mapped, of two letters, up and down. A participant in the
// making of a group names a key that all of them have in common and use for nothing else meanwhile (an MPI
// communicator's number).
// The leader is participant 0:
//
//   1. everybody else writes up: I am here, and this is how my host says the group will be used
//   2. the leader has read them all, and writes down to each
//        woken:  the group that these very participants had before, in this order, and have freed since. That is all:
//                two letters of a line each, no system call, and memory that is in the caches
//        made:   the ticket of a block. Everybody takes its seat there (create.h), and steps 3 and 4 follow
//        refused
//   3. everybody else writes up: seated, or why not
//   4. the leader has read them all, and writes down: complete, or refused
//
// The reader takes a letter out, so the box is empty when the group is there. The next group of that key, of whatever
// members, finds it empty.
//
// A group that is freed rests: its object and its block stay as they are, with all its counters, so that the next calls
// go on where the last ones ended, and no flag in the memory can be taken for a later one's. Three things differ in the
// new life: the host, the watch on what follows the calls, and the memory of long messages, which has been given back.
// All that must be the same on all of them is compared as a sum that each adds to when it leaves (segment.h, traces).
// Each process keeps its own lists of resting groups, the latest first, and forgets the oldest, which the leader then
// finds spoilt.
#pragma once

#include <pthread.h>

#include <smelt/group.h>

#include "base/object.h"
#include "transport/desk.h"

namespace smelt {

// Keys of a pool of n; the same for all.
constexpr uint32_t pool_keys(uint32_t n) { return n <= 64 ? 2048 : 131072 / n / 32 * 32; }
static_assert(pool_keys(kMaxParticipants) >= 128);

// One line.
struct alignas(64) Letter {
  enum Kind : uint32_t { kHere, kWoken, kMade, kRefused, kSeated };
  struct Text {
    Kind kind;
    int32_t error;
    int32_t sync;      // as the writer's host says; a leader's letter: as all hosts say
    uint32_t in_sync;  // they all said so
    BlockTicket ticket;
  } text;
  // 0: empty. Release by the one that has written, or has read, the text; acquire by the other before it reads or
  // writes.
  std::atomic<uint64_t> full;
};
static_assert(sizeof(Letter) == 64);

struct Box {
  Letter up, down;
};
static_assert(pool_keys(kMaxParticipants) * sizeof(Box) % kPage == 0);

struct Pool {
  uint32_t n = 0, me = 0;
  bool crowded = false;  // more members than CPUs: a waiter makes room
  Block block;
  Box* boxes = nullptr;                    // [n * keys], a member's after another's
  std::atomic<uint64_t>* pages = nullptr;  // bits: which pages of our own boxes have been taken

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  // The resting groups; guarded by the mutex.
  static constexpr uint32_t kLists = 64;
  smelt_group* resting[kLists] = {};  // by signature, the latest first
  smelt_group *oldest = nullptr, *newest = nullptr;
  uint32_t rest_count = 0;

  Box& box(uint32_t member, uint32_t key) { return boxes[size_t{member} * pool_keys(n) + key]; }
};

}  // namespace smelt

struct smelt_pool : smelt::Object, smelt::Pool {};
