/* Members that come and go: threads of a process, or processes of a machine, that send to all and receive all.
 *
 * A membership is a number of places in shared memory. A joiner takes a place and is a member until it leaves, or until
 * the others take it out. All that happens is in one order, which is the same for all: the messages, and the views. A
 * view says who the members are, and in which tree: whenever somebody joins, leaves or is taken out, the tree is mended
 * (by the costs of this machine's profile), the view gets the next number, and takes its place in the order. A member
 * receives a part of that order without a gap: the part begins with the view that the member is first in, and ends
 * where it leaves. So between the same two views all members that see both receive the same messages (virtual
 * synchrony; Birman, Joseph, SOSP 1987). A message is in the order or not: it comes to all members, its sender too, or
 * to none.
 *
 * A member that was killed is taken out by the member that finds its process gone. A member with nothing to receive
 * looks after its parent and children in the tree; a sender looks after the member that keeps the room. A member that
 * receives nothing for as long as the patience says, while its unread messages keep others from sending, is taken out
 * too, although it may only be slow. It is told at its next call (-ESTALE), leaves with smelt_member_leave() and may
 * join again. Nobody has to live for a view to be finished: it is there as a whole, or not at all, and the members that
 * are left go on.
 *
 * Threads: a member is used by one thread at a time; different members are independent, and anybody joins at any time.
 * Memory ordering: all that a member did before it sent happens before all that a member does after it received that.
 * No function but those that make, attach, open, join, leave and free allocates, prints or takes a lock; system calls
 * only where a wait is long, somebody sleeps, or a member is looked after. Processes share a process namespace.
 *
 * Functions return 0 or, unless it says otherwise at the function:
 *   -EINVAL     an argument is out of range or NULL
 *   -EAGAIN     the try forms: it would have to wait. send: there is no room, and this member has to receive first
 *   -ETIMEDOUT  the waiting forms: not within the time that the member was told to wait. Nothing was sent or received
 *   -ESTALE     the others have taken this member out: it receives nothing more. Its last message may be in the order
 *   -EMSGSIZE   a message to be sent is longer than the membership's, one to be received longer than the room for it
 *   -EPROTO     the memory was damaged: no member has written its contents
 */
#ifndef SMELT_MEMBER_H
#define SMELT_MEMBER_H

#include <smelt/base.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_membership smelt_membership; /* the shared memory, as one process has it */
typedef struct smelt_member smelt_member;         /* one member, as its thread uses it */

enum {
  SMELT_MEMBER_PLACES = 256,          /* most places */
  SMELT_MEMBER_BYTES = 1 << 20,       /* longest message that may be asked for */
  SMELT_MEMBER_MESSAGES = 1 << 16,    /* most messages under way that may be asked for */
  SMELT_MEMBER_ALIGNMENT = 128,       /* bytes: of memory that the caller gives */
  SMELT_MEMBER_ANY = -1               /* any place; the CPU that the caller runs on */
};

/* The terms that a membership is made on. */
typedef struct smelt_member_terms {
  unsigned places;     /* 1 .. SMELT_MEMBER_PLACES: most members at a time */
  unsigned messages;   /* 1 .. SMELT_MEMBER_MESSAGES: so many messages and views are kept for members that have not
                          received them; the next power of two from 16 on. A member may have a quarter of them
                          under way */
  size_t bytes;        /* 0 .. SMELT_MEMBER_BYTES: of the longest message */
  int64_t patience_ns; /* a member that keeps others waiting for so long without receiving anything is taken out, in
                          nanoseconds; negative: never, only if its process is gone */
} smelt_member_terms;

/* --- Making a membership, of no members. -ENOMEM. */

/* For threads of this process, in memory of the library's. */
SMELT_API int smelt_membership_create(const smelt_member_terms *terms, smelt_membership **membership);

/* The words by which other processes find a membership: plain data, valid on this machine, passed on in any way. */
typedef struct smelt_member_ticket {
  uint64_t word[3];
} smelt_member_ticket;

/* For processes, in memory without a name that goes with the last process that has it. The others attach before the
 * creator frees it; a forked child may, and then does not use its copies of its parent's objects. attach: -ENOTSUP:
 * another machine, user or process namespace, the creator is gone, or the ticket is not of a membership. */
