/* A group: processes of one machine that run collectives over memory they share.
 *
 * The group's host (an MPI library's component, a launcher of workers) brings two slow collectives of its own, which
 * are used only while the group is being created. It is called back while the group waits, and where data must be
 * packed or operands combined. One thread of each process uses a group at a time; different groups are independent.
 *
 * Collectives of a group must be called by all its participants in the same order with the same sizes, root and
 * operation; each can also be started, and tested or waited for later (smelt_request). Memory ordering: a barrier
 * orders like smelt_barrier_wait; all that a sender did before a collective is visible to the receivers of its data.
 *
 * Results are the same bits on every participant, for every root, in every run, whatever method served the size:
 * operands are combined as  B_0 op (B_1 op (B_2 ...)),  B_j = a_16j op (a_16j+1 op (... a_16j+15)),  a_i participant
 * i's; those of a scan, of which each result is a part of the next one's, as  (a_0 op a_1) op a_2 ... An operation
 * whose result does not depend on the order may say so (SMELT_FOLD_ANY_ORDER): its operands go along the machine's
 * reduction tree where that is quicker. Only SMELT_REDUCE_ORDER=tree gives the promise up, for operations that commute.
 */
#ifndef SMELT_GROUP_H
#define SMELT_GROUP_H

#include <smelt/base.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_group smelt_group;

/* Which call mostly follows a collective of a group? The next one (loose), or a barrier (strict). There are limits
 * between methods for both. AUTO: a group watches. It takes its calls for strict when a barrier has followed each of
 * the last 32, and for loose again when none has. That begins with a blocking call, the same for all. */
typedef enum smelt_sync { SMELT_SYNC_AUTO, SMELT_SYNC_LOOSE, SMELT_SYNC_STRICT } smelt_sync;

/* The functions and facts that the host lends. All functions are called on the calling thread, from within a function
 * of this header. */
typedef struct smelt_host {
  void *context; /* first argument of each */

  /* While waiting, every few microseconds at most: let the host's other communication advance. May be NULL. */
  void (*progress)(void *context);

  /* smelt_group_create only. broadcast: `bytes` from participant 0 to all. minimum: element-wise over all participants,
   * result everywhere. 0, or anything else for failure. */
  int (*broadcast)(void *context, void *data, size_t bytes);
  int (*minimum)(void *context, int64_t *values, int count);

  /* Processes of the host on this machine, in this group or not (0: only the group's are known), and whether the host
   * itself was told that there are more of them than CPUs. */
  unsigned local_processes;
  int crowded;

  /* The host's knowledge of how this group will be used. AUTO, which is 0: nothing; then SMELT_TUNE=sync
   * holds. Where participants come to different values, all take LOOSE. */
  smelt_sync sync;
  /* Once when the group has seen that its calls are of the other kind (LOOSE or STRICT). May be NULL. */
  void (*sync_seen)(void *context, smelt_sync sync);
} smelt_host;

/* Creates this process's part of a group of n (1 .. SMELT_MAX_PARTICIPANTS); `me` is 0 .. n-1. Collective. The memory
 * has no name: it disappears with the last process, however that ends. 0 for all participants or the same failure for
 * all:
 *   -ENOTSUP  they do not share a machine, a user, or the right to open each other's memory (/proc)
 *   -ENOMEM   not enough memory (SMELT_SHM_MB, ulimit -f and -v, the cgroup's limit)
 *   -EINVAL   they disagree: other version, other settings
 *   -EIO      the host's own collective failed (then perhaps not the same for all)
 * `host` is copied, `host->context` must outlive the group. */
SMELT_API int smelt_group_create(const smelt_host *host, unsigned n, unsigned me, smelt_group **group);

/* The call is not collective; every participant frees when it likes, and none may call the group afterwards. */
SMELT_API void smelt_group_free(smelt_group *group);

