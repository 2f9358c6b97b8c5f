/* Atomic broadcast: every member delivers the messages of all members, in one order that is the same for all.
 *
 * Members are threads of one process, or processes of one machine. They form a tree. A message goes up to the root,
 * which puts it behind all that came before, and from there down to every member, its sender included. Channels keep
 * order, so all deliver in the root's order; the messages of one sender are in the order in which it sent them.
 *
 * A member passes messages on while it is in a call of its own, send or deliver in any form, and only then. So every
 * member delivers all messages, or leaves. A member that does neither stops the others as soon as the room before it is
 * full. With room for `capacity` messages of one slot on each way and before each member, nothing is ever lost or left
 * out.
 *
 * Threads: one thread at a time uses a member; different members are independent.
 * Memory ordering: all that a member did before it sent a message happens before all that others do after they have
 * delivered it.
 * Only the functions that make, open and free a member allocate, print or take a lock. System calls happen only where a
 * wait is long, or somebody sleeps.
 *
 * Functions return 0 or, unless it says otherwise at the function:
 *   -EINVAL     an argument is out of range or NULL
 *   -EAGAIN     the try forms: it would have to wait
 *   -ETIMEDOUT  the waiting forms: nothing came, or no room was made, for as long as the member was told to wait.
 *               Nothing was sent or delivered; it may be tried again. So ends a wait for a member that was killed. The
 *               delivered messages stay right: each member's are a beginning of the one order
 *   -EDEADLK    send: all ways are full, and so is the room for the messages that this member has not delivered: it
 *               must deliver first
 *   -EPIPE      the way to the root is gone: the member above has left. The messages that it had passed on are
 *               delivered before
 *   -EMSGSIZE   a message to be sent is longer than smelt_atomic_broadcast_limit(), one to be delivered longer than the
 *               room for it
 *   -EPROTO     the memory was damaged: no member has sent its contents
 */
#ifndef SMELT_ATOMIC_BROADCAST_H
#define SMELT_ATOMIC_BROADCAST_H

#include <smelt/tree.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_atomic_broadcast smelt_atomic_broadcast; /* one member, as one process uses it */

enum {
  SMELT_ATOMIC_BROADCAST_SLOT = 48,              /* bytes of a message that takes one slot */
  SMELT_ATOMIC_BROADCAST_MAX_CAPACITY = 1 << 16, /* slots */
  SMELT_ATOMIC_BROADCAST_ALIGNMENT = 128         /* bytes: of memory that the caller gives */
};

/* --- Members. `members`, 1 .. SMELT_MAX_PARTICIPANTS. `tree`: of so many participants, which are the members; it is
 * only read; NULL: under member 0, the cheapest on this machine, if member i runs on the i-th CPU that the caller may
 * use. `capacity`, 1 .. SMELT_ATOMIC_BROADCAST_MAX_CAPACITY: messages of one slot on each way; a longer one takes
 * several. `timeout_ns`: how long a call of this member waits at most, in nanoseconds; negative: for ever. -ENOMEM. */

/* Between threads of this process: all members, member[0 .. members-1], in memory of the library's, which goes with the
 * last of them that is freed. */
SMELT_API int smelt_atomic_broadcast_create(unsigned members, const smelt_tree *tree, unsigned capacity,
                                            int64_t timeout_ns, smelt_atomic_broadcast **member);

/* The words by which other processes find an atomic broadcast: plain data, valid on this machine, passed on in any
 * way. */
typedef struct smelt_atomic_broadcast_ticket {
  uint64_t word[3];
} smelt_atomic_broadcast_ticket;

/* Between processes: member 0, in memory without a name that goes with the last process that has it. The others attach
 * before member 0 is freed; a forked child may, and then uses its own member alone. */
SMELT_API int smelt_atomic_broadcast_create_shared(unsigned members, const smelt_tree *tree, unsigned capacity,
                                                   int64_t timeout_ns, smelt_atomic_broadcast_ticket *ticket,
                                                   smelt_atomic_broadcast **member);
/* Member `index`, 1 .. members-1. -EBUSY: somebody is, or was, this member. -ENOTSUP: another machine, user or process
 * namespace, the creator is gone, or the ticket is not of an atomic broadcast. */
SMELT_API int smelt_atomic_broadcast_attach(const smelt_atomic_broadcast_ticket *ticket, unsigned index,
                                            int64_t timeout_ns, smelt_atomic_broadcast **member);

/* In the caller's memory, which threads or processes share: `size` says how much is needed (0: a number is not valid),
 * one of them writes an empty one there, and then each opens its member, 0 .. members-1. The memory begins at a
 * multiple of SMELT_ATOMIC_BROADCAST_ALIGNMENT, may lie elsewhere in each process, and stays until all members are
 * freed. open: -EBUSY as above, -EPROTO: there is no atomic broadcast. */
SMELT_API size_t smelt_atomic_broadcast_size(unsigned members, unsigned capacity);
SMELT_API int smelt_atomic_broadcast_init(void *memory, size_t bytes, unsigned members, const smelt_tree *tree,
                                          unsigned capacity);
SMELT_API int smelt_atomic_broadcast_open(void *memory, size_t bytes, unsigned index, int64_t timeout_ns,
                                          smelt_atomic_broadcast **member);

/* The member leaves, for good: it is not waited for any more, and those below it in the tree get -EPIPE when they have
 * delivered all that it passed on. It has passed on every message that it has delivered. No call of this member may be
 * under way. */
SMELT_API void smelt_atomic_broadcast_free(smelt_atomic_broadcast *member);

/* Bytes of the longest message: `capacity` slots of a queue (SMELT_QUEUE_SLOT), less 8. */
SMELT_API size_t smelt_atomic_broadcast_limit(const smelt_atomic_broadcast *member);
/* The member above this one in the tree; -1 for the root. */
SMELT_API int smelt_atomic_broadcast_parent(const smelt_atomic_broadcast *member);

/* --- Messages. The waiting forms: spin, yield, sleep, as SMELT_WAIT and SMELT_TUNE say. */

/* Gives a message of `bytes` to the order; data may be NULL where that is 0. It is in the order for certain when this
 * member has delivered it; before, it is lost where a member between here and the root is killed or leaves. */
SMELT_API int smelt_atomic_broadcast_send(smelt_atomic_broadcast *member, const void *data, size_t bytes);
SMELT_API int smelt_atomic_broadcast_try_send(smelt_atomic_broadcast *member, const void *data, size_t bytes);

/* A delivered message's place, length and sender. */
typedef struct smelt_atomic_broadcast_message {
  uint64_t number; /* its place in the order, from 0: the same for all */
  size_t bytes;    /* its length */
  unsigned sender; /* the member that sent it */
} smelt_atomic_broadcast_message;

/* The next message into `data`, which has `room`. Where it does not fit (-EMSGSIZE) *message is written too, and the
 * message stays. */
SMELT_API int smelt_atomic_broadcast_deliver(smelt_atomic_broadcast *member, void *data, size_t room,
                                             smelt_atomic_broadcast_message *message);
SMELT_API int smelt_atomic_broadcast_try_deliver(smelt_atomic_broadcast *member, void *data, size_t room,
                                                 smelt_atomic_broadcast_message *message);

SMELT_END

#endif
