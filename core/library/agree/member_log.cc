// The log of a membership: numbering, receiving, and when something may be overwritten. members.h has the whole.
//
// 1. The end of the log is found from `tail` on, which may lag behind: entries follow each other without a gap,
//    since an entry is put only behind one that is there. A member that finds entries behind `tail` moves it on, no
//    matter which member put them.
// 2. All may be overwritten that lies before the least position that a taken place says it has received. A place that
//    is being taken must not be overtaken by a member that has just looked at all places and not seen it (Dekker's
//    problem, and Michael's hazard pointers, IEEE TPDS 2004). So the joiner first takes its place, then passes a fence,
//    then reads `tail`, and reads nothing that is older. The looker passes a fence, then looks at the places. Either it
//    sees the joiner, or the joiner reads a tail which is not before the position up to which the looker itself had
//    received: no member has received further than the tail says (acknowledge()).
// 3. A member that was taken out may read a buffer while it is overwritten. So buffers are made of atomic words, and
//    the words read count only if the reader's own state is still as it was: the member that overwrites has seen that
//    state changed before.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/os/os.h"
#include "library/agree/members.h"

namespace smelt::members {
namespace {

// Wakes the sleepers that wait for the value just stored: line.h says how that is seen without a fence.
void ring_bell(Bell& bell) {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // only the compiler must keep the order
  if (bell.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_sleepers(bell);
}

bool is_member_of(const View& view, const Member& member) {
  return view.has(member.me) && view.generation(member.me) == member.state.generation();
}

// The error of a reader that finds damaged memory, or was taken out.
int lost(const Member& member) { return is_out(member) ? -ESTALE : -EPROTO; }

void step(Member& member) {
  ++member.next;
  // Seldom, since it may cost the others a miss; often enough that a buffer is free again before the outbox is full.
  if (member.next - member.received >= member.shape.outbox() / 2) acknowledge(member, member.next);
}

int receive_view(Member& member, Entry entry, smelt_member_event* event) {
  if (!read_view(member, entry.place(), entry.buffer(), &member.head) || is_out(member)) return lost(member);
  if (member.head.number != member.view.number + 1) return -EPROTO;
  if (!is_member_of(member.head, member)) return -ESTALE;
  member.view = member.head;
  member.has_children = false;
  for (uint32_t place = 0; place < member.shape.places; ++place)
    member.has_children |= place != member.me && member.view.has(place) && member.view.parent(place) == member.me;
  *event = {SMELT_MEMBER_VIEW, entry.place(), member.next - member.ring, member.view.number, 0};
  step(member);
  return 0;
}

}  // namespace

bool is_out(const Member& member) {
  // acquire: a member that overwrites words we have read has seen this changed before it did. Our reads were acquiring,
  // so they come before this one.
  return member.places[member.me].state.load(std::memory_order_acquire) != member.state.word;
}

bool is_here(const Member& member, uint64_t position, Entry* entry) {
  // acquire: the buffer, which was filled before the word was put, is read after it.
  entry->word = member.slot(position).load(std::memory_order_acquire);
  return entry->lap() == member.lap(position);
}

void pass(Member& member, uint64_t position, Entry entry) {
  SharedMembers& shared = *member.shared;
  if (entry.is_view()) {
    // acquire, release: a member that reads `latest` reads that view's buffer.
    uint64_t seen = shared.latest.load(std::memory_order_acquire);
    const uint64_t word = position << 16 | entry.place() << 4 | (entry.buffer() & 15);
    while (Latest{seen}.position() < position &&
           !shared.latest.compare_exchange_weak(seen, word, std::memory_order_acq_rel, std::memory_order_acquire)) {
    }
  }
  // acq_rel: a member that reads `tail` finds the entries before it there, and no older `latest`.
  uint64_t here = position;
  shared.tail.compare_exchange_strong(here, position + 1, std::memory_order_acq_rel, std::memory_order_relaxed);
}

void survey(Member& member) {
  uint64_t least = member.received;
  uint32_t holder = member.me;
  member.differs = false;
  full_fence();  // our receiving comes before our look at the places (2. above)
  for (uint32_t p = 0; p < member.shape.places; ++p) {
    // acquire: all that was done there before it was taken.
    const PlaceState state{member.places[p].state.load(std::memory_order_acquire)};
    member.differs |= member.view.has(p) && !(state.is(kTaken) && state.generation() == member.view.generation(p));
    if (p == member.me || !state.is(kTaken)) continue;
    // acquire: its reads come before our overwriting.
    const uint64_t received = member.places[p].received.load(std::memory_order_acquire);
    if (received >= least) continue;
    least = received;
    holder = p;
  }
  full_fence();  // we see a member out before we overwrite words that it may be reading (3. above)
  member.holder = holder;
  // Only a member that has just taken its place can say less than was known, and does not mean it.
  member.least = std::max(member.least, least);
}

int append(Member& member, bool view, uint32_t buffer, uint64_t from, uint64_t* at) {
  // acquire: entries are there up to the tail.
  uint64_t position = view ? from : std::max(from, member.shared->tail.load(std::memory_order_acquire));
  // Others may put entries as fast as we look; a member that finds it is not its turn waits, and tries again.
  for (uint32_t turn = 0; turn < 2 * member.ring; ++turn) {
    if (position >= member.least + member.ring) {
      survey(member);
      if (position >= member.least + member.ring) return is_out(member) ? -ESTALE : -EAGAIN;
    }
    Entry found;
    if (is_here(member, position, &found)) {
      if (view && found.is_view()) return kOvertaken;
      pass(member, position++, found);
      continue;
    }
    if (found.lap() != member.lap(position - member.ring)) return lost(member);
    const Entry mine{uint64_t{member.lap(position)} << 32 | uint64_t{view} << 31 | member.me << 21 | buffer};
    // release: the buffer is filled before. acquire: an entry that came first is passed, and its buffer read.
    if (!member.slot(position).compare_exchange_strong(found.word, mine.word, std::memory_order_acq_rel,
                                                       std::memory_order_acquire))
      continue;  // somebody else's is there now
    pass(member, position, mine);
    ring_bell(member.shared->logged);
    *at = position;
    return 0;
  }
  return -EAGAIN;
}

void acknowledge(Member& member, uint64_t position) {
  // The member that numbered it may not have come to that yet. acquire: the entries before it are there.
  uint64_t tail = member.shared->tail.load(std::memory_order_acquire);
  Entry entry;
  for (; tail < position && is_here(member, tail, &entry); ++tail) pass(member, tail, entry);
  member.received = position;
  // release: all our reads of the words that may now be overwritten come before, and the tail is there.
  member.places[member.me].received.store(position, std::memory_order_release);
  ring_bell(member.shared->received);
}

void find_used_buffers(Member& member) {
  for (uint32_t i = 0; i < member.ring; ++i) {
    // acquire: nobody else numbers these buffers any more, so all words that name them are seen.
    const Entry entry{member.log[i].load(std::memory_order_acquire)};
    if (entry.lap() == 0 || entry.place() != member.me) continue;
    const uint64_t position = uint64_t{entry.lap()} << member.laps | i;
    uint64_t* used = nullptr;
    if (!entry.is_view() && entry.buffer() < member.shape.outbox()) used = &member.used_at[entry.buffer()];
    if (entry.is_view() && entry.buffer() < kViewBuffers) used = &member.view_used_at[entry.buffer()];
    if (used) *used = std::max(*used, position);  // the ring may name it twice
  }
}

int try_send(Member& member, const void* data, size_t bytes) {
  if (bytes > member.shape.bytes) return -EMSGSIZE;
  if (is_out(member)) return -ESTALE;
  const uint32_t buffer = member.buffer;
  int result = 0;
  if (member.used_at[buffer] >= member.least) {
    survey(member);
    if (member.used_at[buffer] >= member.least) result = -EAGAIN;
  }
  if (result == 0) {
    Word* words = member.message(member.me, buffer);
    // relaxed, all of it: the entry is put with release.
    words[0].store(bytes, std::memory_order_relaxed);
    const auto* from = static_cast<const unsigned char*>(data);
    for (size_t done = 0; done < bytes; done += 8) {
      uint64_t word = 0;
      std::memcpy(&word, from + done, std::min<size_t>(8, bytes - done));
      words[1 + done / 8].store(word, std::memory_order_relaxed);
    }
    uint64_t at;
    result = append(member, false, buffer, member.next, &at);
    if (result == 0) {
      member.used_at[buffer] = at;
      member.buffer = (buffer + 1) % member.shape.outbox();
      // Were we in still, then the view without us comes behind this message, which counts. Otherwise it may not.
      return is_out(member) ? -ESTALE : 0;
    }
  }
  if (result != -EAGAIN) return result;
  if (member.received < member.next) {
    acknowledge(member, member.next);
    survey(member);
  }
  if (member.differs) mend(member);
  look_after_holder(member, os::now_ns());
  return -EAGAIN;
}

int try_receive(Member& member, void* data, size_t room, smelt_member_event* event) {
  for (uint32_t passed = 0; passed <= member.ring; ++passed) {
    Entry entry;
    if (!is_here(member, member.next, &entry)) {
      if (is_out(member)) return -ESTALE;
      if (entry.lap() != member.lap(member.next - member.ring)) return lost(member);
      if (member.received < member.next) acknowledge(member, member.next);
      look_after_neighbours(member, os::now_ns());
      return -EAGAIN;
    }
    // release: a child that sees that finds the entry there.
    if (member.has_children) member.places[member.me].known.store(member.next + 1, std::memory_order_release);
    if (entry.is_view()) return receive_view(member, entry, event);
    if (entry.place() >= member.shape.places || entry.buffer() >= member.shape.outbox()) return lost(member);
    // Its sender is not in the view: it was taken out before, and did not know. All pass over it.
    if (!member.view.has(entry.place())) {
      step(member);
      continue;
    }
    const Word* words = member.message(entry.place(), entry.buffer());
    // acquire, of all words: if one of them is overwritten, our state has changed when we look at it (3. above).
    const uint64_t bytes = words[0].load(std::memory_order_acquire);
    if (bytes > member.shape.bytes) return lost(member);
    *event = {SMELT_MEMBER_MESSAGE, entry.place(), member.next - member.ring, member.view.number, bytes};
    if (bytes > room) return is_out(member) ? -ESTALE : -EMSGSIZE;
    auto* to = static_cast<unsigned char*>(data);
    for (size_t done = 0; done < bytes; done += 8) {
      const uint64_t word = words[1 + done / 8].load(std::memory_order_acquire);
      std::memcpy(to + done, &word, std::min<size_t>(8, bytes - done));
    }
    if (is_out(member)) return -ESTALE;
    step(member);
    return 0;
  }
  return -EAGAIN;
}

}  // namespace smelt::members