/* A pool: processes that have agreed once to share memory, and of which any number make groups without their host's
 * collectives (they tell each other what they must through that memory), as often as they like. A group of a pool that
 * all have freed rests, and the next one of the same participants in the same order is that one: so groups that come
 * and go cost a microsecond or two. The functions of a pool may be called by several threads at once.
 *
 *   smelt_pool_create  as smelt_group_create, over the host's collectives, and with the same failures
 *   smelt_pool_group   as smelt_group_create, collective among the participants alone: participant i is member
 *                      members[i] of the pool, and `me` is this process. `key` is any number that participants have in
 *                      common, and that none of them uses for another group at the same time; it is free again when the
 *                      function returns. The host's broadcast and minimum are called only by the first group that has
 *                      all of its host's processes (the machine is asked whether its profile holds). -ERANGE for all,
 *                      and nothing has been done: the pool has no such key. A pool of up to 64 has keys below 2,048,
 *                      one of n others below 131,072 / n, in steps of 32
 *   smelt_pool_free    not collective; every group of it must have been freed */
typedef struct smelt_pool smelt_pool;
SMELT_API int smelt_pool_create(const smelt_host *host, unsigned n, unsigned me, smelt_pool **pool);
SMELT_API int smelt_pool_group(smelt_pool *pool, const smelt_host *host, unsigned key, const unsigned *members,
                               unsigned n, unsigned me, smelt_group **group);
SMELT_API void smelt_pool_free(smelt_pool *pool);

/* A host that unloads the library returns all shared memory with this; every group and pool must have been freed. */
SMELT_API void smelt_groups_end(void);

/* Data in the caller's memory, seen as a row of bytes without gaps ("packed"). */
typedef struct smelt_data {
  void *base; /* the bytes themselves; NULL: they are not contiguous, then the two functions move them */
  /* Called with consecutive ranges from offset 0 on, each once. */
  void (*pack)(void *context, size_t offset, size_t bytes, void *to);
  void (*unpack)(void *context, size_t offset, size_t bytes, const void *from);
  void *context;
} smelt_data;

/* Where a participant's block lies in a row of blocks, and how long it is. */
typedef struct smelt_place {
  ptrdiff_t offset; /* bytes from the beginning of the row */
  size_t bytes;
} smelt_place;

/* Properties of an operation besides that it associates; the same on all participants. */
enum {
  /* the result has the same bits in whatever order operands are combined: integers, not floating point */
  SMELT_FOLD_ANY_ORDER = 1,
  /* left and right may change places, but for rounding: the order is kept unless SMELT_REDUCE_ORDER=tree */
  SMELT_FOLD_COMMUTES = 2
};

/* An associative operation on elements. Operands are packed bytes, at a multiple of the largest power of two, 64 at
 * most, that divides element_bytes; where they lie in a caller's own memory (smelt_data's base), as that does. */
typedef struct smelt_fold {
  size_t element_bytes;
  /* right[k] = left[k] op right[k] for all elements; left is only read. */
  void (*into_right)(void *context, const void *left, void *right, size_t elements);
  /* result[k] = left[k] op right[k]; result may be the very address left or right. NULL: into_right and a copy are
     used. */
  void (*into_third)(void *context, const void *left, const void *right, void *result, size_t elements);
  void *context;
  unsigned flags; /* SMELT_FOLD_...; 0: combined in the promised order and no other */
} smelt_fold;

/* Data in one piece to or from a participant, oneself among them. */
typedef struct smelt_block {
  unsigned peer;
  void *base;
  size_t bytes;
} smelt_block;

