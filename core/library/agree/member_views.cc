// Views: the members and their tree. members.h has the whole.
//
// Making a view:
//   1. Find the last one in the log.
//   2. A member of it whose place is not taken by it any more goes; a joiner comes; a leaver goes.
//   3. Mend its tree (library/patterns/mend.h) by the costs of a message from CPU to CPU, which the profile says.
//   4. Write all that into a buffer of one's own, and put its word at the end of the log, unless another view has got
//      there since 1.: then all over again. If several members make the same view, one succeeds, and the others find
//      that there is nothing left to do.
// So views follow each other, each made from the one before, even where a member dies, and nobody sees an unfinished
// one.
//
// A joiner has not read the log: `latest` says where the last view is, and no entry before `tail` is a later view
// (pass()). Its buffer is not overwritten before `latest` has moved on, so the words read count if `latest` is
// unchanged.
#include <algorithm>
#include <cerrno>

#include "library/agree/members.h"
#include "library/patterns/mend.h"

namespace smelt::members {
namespace {

PlaceState state_of(const Member& member, uint32_t place) {
  // acquire: as in survey().
  return {member.places[place].state.load(std::memory_order_acquire)};
}

// 1. With `publish` we need none of the scanned entries any more.
int scan(Member& member, bool publish) {
  Entry entry;
  for (uint32_t i = 0; i <= member.ring && is_here(member, member.scanned, &entry); ++i) {
    if (entry.is_view()) {
      const uint64_t before = member.head.number;
      if (!read_view(member, entry.place(), entry.buffer(), &member.head) || is_out(member) ||
          member.head.number != before + 1)
        return is_out(member) ? -ESTALE : -EPROTO;
    }
    pass(member, member.scanned++, entry);
  }
  if (publish && member.received < member.scanned) acknowledge(member, member.scanned);
  return 0;
}

// 3. The changes: `goes` of those that are in, and whether we come.
struct Mending {
  const Member& member;
  const View& from;
  bool goes[kMostPlaces];
  bool comes;
  uint32_t count = 0;            // those that are in, and the one that comes
  uint16_t place[kMostPlaces];   // their places, ascending
  uint16_t number[kMostPlaces];  // the other way

  Mending(const Member& who, const View& before) : member(who), from(before), goes{}, comes(false), place{}, number{} {}

  // The tree of those that were in, numbered among all. false: it is none.
  bool old_tree(Arena& arena, Tree* tree, uint16_t* members) const {
    uint32_t n = 0;
    uint16_t* const among = arena.make<uint16_t>(kMostPlaces);
    uint32_t root = kMostPlaces;
    for (uint32_t i = 0; among && i < count; ++i) {
      if (!from.has(place[i])) continue;
      if (from.parent(place[i]) == place[i]) root = n;
      among[place[i]] = static_cast<uint16_t>(n);
      members[n++] = static_cast<uint16_t>(i);
    }
    if (root >= n || make_tree(n, static_cast<uint16_t>(root), arena, tree) != 0) return false;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t parent = from.parent(place[members[i]]);
      if (i == root) continue;
      if (parent >= member.shape.places || !from.has(parent) || parent == place[members[i]]) return false;
      append_child(*tree, among[parent], static_cast<uint16_t>(i));
    }
    return is_spanning(*tree);
  }

  // The costs of telling among them. Two on one CPU tell each other no sooner than the two that are farthest apart.
  bool pose(Arena& arena, TreeProblem* problem) const {
    const Profile& profile = member.of->profile;
    const Costs& costs = profile.costs;
    auto* edge = arena.make<float>(size_t{count} * count);
    auto* busy = arena.make<float>(size_t{count} * count);
    auto* node = arena.make<uint16_t>(count);
    auto* llc = arena.make<uint16_t>(count);
    auto* cpu = arena.make<uint16_t>(count);
    if (!edge || !busy || !node || !llc || !cpu) return false;
    for (uint32_t i = 0; i < count; ++i) {
      // relaxed: a hint, written by the member that took the place.
      const uint32_t named = member.places[place[i]].cpu.load(std::memory_order_relaxed);
      cpu[i] = profile_index(profile, named);
      if (cpu[i] == kNobody) cpu[i] = static_cast<uint16_t>(place[i] % costs.n);
      node[i] = costs.node[cpu[i]];
      llc[i] = costs.llc[cpu[i]];
    }
    float farthest = 1;
    for (uint32_t v = 0; v < count; ++v)
      for (uint32_t c = 0; c < count; ++c) farthest = std::max(farthest, costs.hop[costs.at(cpu[v], cpu[c])]);
    for (uint32_t v = 0; v < count; ++v)
      for (uint32_t c = 0; c < count; ++c) {
        const size_t way = costs.at(cpu[v], cpu[c]), at = size_t{v} * count + c;
        const bool here = cpu[v] == cpu[c];
        busy[at] = v == c ? 0 : costs.send_busy[way];
        edge[at] = v == c ? 0 : here ? farthest : std::max(costs.hop[way], busy[at]);
      }
    *problem = {count, Direction::kBroadcast, edge, busy, node, llc};
    return true;
  }

