// Atomic broadcast over a tree of queues: the root decides the order.
//
//             0       the root numbers what comes up and sends it down
//          /     |
//         1      4    a queue pair per edge:  up    sender, data             in the order of the sender
//       /   |                                 down  number, sender, data     in the order of the numbers
//      2    3
//
// 1. A member sends: the message goes into its queue to the member above.
// 2. That one passes it on (raise), up to the root.
// 3. The root takes messages from its children in turn, and its own, and gives each the next number (fetch).
// 4. Each member passes a message on to all its children, in the order of the tree, then delivers it. Every queue keeps
//    its order, so all members see the numbers 0, 1, 2 ...: the total order. Each checks that.
//
// A member without helpers passes on only while it is in a call. It holds one message that came down (`held`) until all
// children have it; then it is delivered or, when the member is sending, put into its inbox, so that the others get on
// meanwhile. When the inbox is full too, sending cannot go on before something is delivered: were it to wait, and all
// others as well, nobody would ever make room.
//
// Everything is bounded: a slow member fills the queue above itself, then all members wait at the root's pace. A member
// that is killed leaves every queue with whole messages (queue/queue.h). So the others have delivered the beginning of
// the one order, and they learn of the death by the time that a wait may last.
//
// Source: Kaestle et al., "Machine-aware Atomic Broadcast Trees for Multicores", OSDI 2016, section 4.2.2: a root that
// is the sequencer, and channels that are first in, first out; the sequencer is Kaashoek et al., "An Efficient Reliable
// Broadcast Protocol", ACM Operating Systems Review 1989.
#include <smelt/atomic_broadcast.h>
#include <smelt/queue.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "library/agree/meeting.h"

using namespace smelt;
using namespace smelt::agree;

namespace {

constexpr const char* kKind = "ump";          // of the edges' queues: a pair each
constexpr size_t kHeader = sizeof(uint64_t);  // of a message: 16 bits of the sender, above them 48 of the number
static_assert(SMELT_ATOMIC_BROADCAST_SLOT + kHeader == SMELT_QUEUE_SLOT);
static_assert(SMELT_ATOMIC_BROADCAST_ALIGNMENT == int{SMELT_QUEUE_ALIGNMENT} && kLineBytes <= SMELT_QUEUE_ALIGNMENT);

size_t longest(uint32_t capacity) { return size_t{capacity} * SMELT_QUEUE_SLOT; }  // header included

// The edge above each member; the root's is not used.
size_t edges_bytes(uint32_t members, uint32_t capacity) { return members * smelt_queue_size(kKind, capacity, 2); }

int write_edges(void* body, uint32_t members, uint32_t capacity) {
  const size_t bytes = smelt_queue_size(kKind, capacity, 2);
  for (uint32_t i = 0; i < members; ++i)
    if (const int error = smelt_queue_init(static_cast<char*>(body) + i * bytes, bytes, kKind, capacity, 2))
      return error;
  return 0;
}

constexpr Protocol kAtomicBroadcast{
    0x31306461'6f726261,  // "abroad01"
    "smelt-atomic-broadcast", 1, SMELT_ATOMIC_BROADCAST_MAX_CAPACITY, edges_bytes, write_edges};

// A message on its way through a member, in the member's own memory; the header first.
struct BroadcastMessage {
  unsigned char* data = nullptr;
  size_t bytes = 0;  // header included; 0: none

  uint64_t header() const {
    uint64_t word;
    std::memcpy(&word, data, kHeader);
    return word;
  }
  void set_header(uint64_t word) { std::memcpy(data, &word, kHeader); }
  uint32_t sender() const { return static_cast<uint16_t>(header()); }
  uint64_t number() const { return header() >> 16; }
  void put(uint32_t sender, const void* from, size_t length) {
    set_header(sender);
    if (length != 0) std::memcpy(data + kHeader, from, length);
    bytes = kHeader + length;
  }
};

}  // namespace