/* Each returns 0, or for all participants alike -ENOTSUP if this group does not serve such a call (a single element
 * larger than smelt_group_element_limit, or no memory for long messages); then nothing has been sent or written.
 * Everywhere a row of blocks is in the order of the participants, and a row of blocks that are all empty may be NULL.
 *
 *   broadcast       data of `root`. Its `bytes` count: if a participant takes more, the rest of its buffer stays as it
 *                   was; if it takes less, it gets the bytes that fit, and -EMSGSIZE. `bytes` is 0 only on all
 *   reduce          `in` of all, combined, into `out` of root. Elsewhere out is not looked at and may be NULL
 *   allreduce       the same into `out` of all. in and out may be the same memory, and overlap in no other way
 *   allgather       `bytes` of each, to `out` of all, which has room for n times as many. `in` may lie at its own place
 *                   there (out + me * bytes), and does not overlap otherwise
 *   reduce_scatter  `in` of each is a row of one block for each participant, of elements[i] elements
 *                   (reduce_scatter_block: all of `elements`), the same on all. Participant i gets block i of the rows
 *                   combined into `out`, which does not overlap `in`. If the block is empty, out is not looked at
 *   scan            into `out` of participant i, `in` of participants 0 .. i, combined; in and out as of allreduce
 *   exscan          as scan, but of participants 0 .. i-1; out of participant 0 stays as it is
 *   alltoall        rows of n blocks of `bytes` each, which do not overlap. The i-th of `in` becomes the me-th of
 *                   participant i's `out`
 *   exchange        blocks of any length to some, and from some. Both lists ascend by peer, and no two blocks overlap.
 *                   All data of one participant for another are one row of bytes, in the order of the lists, and so is
 *                   the place for them. If a participant is sent more or less than that, it gets the bytes that
 *                   fit, and -EMSGSIZE
 *   gather          as allgather, to `out` of root alone. Elsewhere out is not looked at and may be NULL
 *   scatter         from `in` of root, which has n times `bytes`, to everybody its own. The root's `out` may lie where
 *                   its block is (in + root * bytes). Elsewhere in is not looked at and may be NULL
 *   allgatherv      allgather of blocks of any lengths, to any places of `out`. `places` says of each participant how
 *                   long its block is, the same to all, and where it goes here; the places do not overlap
 *   scatterv        scatter of blocks of any lengths from any places of `in`. `places` is the root's alone, as `in`: it
 *                   says of each participant where its block is and how long. Everybody gives its own `bytes`, 0 if it
 *                   has none
 *   gatherv         the other way round; `in` lies in one piece
 *
 * In reductions, scans, allgather, alltoall, gather and scatter all must give the same length (in a reduce_scatter: of
 * the row; in allgatherv, gatherv and scatterv: of each block). If they do not, nobody waits for ever and nothing is
 * written elsewhere than in the result. A participant that finds it out returns -EMSGSIZE, with nothing of use in its
 * result. A group that could not go on without losing step returns -EMSGSIZE from then on. */
SMELT_API int smelt_group_barrier(smelt_group *group);
SMELT_API int smelt_group_broadcast(smelt_group *group, const smelt_data *data, size_t bytes, unsigned root);
SMELT_API int smelt_group_reduce(smelt_group *group, const smelt_data *in, const smelt_data *out, size_t elements,
                                 const smelt_fold *fold, unsigned root);
SMELT_API int smelt_group_allreduce(smelt_group *group, const smelt_data *in, const smelt_data *out, size_t elements,
                                    const smelt_fold *fold);
SMELT_API int smelt_group_allgather(smelt_group *group, const smelt_data *in, void *out, size_t bytes);
SMELT_API int smelt_group_reduce_scatter_block(smelt_group *group, const void *in, void *out, size_t elements,
                                               const smelt_fold *fold);
SMELT_API int smelt_group_reduce_scatter(smelt_group *group, const void *in, void *out, const size_t *elements,
                                         const smelt_fold *fold);
SMELT_API int smelt_group_scan(smelt_group *group, const smelt_data *in, const smelt_data *out, size_t elements,
                               const smelt_fold *fold);
SMELT_API int smelt_group_exscan(smelt_group *group, const smelt_data *in, const smelt_data *out, size_t elements,
                                 const smelt_fold *fold);
