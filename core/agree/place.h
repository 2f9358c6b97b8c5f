// Where members meet: memory that threads or processes share, and in it a tree of members.
//
//   Head | order: [members] of (member, parent), parents first | taken: [members] | Bell 0 | Bell 1 ... | body
//
// The body is the protocol's (Protocol). There are no addresses in the memory, so each process may have it elsewhere.
// Others may write it too, by mistake. So a process that opens a place copies the head's words and the tree once into
// memory of its own, checks the copy, and from then on uses only that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <smelt/base.h>
#include <smelt/tree.h>

#include "base/arch/cpu.h"
#include "base/object.h"
#include "base/os/shared_memory.h"
#include "place/wait.h"
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
struct Member : Object {
  uint32_t members = 0, capacity = 0, index = 0;
  uint32_t root = 0, parent = 0;  // the root is its own parent
  uint32_t child_count = 0;
  uint16_t* children = nullptr;  // in the order in which they are sent to
  Bell* bells = nullptr;         // [members], kBellBytes apart: bell(i)
  char* body = nullptr;
  int64_t timeout_ns = -1;
  WaitPolicy policy;

  char* memory = nullptr;
  // Whose memory it is: the caller's (0), that of all members, which the last unmaps, or a mapping of a file.
  size_t mapped = 0;
  int descriptor = -1;   // the creator's, of a shared one
  bool threads = false;  // made for threads of this process: membarrier reaches all of them

  bool is_root() const { return index == root; }
  Bell& bell(uint32_t member) const {
    return *reinterpret_cast<Bell*>(reinterpret_cast<char*>(bells) + member * kLineBytes);
  }
};

// Bytes of a place; 0: a number is out of range.
size_t place_bytes(const Protocol& protocol, uint32_t members, uint32_t capacity);

// Writes an empty place. `tree` nullptr: the cheapest broadcast tree of this machine under member 0. -EINVAL, -ENOMEM.
int write_place(const Protocol& protocol, void* memory, size_t bytes, const smelt_tree* tree, uint32_t members,
                uint32_t capacity);

// A checked copy of the head. -EINVAL: the memory; -EPROTO: there is no such place.
struct Shape {
  uint32_t members, capacity;
};
int shape_of_place(const Protocol& protocol, const void* memory, size_t bytes, Shape* shape);

// Takes a member's part of it: fills in `member`, whose arena has kMemberArena bytes for that. -EINVAL: no such member;
// -EPROTO: no tree; -EBUSY: it is taken.
int enter_place(void* memory, const Shape& shape, uint32_t index, int64_t timeout_ns, Member* member);
inline constexpr size_t kMemberArena = 2 * SMELT_MAX_PARTICIPANTS + 64;  // a list of children, and padding

// Leaves it, and unmaps its memory where that is to be unmapped.
void leave_place(Member* member);

// The words by which a process tells others of a place.
struct PlaceTicket {
  uint64_t name;
  int32_t process, descriptor;
  uint64_t bytes;
};

// Memory for a place, with an empty one in it: for threads, or in a file without a name that the ticket tells of.
int make_place(const Protocol& protocol, const smelt_tree* tree, uint32_t members, uint32_t capacity, char** memory,
               size_t* bytes);
int make_shared_place(const Protocol& protocol, const smelt_tree* tree, uint32_t members, uint32_t capacity,
                      char** memory, PlaceTicket* ticket);
// That of a ticket, mapped. -ENOTSUP.
int find_place(const Protocol& protocol, const PlaceTicket& ticket, char** memory);

// The C functions that make members of type T (derived from Member). enter(memory, bytes, index, timeout_ns, &member)
// makes one; let_go(member) gives back its memory besides its place.

template <typename T, typename Enter, typename LetGo>
int create_members(const Protocol& protocol, const smelt_tree* tree, uint32_t members, uint32_t capacity,
                   int64_t timeout_ns, Enter enter, LetGo let_go, T** out) {
  char* memory;
  size_t bytes;
  if (const int error = make_place(protocol, tree, members, capacity, &memory, &bytes)) return error;
  T* made[SMELT_MAX_PARTICIPANTS];
  for (uint32_t i = 0; i < members; ++i) {
    if (const int error = enter(memory, bytes, i, timeout_ns, &made[i])) {
      while (i-- > 0) {
        let_go(made[i]);
        free_object(made[i]);
      }
      os::unmap_pages(memory, bytes);
      return error;
    }
    made[i]->threads = true;
    made[i]->mapped = bytes;
  }
  for (uint32_t i = 0; i < members; ++i) out[i] = made[i];
  return 0;
}

template <typename T, typename Enter>
int create_first_member(const Protocol& protocol, const smelt_tree* tree, uint32_t members, uint32_t capacity,
                        int64_t timeout_ns, Enter enter, uint64_t (&word)[3], T** out) {
  static_assert(sizeof word == sizeof(PlaceTicket));
  char* memory;
  PlaceTicket ticket;
  if (const int error = make_shared_place(protocol, tree, members, capacity, &memory, &ticket)) return error;
  T* member;
  if (const int error = enter(memory, ticket.bytes, 0, timeout_ns, &member)) {
    os::unmap_pages(memory, ticket.bytes);
    os::close_file(ticket.descriptor);
    return error;
  }
  member->mapped = ticket.bytes;
  member->descriptor = ticket.descriptor;
  std::memcpy(word, &ticket, sizeof word);
  *out = member;
  return 0;
}

template <typename T, typename Enter>
int attach_member(const Protocol& protocol, const uint64_t (&word)[3], uint32_t index, int64_t timeout_ns, Enter enter,
                  T** out) {
  PlaceTicket ticket;
  std::memcpy(&ticket, word, sizeof ticket);
  char* memory;
  if (const int error = find_place(protocol, ticket, &memory)) return error;
  T* member;
  if (const int error = enter(memory, ticket.bytes, index, timeout_ns, &member)) {
    os::unmap_pages(memory, ticket.bytes);
    return error;
  }
  member->mapped = ticket.bytes;
  *out = member;
  return 0;
}

// Waits for any of several. Every member has one bell: a member that has sent it something, or made room for it, rings
// that. So it can sleep while it waits for its parent and all its children at once. `look` tries, and serves other
// members meanwhile: anything but -EAGAIN ends the wait, else it is -ETIMEDOUT.
template <typename Look>
int wait_until(const Member& member, Look look) {
  return place::wait({member.policy, member.timeout_ns, member.threads}, member.bell(member.index),
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