  // The seats of the members afterwards.
  int mend(Arena& arena, View* out) const {
    *out = View{};
    out->number = from.number + 1;
    uint32_t stay = comes;
    uint16_t alone = static_cast<uint16_t>(member.me);
    for (uint32_t i = 0; i < count; ++i) {
      if (!from.has(place[i]) || goes[place[i]]) continue;
      ++stay;
      alone = place[i];
    }
    const auto generation = [this](uint16_t p) {
      return p == member.me && comes ? member.state.generation() : from.generation(p);
    };
    if (stay == 1) out->seat[alone] = generation(alone) << 16 | alone;
    if (stay <= 1) return 0;
    TreeProblem problem;
    Tree tree;
    auto* members = arena.make<uint16_t>(count);
    Mender mender;
    if (!members || !pose(arena, &problem)) return -ENOMEM;
    if (!old_tree(arena, &tree, members)) return -EPROTO;
    if (const int error = mender.make(problem, true, arena)) return error;
    mender.load(tree, members);
    // The joiner first: so no member leaves while it is the only one.
    if (comes && !from.has(member.me)) mender.join(number[member.me]);
    for (uint32_t i = 0; i < count; ++i)
      if (goes[place[i]] && !(comes && place[i] == member.me)) mender.leave(static_cast<uint16_t>(i));
    Tree mended;
    if (const int error = make_tree(mender.count(), 0, arena, &mended)) return error;
    mender.store(mended, members);
    for (uint32_t i = 0; i < mended.n; ++i) {
      const uint16_t p = place[members[i]];
      const uint16_t parent = mended.parent[i] == kNobody ? p : place[members[mended.parent[i]]];
      out->seat[p] = generation(p) << 16 | parent;
    }
    return 0;
  }
};

// 4. A buffer of ours in which nobody reads; kViewBuffers: none.
uint32_t free_buffer(const Member& member) {
  const Latest latest{member.shared->latest.load(std::memory_order_acquire)};
  uint32_t buffer = 0;
  while (buffer < kViewBuffers && (member.view_used_at[buffer] >= member.least ||
                                   (latest.word != 0 && latest.place() == member.me && latest.buffer() == buffer)))
    ++buffer;
  return buffer;
}

}  // namespace

bool read_view(const Member& member, uint32_t place, uint32_t buffer, View* out) {
  if (place >= member.shape.places || buffer >= kViewBuffers) return false;
  const Word* words = member.view_of(place, buffer);
  // acquire, of all words: as of a message's.
  out->number = words[0].load(std::memory_order_acquire);
  for (uint32_t p = 0; p < member.shape.places; ++p) out->seat[p] = words[1 + p].load(std::memory_order_acquire);
  return true;
}

int read_latest(Member& member, uint64_t from) {
  for (int turn = 0; turn < 1000; ++turn) {
    // acquire: the buffer; and after it, that it was not overwritten.
    const Latest latest{member.shared->latest.load(std::memory_order_acquire)};
    member.head = View{};
    member.scanned = from;
    if (latest.word == 0) return 0;
    const bool read = read_view(member, latest.place(), latest.buffer(), &member.head);
    if (member.shared->latest.load(std::memory_order_acquire) != latest.word) continue;
    member.scanned = std::max(from, latest.position() + 1);
    return read ? 0 : -EPROTO;
  }
  return -EAGAIN;
}

int make_view(Member& member, Change change, uint64_t* at) {
  for (uint32_t turn = 0; turn < member.ring; ++turn) {
    if (const int error = scan(member, change != Change::kMend)) return error;
    survey(member);
    Mending mending(member, member.head);
    bool changed = mending.comes = change == Change::kJoin;
    for (uint32_t p = 0; p < member.shape.places; ++p) {
      const bool in = member.head.has(p);
      if (in) {
        const PlaceState state = state_of(member, p);
        mending.goes[p] = !(state.is(kTaken) && state.generation() == member.head.generation(p)) ||
                          (change == Change::kLeave && p == member.me);
        changed |= mending.goes[p];
      }
      if (!in && !(mending.comes && p == member.me)) continue;
      mending.number[p] = static_cast<uint16_t>(mending.count);
      mending.place[mending.count++] = static_cast<uint16_t>(p);
    }
    if (!changed) return 0;

    const uint32_t buffer = free_buffer(member);
    if (buffer == kViewBuffers) return -EAGAIN;
    char* const scratch = member.arena.mark();
    View* made = member.arena.make<View>(1);
    const int error = made ? mending.mend(member.arena, made) : -ENOMEM;
    if (error == 0) {
      full_fence();  // `latest` was read before the buffer is written: a reader of the new words finds it moved on
      Word* words = member.view_of(member.me, buffer);
      // relaxed, all of it: the entry is put with release.
      words[0].store(made->number, std::memory_order_relaxed);
      for (uint32_t p = 0; p < member.shape.places; ++p) words[1 + p].store(made->seat[p], std::memory_order_relaxed);
    }
    member.arena.rewind(scratch);
    if (error != 0) return error;
    if (is_out(member)) return -ESTALE;
    const int result = append(member, true, buffer, member.scanned, at);
    if (result == kOvertaken) continue;
    if (result == 0) member.view_used_at[buffer] = *at;
    return result;
  }
  return -EAGAIN;
}

int mend(Member& member) {
  member.head = member.view;
  member.scanned = member.next;
  uint64_t at;
  const int result = make_view(member, Change::kMend, &at);
  member.differs = result != 0;
  return result;
}

int exclude(Member& member, uint32_t place, PlaceState meant) {
  // acq_rel: a member that finds it out has all that we knew.
  if (member.places[place].state.compare_exchange_strong(meant.word, meant.as(kOut).word, std::memory_order_acq_rel,
                                                         std::memory_order_relaxed)) {
    wake_sleepers(member.shared->logged);  // it may sleep there
    wake_sleepers(member.shared->received);
  }
  return mend(member);
}

}  // namespace smelt::members
