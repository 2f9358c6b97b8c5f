// A group as one participant sees it: where things lie in the shared memory, how far it has got, how it waits.
//
// The collectives are one file each (group_barrier.cc, broadcast.cc, reduce.cc, allreduce.cc), written over the few
// things here; how they are put to use is group_plan.h's; how a group comes into being, group_create.cc's.
#pragma once

#include <smelt/group.h>

#include "base/object.h"
#include "collective/group_layout.h"
#include "collective/group_plan.h"

namespace smelt {

// Polls before a waiter looks up from its line: about 2 µs, longer than any hop.
inline constexpr int kGroupBurst = 128;

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
  char* scratch = nullptr;  // this process's own: kScratchBytes
  char* planning = nullptr;  // memory for generating patterns, reserved but not kept
  size_t planning_bytes = 0;
  uint64_t probe = 0;        // Introduction::probe_address
  bool single_copy = false, single_copy_asked = false;

  // 2. Progress. All participants count alike.
  uint64_t episode = 0;  // collective calls so far
  uint64_t settled = 0;  // every participant has finished all episodes up to this one, as far as we know
  uint64_t pieces = 0;   // pieces of long messages so far
  uint64_t drained = 0;  // every participant has done with so many pieces, as far as we know

  // 3. What the plan says.
  GroupPlan plan;
  Route* routes = nullptr;  // [n] by root, filled at first use

  const Introduction& introduction(uint32_t i) const {
    return *reinterpret_cast<const Introduction*>(introductions + i * kIntroductionBytes);
  }
  Desk& desk() { return desks[me]; }
  char* up_piece(uint32_t i, uint64_t piece) { return shelves + i * kShelfBytes + piece % kPieceRing * plan.limits.piece; }
  char* down_piece(uint32_t i, uint64_t piece) { return up_piece(i, piece) + kChannelBytes; }

  // Waits until ready() holds; `peer` is who will make it hold.
  template <typename Ready>
  void wait_until(uint32_t peer, Ready ready) {
    if (ready()) [[likely]] return;
    if (!plan.crowded) {
      for (int i = 0; i < kGroupBurst; ++i) {
        cpu_pause();
        if (ready()) return;
      }
    }
    for (uint32_t turn = 0;; ++turn) {
      idle(peer, turn);
      for (int i = 0; i < polls_per_turn(); ++i) {
        if (ready()) return;
        cpu_pause();
      }
    }
  }

  // An inline message of participant i in this episode.
  const InlineLine& wait_line(uint32_t i, const InlineLine* ring) {
    const InlineLine& line = ring[episode % kRing];
    wait_until(i, [&] { return line.episode.load(std::memory_order_acquire) == episode; });
    return line;
  }
  const InlineLine& wait_up(uint32_t i) { return wait_line(i, desks[i].up); }
  const InlineLine& wait_down(uint32_t i) { return wait_line(i, desks[i].down); }

  // Waits until our slots of this episode are free to be written.
  void open_slot() {
    if (episode > kRing && settled < episode - kRing) [[unlikely]] settle(episode - kRing);
  }
  // Our own line for this episode; post_line then lets the others have it.
  InlineLine& open_line(InlineLine* ring) {
    open_slot();
    return ring[episode % kRing];
  }
  void post_line(InlineLine& line) { line.episode.store(episode, std::memory_order_release); }

  // The end of a collective in which not everybody has heard of everybody.
  void finish() { desk().status.finished.store(episode, std::memory_order_release); }
  // ... and of one in which everybody has: nobody can be here before all have left the episode before.
  void finish_together() { settled = episode - 1; }

  // Waits until everybody has finished `upto`.
  void settle(uint64_t upto);
  // Waits until our slots for this piece are free.
  void open_piece(uint64_t piece) {
    if (piece >= kPieceRing && drained < piece - kPieceRing + 1) [[unlikely]] drain(piece - kPieceRing + 1);
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
    if (routes[root].parent == kUnrouted) [[unlikely]] find_route(root);
    return routes[root];
  }
  void find_route(uint32_t root);

  int polls_per_turn() const { return plan.crowded ? 8 : 32; }
  void idle(uint32_t peer, uint32_t turn);
};

// The long way of the four collectives; each is in the file of its name.
void group_barrier(Group& group);
int group_broadcast(Group& group, const smelt_data& data, size_t bytes, uint32_t root);
int group_reduce(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold, uint32_t root);
int group_allreduce(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold);

}  // namespace smelt

struct smelt_group : smelt::Object, smelt::Group {};
