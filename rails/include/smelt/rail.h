/* Messages between two nodes over all the networks between them.
 *
 * A rail is a network interface that reaches the peer. smelt network (1) samples the cost of messages on each. A
 * message's way follows from these samples, and not from the claims of interfaces. A long message is split so that its
 * parts all end at the same time, with the data under way on each rail counted in. A short one takes the rail that is
 * done first. Several that wait leave as one packet where that is cheaper (Brunet, Trahay, Denis & Namyst, "A
 * Sampling-based Approach for Communication Libraries Auto-tuning", Cluster 2011). A rail that does not help is left
 * out.
 *
 * If a rail dies, the others carry the messages that it has not delivered; nothing is lost and nothing comes twice. A
 * dead rail is used again when it answers again. A rail that is slower than sampled gets less from then on.
 *
 * These functions are in libsmelt_rail_ofi.so (link with -lsmelt_rail_ofi), which opens libfabric when rails are
 * opened.
 *
 * Between two processes, messages in one direction are received in the order in which they were sent; there are no
 * tags. Each tells the other its address in a way of their own (as MPI processes do when they start), and connects.
 * Threads: one at a time per smelt_rails. Nothing moves but inside these functions: a process that has sent or expects
 * something calls smelt_rail_test() now and then, one that is done with all calls smelt_rails_close().
 *
 * Functions return 0 or, unless it says otherwise at the function:
 *   -EINVAL     an argument is out of range or NULL
 *   -ENOMEM     no memory
 *   -EPROTO     the peer is of another version of Smelt
 *   -ETIMEDOUT  the peer has never answered on any rail, for as long as it was to be waited for
 *   -EPIPE      the peer is gone: it has closed its rails; or no rail has reached it, nor its kernel said that its
 *               process is there, for as long as it was to be waited for. One that computes is waited for.
 */
#ifndef SMELT_RAIL_H
#define SMELT_RAIL_H

#include <smelt/base.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_rails smelt_rails; /* a process's rails to all its peers */

enum {
  SMELT_RAIL_ADDRESS = 1024, /* bytes of an address at most */
  SMELT_RAIL_REQUEST = 640,  /* bytes */
  SMELT_RAIL_PEERS = 4096    /* at most */
};

/* How messages are split. All but the first are for comparison: they do not react to anything, except that the others
 * carry a dead rail's messages. */
enum {
  SMELT_RAIL_EQUAL_FINISH = 0,
  SMELT_RAIL_BANDWIDTH = 1, /* in proportion to the sampled bandwidths */
  SMELT_RAIL_HALVES = 2,    /* equal parts */
  SMELT_RAIL_SINGLE = 3     /* all on the rail of options.single */
};

/* Zeros are the defaults. */
typedef struct smelt_rail_options {
  uint32_t split;       /* one of the above */
  uint32_t single;      /* index of a rail of the profile */
  uint32_t patience_ms; /* without any rail to a peer, until it is given up; 0: 60000 */
  uint32_t reserved[5]; /* 0 */
} smelt_rail_options;

/* A send or receive under way, in the caller's memory, which stays until it is complete. */
typedef struct smelt_rail_request {
  uint64_t word[SMELT_RAIL_REQUEST / 8];
} smelt_rail_request;

/* Opens an endpoint on each rail of a network profile. `profile`: a file that smelt network wrote, ending in .network;
 * NULL: this machine's usual one. options may be NULL.
 * -ENOENT: no such file: sample first. -EBADMSG: a file that is damaged, of another version, or that others may write.
 * -ENOSYS: no libfabric on this machine. -ENODEV: none of the profile's rails is here. */
SMELT_API int smelt_rails_open(const char *profile, const smelt_rail_options *options, smelt_rails **rails);

/* The address by which a peer connects: writes at most SMELT_RAIL_ADDRESS bytes, says how many. Plain data. */
SMELT_API int smelt_rails_address(const smelt_rails *rails, void *address, size_t *bytes);

/* Connects to the peer with this address, which becomes number `*peer`: 0, 1, .. in the order of the calls. Each of two
 * connects to the other, in any order; messages sent before the other has done so wait. Does not wait. -EPROTO.
 * -ENOTUNIQ: that one is connected already. -EHOSTUNREACH: no rail of theirs has an address that one of ours takes.
 * Rails in the same network are paired; where there is none, the first of theirs with the first of ours, and the
 * network between them routes. */
SMELT_API int smelt_rails_connect(smelt_rails *rails, const void *address, size_t bytes, uint32_t *peer);

/* Begins to send `bytes`, which may be 0, from `data`; they are read until the request is complete. */
SMELT_API int smelt_rail_send(smelt_rails *rails, smelt_rail_request *request, uint32_t peer, const void *data,
                              size_t bytes);

/* Begins to receive the next message of the peer that no earlier receive was for. */
SMELT_API int smelt_rail_receive(smelt_rails *rails, smelt_rail_request *request, uint32_t peer, void *buffer,
                                 size_t capacity);

/* Moves all requests as far as they can be moved. 1: this one is complete; of a receive, *bytes (which may be NULL) is
 * the message's length. 0: not yet. Negative: complete, but -EPIPE, -ETIMEDOUT, -EPROTO, -ENOMEM; or, of a receive,
 * -EMSGSIZE: the message was longer than `capacity` and its end was dropped; *bytes is its length. A send is complete
 * when `data` may be written again: a short one as soon as it was copied, a long one when all of it has arrived. */
SMELT_API int smelt_rail_test(smelt_rails *rails, smelt_rail_request *request, size_t *bytes);

/* As smelt_rail_test, but moves nothing: for a caller that has many requests, and has just tested one of them. */
SMELT_API int smelt_rail_look(const smelt_rail_request *request, size_t *bytes);

/* When a message of so many bytes would have arrived, sent now, as the samples and the present load promise; in µs from
 * now. Negative: an error as above, or -EAGAIN: no rail is up. */
SMELT_API double smelt_rail_predict(smelt_rails *rails, uint32_t peer, size_t bytes);

/* A rail's state and counters, for one peer. Counters only grow. */
typedef struct smelt_rail_state {
  char interface[16];
  uint32_t up;              /* 1: in use */
  uint32_t deaths;          /* times that it went down after it was up */
  uint64_t bytes;           /* of messages sent over it, also those sent again */
  uint64_t packets;         /* with messages */
  uint64_t messages_joined; /* that left in a packet with an earlier one */
  uint64_t again;           /* packets that went over this rail after they had gone over another that died */
  double slow;              /* now, times the sampled time */
} smelt_rail_state;

/* The i-th rail, 0 .. ; -ENOENT past the last. Not connected with this peer by it: up is 0, and so is everything. */
SMELT_API int smelt_rail_info(const smelt_rails *rails, uint32_t peer, uint32_t i, smelt_rail_state *state);

/* Waits until all that was sent has arrived, at most for the patience or 5 s; then tells the peers, and frees
 * everything. Requests that are not complete are abandoned. NULL is allowed. */
SMELT_API void smelt_rails_close(smelt_rails *rails);

/* What carries an endpoint's messages over rails, for smelt_endpoint_carry() (smelt/endpoint.h). */
SMELT_API const struct smelt_endpoint_carrier *smelt_rail_carrier(void);

SMELT_END

#endif
