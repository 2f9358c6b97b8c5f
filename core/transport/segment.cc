#include "transport/segment.h"

#include <pthread.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/os/os.h"
#include "base/os/shared_memory.h"

namespace smelt {

// It lies in this process's own memory.
struct Segment {
  Segment* next = nullptr;
  uint64_t name = 0;
  int descriptor = -1;
  uint64_t bytes = 0;
  char* address = nullptr;
  uint32_t blocks = 0;  // held by this process
  // The owner's: blocks are never given back to the file, so `used` only grows and is bounded by the blocks alive at
  // once.
  bool own = false;
  uint64_t used = 0;
};

namespace {

// It lies in the shared memory, at the beginning of the segment and of every block.
struct SegmentHead {
  uint64_t name;
};
struct BlockHead {
  // The participants that may still touch the block; the last to leave makes it free. Above that: somebody would not be
  // there if it were woken; and how often it has been woken in this use.
  std::atomic<uint64_t> users;
  uint64_t previous;             // offset of the block of this size that was carved before, 0: none. Written once
  std::atomic<uint64_t> traces;  // the sum of what those left who have rested it
  std::atomic<uint32_t> use;     // how often it has been allocated
  uint32_t bytes_log2;
  bool rests;  // the leader's: it is one of those that it may wake
};
static_assert(sizeof(BlockHead) <= kBlockHeader);

constexpr uint64_t kSpoilt = uint64_t{1} << 31;  // a bit of `users`: the block has been given up
constexpr uint64_t in_life(uint32_t life, uint64_t users) { return uint64_t{life} << 32 | users; }
constexpr uint32_t life_of(uint64_t users) { return static_cast<uint32_t>(users >> 32); }
constexpr bool nobody_is_in(uint64_t users) { return (users & (kSpoilt - 1)) == 0; }

// An attached segment that no group uses stays mapped, because a program that creates and frees communicators will be
// back; but not more than so many of them.
constexpr uint32_t kIdleSegments = 16;

// Blocks that rest are not put to another use before there are so many bytes of them: a program that makes groups of
// this kind and that in turn would wake none.
constexpr uint64_t kMostResting = 32 << 20;

// Blocks of one size that are looked at for a free one, in turn: a program with thousands of groups would look at all
// of them for each new one. All large blocks are looked at, from the last one on: memory counts for more, and a program
// that frees one and takes one again gets the pages that it has written before.
constexpr uint32_t kMostLooks = 16, kLargeLog2 = 20;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
Segment* attached = nullptr;  // guarded by the mutex, as everything below
Segment* own = nullptr;
struct Size {
  uint64_t last = 0;  // offset of the block of this size that was carved last
  uint64_t next = 0;  // to be looked at, 0: the last
  uint32_t blocks = 0;
};
constexpr uint32_t kSizes = 64;  // the logarithms of a 64-bit size
Size sizes[kSizes];              // of the own segment's blocks, by the logarithm
uint64_t resting_bytes = 0;      // of the own segment's blocks
int32_t owner_process = 0;       // a forked child inherits these variables, but must not lead with its parent's memory

class Guard {
 public:
  Guard() { pthread_mutex_lock(&mutex); }
  ~Guard() { pthread_mutex_unlock(&mutex); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

BlockHead* head_at(const Segment& segment, uint64_t offset) {
  return reinterpret_cast<BlockHead*>(segment.address + offset);
}

Segment* map_segment(int descriptor, uint64_t bytes) {
  void* address = os::map_file(descriptor, bytes);
  void* memory = address ? os::map_pages(sizeof(Segment)) : nullptr;
  if (!memory) {
    if (address) os::unmap_pages(address, bytes);
    return nullptr;
  }
  auto* segment = new (memory) Segment;
  segment->descriptor = descriptor;
  segment->bytes = bytes;
  segment->address = static_cast<char*>(address);
  return segment;
}

// Is it a place where the owner carves blocks: whole pages behind the first?
bool has_place_for(const Segment& segment, uint64_t offset, uint64_t bytes) {
  return offset % kPage == 0 && offset >= kPage && offset < segment.bytes && bytes <= segment.bytes - offset;
}

void unmap_segment(Segment* segment) {
  os::unmap_pages(segment->address, segment->bytes);
  os::close_file(segment->descriptor);
  os::unmap_pages(segment, sizeof *segment);
}

Segment* create_own(uint64_t limit) {
  uint64_t bytes = limit < os::file_size_limit() ? limit : os::file_size_limit();
  bytes -= bytes % kPage;
  if (bytes < 4 * kPage) return nullptr;
  const int descriptor = os::create_memory_file("smelt", bytes);
  if (descriptor < 0) return nullptr;
  Segment* segment = os::take_pages(descriptor, 0, kPage) == 0 ? map_segment(descriptor, bytes) : nullptr;
  if (!segment) {
    os::close_file(descriptor);
    return nullptr;
  }
  segment->own = true;
  segment->name = os::random_number();
  segment->used = kPage;
  reinterpret_cast<SegmentHead*>(segment->address)->name = segment->name;
  return segment;
}

void forget_own_blocks() {
  own = nullptr;
  for (Size& size : sizes) size = {};
  resting_bytes = 0;
}

void forget_if_forked() {
  if (owner_process == os::process_id()) return;
  owner_process = os::process_id();
  forget_own_blocks();  // the parent's: left mapped, they may be in use by what the child inherited
  attached = nullptr;
}

uint32_t log2_of(uint64_t bytes) {
  uint32_t log2 = 12;
  while ((uint64_t{1} << log2) < bytes) ++log2;
  return log2;
}

// A block of that size that everybody has left. `any`: there is no room for another one, so whichever.
uint64_t find_free(uint32_t bytes_log2, bool any) {
  Size& size = sizes[bytes_log2];
  const bool all = any || bytes_log2 >= kLargeLog2;
  uint64_t from_the_last = 0;
  uint64_t& next = all ? from_the_last : size.next;
  for (uint32_t looks = all ? size.blocks : std::min(size.blocks, kMostLooks); looks > 0; --looks) {
    const uint64_t at = next ? next : size.last;
    const BlockHead& head = *head_at(*own, at);
    next = head.previous;
    if (head.rests && !any && resting_bytes <= kMostResting) continue;
    // acquire: its last users' writes are over before we write.
    if (nobody_is_in(head.users.load(std::memory_order_acquire))) return at;
  }
  return 0;
}

void set_rests(BlockHead& head, bool rests) {
  if (head.rests == rests) return;
  head.rests = rests;
  const uint64_t bytes = uint64_t{1} << head.bytes_log2;
  resting_bytes += rests ? bytes : -bytes;
}

// Sizes are powers of two, so that a freed block fits the next group; pages that are not used cost no memory.
uint64_t carve(uint32_t bytes_log2) {
  const uint64_t bytes = uint64_t{1} << bytes_log2;
  if (own->bytes - own->used < bytes) return 0;
  if (os::take_pages(own->descriptor, own->used, kPage) != 0) return 0;
  const uint64_t at = own->used;
  own->used += bytes;
  BlockHead* head = head_at(*own, at);
  head->bytes_log2 = bytes_log2;
  head->previous = sizes[bytes_log2].last;
  sizes[bytes_log2].last = at;
  ++sizes[bytes_log2].blocks;
  return at;
}

void let_go(Block* block) {
  const Guard guard;
  Segment* segment = block->segment;
  --segment->blocks;
  *block = Block{};
  if (segment->own) return;
  uint32_t idle = 0;
  for (Segment** link = &attached; *link;) {
    Segment* one = *link;
    if (one->blocks == 0 && ++idle > kIdleSegments) {
      *link = one->next;
      unmap_segment(one);
    } else {
      link = &one->next;
    }
  }
}

}  // namespace

int allocate_block(uint64_t bytes, uint32_t users, uint64_t limit, Block* block, BlockTicket* ticket) {
  const Guard guard;
  forget_if_forked();
  if (!own) own = create_own(limit);
  if (!own) return -ENOMEM;
  const uint32_t log2 = log2_of(bytes);
  uint64_t at = find_free(log2, false);
  if (!at) at = carve(log2);
  if (!at) at = find_free(log2, true);
  if (!at) return -ENOMEM;
  BlockHead* head = head_at(*own, at);
  set_rests(*head, false);
  // relaxed, all: the ticket's way to the others orders them
  const uint32_t use = head->use.load(std::memory_order_relaxed) + 1;
  head->use.store(use, std::memory_order_relaxed);
  head->traces.store(0, std::memory_order_relaxed);
  head->users.store(users, std::memory_order_relaxed);
  ++own->blocks;
  *block = Block{own, at, own->address + at, use};
  if (use > 1) std::memset(block->address + kBlockHeader, 0, kPage - kBlockHeader);  // else it is still clear
  *ticket = BlockTicket{own->name, owner_process, own->descriptor, own->bytes, at, use};
  return 0;
}

int attach_block(const BlockTicket& ticket, uint64_t bytes, Block* block) {
  const Guard guard;
  forget_if_forked();
  if (ticket.bytes < kPage) return -ENOTSUP;  // no room for its name
  Segment* segment = attached;
  while (segment && segment->name != ticket.segment) segment = segment->next;
  if (!segment) {
    const int descriptor = os::open_memory_file(ticket.process, ticket.descriptor, ticket.bytes);
    if (descriptor < 0) return -ENOTSUP;
    segment = map_segment(descriptor, ticket.bytes);
    if (!segment) {
      os::close_file(descriptor);
      return -ENOMEM;
    }
    if (reinterpret_cast<SegmentHead*>(segment->address)->name != ticket.segment) {
      unmap_segment(segment);  // another process has that number here
      return -ENOTSUP;
    }
    segment->name = ticket.segment;
    segment->next = attached;
    attached = segment;
  }
  if (!has_place_for(*segment, ticket.offset, bytes)) return -ENOTSUP;
  ++segment->blocks;
  *block = Block{segment, ticket.offset, segment->address + ticket.offset, ticket.use};
  return 0;
}

int take_block_pages(const Block& block, uint64_t from, uint64_t bytes) {
  return os::take_pages(block.segment->descriptor, block.offset + from, bytes) == 0 ? 0 : -ENOMEM;
}

void release_block(Block* block) {
  if (!block->segment) return;
  // release: our last look at the block comes before its next life; acq_rel orders the releases of all users.
  head_at(*block->segment, block->offset)->users.fetch_sub(1, std::memory_order_acq_rel);
  let_go(block);
}

void rest_block(const Block& block, uint64_t trace) {
  BlockHead& head = *head_at(*block.segment, block.offset);
  if (block.segment->own) {
    const Guard guard;
    set_rests(head, true);
  }
  head.traces.fetch_add(trace, std::memory_order_relaxed);  // released with the user
  head.users.fetch_sub(1, std::memory_order_acq_rel);       // as release_block's
}

bool wake_block(const Block& block, uint32_t users, uint32_t life, uint64_t trace) {
  const Guard guard;
  BlockHead& head = *head_at(*block.segment, block.offset);
  uint64_t all_rest = in_life(life, 0);
  // acquire: all that rested it have, and their traces are there.
  if (head.use.load(std::memory_order_relaxed) != block.use || head.users.load(std::memory_order_acquire) != all_rest ||
      head.traces.load(std::memory_order_relaxed) != users * trace)
    return false;
  head.traces.store(0, std::memory_order_relaxed);
  // Somebody may be giving it up just now.
  if (!head.users.compare_exchange_strong(all_rest, in_life(life + 1, users), std::memory_order_acq_rel)) return false;
  set_rests(head, false);
  return true;
}

// acquire, both: the process that allocated it anew had seen that we rested it, and we come later.
bool block_is_kept(const Block& block) {
  const BlockHead& head = *head_at(*block.segment, block.offset);
  const uint64_t users = head.users.load(std::memory_order_acquire);
  return !(nobody_is_in(users) && users & kSpoilt) && head.use.load(std::memory_order_acquire) == block.use;
}

void spoil_block(const Block& block) {
  // relaxed: released with the user
  head_at(*block.segment, block.offset)->users.fetch_or(kSpoilt, std::memory_order_relaxed);
}

bool give_up_block(const Block& block, uint32_t life) {
  BlockHead& head = *head_at(*block.segment, block.offset);
  uint64_t users = head.users.load(std::memory_order_acquire);
  while (life_of(users) == life)
    if (head.users.compare_exchange_weak(users, users | kSpoilt, std::memory_order_acq_rel)) return true;
  return false;
}

void forget_block(Block* block) {
  if (block->segment->own) {
    const Guard guard;
    BlockHead& head = *head_at(*block->segment, block->offset);
    if (head.use.load(std::memory_order_relaxed) == block->use) set_rests(head, false);
  }
  let_go(block);
}

void abandon_block(Block* block) {
  if (!block->segment) return;
  if (block->segment->own) head_at(*block->segment, block->offset)->users.store(0, std::memory_order_relaxed);
  let_go(block);
}

void release_segments() {
  const Guard guard;
  forget_if_forked();
  while (attached) {
    Segment* one = attached;
    attached = one->next;
    unmap_segment(one);
  }
  if (own) unmap_segment(own);
  forget_own_blocks();
}

}  // namespace smelt
