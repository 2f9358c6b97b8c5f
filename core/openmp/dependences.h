// Which tasks must end before a task may begin: `depend` of OpenMP, between the children of one task.
//
// Every address that a child has named has an Entry in its parent's table. There the children are in groups, in the
// order in which they were made: those that only read (in) are one group; a child that writes (out, inout) is a group
// by itself. A child waits for the group before its own:
//
//   made:        out A   in B   in C   out D   in E   in F
//   waits for:     -       A      A    B and C   D      D
//
// so an Entry keeps two groups, the last one (`now`) and the one `before`. That older ones are over follows.
//
// A child that has dependences has a Node. Its `successors` are a list to which the maker adds and which the end of the
// child closes, by exchange. If the list is closed, there is nothing to wait for. `open` counts the predecessors that
// have not ended, and 1 for the maker until it has looked at all of them. The thread that brings `open` to 0 makes the
// child ready. So the table is the maker's alone, and needs no lock; only the two words of a Node are shared.
//
//   add     maker: open = 1; for each predecessor: open + 1, push to its successors (closed: open - 1); then open - 1
//   close   the thread that ran it: takes the list; for each successor: open - 1
//
// A Node has the slots by which it hangs in other lists: its memberships in groups, and its places among the successors
// of others. The node is in neither kind of list when its last reference is dropped: a group holds one, its task
// another. A slot among the successors of another is read for the last time before that other's part of `open` is given
// back.
//
// OmpSs and StarPU keep their tasks' dependences in this way; libgomp, the same under the team's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace smelt::openmp {

enum class Access : uint8_t { kIn, kOut };

struct DependNode;

// It is in a list because of `node`, and in a block of that node's.
struct DependSlot {
  DependSlot* next;
  DependNode* node;
};

inline constexpr size_t kDependBlockBytes = 128;  // two cache lines: a node with five slots, or seven further slots

struct DependNode {
  std::atomic<DependSlot*> successors{nullptr};  // closed_list(): the task has ended
  std::atomic<int32_t> open{1};
  std::atomic<int32_t> references{1};
  void* task;
  DependSlot* memberships = nullptr;     // reserved for them
  void* more = nullptr;                  // blocks with slots; each begins with the next one
  uint32_t used = 0;                     // slots of the newest block
  static constexpr uint32_t kSlots = 5;  // fills the block
  DependSlot slots[kSlots];
};
static_assert(sizeof(DependNode) <= kDependBlockBytes);

inline DependSlot* closed_list() { return reinterpret_cast<DependSlot*>(uintptr_t{1}); }

// Has the task of that node ended? Its effects are then seen.
inline bool is_closed(const DependNode& node) {
  // Acquire: pairs with close().
  return node.successors.load(std::memory_order_acquire) == closed_list();
}

// Blocks: `void* get()`, kDependBlockBytes or nullptr, for the maker; `void put(void*)`, for anybody.
template <typename Blocks>
DependSlot* new_slot(DependNode& node, Blocks& blocks) {
  constexpr uint32_t kMore = (kDependBlockBytes - sizeof(DependSlot)) / sizeof(DependSlot);
  if (!node.more && node.used < DependNode::kSlots) return &node.slots[node.used++];
  if (!node.more || node.used == kMore) {
    auto* const block = static_cast<DependSlot*>(blocks.get());
    if (!block) return nullptr;
    *reinterpret_cast<void**>(block) = node.more;
    node.more = block;
    node.used = 0;
  }
  return static_cast<DependSlot*>(node.more) + 1 + node.used++;
}

// Slots for the node's memberships: all, before the first. False: no memory; the node is to be dropped.
template <typename Blocks>
bool reserve_memberships(DependNode& node, uint32_t count, Blocks& blocks) {
  for (uint32_t i = 0; i < count; ++i) {
    DependSlot* const slot = new_slot(node, blocks);
    if (!slot) return false;
    slot->next = node.memberships;
    node.memberships = slot;
  }
  return true;
}

template <typename Blocks>
void drop(DependNode* node, Blocks& blocks) {
  // Release: our use of it is over; acquire: everybody's, before its next.
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (void* block = node->more; block;) {
    void* const next = *static_cast<void**>(block);
    blocks.put(block);
    block = next;
  }
  blocks.put(node);
}

// The task of `node` waits for the end of `before`, too. False: that has ended.
inline bool add_successor(DependNode& before, DependSlot& slot, DependNode& node) {
  // Acquire: the effects of an ended task, for the task that need not wait for it.
  DependSlot* first = before.successors.load(std::memory_order_acquire);
  if (first == closed_list()) return false;
  slot.node = &node;
  node.open.fetch_add(1, std::memory_order_relaxed);  // published with the slot
  do {
    slot.next = first;  // release: slot and count, for close()
    if (before.successors.compare_exchange_weak(first, &slot, std::memory_order_release, std::memory_order_acquire))
      return true;
  } while (first != closed_list());
  node.open.fetch_sub(1, std::memory_order_relaxed);  // the maker's own part is still there
  return false;
}

