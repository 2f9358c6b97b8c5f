// Members that come and go: a log in shared memory, and its readers.
//
//   SharedMembers | Place 0 | Place 1 ... | log: words ... | outbox of place 0 | ... | views of place 0 | ...
//
//   position     16    17    18    19    20
//   log        [ m:2 | m:0 | v:1 | m:2 |  -  | ... ]      m:2 a message in a buffer of place 2's, v:1 a view in one of
//                 ^ place 0      ^ place 2                place 1's; each place says how far it has received
//
// The order is that of the log, a ring of words. A word names a buffer, in which its sender has written a message, or a
// view, before; to number it is one compare-and-swap that puts the word where the log ends. So a member that is killed,
// at any step, has done all of it or nothing, and nobody has anything to finish for it. The members of the view are a
// function of the log's beginning, the same for all.
//
// 1. A message (member_log.cc): a free buffer of one's own is filled, and its word goes to the end of the log.
// 2. Receiving: the word at one's own position, the buffer that it names; now and then the position is published. Words
//    and buffers that all have received may be overwritten. "All" are the places that are taken (Place::state).
// 3. A view (member_views.cc) follows the one that its maker found last in the log; should another view be numbered
//    first, it is made anew. Everybody may make one, whenever the view and the places' states differ.
// 4. Taking out: a state says so first, so that nobody waits for that place any more, and then a view. A member that
//    was taken out finds its state changed after it has read, and throws away what it read. Its place and buffers are
//    nobody else's until it says so itself, or its process is gone: it may stand just before its compare-and-swap. Then
//    its word is in the order behind the view that it is not in, and all pass over it alike.
//
// The view's tree carries the news: a waiter polls a line of its parent's in which the parent says how far the log
// goes, so that no line is polled by many. Now and then it polls the log itself, too, so that nobody depends on a
// parent that is busy or gone. In the tree, too, members look after each other: as long as some are dead and some are
// not, there is an edge between two such, and the living one finds out (member_wait.cc).
//
// Sources: Kaestle et al., "Machine-aware Atomic Broadcast Trees for Multicores", OSDI 2016, which leaves members that
// come and go to future work; Birman, Joseph, "Exploiting Virtual Synchrony in Distributed Systems", SOSP 1987;
// Herlihy, "Wait-Free Synchronization", ACM TOPLAS 1991 (agreement by compare-and-swap); Lamport, "Concurrent Reading
// and Writing", CACM 1977 (words read count if nothing has changed since).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <smelt/member.h>

#include "base/arch/cpu.h"
#include "base/object.h"
#include "base/seat.h"
#include "library/place/object.h"
#include "library/place/wait.h"
#include "profile/profile.h"
#include "transport/line.h"

namespace smelt::members {

inline constexpr uint32_t kMostPlaces = SMELT_MEMBER_PLACES;
inline constexpr uint32_t kViewBuffers = 8;  // of each place
using Word = std::atomic<uint64_t>;

// --- states: whose a place is

enum PlaceUse : uint64_t { kFree = 0, kTaken = 1, kOut = 2 };
struct PlaceState {
  uint64_t word;  // generation:40, process:22, use:2

  static PlaceState of(uint64_t generation, int32_t process, PlaceUse use) {
    return {generation << 24 | static_cast<uint64_t>(static_cast<uint32_t>(process) & 0x3fffff) << 2 | use};
  }
  uint64_t generation() const { return word >> 24; }
  int32_t process() const { return static_cast<int32_t>(word >> 2 & 0x3fffff); }
  bool is(PlaceUse use) const { return (word & 3) == use; }
  PlaceState as(PlaceUse use) const { return {(word & ~uint64_t{3}) | use}; }
};

// --- entries: the log's words. The lap is how often the ring had come round, so a word of a lap ago is no entry yet.

struct Entry {
  uint64_t word;  // lap:32, view:1, place:10, buffer:21

  uint32_t lap() const { return static_cast<uint32_t>(word >> 32); }
  bool is_view() const { return word >> 31 & 1; }
  uint32_t place() const { return word >> 21 & 0x3ff; }
  uint32_t buffer() const { return word & 0x1fffff; }
};

// Where the last view is, for joiners: position:48, place:12, buffer:4; 0: there was none.
struct Latest {
  uint64_t word;
  uint64_t position() const { return word >> 16; }
  uint32_t place() const { return word >> 4 & 0xfff; }
  uint32_t buffer() const { return word & 15; }
};

// --- memory

struct SharedMembers : place::Head {
  uint32_t places = 0;
  uint32_t messages = 0;
  uint64_t bytes = 0;
  int64_t patience_ns = 0;
  alignas(kLineBytes) Word tail{0};    // entries are at all positions before this one, perhaps at some behind
  alignas(kLineBytes) Word latest{0};  // no view before `tail` is later than this one
  alignas(kLineBytes) Bell logged;     // rung by the member that has numbered something
  alignas(kLineBytes) Bell received;   // rung by the member that has received
};

struct alignas(kLineBytes) Place {
  Word state{0};
  Word started{0};  // when its process was; 0: not known
  std::atomic<uint32_t> cpu{0};
  alignas(kLineBytes) Word received{0};  // all before this position, and nothing that was there is read any more
  alignas(kLineBytes) Epoch known{0};    // the log goes up to here at least: its children in the tree poll this
};

// The sizes that a membership is made for, and the layout that follows.
struct MembershipShape {
  uint32_t places = 0, messages = 0;
  size_t bytes = 0;

