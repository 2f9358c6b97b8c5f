/* Two-phase commit: all members carry out the coordinator's proposal, or none does.
 *
 * Members are threads of one process, or processes of one machine, in a tree; its root is the coordinator. A round:
 *
 *   coordinator:  propose   every participant gets the proposal
 *   participant:  begin     ... here
 *                 vote      yes: it will act by the decision, whichever it is; no: nobody carries the proposal out
 *   coordinator:  decide    commit where all voted yes, else abort; also after a time in which somebody has not voted
 *   participant:  outcome   learns of it; or, when nothing comes in time, resolve
 *
 * Votes go up the tree, the outcome comes down. The decision is one word in the shared memory, written once per round,
 * by compare-and-swap. So a member may be killed or stopped at any step: the others never end with different outcomes.
 * Where the coordinator is gone, a participant that voted yes is in doubt (outcome: -ETIMEDOUT) and then asks the
 * others itself: resolve reads the votes of all, dead or alive, commits if all voted yes, else aborts.
 *
 * A participant passes proposals, votes and outcomes on in its own calls. Rounds come one after the other, and nobody
 * leaves one out: a participant that was late finds the outcomes of those before.
 *
 * Threads: one thread at a time uses a member; different members are independent.
 * Memory ordering: all that the coordinator did before propose happens before a participant returns from begin; all
 * that anybody did before it voted yes happens before decide, outcome or resolve tells of a commit.
 * Only the functions that make, open and free a member allocate, print or take a lock. System calls happen only where a
 * wait is long, or somebody sleeps.
 *
 * Functions return 0 or, unless it says otherwise at the function:
 *   -EINVAL     an argument is out of range or NULL; or this is not the member's next step
 *   -ENOTSUP    only the coordinator does that, or only a participant
 *   -ETIMEDOUT  it did not happen for as long as the member was told to wait; it may be tried again
 *   -EMSGSIZE   the proposal is longer than the stated limit, or than the room for it
 *   -EPROTO     the memory was damaged: no member has written its contents
 */
#ifndef SMELT_TWO_PHASE_COMMIT_H
#define SMELT_TWO_PHASE_COMMIT_H

#include <smelt/tree.h>
#include <stddef.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_two_phase_commit smelt_two_phase_commit; /* one member, as one process uses it */

enum {
  SMELT_TWO_PHASE_COMMIT_MAX_LIMIT = 1 << 20, /* bytes of a proposal */
  SMELT_TWO_PHASE_COMMIT_ALIGNMENT = 128      /* bytes: of memory that the caller gives */
};

/* --- Members. `members`, 1 .. SMELT_MAX_PARTICIPANTS. `tree`: of so many participants, which are the members; it is
 * only read; NULL: under member 0, the cheapest on this machine, if member i runs on the i-th CPU that the caller may
 * use. `limit`, 0 .. SMELT_TWO_PHASE_COMMIT_MAX_LIMIT: bytes of the longest proposal. `timeout_ns`: how long a call of
 * this member waits at most, in nanoseconds; negative: for ever, and then a member that was killed is waited for. */

/* Between threads of this process: all members, member[0 .. members-1], in memory of the library's, which goes with the
 * last of them that is freed. */
SMELT_API int smelt_two_phase_commit_create(unsigned members, const smelt_tree *tree, unsigned limit,
                                            int64_t timeout_ns, smelt_two_phase_commit **member);

/* The words by which other processes find a two-phase commit: plain data, valid on this machine, passed on in any
 * way. */
typedef struct smelt_two_phase_commit_ticket {
  uint64_t word[3];
} smelt_two_phase_commit_ticket;

/* Between processes: member 0, in memory without a name that goes with the last process that has it. The others attach
 * before member 0 is freed; a forked child may, and then uses its own member alone. */
SMELT_API int smelt_two_phase_commit_create_shared(unsigned members, const smelt_tree *tree, unsigned limit,
                                                   int64_t timeout_ns, smelt_two_phase_commit_ticket *ticket,
                                                   smelt_two_phase_commit **member);
/* Member `index`, 1 .. members-1. -EBUSY: somebody is, or was, this member. -ENOTSUP: another machine, user or process
 * namespace, the creator is gone, or the ticket is not of a two-phase commit. */
SMELT_API int smelt_two_phase_commit_attach(const smelt_two_phase_commit_ticket *ticket, unsigned index,
                                            int64_t timeout_ns, smelt_two_phase_commit **member);

/* In the caller's memory, which threads or processes share: `size` says how much is needed (0: a number is not valid),
 * one of them writes an empty one there, and then each opens its member, 0 .. members-1. The memory begins at a
 * multiple of SMELT_TWO_PHASE_COMMIT_ALIGNMENT, may lie elsewhere in each process, and stays until all members are
 * freed. open: -EBUSY as above, -EPROTO: there is no two-phase commit. */
SMELT_API size_t smelt_two_phase_commit_size(unsigned members, unsigned limit);
SMELT_API int smelt_two_phase_commit_init(void *memory, size_t bytes, unsigned members, const smelt_tree *tree,
                                          unsigned limit);
SMELT_API int smelt_two_phase_commit_open(void *memory, size_t bytes, unsigned index, int64_t timeout_ns,
                                          smelt_two_phase_commit **member);

/* The member leaves, for good: rounds that it has not voted in abort when the time is over. No call of it may be under
 * way. */
SMELT_API void smelt_two_phase_commit_free(smelt_two_phase_commit *member);

/* The coordinator's number. */
SMELT_API unsigned smelt_two_phase_commit_coordinator(const smelt_two_phase_commit *member);

/* --- A round. The waits: spin, yield, sleep, as SMELT_WAIT and SMELT_TUNE say. */

enum { SMELT_ABORT = 0, SMELT_COMMIT = 1 };

/* The coordinator's steps. propose: begins a round; data may be NULL where `bytes` is 0; the coordinator's own vote is
 * yes. -ETIMEDOUT: no round was begun, since somebody has not learned the outcome of the last but one: it is late, or
 * was killed, and then there will be no further round. decide: waits for the votes no longer than stated, then decides,
 * always; *outcome is SMELT_COMMIT or SMELT_ABORT. */
SMELT_API int smelt_two_phase_commit_propose(smelt_two_phase_commit *member, const void *data, size_t bytes);
SMELT_API int smelt_two_phase_commit_decide(smelt_two_phase_commit *member, int *outcome);

/* A participant's steps. begin: waits for the next proposal, which comes into `data`, its length into *bytes; where it
 * does not fit into `room` (-EMSGSIZE) *bytes is written too, and begin is tried again. vote: `yes` not 0: yes.
 * outcome: waits for the decision; -ETIMEDOUT: in doubt; it may wait again, or resolve, which decides if nobody has:
 * commit if all have voted yes, else abort. */
SMELT_API int smelt_two_phase_commit_begin(smelt_two_phase_commit *member, void *data, size_t room, size_t *bytes);
SMELT_API int smelt_two_phase_commit_vote(smelt_two_phase_commit *member, int yes);
SMELT_API int smelt_two_phase_commit_outcome(smelt_two_phase_commit *member, int *outcome);
SMELT_API int smelt_two_phase_commit_resolve(smelt_two_phase_commit *member, int *outcome);

SMELT_END

#endif
