#include "transport/segment.h"

#include <pthread.h>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/os/os.h"
#include "base/os/shared_memory.h"

namespace smelt {

// In this process's own memory.
struct Segment {
  Segment* next = nullptr;
  uint64_t name = 0;
  int descriptor = -1;
  uint64_t bytes = 0;
  char* address = nullptr;
  uint32_t blocks = 0;  // held by this process
  // The owner's: blocks are never given back to the file, so `used` only grows and is bounded by what was alive at
  // once.
  bool own = false;
  uint64_t used = 0;
};

namespace {

// In the shared memory, at the beginning of the segment and of every block.
struct SegmentHead {
  uint64_t name;
};
struct BlockHead {
  std::atomic<uint32_t> users;  // who may still touch the block; the last to leave makes it free
  uint32_t bytes_log2;
  uint64_t previous;  // offset of the block allocated before this one, 0: none. Written once
};
static_assert(sizeof(BlockHead) <= kBlockHeader);

// An attached segment that no group uses stays mapped, because a program that creates and frees communicators will be
// back; but not more than so many of them.
constexpr uint32_t kIdleSegments = 16;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
Segment* attached = nullptr;  // guarded by the mutex, as everything below
Segment* own = nullptr;
uint64_t last_block = 0;
int32_t owner_process = 0;  // a forked child inherits these variables, but must not lead with its parent's memory

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

// Where the owner carves blocks: whole pages behind the first.
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

void forget_if_forked() {
  if (owner_process == os::process_id()) return;
  owner_process = os::process_id();
  own = nullptr;  // the parent's: left mapped, it may be in use by what the child inherited
  attached = nullptr;
  last_block = 0;
}

uint32_t log2_of(uint64_t bytes) {
  uint32_t log2 = 12;
  while ((uint64_t{1} << log2) < bytes) ++log2;
  return log2;
}

// A block of that size that everybody has left.
uint64_t find_free(uint32_t bytes_log2) {
  for (uint64_t at = last_block; at; at = head_at(*own, at)->previous) {
    BlockHead* head = head_at(*own, at);
    // acquire: what its last users wrote there is over before we write.
    if (head->bytes_log2 == bytes_log2 && head->users.load(std::memory_order_acquire) == 0) return at;
  }
  return 0;
}

// Sizes are powers of two, so that a freed block fits the next group; what is not taken costs no memory.
uint64_t carve(uint32_t bytes_log2) {
  const uint64_t bytes = uint64_t{1} << bytes_log2;
  if (own->bytes - own->used < bytes) return 0;
  if (os::take_pages(own->descriptor, own->used, kPage) != 0) return 0;
  const uint64_t at = own->used;
  own->used += bytes;
  BlockHead* head = head_at(*own, at);
  head->bytes_log2 = bytes_log2;
  head->previous = last_block;
  last_block = at;
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

int allocate_block(uint64_t bytes, uint32_t users, uint64_t limit, Block* block, Ticket* ticket) {
  const Guard guard;
  forget_if_forked();
  if (!own) own = create_own(limit);
  if (!own) return -ENOMEM;
  const uint32_t log2 = log2_of(bytes);
  uint64_t at = find_free(log2);
  if (!at) at = carve(log2);
  if (!at) return -ENOMEM;
  BlockHead* head = head_at(*own, at);
  head->users.store(users, std::memory_order_relaxed);  // the ticket's way to the others orders it
  ++own->blocks;
  *block = Block{own, at, own->address + at};
  std::memset(block->address + kBlockHeader, 0, kPage - kBlockHeader);
  *ticket = Ticket{own->name, owner_process, own->descriptor, own->bytes, at};
  return 0;
}

int attach_block(const Ticket& ticket, uint64_t bytes, Block* block) {
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
  *block = Block{segment, ticket.offset, segment->address + ticket.offset};
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
  own = nullptr;
  last_block = 0;
}

}  // namespace smelt
