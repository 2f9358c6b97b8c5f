/* A context: participants, and the pattern that serves them on this machine. A program makes as many as it has groups
 * that talk among themselves; the same threads or processes may take part in any of them.
 *
 * Two things are made from a context: barriers (smelt/barrier.h) and seats. By a seat one participant takes part in the
 * context's collectives: broadcast, reduce, allreduce, gather, scatter, exchange, barrier. Participants are threads of
 * one process, or processes of one machine; messages go along the edges of the context's tree, which are queues
 * (smelt/queue.h).
 *
 * Source: Kaestle, Achermann, Haecki, Hoffmann, Ramos, Roscoe: Machine-aware atomic broadcast trees for multicores,
 * OSDI 2016, section 4.2; loose and strict: Nishtala and Yelick, Optimizing collective communication on multicores,
 * HotPar 2009. */
#ifndef SMELT_CONTEXT_H
#define SMELT_CONTEXT_H

#include <smelt/group.h>
#include <smelt/model.h>
#include <smelt/queue.h>
#include <smelt/tree.h>

SMELT_BEGIN

typedef struct smelt_context smelt_context;

/* A context for n participants (1 .. SMELT_MAX_PARTICIPANTS). model NULL: this machine's (smelt_model_load(NULL)).
 * cpus[i]: the kernel CPU that participant i is pinned to; NULL when threads are not pinned: then the i-th allowed
 * CPU is assumed. pattern NULL: the setting SMELT_TUNE=pattern, by default "best". CPUs may repeat, and n may exceed
 * the CPUs: such a crowd is served by a counter and yielding waits instead of a pattern, and its pattern is "crowd".
 * The context's tree is the pattern's; where that is no tree, the cheapest one, and of a crowd a flat one.
 * -ENOENT, -ERANGE, -EINVAL as smelt_schedule_create; -ENOMEM. The model is not needed afterwards. */
SMELT_API int smelt_context_create(const smelt_model *model, unsigned n, const unsigned *cpus, const char *pattern,
                                   smelt_context **context);

/* The same with a tree of the caller's, whose pattern is "given": a smelt_tree, which is not needed afterwards; or the
 * parent of each of n participants, -1 for the root, where children are served in ascending order. -EINVAL: that is no
 * tree; -ENOMEM. */
SMELT_API int smelt_context_create_along(const smelt_tree *tree, smelt_context **context);
SMELT_API int smelt_context_create_from(unsigned n, const int *parents, smelt_context **context);

/* A context of some of another's participants (multicast): participant i of it is participants[i] of the other, `count`
 * of them, all different. Its tree is the other's without the participants that are not chosen. A participant that
 * loses its parent is served by the nearest chosen one above; if there is none, by the first chosen one from the top.
 * Its pattern is "given". For a tree of its own let smelt_context_create find one for its CPUs. -EINVAL, -ENOMEM. */
SMELT_API int smelt_context_create_subset(const smelt_context *of, const unsigned *participants, unsigned count,
                                          smelt_context **context);

/* NULL is allowed. Barriers and seats made from it are not touched: they have copies of all that they need. */
SMELT_API void smelt_context_free(smelt_context *context);

SMELT_API unsigned smelt_context_size(const smelt_context *context);       /* participants */
SMELT_API const char *smelt_context_pattern(const smelt_context *context); /* "pair", "all-to-all", "crowd", ... */
SMELT_API double smelt_context_predicted(const smelt_context *context);    /* ns per barrier, 0 where it is not known */

/* The parent of a participant in the context's tree; -1 for the root, -EINVAL. */
SMELT_API int smelt_context_parent(const smelt_context *context, unsigned participant);

/* --- Seats. `timeout_ns`: how long a wait of this seat for one message lasts at most, in nanoseconds; negative: for
 * ever. The context is not needed afterwards. */

typedef struct smelt_seat smelt_seat; /* one participant's */

