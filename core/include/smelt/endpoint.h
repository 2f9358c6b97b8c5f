/* Endpoints: processes of one machine that send each other messages, asked for by context, source and tag.
 *
 * Their host (an MPI library's component) tells every process the ticket and its number. Then messages need nothing of
 * the host. A send and a receive are a smelt_transfer of the caller's memory each. Nothing waits:
 * smelt_endpoint_progress does everybody's work, and smelt_transfer_done asks. Messages of one sender, context and tag
 * are received in the order in which they were sent, whether the receives name them or leave source or tag open.
 *
 * Any thread may call anything at any time but smelt_endpoint_leave; a transfer belongs to one thread at a time. All
 * that was written before a send is seen after the receive is done.
 *
 * Short messages are copied through shared memory, and the send is done at once. Long ones are read by the receiver
 * from the sender's memory if the kernel allows that (smelt_endpoint_reads) and if they lie in one piece. Otherwise
 * they come in pieces through shared memory. Their sends, and synchronous ones of any length, are done when the message
 * has met its receive and been read.
 */
#ifndef SMELT_ENDPOINT_H
#define SMELT_ENDPOINT_H

#include <smelt/base.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_endpoint smelt_endpoint;

/* How the others find the memory: plain data, valid on this machine. */
typedef struct smelt_endpoint_ticket {
  uint64_t opaque[6];
} smelt_endpoint_ticket;

/* Member 0: makes the memory for all of `members` (1 .. SMELT_MAX_PARTICIPANTS) and its own endpoint. The memory has no
 * name and disappears with the last process, however that ends. 0, -EINVAL, or -ENOMEM: not enough memory
 * (SMELT_SHM_MB, ulimit -f and -v, the cgroup's limit). */
SMELT_API int smelt_endpoint_offer(unsigned members, smelt_endpoint_ticket *ticket, smelt_endpoint **endpoint);
/* The other members, `me` from 1 on. 0, -EINVAL, -ENOMEM, -ENOTSUP: another machine, user or process namespace. */
SMELT_API int smelt_endpoint_join(const smelt_endpoint_ticket *ticket, unsigned members, unsigned me,
                                  smelt_endpoint **endpoint);
/* May this process read the memory of that one, of which it was told that there is `expected` at `address`? */
SMELT_API int smelt_endpoint_reads(int process, uint64_t address, uint64_t expected);
/* No member sends before all have joined; the host sees to that. `together`: all had joined; else they never will, and
 * all have heard so. Nobody uses the endpoint any more. Messages sent to it and not received are lost. Transfers that
 * are not done never will be, and are not touched again. */
SMELT_API void smelt_endpoint_leave(smelt_endpoint *endpoint, int together);

typedef struct smelt_transfer smelt_transfer;
struct smelt_transfer {
  uint64_t node[5]; /* Smelt's */
  uint64_t state;   /* Smelt's */
  /* When it is done: 0; -EMSGSIZE: the message was longer than the room, which has its beginning; -ECANCELED;
   * -EPIPE: the other has died; -EIO: its memory could not be read to the end. */
  int32_t error;
  uint16_t peer;   /* of a receive: the message's sender */
  int32_t tag;     /* of a receive: the message's */
  uint64_t length; /* of a receive: the message's, in bytes */

  /* Set by the caller before it begins: each is NULL, or a function that the thread that makes progress calls. */
  /* It was done otherwise than within the call that began it, or took it back: the last that happens to it. It may
   * send, receive and cancel, and must not wait. */
  void (*completed)(smelt_transfer *transfer);
  /* Takes the data, in consecutive pieces, at most as many bytes as there is room; `buffer` is then not looked at. */
  void (*unpack)(smelt_transfer *receive, uint64_t at, const void *data, uint64_t bytes);
  /* A send that begins without `data` calls it for the data, in consecutive pieces. The receiver may want less. */
  void (*pack)(smelt_transfer *send, uint64_t at, void *data, uint64_t bytes);
  /* If it is not 0, the receive takes its message out of the others' way and leaves it where it is, for
   * smelt_endpoint_receive_held. It must come: a message that is held is not lost otherwise. */
  uint8_t holds;
  uint64_t room[16]; /* Smelt's */
};

/* Facts that the endpoint goes by, told before the first message. Costs are those measured for this machine, or else
 * typical ones. `reads`: this process can read the others' memory (at first it is taken to). `crowded`: there are more
 * members than CPUs for them (at first not). Then no message that can be read goes in pieces: for every few pieces
 * sender and receiver would both have to get their turn. `host`: the host's other communication, which a waiter in
 * smelt_endpoint_wait calls now and then; may be NULL. */
SMELT_API void smelt_endpoint_set(smelt_endpoint *endpoint, int reads, int crowded, void (*host)(void *argument),
                                  void *argument);

/* One thread at a time calls from now on, and the host sees to the order, as an MPI program must up to
 * MPI_THREAD_SERIALIZED. Then no lock is needed, and so no exchange that would wait until a message just sent has
 * reached its receiver. It must be called before the first message. */
SMELT_API void smelt_endpoint_one_thread(smelt_endpoint *endpoint);

/* What carries messages to processes of other machines: a part of Smelt in a library of its own, which the host opens
 * (libsmelt_rail_ofi.so, smelt_rail_carrier). A process opens its rails, tells the others their address, connects to
 * the others', and gives the rails to its endpoint. Until then one thread at a time uses them. Functions return 0 or a
 * negative error, as smelt/rail.h has them. */
