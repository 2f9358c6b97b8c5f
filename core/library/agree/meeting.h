// Where members meet: memory that threads or processes share, and in it a tree of members.
//
//   Head | order: [members] of (member, parent), parents first | taken: [members] | Bell 0 | Bell 1 ... | body
//
// The body is the protocol's (Protocol). There are no addresses in the memory, so each process may have it elsewhere.
// Others may write it too, by mistake. So a process that opens a meeting copies the head's words and the tree once into
// memory of its own, checks the copy, and from then on uses only that.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <smelt/base.h>
#include <smelt/tree.h>

#include "base/arch/cpu.h"
#include "base/object.h"
#include "library/place/object.h"
#include "library/place/wait.h"
#include "transport/line.h"

namespace smelt::agree {

// The protocol that the members meet for.
struct Protocol {
  uint64_t format;                                                // in the head: another layout has another number
  const char* file;                                               // the memory's name, for people
  uint32_t least, most;                                           // of `capacity`
  size_t (*bytes)(uint32_t members, uint32_t capacity);           // of the body, a multiple of kLineBytes
  int (*write)(void* body, uint32_t members, uint32_t capacity);  // an empty body: 0 or a negative errno
};

// A member as one process uses it: the protocols' objects begin with that.
struct Participant : Object {
  uint32_t members = 0, capacity = 0, index = 0;
  uint32_t root = 0, parent = 0;  // the root is its own parent
  uint32_t child_count = 0;
  uint16_t* children = nullptr;  // in the order in which they are sent to
  Bell* bells = nullptr;         // [members], kBellBytes apart: bell(i)
  char* body = nullptr;
  int64_t timeout_ns = -1;
  WaitPolicy policy;

  char* memory = nullptr;
  place::SharedObject object;

  bool is_root() const { return index == root; }
  Bell& bell(uint32_t member) const {
    return *reinterpret_cast<Bell*>(reinterpret_cast<char*>(bells) + member * kLineBytes);
  }
};

// Bytes of a meeting; 0: a number is out of range.
size_t meeting_bytes(const Protocol& protocol, uint32_t members, uint32_t capacity);

// Writes an empty meeting. `tree` nullptr: the cheapest broadcast tree of this machine under member 0. -EINVAL,
// -ENOMEM.
int write_meeting(const Protocol& protocol, void* memory, size_t bytes, const smelt_tree* tree, uint32_t members,
                  uint32_t capacity);

// A checked copy of the head. -EINVAL: the memory; -EPROTO: there is no such meeting.
struct MeetingShape {
  uint32_t members, capacity;
};
int shape_of_meeting(const Protocol& protocol, const void* memory, size_t bytes, MeetingShape* shape);

// Takes a member's part of it: fills in `member`, whose arena has kMemberArena bytes for that. -EINVAL: no such member;
// -EPROTO: no tree; -EBUSY: it is taken.
int enter_meeting(void* memory, const MeetingShape& shape, uint32_t index, int64_t timeout_ns, Participant* member);
inline constexpr size_t kMemberArena = 2 * SMELT_MAX_PARTICIPANTS + 64;  // a list of children, and padding

// Leaves it, and unmaps its memory where that is to be unmapped.
void leave_meeting(Participant* member);

// The C functions that make members of type T (derived from Participant). enter(memory, bytes, index, timeout_ns,
// &member) makes one; let_go(member) gives back its memory besides the meeting's.

template <typename T, typename Enter, typename LetGo>
int create_members(const Protocol& protocol, const smelt_tree* tree, uint32_t members, uint32_t capacity,
                   int64_t timeout_ns, Enter enter, LetGo let_go, T** out) {
  place::SharedObject object;
  const size_t bytes = meeting_bytes(protocol, members, capacity);
  if (bytes == 0) return -EINVAL;
  if (const int error = object.make_for_threads(bytes)) return error;
  T* made[SMELT_MAX_PARTICIPANTS];
  uint32_t count = 0;
  int error = write_meeting(protocol, object.memory, bytes, tree, members, capacity);
  while (!error && count < members) {
    error = enter(object.memory, bytes, count, timeout_ns, &made[count]);
    if (!error) made[count++]->object = object;
  }
  if (error) {
    while (count-- > 0) {
      let_go(made[count]);
      free_object(made[count]);
    }
    object.discard();
    return error;
  }
  for (uint32_t i = 0; i < members; ++i) out[i] = made[i];
  return 0;
}

template <typename T, typename Enter, typename Ticket>
int create_first_member(const Protocol& protocol, const smelt_tree* tree, uint32_t members, uint32_t capacity,
                        int64_t timeout_ns, Enter enter, Ticket* ticket, T** out) {
  place::SharedObject object;
  place::ObjectTicket told;
  const size_t bytes = meeting_bytes(protocol, members, capacity);
  if (bytes == 0) return -EINVAL;
  if (const int error = object.make_for_processes(protocol.file, bytes, &told)) return error;
  T* member;
  int error = write_meeting(protocol, object.memory, bytes, tree, members, capacity);
  if (!error) error = enter(object.memory, bytes, 0, timeout_ns, &member);
  if (error) {
    object.discard();
    return error;
  }
  member->object = object;
  object.issue(told, ticket);
  *out = member;
  return 0;
}

template <typename T, typename Enter, typename Ticket>
int attach_member(const Protocol& protocol, const Ticket& ticket, uint32_t index, int64_t timeout_ns, Enter enter,
                  T** out) {
  place::SharedObject object;
  if (const int error = object.attach(place::ticket_of(ticket), sizeof(place::Head))) return error;
  MeetingShape shape;
  T* member;
  int error = shape_of_meeting(protocol, object.memory, object.mapped, &shape) == 0 ? 0 : -ENOTSUP;
  if (!error) error = enter(object.memory, object.mapped, index, timeout_ns, &member);
  if (error) {
    object.discard();
    return error;
  }
  member->object = object;
  *out = member;
  return 0;
}

// Waits for any of several. Every member has one bell: a member that has sent it something, or made room for it, rings
// that. So it can sleep while it waits for its parent and all its children at once. `look` tries, and serves other
// members meanwhile: anything but -EAGAIN ends the wait, else it is -ETIMEDOUT.
template <typename Look>
int wait_until(const Participant& member, Look look) {
  const int result = place::wait_briefly(member.policy, look);
  if (result != -EAGAIN) return result;
  return place::wait_long({member.policy, member.timeout_ns, member.object.threads}, member.bell(member.index),
                          place::Looking<Look>(look));
}

// Rings for a member that may sleep: line.h says how that is seen without a fence. Between processes it may be missed,
// and they sleep in slices.
inline void ring(Bell& bell) {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // only the compiler must keep the order
  if (bell.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_sleepers(bell);
}

}  // namespace smelt::agree