struct smelt_atomic_broadcast : Participant {
  smelt_queue* up = nullptr;               // the edge above, nullptr: the root
  smelt_queue** down = nullptr;            // [child_count]
  smelt_queue* inbox[2] = {};              // of this process alone: in at 0, out at 1
  size_t limit = 0;                        // bytes of the longest message, header included
  uint64_t next = 0;                       // the number that the root gives next, or that comes next
  uint32_t turn = 0;                       // the child that is asked first
  uint32_t passed = 0;                     // children that have got the held message
  bool damaged = false;                    // another number came
  uint32_t waiting = 0;                    // messages in the inbox
  BroadcastMessage held, rising, sending;  // coming down; from a child, going up; of our own, going up
  BroadcastMessage first;                  // out of the inbox, to be delivered
};

namespace {

// Takes a message from the next child that has one. -EAGAIN: none has. (A child that has left sends nothing more.)
int take_from_child(smelt_atomic_broadcast& member, BroadcastMessage* message) {
  for (uint32_t i = 0; i < member.child_count; ++i) {
    const uint32_t child = member.turn;
    member.turn = child + 1 == member.child_count ? 0 : child + 1;
    size_t bytes;
    const int result = smelt_queue_try_receive(member.down[child], message->data, member.limit, &bytes);
    if (result == -EAGAIN || result == -EPIPE) continue;
    if (result != 0) return -EPROTO;
    ring(member.bell(member.children[child]));  // there is room again
    message->bytes = bytes;
    return bytes >= kHeader && message->sender() < member.members ? 0 : -EPROTO;
  }
  return -EAGAIN;
}

// Passes messages of the children on to the member above.
int raise(smelt_atomic_broadcast& member) {
  for (uint32_t i = 0; i < member.child_count; ++i) {
    if (member.rising.bytes == 0) {
      const int result = take_from_child(member, &member.rising);
      if (result != 0) {
        member.rising.bytes = 0;
        return result == -EAGAIN ? 0 : result;
      }
    }
    const int result = smelt_queue_try_send(member.up, member.rising.data, member.rising.bytes);
    if (result == -EAGAIN) return 0;
    member.rising.bytes = 0;  // also where nobody is above any more: fetch() says so
    ring(member.bell(member.parent));
  }
  return 0;
}

// The next message in the order into `held`, from above or, at the root, from a child.
int fetch(smelt_atomic_broadcast& member) {
  BroadcastMessage& held = member.held;
  int result;
  if (member.is_root()) {
    if ((result = take_from_child(member, &held)) == 0) held.set_header(member.next << 16 | held.sender());
  } else if ((result = smelt_queue_try_receive(member.up, held.data, member.limit, &held.bytes)) == 0) {
    ring(member.bell(member.parent));  // there is room again
    if (held.bytes < kHeader || held.sender() >= member.members || held.number() != member.next) result = -EPROTO;
  }
  if (result == -EMSGSIZE) result = -EPROTO;  // longer than any that a member sends
  if (result != 0) {
    held.bytes = 0;
    return result;
  }
  ++member.next;
  member.passed = 0;
  return 0;
}

// Passes on the held message: 0 when all children have it. A child that has left needs nothing more.
int forward(smelt_atomic_broadcast& member) {
  for (; member.passed < member.child_count; ++member.passed) {
    const uint32_t child = member.passed;
    if (smelt_queue_try_send(member.down[child], member.held.data, member.held.bytes) == -EAGAIN) return -EAGAIN;
    ring(member.bell(member.children[child]));
  }
  return 0;
}

// A member's work for the others, once. 0: a message is held that all children have, to be delivered.
int pass_on(smelt_atomic_broadcast& member) {
  if (member.damaged) return -EPROTO;
  int result = member.is_root() ? 0 : raise(member);
  if (result == 0 && member.held.bytes == 0) result = fetch(member);
  if (result == 0) result = forward(member);
  if (result == -EPROTO) member.damaged = true;
  return result;
}

// The same while the member is sending: a message to be delivered goes into the inbox as long as there is room.
// -EAGAIN: nothing more comes; 0: the inbox is full.
int pass_on_while_sending(smelt_atomic_broadcast& member) {
  for (;;) {
    if (const int result = pass_on(member)) return result;
    if (smelt_queue_try_send(member.inbox[0], member.held.data, member.held.bytes) != 0) return 0;
    member.held.bytes = 0;
    ++member.waiting;
  }
}

int try_send_staged(smelt_atomic_broadcast& member) {
  const int passed = pass_on_while_sending(member);
  if (passed == -EPROTO) return passed;
  if (member.is_root()) {
    if (passed == 0) return -EDEADLK;
    if (member.held.bytes != 0) return -EAGAIN;  // a child has no room
    std::swap(member.held, member.sending);
    member.held.set_header(member.next++ << 16 | member.index);
    member.passed = 0;
    (void)pass_on_while_sending(member);
    return 0;
  }
  if (passed == -EPIPE) return passed;
  const int result = smelt_queue_try_send(member.up, member.sending.data, member.sending.bytes);
  if (result == 0) ring(member.bell(member.parent));
  return result == -EAGAIN && passed == 0 ? -EDEADLK : result;
}

int stage(smelt_atomic_broadcast* member, const void* data, size_t bytes) {
  if (!member || (!data && bytes != 0)) return -EINVAL;
  if (bytes > member->limit - kHeader) return -EMSGSIZE;
  member->sending.put(member->index, data, bytes);
  return 0;
}

int hand_out(const BroadcastMessage& from, void* data, size_t room, smelt_atomic_broadcast_message* message) {
  *message = {from.number(), from.bytes - kHeader, from.sender()};
  if (message->bytes > room) return -EMSGSIZE;
  if (message->bytes != 0) std::memcpy(data, from.data + kHeader, message->bytes);
  return 0;
}

// The messages in the inbox came before the held one.
int try_deliver(smelt_atomic_broadcast& member, void* data, size_t room, smelt_atomic_broadcast_message* message) {
  const int result = pass_on(member);
  if (member.first.bytes == 0 && member.waiting > 0) {
    (void)smelt_queue_try_receive(member.inbox[1], member.first.data, member.limit, &member.first.bytes);
    --member.waiting;
  }
  if (member.first.bytes == 0 && result != 0) return result;
  BroadcastMessage& next = member.first.bytes != 0 ? member.first : member.held;
  const int error = hand_out(next, data, room, message);
  if (error == 0) next.bytes = 0;
  return error;
}

void close_edges(smelt_atomic_broadcast* member) {
  smelt_queue_free(member->up);
  for (uint32_t i = 0; i < member->child_count && member->down; ++i) smelt_queue_free(member->down[i]);
  smelt_queue_free(member->inbox[0]);
  smelt_queue_free(member->inbox[1]);
}

// The buffers that the member needs besides the meeting's, in memory of its own.
int make_buffers(smelt_atomic_broadcast* member) {
  member->limit = longest(member->capacity);
  for (BroadcastMessage* message : {&member->held, &member->rising, &member->sending, &member->first})
    if (!(message->data = member->arena.make<unsigned char>(member->limit))) return -ENOMEM;
  member->down = member->arena.make<smelt_queue*>(member->child_count);
  if (!member->down) return -ENOMEM;
  return smelt_queue_create(kKind, member->capacity, 2, 0, member->inbox);
}

int open_edges(smelt_atomic_broadcast* member) {
  const size_t bytes = smelt_queue_size(kKind, member->capacity, 2);
  const auto edge = [&](uint32_t below) { return member->body + below * bytes; };
  int error = make_buffers(member);
  if (!error && !member->is_root()) error = smelt_queue_open(edge(member->index), bytes, 1, 0, &member->up);
  for (uint32_t i = 0; i < member->child_count && !error; ++i)
    error = smelt_queue_open(edge(member->children[i]), bytes, 0, 0, &member->down[i]);
  if (error) close_edges(member);
  return error;
}

// The member `index` of the meeting in this memory.
int enter(void* memory, size_t bytes, unsigned index, int64_t timeout_ns, smelt_atomic_broadcast** out) {
  MeetingShape shape;
  if (const int error = shape_of_meeting(kAtomicBroadcast, memory, bytes, &shape)) return error;
  auto* member = make_object<smelt_atomic_broadcast>(kMemberArena + 4 * (longest(shape.capacity) + 64) +
                                                     shape.members * sizeof(smelt_queue*));
  if (!member) return -ENOMEM;
  int error = enter_meeting(memory, shape, index, timeout_ns, member);
  if (!error) error = open_edges(member);
  if (error) {
    free_object(member);
    return error;
  }
  *out = member;
  return 0;
}

}  // namespace