enum { SMELT_SEAT_ELEMENT = 1024 }; /* bytes: the longest element of a reduction */

/* Between threads of this process: all seats, seats[0 .. n-1], in memory of the library's, which goes with the last
 * seat that is freed. Only then are long messages read and written where the caller has them. -EINVAL, -ENOMEM. */
SMELT_API int smelt_seats_create(const smelt_context *context, int64_t timeout_ns, smelt_seat **seats);

/* The words by which other processes find a context's seats: plain data, valid on this machine, passed on in any
 * way. */
typedef struct smelt_seat_ticket {
  uint64_t word[3];
} smelt_seat_ticket;

/* Between processes: the seat of participant 0, in memory without a name that goes with the last process that has it.
 * The others attach, 1 .. n-1, before seat 0 is freed; a forked child may, and then uses its own seat alone.
 * attach: -EBUSY: somebody has, or had, this seat; -ENOTSUP: another machine, user or process namespace, the creator is
 * gone, or the ticket is not of seats. */
SMELT_API int smelt_seats_create_shared(const smelt_context *context, int64_t timeout_ns, smelt_seat_ticket *ticket,
                                        smelt_seat **seat);
SMELT_API int smelt_seat_attach(const smelt_seat_ticket *ticket, unsigned participant, int64_t timeout_ns,
                                smelt_seat **seat);

/* In the caller's memory, which threads or processes share, at a multiple of SMELT_QUEUE_ALIGNMENT in each of them:
 * `size` says how much is needed, one of them writes it, and then each opens its own seat. The memory stays until all
 * are freed. init: -EINVAL. open: -EBUSY as above, -EPROTO: that was not written there. */
SMELT_API size_t smelt_seats_size(const smelt_context *context);
SMELT_API int smelt_seats_init(void *memory, size_t bytes, const smelt_context *context);
SMELT_API int smelt_seat_open(void *memory, size_t bytes, unsigned participant, int64_t timeout_ns, smelt_seat **seat);

/* Ends the use of this seat, for good. No call may be under way; an operation that is not complete is left so. */
SMELT_API void smelt_seat_free(smelt_seat *seat);

SMELT_API unsigned smelt_seat_size(const smelt_seat *seat);        /* participants */
SMELT_API unsigned smelt_seat_participant(const smelt_seat *seat); /* whose it is */

/* --- Operations. All participants call the same ones in the same order, with the same lengths, roots and `sync`; each
 * seat is used by one thread at a time. Seats of different contexts are independent.
 *
 * sync says how far participants wait for each other beyond the need of the data (0, loose: no further; a participant
 * that only contributes may be gone before others come):
 *   SMELT_STRICT_ENTRY   nobody's data are touched, on any seat, before all have entered
 *   SMELT_STRICT_EXIT    nobody leaves before all have their results
 *
 * Each returns 0 or
 *   -EINVAL     NULL where there are data, a root that is no participant, an unknown sync, an element of 0 bytes or
 *               of more than SMELT_SEAT_ELEMENT
 *   -EBUSY      the operation started before is not complete
 *   -ETIMEDOUT  a participant has not come for as long as the seat was told to wait. The operation is still under way:
 *               smelt_seat_wait goes on with it, and its memory must stay as it is; or the seat is freed
 *   -EPIPE      a participant has freed its seat, and the message awaited of it will never come
 *   -EMSGSIZE   another participant has given another length, and this was noticed; if it is not, waits time out
 *   -EPROTO     the shared memory was damaged
 * after the last three the seat serves nothing more: every call returns the same. Nothing allocates, prints or takes a
 * lock; system calls only where a wait is long, or somebody sleeps. Waits spin, yield, sleep, as SMELT_WAIT and
 * SMELT_TUNE say.
 *
 * Memory ordering: all that a participant did before an operation happens before all that another does after it which
 * got data of it, and after a strict exit, or a barrier, before all that any does. */
enum { SMELT_STRICT_ENTRY = 1, SMELT_STRICT_EXIT = 2 };