// One predecessor less, or the maker is done. True: the task is ready, and the caller's.
inline bool one_less(DependNode& node) {
  // Release: the predecessor's effects, for the thread that makes the node ready. Acquire: we may be that thread.
  return node.open.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// The task of `node` has ended: ready(task) for each that waited for nothing else.
template <typename Ready>
void close(DependNode& node, Ready ready) {
  // Acquire: the slots. Release: the task's effects, for the maker of the next.
  DependSlot* slot = node.successors.exchange(closed_list(), std::memory_order_acq_rel);
  while (slot) {
    DependNode& successor = *slot->node;
    slot = slot->next;  // is the successor's, which may be gone after this
    void* const task = successor.task;
    if (one_less(successor)) ready(task);
  }
}

// Each parent has a table. Only the thread that runs the parent uses it.
struct DependTable {
  struct Entry {
    const void* address;  // nullptr: free
    DependNode* stamp;    // being added
    Access wanted;        // of that one
    Access kind;          // of `now`
    DependSlot *now, *now_last, *before;
  };
  Entry* entries;
  uint32_t room;  // a power of two, or 0
  uint32_t used;

  static uint32_t place(const void* address, uint32_t room) {
    return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(address) >> 2) * 0x9e3779b97f4a7c15u >> 32) & (room - 1);
  }

  // The place where the address is, or would be.
  Entry* look(const void* address) const {
    uint32_t at = place(address, room);
    while (entries[at].address && entries[at].address != address) at = (at + 1) & (room - 1);
    return &entries[at];
  }

  const Entry* find(const void* address) const {
    if (used == 0) return nullptr;
    const Entry* const entry = look(address);
    return entry->address ? entry : nullptr;
  }

  // Drops from the front of a list those that have ended.
  template <typename Blocks>
  static void trim(DependSlot*& list, Blocks& blocks) {
    while (list && is_closed(*list->node)) {
      DependNode* const node = list->node;
      list = list->next;
      drop(node, blocks);
    }
  }

  template <typename Blocks>
  static void drop_list(DependSlot* list, Blocks& blocks) {
    while (list) {
      DependNode* const node = list->node;
      list = list->next;
      drop(node, blocks);
    }
  }

  // Room for `more` addresses; forgets those whose tasks have all ended. False: no memory, and nothing is changed.
  template <typename Blocks>
  bool reserve(uint32_t more, Blocks& blocks) {
    if (uint64_t{used + more} * 2 <= room) return true;
    uint32_t live = 0;
    for (uint32_t i = 0; i < room; ++i) {
      Entry& entry = entries[i];
      if (!entry.address) continue;
      trim(entry.before, blocks);
      trim(entry.now, blocks);
      live += entry.now != nullptr;
    }
    uint64_t wanted = 32;
    while (wanted < (uint64_t{live} + more) * 4) wanted *= 2;
    if (wanted > uint64_t{1} << 30) return false;
    auto* const table = static_cast<Entry*>(std::calloc(wanted, sizeof(Entry)));
    if (!table) return false;
    Entry* const old = entries;
    const uint32_t old_room = room;
    entries = table;
    room = static_cast<uint32_t>(wanted);
    used = live;
    for (uint32_t i = 0; i < old_room; ++i) {
      if (!old[i].address) continue;
      // One whose `now` has ended has no `before` that has not.
      if (old[i].now)
        *look(old[i].address) = old[i];
      else
        drop_list(old[i].before, blocks);
    }
    std::free(old);
    return true;
  }

  // `node` names this address. All of its addresses first, so that one named twice counts as its strongest use.
  void stamp(DependNode& node, const void* address, Access access) {
    Entry& entry = *look(address);
    if (!entry.address) {
      entry.address = address;
      ++used;
    }
    if (entry.stamp != &node)
      entry.wanted = access;
    else if (entry.wanted != access)
      entry.wanted = Access::kOut;
    entry.stamp = &node;
  }

  // Then each of them: adds it to its group, to wait for the group before. wait(other) where there is no memory for a
  // slot: back when that has ended.
  template <typename Blocks, typename Wait>
  void add(DependNode& node, const void* address, Blocks& blocks, Wait wait) {
    Entry& entry = *look(address);
    if (entry.stamp != &node) return;
    entry.stamp = nullptr;
    trim(entry.now, blocks);
    if (!entry.now || entry.wanted != entry.kind || entry.wanted == Access::kOut) {
      drop_list(entry.before, blocks);
      entry.before = entry.now;
      entry.now = nullptr;
      entry.kind = entry.wanted;
    }
    trim(entry.before, blocks);
    DependSlot* spare = nullptr;
    for (DependSlot* other = entry.before; other; other = other->next) {
      if (!spare) spare = new_slot(node, blocks);
      if (!spare)
        wait(*other->node);
      else if (add_successor(*other->node, *spare, node))
        spare = nullptr;
    }
    DependSlot* const member = node.memberships;
    node.memberships = member->next;
    member->node = &node;
    member->next = nullptr;
    if (entry.now)
      entry.now_last->next = member;
    else
      entry.now = member;
    entry.now_last = member;
    node.references.fetch_add(1, std::memory_order_relaxed);  // the maker holds one
  }

  // For one that is not added: wait(other) for each that it would have to wait for.
  template <typename Wait>
  void wait_for(const void* address, Access access, Wait wait) const {
    const Entry* const entry = find(address);
    if (!entry) return;
    const bool joins = access == entry->kind && access != Access::kOut;
    for (DependSlot* other = joins ? entry->before : entry->now; other; other = other->next) wait(*other->node);
  }

  template <typename Wait>
  void wait_for_all(Wait wait) const {
    for (uint32_t i = 0; i < room; ++i) {
      if (!entries[i].address) continue;
      for (DependSlot* other = entries[i].before; other; other = other->next) wait(*other->node);
      for (DependSlot* other = entries[i].now; other; other = other->next) wait(*other->node);
    }
  }

  // The parent is over; its children need not be.
  template <typename Blocks>
  void free_all(Blocks& blocks) {
    for (uint32_t i = 0; i < room; ++i) {
      drop_list(entries[i].before, blocks);
      drop_list(entries[i].now, blocks);
    }
    std::free(entries);
    entries = nullptr;
    room = used = 0;
  }
};

}  // namespace smelt::openmp
