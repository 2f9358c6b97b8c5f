// A group as one participant sees it: where things lie in the shared memory, how far it has got, how it waits.
//
// The collectives are one file each (barrier.cc, broadcast.cc, reduce.cc, allreduce.cc), written over the few
// things here; how they are put to use is plan.h's; how a group comes into being, create.cc's.
#pragma once

#include <smelt/group.h>

#include <cstring>

#include "base/object.h"
#include "group/plan.h"
#include "transport/desk.h"

namespace smelt {

// Cheaper than a call of memcpy for the usual small sizes.
inline void copy_inline(void* to, const void* from, size_t bytes) {
  if (bytes == 8)
    std::memcpy(to, from, 8);
  else if (bytes == 4)
    std::memcpy(to, from, 4);
  else
    std::memcpy(to, from, bytes);
}

inline constexpr uint64_t kFinishStride = 4;
static_assert(kFinishStride < kRing);

struct Group {
  uint32_t n = 0, me = 0;
  smelt_host host{};

  // 1. Shared memory.
  Block block, shelf_block;
  Front* front = nullptr;
  char* introductions = nullptr;
  Desk* desks = nullptr;    // [n]
  char* shelves = nullptr;  // [n * kShelfBytes]; nullptr: none yet, or refused
  bool shelf_refused = false;
  char* scratch = nullptr;   // this process's own: kScratchBytes
  char* planning = nullptr;  // memory for generating patterns, reserved but not kept
  size_t planning_bytes = 0;
  uint64_t probe = 0;  // Introduction::probe_address
  bool single_copy = false, single_copy_asked = false;

  // 2. Progress. All participants count alike.
  uint64_t episode = 0;  // collective calls so far
  uint64_t settled = 0;  // every participant has finished all episodes up to this one, as far as we know
  uint64_t pieces = 0;   // pieces of long messages so far
  uint64_t drained = 0;  // every participant has done with so many pieces, as far as we know

  // 3. What the plan says.
  GroupPlan plan;
  Route* routes = nullptr;               // [n] by root, filled at first use
  ReduceRoute* reduce_routes = nullptr;  // [n] likewise
  Arena children{nullptr, 0};            // of those, with room for all of them

  const Introduction& introduction(uint32_t i) const {
    return *reinterpret_cast<const Introduction*>(introductions + i * kIntroductionBytes);
  }
  Desk& desk() { return desks[me]; }
  char* up_piece(uint32_t i, uint64_t piece) {
    return shelves + i * kShelfBytes + piece % kPieceRing * plan.limits.piece;
  }
  char* down_piece(uint32_t i, uint64_t piece) { return up_piece(i, piece) + kChannelBytes; }

  // Waits until ready() holds; `peer` is who will make it hold.
  template <typename Ready>
  void wait_until(uint32_t peer, Ready ready) {
    if (ready()) [[likely]]
      return;
    if (!plan.crowded) {
      for (int i = 0; i < plan.burst; ++i) {
        cpu_pause();
        if (ready()) return;
      }
    }
    for (uint32_t turn = 0;; ++turn) {
      idle(peer, turn);
      for (int i = 0; i < plan.turn; ++i) {
        if (ready()) return;
        cpu_pause();
      }
    }
  }

  // Waits until our slots of this episode are free to be written.
  void open_slots() {
    if (episode > kRing && settled < episode - kRing) [[unlikely]]
      settle(episode - kRing);
  }

  // The inline message of this episode to whoever reads our channel.
  void put_inline(InlineSlot* channel, const void* from, size_t bytes) {
    open_slots();
    const char* at = static_cast<const char*>(from);
    for (InlineLine* line = channel[episode % kRing].line;; ++line) {
      const size_t length = bytes < kLinePayload ? bytes : kLinePayload;
      copy_inline(line->payload, at, length);
      line->episode.store(episode, std::memory_order_release);
      if (bytes <= kLinePayload) return;
      at += length, bytes -= length;
    }
  }