enum {
  SMELT_CARRIER_ADDRESS = 1024, /* bytes of an address at most */
  SMELT_CARRIER_PEERS = 4096    /* at most */
};
typedef struct smelt_endpoint_carrier {
  const char *version; /* of Smelt */
  /* `profile`: of the networks; NULL: this machine's usual one */
  int (*open)(const char *profile, void **rails);
  int (*address)(const void *rails, void *address, size_t *bytes);
  /* The peer with this address becomes number `*peer`: 0, 1, .. in the order of the calls. Does not wait. */
  int (*connect)(void *rails, const void *address, size_t bytes, uint32_t *peer);
  int (*answers)(void *rails, uint32_t peer); /* 1: it has answered; 0: not yet */
  void (*progress)(void *rails);
  void (*close)(void *rails);
  const struct smelt_carriage *carriage; /* Smelt's */
} smelt_endpoint_carrier;
/* Before the first message, where the peers do the same: peer i is member number `members` + i here, to be sent to and
 * received from like the others, in one order with them where source or tag are open. The rails, which are connected to
 * peers 0 .. peers-1, are closed when the endpoint is left. 0, -EINVAL, -ENOMEM, -EPROTO: the carrier is of another
 * version, or what it says: then the rails are still the host's. */
SMELT_API int smelt_endpoint_carry(smelt_endpoint *endpoint, const smelt_endpoint_carrier *carrier, void *rails,
                                   unsigned peers);

/* 1: it is done; 0: it is not yet; -EINVAL: no such member; -EPIPE: one of another machine that is gone. Negative: it
 * has not begun.
 * `synchronous`: done when the message has met its receive. `context` and tags below 0 are for the host to share out;
 * tags below 0 are never met by a receive of any tag. `data` must stay as it is until the send is done. */
SMELT_API int smelt_endpoint_send(smelt_endpoint *endpoint, smelt_transfer *send, unsigned to, unsigned context,
                                  int tag, const void *data, uint64_t bytes, int synchronous);
/* The same of a short message whose data lie in one piece, without a transfer, for a member of this machine. 1: it is
 * done; 0: it is too long, or there is no room just now, and nothing has begun. */
SMELT_API int smelt_endpoint_send_now(smelt_endpoint *endpoint, unsigned to, unsigned context, int tag,
                                      const void *data, uint64_t bytes);
/* `source` below 0: from anybody. `any_tag`: of any tag from 0 on. 1: it is done; 0: it waits for
 * its message; -EINVAL. */
SMELT_API int smelt_endpoint_receive(smelt_endpoint *endpoint, smelt_transfer *receive, int source, unsigned context,
                                     int tag, int any_tag, void *buffer, uint64_t room);
/* The message that `holder`, which is done, holds; which is the caller's again then. 1: the receive is done; 0: not
 * yet. */
SMELT_API int smelt_endpoint_receive_held(smelt_endpoint *endpoint, smelt_transfer *receive, smelt_transfer *holder,
                                           void *buffer, uint64_t room);
/* Takes back a receive that has met no message: it is done, -ECANCELED, and `completed` is not called. 0: it has. */
SMELT_API int smelt_endpoint_cancel(smelt_endpoint *endpoint, smelt_transfer *receive);
/* The host is through with a context: its messages that have come, and that nobody has received, are lost, before it is
 * used again. A send that waits for its receive goes on waiting. */
SMELT_API void smelt_endpoint_forget(smelt_endpoint *endpoint, unsigned context);
/* Will no more come from `source` (below 0: from all others), because they have died, and is what they had sent here?
 * It asks the kernel, unless that was done just now. So it is meant for a caller that has probed in vain for a
 * while. */
SMELT_API int smelt_endpoint_lost(smelt_endpoint *endpoint, int source);
/* Is there a message that such a receive would get? Tells of it. Makes no progress. */
SMELT_API int smelt_endpoint_probe(smelt_endpoint *endpoint, int source, unsigned context, int tag, int any_tag,
                                   uint16_t *sender, int32_t *message_tag, uint64_t *length);
/* Makes no progress. */
SMELT_API int smelt_transfer_done(smelt_endpoint *endpoint, smelt_transfer *transfer);
/* Takes in the messages that have come, up to one that completes a transfer, and sends those that waited for room. If
 * the result is not 0, there was something, and there may be more. */
SMELT_API int smelt_endpoint_progress(smelt_endpoint *endpoint);
/* Waits until at least `needed` of `count` different transfers are done, and returns how many are. One of all threads
 * that wait here makes progress, the others sleep. Those whose other side has died are done, with -EPIPE. */
SMELT_API unsigned smelt_endpoint_wait(smelt_endpoint *endpoint, smelt_transfer *const *transfers, unsigned count,
                                       unsigned needed);

/* Since the endpoint was made. Each figure is right; no two need be of the same moment. */
typedef struct smelt_endpoint_counters {
  uint64_t received_inline, received_eager, received_single_copy, received_pieces; /* messages, by how they came */
  uint64_t unexpected;         /* of them: nobody had asked for them when they came */
  uint64_t longest_unexpected; /* most of those at a time */
  uint64_t wildcards;          /* receives and probes that left source or tag open */
  uint64_t switches;           /* contexts that have begun to keep order for them (those that share a place: one) */
  uint64_t deferred;           /* sends that have had to wait for room */
  uint64_t sleeps;             /* of threads in smelt_endpoint_wait */
  /* messages from other machines, by how they came */
  uint64_t received_far_eager, received_far_announced;
} smelt_endpoint_counters;
/* The counts so far. Any thread may call it. */
SMELT_API void smelt_endpoint_count(const smelt_endpoint *endpoint, smelt_endpoint_counters *counters);

/* Longest messages of each way, in bytes: in the receiver's inbox; in a packet. */
SMELT_API void smelt_endpoint_limits(const smelt_endpoint *endpoint, uint64_t *inbox, uint64_t *packet);

SMELT_END

#endif