size_t smelt_atomic_broadcast_size(unsigned members, unsigned capacity) {
  return meeting_bytes(kAtomicBroadcast, members, capacity);
}

int smelt_atomic_broadcast_init(void* memory, size_t bytes, unsigned members, const smelt_tree* tree,
                                unsigned capacity) {
  return write_meeting(kAtomicBroadcast, memory, bytes, tree, members, capacity);
}

int smelt_atomic_broadcast_open(void* memory, size_t bytes, unsigned index, int64_t timeout_ns,
                                smelt_atomic_broadcast** member) {
  return member ? enter(memory, bytes, index, timeout_ns, member) : -EINVAL;
}

int smelt_atomic_broadcast_create(unsigned members, const smelt_tree* tree, unsigned capacity, int64_t timeout_ns,
                                  smelt_atomic_broadcast** member) {
  return member ? create_members(kAtomicBroadcast, tree, members, capacity, timeout_ns, enter, close_edges, member)
                : -EINVAL;
}

int smelt_atomic_broadcast_create_shared(unsigned members, const smelt_tree* tree, unsigned capacity,
                                         int64_t timeout_ns, smelt_atomic_broadcast_ticket* ticket,
                                         smelt_atomic_broadcast** member) {
  return ticket && member
             ? create_first_member(kAtomicBroadcast, tree, members, capacity, timeout_ns, enter, ticket, member)
             : -EINVAL;
}

