// Memory that the participants of a group share, and its allocator.
//
// Every process that leads groups (participant 0 of each) owns one segment: a sparse file without a name, of which
// blocks are carved, one per group. The others open the leader's segment through /proc when they first meet it and keep
// it mapped. So there is nothing to clean up after a crash, a group costs no file of its own, and groups over any
// mixture of processes work, no matter what started them.
//
//   leader:  allocate(bytes) -> Block;  tells the others its BlockTicket;  ... release()
//   others:  attach(ticket, bytes) -> Block;  ...                       release()
//
// A block is used again when all participants counted in have released it: nobody waits for that, the leader looks when
// it needs one of the size. Calls are serialised by one mutex per process; none of them is on a hot path.
#pragma once

#include <atomic>
#include <cstdint>

namespace smelt {

// The leader's words to the others about a block: plain data, valid on this machine only.
struct BlockTicket {
  uint64_t segment = 0;  // random name, also in the segment's first bytes: a recycled process id is noticed
  int32_t process = 0;
  int32_t descriptor = -1;  // in that process
  uint64_t bytes = 0;       // of the whole segment
  uint64_t offset = 0;      // of the block
  uint32_t use = 0;         // which of the block's this is: it is allocated again and again
};

struct Segment;  // one mapping in this process

struct Block {
  Segment* segment = nullptr;
  uint64_t offset = 0;
  char* address = nullptr;  // page-aligned
  uint32_t use = 0;         // as the ticket's
};

inline constexpr uint64_t kPage = 4096;  // blocks and introductions are whole ones

// The leader's side. `users`: how many will release it, the leader included. The first page is taken and zeroed but for
// its own bookkeeping; the rest of a block is sparse (take_block_pages) or as its last users left it, and clear if this
// is its first use. 0 or -ENOMEM.
int allocate_block(uint64_t bytes, uint32_t users, uint64_t limit, Block* block, BlockTicket* ticket);

// The others' side; `bytes` as the leader asked for. 0, -ENOMEM, -ENOTSUP: another machine, user or process namespace,
// or the ticket is not of such a block.
int attach_block(const BlockTicket& ticket, uint64_t bytes, Block* block);

// Makes [from, from + bytes) of the block real memory, near the calling thread. 0 or -ENOMEM.
int take_block_pages(const Block& block, uint64_t from, uint64_t bytes);

void release_block(Block* block);

// A block may also rest: its users leave it, but keep it mapped and know what is in it, and the leader can wake it for
// all of them at once, as it is, without a word to any. So a group that is made again and again of the same members
// costs nothing to set up. Each user rests it instead of releasing it; `trace` is what each has seen of the block's
// past, and the same for all unless something went wrong.
void rest_block(const Block& block, uint64_t trace);
// The leader's: true where all `users` have rested it, each with that trace, and nobody has given it up; then all of
// them use it again. `life`: how often it has been woken before, since it was allocated.
bool wake_block(const Block& block, uint32_t users, uint32_t life, uint64_t trace);
// Is the block still ours to be woken? It is not if the leader has allocated it anew.
bool block_is_kept(const Block& block);
// A user that would not be there when it is woken: before it releases it, so that nobody wakes it.
void spoil_block(const Block& block);
// The same of one that we have rested. False: it has been woken, and is to be kept.
bool give_up_block(const Block& block, uint32_t life);
// The mapping's share of one that rests, when it has been given up or is no longer ours.
void forget_block(Block* block);

// When the users never came together: each calls this instead, after the last of them has looked at the block.
void abandon_block(Block* block);

// Bytes at the beginning of every block that belong to the bookkeeping here.
inline constexpr uint64_t kBlockHeader = 64;

// Unmaps everything: nobody may hold a block any more.
void release_segments();

}  // namespace smelt