  uint32_t ring() const;                                        // words of the log, a power of two from 16 on
  uint32_t outbox() const;                                      // message buffers of each place
  size_t message_words() const { return 1 + (bytes + 7) / 8; }  // the length, and the bytes
  size_t view_words() const { return 1 + places; }              // the number, and the seats
  size_t log_at() const { return sizeof(SharedMembers) + places * sizeof(Place); }
  size_t outboxes_at() const { return log_at() + ring() * sizeof(Word); }
  size_t views_at() const { return outboxes_at() + places * outbox() * message_words() * sizeof(Word); }
  size_t total() const { return views_at() + places * kViewBuffers * view_words() * sizeof(Word); }
};

// The members in one's own memory. A seat is generation:40, parent:16 (the root's is itself); 0: nobody.
struct View {
  uint64_t number = 0;
  uint64_t seat[kMostPlaces] = {};

  bool has(uint32_t place) const { return seat[place] != 0; }
  uint64_t generation(uint32_t place) const { return seat[place] >> 16; }
  uint32_t parent(uint32_t place) const { return seat[place] & 0xffff; }
};

struct Membership : Object {
  SharedMembers* shared = nullptr;
  MembershipShape shape;
  int64_t patience_ns = -1;
  place::SharedObject object;
  Profile profile;
};

struct Member : Object {
  // 1. The shared memory.
  Membership* of = nullptr;
  SharedMembers* shared = nullptr;
  Place* places = nullptr;
  Word* log = nullptr;
  Word* outboxes = nullptr;
  Word* views = nullptr;
  MembershipShape shape;
  uint32_t ring = 0, laps = 0;  // words of the log, and the logarithm of that
  uint32_t me = 0;
  PlaceState state{0};  // equals places[me].state as long as nobody has taken us out

  // 2. Receiving.
  uint64_t next = 0;      // position of the next event
  uint64_t received = 0;  // equals places[me].received
  View view;              // as of `next`
  bool has_children = false;

  // 3. Sending. A buffer may be written when its last use is before `least`.
  uint64_t least = 0;           // all taken places have received everything before this position
  uint32_t holder = 0;          // the place that has received the least; ourselves where nobody has less
  uint64_t* used_at = nullptr;  // [outbox] position
  uint32_t buffer = 0;
  uint64_t view_used_at[kViewBuffers] = {};

  // 4. Making views: the last one in the log before `scanned`.
  View head;
  uint64_t scanned = 0;
  bool differs = false;  // places' states and the view, when they were looked at last

  // 5. Waiting.
  int64_t timeout_ns = -1;
  WaitPolicy policy;
  int64_t watched = 0;         // when we last looked after our neighbours
  int64_t holder_watched = 0;  // ... whether the holder of the room is gone
  uint64_t suspect_state = 0;  // the member that keeps us waiting, its position, when we looked last, for how long
  uint64_t suspect_at = 0;
  int64_t suspect_seen = 0;
  int64_t suspect_for = 0;

  Word& slot(uint64_t position) const { return log[position & (ring - 1)]; }
  uint32_t lap(uint64_t position) const { return static_cast<uint32_t>(position >> laps); }
  Word* message(uint32_t place, uint32_t index) const {
    return outboxes + (size_t{place} * shape.outbox() + index) * shape.message_words();
  }
  Word* view_of(uint32_t place, uint32_t index) const {
    return views + (size_t{place} * kViewBuffers + index) * shape.view_words();
  }
};

// --- member_log.cc

// Is somebody else's doing that we are no member any more?
bool is_out(const Member& member);
// The entry at a position, if there is one.
bool is_here(const Member& member, uint64_t position, Entry* entry);
// Moves `tail` and `latest` past an entry, if nobody has yet.
void pass(Member& member, uint64_t position, Entry entry);
// Looks anew how far all have come: `least`, `holder`, `differs`.
void survey(Member& member);
// Puts a buffer of ours at the end of the log: 0 and where it is; -EAGAIN: no room; -ESTALE: we are out; -EPROTO;
// kOvertaken, of a view: there is another one at or behind `from`.
inline constexpr int kOvertaken = 1;
int append(Member& member, bool view, uint32_t buffer, uint64_t from, uint64_t* at);
// Tells the others how far we have received.
void acknowledge(Member& member, uint64_t position);
// Which buffers of ours the log names, and where: after a place was taken.
void find_used_buffers(Member& member);
int try_send(Member& member, const void* data, size_t bytes);
int try_receive(Member& member, void* data, size_t room, smelt_member_event* event);

// --- member_views.cc

// The view at this place and buffer into `out`; false: there is no view (it may have been overwritten).
bool read_view(const Member& member, uint32_t place, uint32_t buffer, View* out);
// The last view before all that is read from now on: into `head`, and where reading begins. 0, -EPROTO, -EAGAIN.
int read_latest(Member& member, uint64_t from);
enum class Change { kMend, kJoin, kLeave };
// Numbers a view of the members whose places are taken; with kJoin we are in it, with kLeave we are not, though our
// place is taken. Nothing happens, but for kJoin, if the last view has just these members. `head` and `scanned` as of a
// position before. 0; -EAGAIN: no room; -ESTALE, -EPROTO.
int make_view(Member& member, Change change, uint64_t* at);
// The same from where we have received. Anything but 0 is tried again later.
int mend(Member& member);
// Takes the member at a place out if it still is the one meant; and then as mend().
int exclude(Member& member, uint32_t place, PlaceState meant);

// --- member_wait.cc

void look_after_neighbours(Member& member, int64_t now);
// Is the holder of the room gone, or is our patience with it over?
void look_after_holder(Member& member, int64_t now);
int wait_to_send(Member& member);
int wait_to_receive(Member& member);

}  // namespace smelt::members

struct smelt_membership : smelt::members::Membership {};
struct smelt_member : smelt::members::Member {};