int smelt_atomic_broadcast_attach(const smelt_atomic_broadcast_ticket* ticket, unsigned index, int64_t timeout_ns,
                                  smelt_atomic_broadcast** member) {
  return ticket && member && index != 0 ? attach_member(kAtomicBroadcast, *ticket, index, timeout_ns, enter, member)
                                        : -EINVAL;
}

void smelt_atomic_broadcast_free(smelt_atomic_broadcast* member) {
  if (!member) return;
  close_edges(member);
  // Whether somebody is seen to sleep or not: a neighbour that goes to sleep finds the edges closed or a word that has
  // changed.
  wake_sleepers(member->bell(member->parent));
  for (uint32_t i = 0; i < member->child_count; ++i) wake_sleepers(member->bell(member->children[i]));
  leave_meeting(member);
  free_object(member);
}

size_t smelt_atomic_broadcast_limit(const smelt_atomic_broadcast* member) { return member->limit - kHeader; }

int smelt_atomic_broadcast_parent(const smelt_atomic_broadcast* member) {
  return member->is_root() ? -1 : static_cast<int>(member->parent);
}

int smelt_atomic_broadcast_try_send(smelt_atomic_broadcast* member, const void* data, size_t bytes) {
  const int error = stage(member, data, bytes);
  return error ? error : try_send_staged(*member);
}

int smelt_atomic_broadcast_send(smelt_atomic_broadcast* member, const void* data, size_t bytes) {
  const int error = stage(member, data, bytes);
  return error ? error : wait_until(*member, [member] { return try_send_staged(*member); });
}

int smelt_atomic_broadcast_try_deliver(smelt_atomic_broadcast* member, void* data, size_t room,
                                       smelt_atomic_broadcast_message* message) {
  if (!member || !message || (!data && room != 0)) return -EINVAL;
  return try_deliver(*member, data, room, message);
}

int smelt_atomic_broadcast_deliver(smelt_atomic_broadcast* member, void* data, size_t room,
                                   smelt_atomic_broadcast_message* message) {
  if (!member || !message || (!data && room != 0)) return -EINVAL;
  return wait_until(*member, [=] { return try_deliver(*member, data, room, message); });
}
