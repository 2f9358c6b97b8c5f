// Waiting for a message or for room, and meanwhile looking after others. Spin, yield, sleep in the proportions of
// policy/wait.h, as queue/wait.cc does; sleepers of other processes may be missed and sleep in slices.
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

#include "agree/members.h"
#include "base/os/os.h"
#include "base/os/process.h"

namespace smelt::members {
namespace {

constexpr int64_t kBlindSlice = typical(ThresholdId::kBlindSlice);
constexpr int64_t kWatch = 20'000'000;  // ns; looking takes a few us for each neighbour

// Anything but -EAGAIN of `look` ends the wait; `glance` looks where it is cheap, and `look` is asked if that is true.
template <typename Glance, typename Look, typename Watch>
int wait_until(Member& member, Bell& bell, int64_t timeout_ns, Glance glance, Look look, Watch watch) {
  const WaitPolicy& policy = member.policy;
  int result;
  for (int i = 0; i < policy.burst; ++i) {
    if (glance() && (result = look()) != -EAGAIN) return result;
    if (policy.spin_ns == 0) break;
    cpu_pause();
  }

  int64_t now = os::now_ns();
  const auto after = [&now](int64_t ns) { return ns < 0 || ns > INT64_MAX - now ? INT64_MAX : now + ns; };
  const int64_t deadline = after(timeout_ns);
  const int64_t spin_until = std::min(after(policy.spin_ns), deadline);
  while (now < spin_until) {
    for (int i = 0; i < policy.look; ++i) {
      if (glance() && (result = look()) != -EAGAIN) return result;
      cpu_pause();
    }
    if ((result = look()) != -EAGAIN) return result;
    now = os::now_ns();
    watch(now);
  }
  const int64_t yield_until = std::min(after(policy.yield_ns), deadline);
  while (policy.yield_ns > 0 && now < yield_until) {
    os::yield_cpu();
    if ((result = look()) != -EAGAIN) return result;
    const int64_t back = os::now_ns();
    const bool lost = back - now > policy.foreign_ns;  // to a thread that is not of ours
    now = back;
    watch(now);
    if (lost) break;
  }

  for (;;) {
    const uint32_t word = bell.wake.load(std::memory_order_acquire);
    bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();  // the store before the look that follows
    const bool ordered = member.of->threads && os::process_barrier();
    if ((result = look()) != -EAGAIN) return result;
    now = os::now_ns();
    if (now >= deadline) return -ETIMEDOUT;
    os::futex_wait(&bell.wake, word, std::min(ordered ? kWatch : kBlindSlice, deadline - now));
    if ((result = look()) != -EAGAIN) return result;
    watch(os::now_ns());
  }
}

bool is_gone(const Member& member, uint32_t place, State state) {
  return state.process() != os::process_id() &&
         os::process_gone(state.process(), member.places[place].started.load(std::memory_order_relaxed));
}

}  // namespace

void look_after_neighbours(Member& member, int64_t now) {
  if (now - member.watched < kWatch) return;
  member.watched = now;
  for (uint32_t p = 0; p < member.shape.places; ++p) {
    if (p == member.me || !member.view.has(p)) continue;
    if (member.view.parent(p) != member.me && member.view.parent(member.me) != p) continue;
    const State state{member.places[p].state.load(std::memory_order_acquire)};
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
  const State state{member.places[p].state.load(std::memory_order_acquire)};
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

int wait_to_send(Member& member) {
  constexpr int kFirstReceive = 2;  // no errno: ends the wait, and becomes -EAGAIN
  const auto look = [&member] {
    if (is_out(member)) return -ESTALE;
    survey(member);
    const uint64_t end = std::max(member.next, member.shared->tail.load(std::memory_order_acquire));
    if (member.used_at[member.buffer] < member.least && end < member.least + member.ring) return 0;
    return member.holder == member.me ? kFirstReceive : -EAGAIN;
  };
  const auto watch = [&member](int64_t now) {
    if (member.differs) mend(member);
    look_after_holder(member, now);
  };
  const int result = wait_until(
      member, member.shared->received, member.timeout_ns, [] { return true; }, look, watch);
  return result == kFirstReceive ? -EAGAIN : result;
}

int wait_to_receive(Member& member) {
  // The line of the parent's that we poll; the root polls the log.
  const uint32_t parent = member.view.has(member.me) ? member.view.parent(member.me) : member.me;
  const bool alone = parent == member.me || parent >= member.shape.places;
  const Epoch& known = member.places[alone ? member.me : parent].known;
  const auto glance = [&member, alone, &known] { return alone || poll(known, member.next + 1); };
  const auto look = [&member] {
    Entry entry;
    return is_here(member, member.next, &entry) || is_out(member) ? 0 : -EAGAIN;
  };
  const auto watch = [&member](int64_t now) { look_after_neighbours(member, now); };
  return wait_until(member, member.shared->logged, member.timeout_ns, glance, look, watch);
}

}  // namespace smelt::members
