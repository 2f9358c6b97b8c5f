// Waiting for a message or for room (place/wait.h), and meanwhile looking after others.
//
// A spinning receiver polls the line of its parent in the tree, in which the parent says how far the log goes: the root
// alone polls the log, and a line is polled by as many as the tree's fan-out says. From time to time everybody looks at
// the log itself: the parent may be busy elsewhere. A waiter that yields or sleeps looks there only; the bell is one
// for all.
//
// Every kWatch a waiter looks after its parent and its children: has one left or been taken out, and the view does not
// say so, or is its process gone? As long as somebody in the view is alive and somebody is not, the tree, which spans
// them all, has an edge from one to the other; and each view that is made has fewer of the dead. So a single survivor
// finds all of them, though each looks after few.
#include <algorithm>
#include <cerrno>

#include "library/agree/members.h"

namespace smelt::members {
namespace {

constexpr int64_t kWatch = 20'000'000;  // ns; looking takes a few us for each neighbour

int wait(Member& member, Bell& bell, auto waiter) {
  return place::wait({member.policy, member.timeout_ns, member.of->object.threads, kWatch}, bell, waiter);
}

bool is_gone(const Member& member, uint32_t place, PlaceState state) {
  return place::is_gone(state.process(), member.places[place].started.load(std::memory_order_relaxed));
}

}  // namespace

void look_after_neighbours(Member& member, int64_t now) {
  if (now - member.watched < kWatch) return;
  member.watched = now;
  for (uint32_t p = 0; p < member.shape.places; ++p) {
    if (p == member.me || !member.view.has(p)) continue;
    if (member.view.parent(p) != member.me && member.view.parent(member.me) != p) continue;
    const PlaceState state{member.places[p].state.load(std::memory_order_acquire)};
    if (!state.is(kTaken) || state.generation() != member.view.generation(p))
      member.differs = true;
    else if (is_gone(member, p, state))
      exclude(member, p, state);
  }
  // A view may find no room because of a dead member that is no neighbour.
  if (member.differs && mend(member) == -EAGAIN) look_after_holder(member, now);
}

void look_after_holder(Member& member, int64_t now) {
  const uint32_t p = member.holder;
  if (p == member.me || is_out(member)) return;
  const PlaceState state{member.places[p].state.load(std::memory_order_acquire)};
  const uint64_t at = member.places[p].received.load(std::memory_order_relaxed);
  if (!state.is(kTaken)) return;
  if (state.word != member.suspect_state || at != member.suspect_at) {
    member.suspect_state = state.word;
    member.suspect_at = at;
    member.suspect_seen = now;
    member.suspect_for = 0;
    return;
  }
  // We may have been stopped ourselves, and so may all: from one look to the next no more than a part of it counts.
  const int64_t patience = member.of->patience_ns;
  member.suspect_for += std::min(now - member.suspect_seen, patience / 4 + 1);
  member.suspect_seen = now;
  bool lost = patience >= 0 && member.suspect_for > patience;
  if (!lost && now - member.holder_watched >= kWatch) {
    member.holder_watched = now;
    lost = is_gone(member, p, state);
  }
  if (!lost) return;
  member.suspect_state = 0;
  exclude(member, p, state);
}

namespace {

constexpr int kFirstReceive = 2;  // no errno: ends the wait, and becomes -EAGAIN

struct RoomToSend : place::WaiterDefaults {
  Member& member;
  explicit RoomToSend(Member& member) : member(member) {}

  int look() {
    if (is_out(member)) return -ESTALE;
    survey(member);
    const uint64_t end = std::max(member.next, member.shared->tail.load(std::memory_order_acquire));
    if (member.used_at[member.buffer] < member.least && end < member.least + member.ring) return 0;
    return member.holder == member.me ? kFirstReceive : -EAGAIN;
  }
  void watch(int64_t now) {
    if (member.differs) mend(member);
    look_after_holder(member, now);
  }
};

// Polls the line of its parent's; the root polls the log.
struct NextEntry : place::WaiterDefaults {
  static constexpr bool kGlances = true;
  Member& member;
  const uint32_t parent;
  const bool alone;
  const Epoch& known;

  explicit NextEntry(Member& member)
      : member(member),
        parent(member.view.has(member.me) ? member.view.parent(member.me) : member.me),
        alone(parent == member.me || parent >= member.shape.places),
        known(member.places[alone ? member.me : parent].known) {}

  bool glance() { return alone || poll(known, member.next + 1); }
  int look() {
    Entry entry;
    return is_here(member, member.next, &entry) || is_out(member) ? 0 : -EAGAIN;
  }
  void watch(int64_t now) { look_after_neighbours(member, now); }
};

}  // namespace

int wait_to_send(Member& member) {
  const int result = wait(member, member.shared->received, RoomToSend(member));
  return result == kFirstReceive ? -EAGAIN : result;
}

int wait_to_receive(Member& member) { return wait(member, member.shared->logged, NextEntry(member)); }

}  // namespace smelt::members