SMELT_API int smelt_membership_create_shared(const smelt_member_terms *terms, smelt_member_ticket *ticket,
                                             smelt_membership **membership);
SMELT_API int smelt_membership_attach(const smelt_member_ticket *ticket, smelt_membership **membership);

/* In the caller's memory, which threads or processes share: `size` says how much is needed (0: the terms are not
 * valid), one of them writes an empty membership there, and then each opens it. The memory begins at a multiple of
 * SMELT_MEMBER_ALIGNMENT, may lie elsewhere in each process, and stays until all have freed it. open: -EPROTO: there is
 * no membership. */
SMELT_API size_t smelt_membership_size(const smelt_member_terms *terms);
SMELT_API int smelt_membership_init(void *memory, size_t bytes, const smelt_member_terms *terms);
SMELT_API int smelt_membership_open(void *memory, size_t bytes, smelt_membership **membership);

/* Lets go of it. All members that joined by it have left before. */
SMELT_API void smelt_membership_free(smelt_membership *membership);

/* --- Joining and leaving */

/* Becomes a member, at `place`, or at SMELT_MEMBER_ANY, and is in the order from then on: the first that it receives is
 * the view that it came with. `cpu`: the kernel's number of the CPU that it will run on, for the tree, or
 * SMELT_MEMBER_ANY. `timeout_ns`: how long this and later calls of the member wait at most; negative: for ever. Waits
 * only where the others have to receive before another view has room. -EBUSY: the place, or each, is taken; that of a
 * process that is gone is not. -ETIMEDOUT: it is no member, and will not become one. -ESTALE: taken out meanwhile.
 * -ENOMEM. Waits, if at all, with its place taken: then the others may lose patience with it, too. */
SMELT_API int smelt_member_join(smelt_membership *membership, int place, int cpu, int64_t timeout_ns,
                                smelt_member **member);

/* Ends it, for good: the others get a view without it. Its messages stay in the order. Never waits: where there is no
 * room for the view, the others make it. Also for a member that was taken out: only then its place is free. */
SMELT_API void smelt_member_leave(smelt_member *member);

/* Takes out the member at a place, for whatever reason the caller has: a thread that has ended without leaving, say
 * (whose place is not free before the process ends). -ENOENT: there is none in the view. -EAGAIN: it is out, and the
 * view follows when there is room for it. */
SMELT_API int smelt_member_exclude(smelt_member *member, unsigned place);

/* --- Messages and views. The waiting forms: spin, yield, sleep, as SMELT_WAIT and SMELT_TUNE say. */

enum { SMELT_MEMBER_MESSAGE = 1, SMELT_MEMBER_VIEW = 2 };

typedef struct smelt_member_event {
  int kind;          /* SMELT_MEMBER_MESSAGE, SMELT_MEMBER_VIEW */
  unsigned place;    /* of a message: its sender; of a view: its maker */
  uint64_t position; /* in the order; positions only grow, and are the same for all */
  uint64_t view;     /* number of the view that this is, or that the message belongs to; the first is 1 */
  size_t bytes;      /* of the message */
} smelt_member_event;

/* To all members of the view, this one too. data may be NULL where bytes is 0. A sender must receive, too: if the
 * messages that this member has not received take the room, it is told so (-EAGAIN), in the waiting form as well. */
SMELT_API int smelt_member_send(smelt_member *member, const void *data, size_t bytes);
SMELT_API int smelt_member_try_send(smelt_member *member, const void *data, size_t bytes);

/* The next event: a message into `data`, which has `room`, or a view. If a message does not fit (-EMSGSIZE), the event
 * is written too, and the message stays. */
SMELT_API int smelt_member_receive(smelt_member *member, void *data, size_t room, smelt_member_event *event);
SMELT_API int smelt_member_try_receive(smelt_member *member, void *data, size_t room, smelt_member_event *event);

/* The view that was received last, of which `number` (may be NULL) is the number: writes at most `room` places of its
 * members, ascending, returns how many there are. None before the first. */
SMELT_API int smelt_member_view(const smelt_member *member, uint64_t *number, unsigned *places, unsigned room);
/* The parent of the member at `place` in that view's tree; -1: it is the root; -EINVAL: no member. */
SMELT_API int smelt_member_parent(const smelt_member *member, unsigned place);
SMELT_API unsigned smelt_member_place(const smelt_member *member); /* its own place */

SMELT_END

#endif
