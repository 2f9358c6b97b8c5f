/* Queues of messages between threads of one process, or between processes of one machine.
 *
 * A queue pair has two ends, 0 and 1, and each sends to the other; a queue of one to many has one sender, end 0, and
 * any number of readers, 1 .. n-1, which all get every message. Queues are reliable (every message is received, once
 * and unchanged), ordered, and bounded: if a queue is full, the sender waits, or is told so.
 *
 * A message is a row of bytes, and may be empty. It travels in slots of one cache line: up to SMELT_QUEUE_SLOT bytes in
 * one, longer ones in as many as they need. It is there as a whole or not at all, also where its sender is killed.
 *
 * How a queue works is its kind, which has a name:
 *   "ump"          a pair; sequence numbers in the slots, and a line in which the receiver acknowledges
 *                  (Barrelfish's UMP; the paper's own, Kaestle et al., OSDI 2016, section 4.1)
 *   "fastforward"  a pair; a slot is empty or full (Giacomoni et al., PPoPP 2008)
 *   "one-to-many"  one ring with one writer and many readers (UMP's, with an acknowledge line for each reader)
 *
 * Threads: one thread at a time sends over an end, and one receives, perhaps another; different ends are independent.
 * Memory ordering: all that a sender did before it sent happens before all that a receiver does after it received.
 * No function but those that make, open and free a queue allocates, prints or takes a lock; system calls only where a
 * wait is long, or somebody sleeps.
 *
 * Functions return 0 or, unless it says otherwise at the function:
 *   -EINVAL     an argument is out of range or NULL
 *   -ENOTSUP    this end does not do that: a reader of one to many sends, or its sender receives
 *   -EAGAIN     the try forms: it would have to wait
 *   -ETIMEDOUT  the waiting forms: nothing came, or no room was made, for as long as the end was told to wait. Nothing
 *               was sent or received; it may be tried again. So ends a wait for a peer that was killed or never comes
 *   -EPIPE      nothing will ever come, or be read: all ends on the other side were freed. Their messages are
 *               received before; a sender is told as soon as the queue is full
 *   -EMSGSIZE   a message to be sent is longer than smelt_queue_limit(), one to be received longer than the room for it
 *   -EPROTO     the memory was damaged: no queue has sent its contents
 */
#ifndef SMELT_QUEUE_H
#define SMELT_QUEUE_H

#include <smelt/base.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_queue smelt_queue; /* one end, as one process uses it */

enum {
  SMELT_QUEUE_SLOT = 56,              /* bytes of a message that takes one slot */
  SMELT_QUEUE_MAX_CAPACITY = 1 << 20, /* slots */
  SMELT_QUEUE_ALIGNMENT = 128         /* bytes: of memory that the caller gives */
};

/* The i-th kind's name, and a few words about it; NULL past the last. Static storage. */
SMELT_API const char *smelt_queue_kind(unsigned i);
SMELT_API const char *smelt_queue_help(unsigned i);

/* --- Making a queue. `kind` is a name, NULL: "ump". `capacity`, 1 .. SMELT_QUEUE_MAX_CAPACITY: so many one-slot
 * messages each direction holds at least; the memory for it is the next power of two from 4/3 of that on, in slots of
 * 64 bytes. `ends` is 2 for a pair, 2 .. SMELT_MAX_PARTICIPANTS for one to many. `timeout_ns`: how long a send or
 * receive over this end waits at most, in nanoseconds; negative: for ever. -ENOENT: there is no such kind. -ENOMEM. */

/* Between threads of this process: all ends, queue[0 .. ends-1], in memory of the library's, which goes with the last
 * end that is freed. */
SMELT_API int smelt_queue_create(const char *kind, unsigned capacity, unsigned ends, int64_t timeout_ns,
                                 smelt_queue **queue);

/* The words by which other processes find a queue: plain data, valid on this machine, passed on in any way. */
typedef struct smelt_queue_ticket {
  uint64_t word[3];
} smelt_queue_ticket;