SMELT_API int smelt_group_alltoall(smelt_group *group, const void *in, void *out, size_t bytes);
SMELT_API int smelt_group_exchange(smelt_group *group, const smelt_block *out, size_t outgoing, const smelt_block *in,
                                   size_t incoming);
SMELT_API int smelt_group_allgatherv(smelt_group *group, const smelt_data *in, void *out, const smelt_place *places);
SMELT_API int smelt_group_gather(smelt_group *group, const smelt_data *in, void *out, size_t bytes, unsigned root);
SMELT_API int smelt_group_scatter(smelt_group *group, const void *in, const smelt_data *out, size_t bytes,
                                  unsigned root);
SMELT_API int smelt_group_scatterv(smelt_group *group, const void *in, const smelt_place *places, const smelt_data *out,
                                   size_t bytes, unsigned root);
SMELT_API int smelt_group_gatherv(smelt_group *group, const void *in, size_t bytes, void *out,
                                  const smelt_place *places, unsigned root);
SMELT_API size_t smelt_group_element_limit(const smelt_group *group);

/* The same, started now and completed later. The caller owns the request, and leaves it where it is until it is
 * complete; one that is all zeros, or whose start failed, counts as complete. */
typedef struct smelt_request {
  smelt_group *group; /* the library's; NULL: complete */
  int result;         /* then, what the blocking form would have returned */
} smelt_request;

/* Each starts the collective of that name, and never waits for others, with one exception: if 64 operations of the
 * group are not complete yet, it waits for the first of them. The structs are copied, but not lists of blocks or
 * places, nor `elements` of a reduce_scatter. Until the request is complete, these, the memory they describe, and all
 * that their functions and the operation need must stay as they are, and written memory is not to be looked at. 0:
 * started, and the rest is told when it completes; -EINVAL; -ENOTSUP, where it is known at once: then nothing was
 * started.
 *
 * All participants start collectives of a group in the same order, blocking ones among them; that is also the order in
 * which they complete. A blocking one that has anything to do first completes all started ones. Nobody works in the
 * background: an operation advances within functions of this header that are called for its group, and others may have
 * to wait for that. The group is not to be freed while one is not complete. */
SMELT_API int smelt_group_start_barrier(smelt_group *group, smelt_request *request);
SMELT_API int smelt_group_start_broadcast(smelt_group *group, const smelt_data *data, size_t bytes, unsigned root,
                                          smelt_request *request);
SMELT_API int smelt_group_start_reduce(smelt_group *group, const smelt_data *in, const smelt_data *out, size_t elements,
                                       const smelt_fold *fold, unsigned root, smelt_request *request);
SMELT_API int smelt_group_start_allreduce(smelt_group *group, const smelt_data *in, const smelt_data *out,
                                          size_t elements, const smelt_fold *fold, smelt_request *request);
SMELT_API int smelt_group_start_allgather(smelt_group *group, const smelt_data *in, void *out, size_t bytes,
                                          smelt_request *request);
SMELT_API int smelt_group_start_reduce_scatter_block(smelt_group *group, const void *in, void *out, size_t elements,
                                                     const smelt_fold *fold, smelt_request *request);
SMELT_API int smelt_group_start_reduce_scatter(smelt_group *group, const void *in, void *out, const size_t *elements,
                                               const smelt_fold *fold, smelt_request *request);
SMELT_API int smelt_group_start_scan(smelt_group *group, const smelt_data *in, const smelt_data *out, size_t elements,
                                     const smelt_fold *fold, smelt_request *request);
SMELT_API int smelt_group_start_exscan(smelt_group *group, const smelt_data *in, const smelt_data *out, size_t elements,
                                       const smelt_fold *fold, smelt_request *request);
SMELT_API int smelt_group_start_alltoall(smelt_group *group, const void *in, void *out, size_t bytes,
                                         smelt_request *request);