/* Nobody leaves before all have come: strict on entry and on exit. */
SMELT_API int smelt_seat_barrier(smelt_seat *seat);

/* `bytes` of root's `data` to everybody's. */
SMELT_API int smelt_seat_broadcast(smelt_seat *seat, void *data, size_t bytes, unsigned root, unsigned sync);

/* `elements` of `in` of all, combined, into `out` of root (reduce; elsewhere it is not looked at and may be NULL) or of
 * all (allreduce). in and out may be the same memory, and overlap in no other way. fold must associate and commute (its
 * flags are not looked at). Operands are combined along the edges of the tree: a participant's own with those of the
 * subtrees behind it, the last served first. Which with which depends on the tree, the length and, of short messages,
 * the root, and on nothing else: the same call gives the same bits, and an allreduce the same to all. fold's functions
 * may be called in any thread that takes part, for parts of the operands. */
SMELT_API int smelt_seat_reduce(smelt_seat *seat, const void *in, void *out, size_t elements, const smelt_fold *fold,
                                unsigned root, unsigned sync);
SMELT_API int smelt_seat_allreduce(smelt_seat *seat, const void *in, void *out, size_t elements,
                                   const smelt_fold *fold, unsigned sync);

/* gather: `bytes` of each into `out` of root, which has room for n times as many, in the order of the participants.
 * scatter: the other way round, from `in` of root. exchange: rows of n blocks of `bytes`; the i-th of `in` becomes the
 * me-th of participant i's `out`. The root's row is not looked at elsewhere and may be NULL. in and out do not overlap,
 * but for the root's own block, which may lie where it goes (in == out + root * bytes, out == in + root * bytes). */
SMELT_API int smelt_seat_gather(smelt_seat *seat, const void *in, void *out, size_t bytes, unsigned root,
                                unsigned sync);
SMELT_API int smelt_seat_scatter(smelt_seat *seat, const void *in, void *out, size_t bytes, unsigned root,
                                 unsigned sync);
SMELT_API int smelt_seat_exchange(smelt_seat *seat, const void *in, void *out, size_t bytes, unsigned sync);

/* The same, started now and completed later; one at a time per seat (-EBUSY). They go as far as they can without
 * waiting, and never wait. Nobody works in the background: an operation advances within test and wait, and others may
 * have to wait for that. Until the operation is complete, memory stays as it is, and its output is not looked at; *fold
 * is copied. 0: started, maybe complete. */
SMELT_API int smelt_seat_start_barrier(smelt_seat *seat);
SMELT_API int smelt_seat_start_broadcast(smelt_seat *seat, void *data, size_t bytes, unsigned root, unsigned sync);
SMELT_API int smelt_seat_start_reduce(smelt_seat *seat, const void *in, void *out, size_t elements,
                                      const smelt_fold *fold, unsigned root, unsigned sync);
SMELT_API int smelt_seat_start_allreduce(smelt_seat *seat, const void *in, void *out, size_t elements,
                                         const smelt_fold *fold, unsigned sync);
SMELT_API int smelt_seat_start_gather(smelt_seat *seat, const void *in, void *out, size_t bytes, unsigned root,
                                      unsigned sync);
SMELT_API int smelt_seat_start_scatter(smelt_seat *seat, const void *in, void *out, size_t bytes, unsigned root,
                                       unsigned sync);
SMELT_API int smelt_seat_start_exchange(smelt_seat *seat, const void *in, void *out, size_t bytes, unsigned sync);

/* test: advances the started operation and says in *done whether it is complete: 0 while not (it never times out; now
 * and then it gives the CPU away where participants share one), then as wait. wait: until it is complete; returns the
 * blocking form's result, 0 if nothing was started. */
SMELT_API int smelt_seat_test(smelt_seat *seat, int *done);
SMELT_API int smelt_seat_wait(smelt_seat *seat);

SMELT_END

#endif