/* Between processes: end 0, in memory without a name that goes with the last process that has it. The others attach
 * before end 0 is freed; a forked child may, and then uses its own end alone. */
SMELT_API int smelt_queue_create_shared(const char *kind, unsigned capacity, unsigned ends, int64_t timeout_ns,
                                        smelt_queue_ticket *ticket, smelt_queue **queue);
/* End `end`, 1 .. ends-1. -EBUSY: somebody has, or had, this end. -ENOTSUP: another machine, user or process namespace,
 * the creator is gone, or the ticket is not of such a queue. */
SMELT_API int smelt_queue_attach(const smelt_queue_ticket *ticket, unsigned end, int64_t timeout_ns,
                                 smelt_queue **queue);

/* In the caller's memory, which threads or processes share: `size` says how much is needed (0: the kind or a number is
 * not valid), one of them writes an empty queue there, and then each opens its end, 0 .. ends-1. The memory begins at a
 * multiple of SMELT_QUEUE_ALIGNMENT, may lie elsewhere in each process, and stays until all ends are freed. open:
 * -EBUSY as above, -EPROTO: there is no queue. */
SMELT_API size_t smelt_queue_size(const char *kind, unsigned capacity, unsigned ends);
SMELT_API int smelt_queue_init(void *memory, size_t bytes, const char *kind, unsigned capacity, unsigned ends);
SMELT_API int smelt_queue_open(void *memory, size_t bytes, unsigned end, int64_t timeout_ns, smelt_queue **queue);

/* Ends the use of this end, for good: the others get -EPIPE when they have received all that was sent, and a reader of
 * one to many is not waited for any more. No call over this end may be under way. */
SMELT_API void smelt_queue_free(smelt_queue *queue);

/* Bytes of the longest message: `capacity` slots. One of that length fits into a queue that is empty. */
SMELT_API size_t smelt_queue_limit(const smelt_queue *queue);

/* --- Messages. The waiting forms: spin, yield, sleep, as SMELT_WAIT and SMELT_TUNE say.
 * send: a message of `bytes`; data may be NULL where that is 0. receive: the next message into `data`, which has
 * `room`, and its length into *bytes; where it does not fit (-EMSGSIZE) *bytes is written too; the message stays. */
SMELT_API int smelt_queue_send(smelt_queue *queue, const void *data, size_t bytes);
SMELT_API int smelt_queue_try_send(smelt_queue *queue, const void *data, size_t bytes);
SMELT_API int smelt_queue_receive(smelt_queue *queue, void *data, size_t room, size_t *bytes);
SMELT_API int smelt_queue_try_receive(smelt_queue *queue, void *data, size_t room, size_t *bytes);

/* Would the try form do it now? 1: yes, until this end itself sends or receives; 0: no; or a negative errno. */
SMELT_API int smelt_queue_can_send(smelt_queue *queue, size_t bytes);
SMELT_API int smelt_queue_can_receive(smelt_queue *queue);

/* The same without a copy, for messages of one slot; try forms, all of them.
 * reserve: the memory of the next slot, SMELT_QUEUE_SLOT bytes at a multiple of 8, to be filled; nothing is sent before
 * commit says how many of them count (-EINVAL: not reserved, or more than there are). A send in between takes the slot.
 * peek: the next message where it lies (-EMSGSIZE, with *bytes written: it takes several slots); it is only to be read,
 * and not after consume, which drops the next message, of any length, read or not. */
SMELT_API int smelt_queue_reserve(smelt_queue *queue, void **payload);
SMELT_API int smelt_queue_commit(smelt_queue *queue, size_t bytes);
SMELT_API int smelt_queue_peek(smelt_queue *queue, const void **payload, size_t *bytes);
SMELT_API int smelt_queue_consume(smelt_queue *queue);

SMELT_END

#endif