SMELT_API int smelt_group_start_exchange(smelt_group *group, const smelt_block *out, size_t outgoing,
                                         const smelt_block *in, size_t incoming, smelt_request *request);
SMELT_API int smelt_group_start_allgatherv(smelt_group *group, const smelt_data *in, void *out,
                                           const smelt_place *places, smelt_request *request);
SMELT_API int smelt_group_start_gather(smelt_group *group, const smelt_data *in, void *out, size_t bytes, unsigned root,
                                       smelt_request *request);
SMELT_API int smelt_group_start_scatter(smelt_group *group, const void *in, const smelt_data *out, size_t bytes,
                                        unsigned root, smelt_request *request);
SMELT_API int smelt_group_start_scatterv(smelt_group *group, const void *in, const smelt_place *places,
                                         const smelt_data *out, size_t bytes, unsigned root, smelt_request *request);
SMELT_API int smelt_group_start_gatherv(smelt_group *group, const void *in, size_t bytes, void *out,
                                        const smelt_place *places, unsigned root, smelt_request *request);

/* Memory for long messages is taken, or refused, when the first of them needs it, by all participants alike; so a start
 * may be refused when it is too late for the caller to do something else. A caller that cannot have that asks
 * beforehand: a message of at most start_limit bytes (an allgather's and a gather's: of each participant; a
 * reduce_scatter's: the row; a scatter's: of all together; an alltoall's: to all others; an exchange's: only where that
 * is SIZE_MAX) is not refused for want of memory.
 *   smelt_group_prepare      like a blocking collective, in the same place of the order for all: asks for that memory
 *                            now. 0, or -ENOTSUP for all: there is none.
 *   smelt_group_start_limit  the same for all after the same blocking collective, where longer ones were not started
 *                            before. SIZE_MAX: there is memory. */
SMELT_API int smelt_group_prepare(smelt_group *group);
SMELT_API size_t smelt_group_start_limit(const smelt_group *group);

/* Advances the group's operations as far as they go without waiting (copying and combining that is due is done), and
 * says whether this one is complete. test: 0 while it is not (now and then it gives the CPU away where participants
 * share one), then as wait. wait: until it is, with the host's progress; the result of the blocking form. Once
 * complete, memory is visible as after the blocking form. One thread at a time, as with all other calls for the group;
 * but test may also be called from within the host's progress, and from an operation's functions.
 */
SMELT_API int smelt_group_test(smelt_request *request, int *done);
SMELT_API int smelt_group_wait(smelt_request *request);

/* Which method serves which sizes, for people: the i-th line of `collective`'s table, ascending sizes; trees are those
 * of root 0. Writes one line ("<= 280 B: inline, ...") without newline; returns its length, -ENOENT past the end,
 * -EINVAL. */
typedef enum smelt_collective {
/* SMELT_COLLECTIVE_BARRIER = 0, and so on */
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) SMELT_COLLECTIVE_##NAME,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
  SMELT_COLLECTIVES /* how many there are */
} smelt_collective;
SMELT_API int smelt_group_describe(const smelt_group *group, smelt_collective collective, unsigned i, char *line,
                                   size_t room);
/* One line about the group as a whole: participants, CPUs, crowded or not and why, profile. Returns its length. */
SMELT_API int smelt_group_summary(const smelt_group *group, char *line, size_t room);
/* Which limits the group takes now: LOOSE or STRICT, the same for all. `why`, where it is not NULL: half a sentence. */
SMELT_API smelt_sync smelt_group_sync(const smelt_group *group, const char **why);
/* 1: its limits are others loose than strict; 0: they are the same, as where nobody measured. The same for all. */
SMELT_API int smelt_group_sync_matters(const smelt_group *group);
/* 1: when the group was made participants shared CPUs, as far as was known; 0: not. The same for all. How a participant
 * waits follows the CPUs that all may run on later; the summary tells it. */
SMELT_API int smelt_group_crowded(const smelt_group *group);

SMELT_END

#endif