  // The inline message of participant i in this episode: where it lies, or a copy in `room` when it takes several
  // lines.
  const void* get_inline(uint32_t i, const InlineSlot* channel, size_t bytes, void* room) {
    const InlineLine* line = channel[episode % kRing].line;
    wait_line(i, *line);
    // A sender that runs ahead has put its next message there already: asked for now, it is here when it is wanted
    // (measured, reduce of 8 bytes in a tight loop, near: 16 ns a call instead of 21; where nobody runs ahead no
    // difference).
    __builtin_prefetch(channel[(episode + 1) % kRing].line);
    if (bytes <= kLinePayload) return line->payload;
    char* to = static_cast<char*>(room);
    for (;;) {
      const size_t length = bytes < kLinePayload ? bytes : kLinePayload;
      std::memcpy(to, line->payload, length);
      if (bytes <= kLinePayload) return room;
      to += length, bytes -= length;
      wait_line(i, *++line);
    }
  }
  void wait_line(uint32_t i, const InlineLine& line) {
    wait_until(i, [&] { return line.episode.load(std::memory_order_acquire) == episode; });
  }

  // The end of a collective in which not everybody has heard of everybody. Told every few episodes only: a sender that
  // runs ahead polls the line, and every store into it would cost a message. The ring is long enough for that: whoever
  // waits for a slot has itself sent all that the others need to get to within kFinishStride of it.
  void finish() {
    if (episode % kFinishStride == 0) finish_now();
  }
  void finish_now() { desk().status.finished.store(episode, std::memory_order_release); }
  // ... and of one in which everybody has: nobody can be here before all have left the episode before.
  void finish_together() { settled = episode - 1; }

  // Waits until everybody has finished `upto`.
  void settle(uint64_t upto);
  // Waits until our slots for this piece are free.
  void open_piece(uint64_t piece) {
    if (piece >= kPieceRing && drained < piece - kPieceRing + 1) [[unlikely]]
      drain(piece - kPieceRing + 1);
  }
  void drain(uint64_t upto);
  void wait_filled(uint32_t i, Counter Desk::*channel, uint64_t piece) {
    const std::atomic<uint64_t>& filled = (desks[i].*channel).value;
    wait_until(i, [&] { return filled.load(std::memory_order_acquire) > piece; });
  }
  void fill(Counter Desk::*channel, uint64_t piece) {
    (desk().*channel).value.store(piece + 1, std::memory_order_release);
  }
  void consume(uint64_t piece) { desk().consumed.value.store(piece + 1, std::memory_order_release); }

  // Memory for long messages: asked for by all in the same collective, granted to all or to none.
  bool have_shelves() { return shelves || (!shelf_refused && agree_on_shelves()); }
  bool agree_on_shelves();
  bool agree_on_single_copy();
  bool vote(Question question, bool yes);  // true when all said yes

  const Route& route(uint32_t root) {
    if (routes[root].parent == kUnrouted) [[unlikely]]
      find_route(root);
    return routes[root];
  }
  void find_route(uint32_t root);
  // The tree along which this operation goes to `root`; nullptr: it keeps the fixed order.
  const ReduceRoute* tree_for(const smelt_fold& fold, uint32_t root) {
    if (!(fold.flags & plan.free_folds)) return nullptr;
    if (reduce_routes[root].parent == kUnrouted) [[unlikely]]
      find_reduce_route(root);
    return reduce_routes[root].by_tree ? &reduce_routes[root] : nullptr;
  }
  void find_reduce_route(uint32_t root);

  void idle(uint32_t peer, uint32_t turn);
  // Waits until a counter of everybody else's has come to `upto`; the least of them.
  template <typename CounterOf>
  uint64_t wait_for_all(uint64_t upto, CounterOf counter_of);
};

// The long way of the four collectives; each is in the file of its name. A reduction's `out` is empty elsewhere than on
// the root.
void group_barrier(Group& group);
int group_broadcast(Group& group, const smelt_data& data, size_t bytes, uint32_t root);
int group_reduce(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                 uint32_t root);
int group_allreduce(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold);

}  // namespace smelt

struct smelt_group : smelt::Object, smelt::Group {};
