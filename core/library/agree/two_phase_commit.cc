// Two-phase commit over a tree of lines, with the decision in one word that is written once.
//
//                 coordinator            proposal -> relayed, down the tree
//                /     |                 votes    -> combined, up the tree
//               p1     p4                outcome  -> told, down the tree
//             /   |
//            p2   p3                     decision: round and open, commit or abort. A member settles by
//                                        compare-and-swap from open, so there is one outcome, whichever member dies
//
// 1. propose   The coordinator writes the proposal, opens the decision word for the round and says so (relayed).
// 2. begin     A participant sees that at the member above, says it to those below, and reads the proposal.
// 3. vote      It writes its vote where all can read it (own). "No" settles the round: abort.
// 4. outcome   When all below have voted, it writes what they and itself make together (combined).
// 5. decide    Where that is yes from all its children, the coordinator settles: commit. When time is over it counts
//              the votes one by one, since somebody may have stopped between 3 and 4: all yes, commit, else abort.
// 6. outcome   A member that learns it tells those below (told). Now and then each looks at the decision, too: the
//              member above may be gone.
// 7. resolve   A member in doubt settles as the coordinator does in 5.
//
// With messages, two-phase commit blocks when the coordinator is lost, because one cannot tell how a dead member has
// voted or decided. Here its words outlive it. A vote is written once per round and does not change, so all counters
// see the same votes or fewer. They may settle differently, one commit, one abort, and the word takes the first. Only a
// member that has seen all votes ever tries commit: so it is safe whichever is first.
//
// There are two decision words and two places for proposals, for even and odd rounds. A place is used again when
// everybody has learned the outcome of the round that was in it (learned): then nobody will look there for that any
// more. After a commit the coordinator knows without asking: a member that votes in a round has learned of those
// before.
//
// Source: Gray, "Notes on Data Base Operating Systems", 1978; over a tree: Kaestle et al., "Machine-aware Atomic
// Broadcast Trees for Multicores", OSDI 2016, section 5.1; cooperative termination: Bernstein, Hadzilacos and Goodman,
// "Concurrency Control and Recovery in Database Systems", 1987, section 7.4. The word that is written once is a
// register with compare-and-swap, with which any number of processes agree (Herlihy, "Wait-Free Synchronization",
// TOPLAS 1991).
#include <smelt/two_phase_commit.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "library/agree/meeting.h"

using namespace smelt;
using namespace smelt::agree;

namespace {

static_assert(SMELT_TWO_PHASE_COMMIT_ALIGNMENT >= kLineBytes);

// A word that is about a round: the round above two bits.
enum State : uint64_t { kOpen = 0, kNo = 1, kYes = 2 };  // of a decision: abort and commit
constexpr uint64_t word_of(uint64_t round, State state) { return round << 2 | state; }
constexpr uint64_t round_of(uint64_t word) { return word >> 2; }
constexpr State state_of(uint64_t word) { return static_cast<State>(word & 3); }

using Word = std::atomic<uint64_t>;

// The words that one member writes and others read.
struct Lines {
  // for those below
  alignas(kLineBytes) Word relayed{0};  // the last round that it has seen begin
  Word told{0};                         // the outcome that it has learned
  // for the one above, and for a member that counts
  alignas(kLineBytes) Word own{0};  // its vote
  Word combined{0};                 // with those of all below
  Word learned{0};                  // the last round of which it has the outcome
};

struct Decision {
  alignas(kLineBytes) Word word{0};
};

// Decision [2] | Lines [members] | proposal [2]: its length, then `limit` bytes
size_t proposal_bytes(uint32_t limit) { return (sizeof(uint64_t) + limit + kLineBytes - 1) / kLineBytes * kLineBytes; }
size_t proposals_at(uint32_t members) { return 2 * sizeof(Decision) + members * sizeof(Lines); }
size_t body_bytes(uint32_t members, uint32_t limit) { return proposals_at(members) + 2 * proposal_bytes(limit); }

int write_body(void* body, uint32_t members, uint32_t) {
  for (int i = 0; i < 2; ++i) new (static_cast<Decision*>(body) + i) Decision;
  auto* lines = reinterpret_cast<Lines*>(static_cast<Decision*>(body) + 2);
  for (uint32_t i = 0; i < members; ++i) new (lines + i) Lines;
  return 0;
}

constexpr Protocol kTwoPhaseCommit{
    0x31306d6d'6f637074, "smelt-two-phase-commit", 0, SMELT_TWO_PHASE_COMMIT_MAX_LIMIT, body_bytes,
    write_body};  // "tpcomm01"

}  // namespace

struct smelt_two_phase_commit : Participant {
  enum class Step : uint8_t { kIdle, kBegun, kVoted } step = Step::kIdle;
  bool yes = false;          // its vote
  uint64_t round = 0;        // under way, or the last
  uint64_t all_learned = 0;  // the coordinator: a round of which all have the outcome
  uint32_t looks = 0;

  Word& decision() const { return (reinterpret_cast<Decision*>(body) + (round & 1))->word; }
  Lines& lines(uint32_t i) const { return reinterpret_cast<Lines*>(body + 2 * sizeof(Decision))[i]; }
  Lines& own_lines() const { return lines(index); }
  char* proposal() const { return body + proposals_at(members) + (round & 1) * proposal_bytes(capacity); }
};

using Step = smelt_two_phase_commit::Step;

namespace {

void ring_children(const smelt_two_phase_commit& member) {
  for (uint32_t i = 0; i < member.child_count; ++i) ring(member.bell(member.children[i]));
}

// Is this round decided? 0, and the outcome; -EAGAIN: it is open; -EPROTO.
int read_decision(const smelt_two_phase_commit& member, State* state) {
  // acquire: all that the voters did before they voted comes with a commit.
  const uint64_t word = member.decision().load(std::memory_order_acquire);
  if (round_of(word) != member.round || state_of(word) > kYes) return -EPROTO;
  *state = state_of(word);
  return *state == kOpen ? -EAGAIN : 0;
}

// Decides, unless another member has: then `decided` is that one's decision.
int settle(const smelt_two_phase_commit& member, State state, State* decided) {
  uint64_t open = word_of(member.round, kOpen);
  // release: the votes that we have seen, and all that came before them, go along with a commit.
  if (member.decision().compare_exchange_strong(open, word_of(member.round, state), std::memory_order_acq_rel,
                                                std::memory_order_acquire)) {
    for (uint32_t i = 0; i < member.members; ++i) ring(member.bell(i));
  }
  return read_decision(member, decided);
}

// The outcome of the votes that are there: yes only if everybody's is.
State count(const smelt_two_phase_commit& member) {
  for (uint32_t i = 0; i < member.members; ++i)
    // acquire: all that this one did before it voted.
    if (i != member.root && member.lines(i).own.load(std::memory_order_acquire) != word_of(member.round, kYes))
      return kNo;
  return kYes;
}

// The votes of all below: kOpen as long as one is missing.
State below(const smelt_two_phase_commit& member) {
  State all = kYes;
  for (uint32_t i = 0; i < member.child_count; ++i) {
    // acquire: all that those below did before they voted.
    const uint64_t word = member.lines(member.children[i]).combined.load(std::memory_order_acquire);
    if (word == word_of(member.round, kNo)) return kNo;
    if (word != word_of(member.round, kYes)) all = kOpen;
  }
  return all;
}

// Passes the votes up, when they are there.
void combine(smelt_two_phase_commit& member) {
  Lines& own = member.own_lines();
  if (round_of(own.combined.load(std::memory_order_relaxed)) == member.round) return;
  const State state = member.yes ? below(member) : kNo;
  if (state == kOpen) return;
  // release: all that we have acquired goes along.
  own.combined.store(word_of(member.round, state), std::memory_order_release);
  ring(member.bell(member.parent));
}

// The round is over here: those below are told.
int finish(smelt_two_phase_commit& member, State state, int* outcome) {
  Lines& own = member.own_lines();
  // release: all that came with the outcome goes along.
  own.told.store(word_of(member.round, state), std::memory_order_release);
  // release: we have read the proposal and the decision; then their places may be used again.
  own.learned.store(member.round, std::memory_order_release);
  ring_children(member);
  ring(member.bell(member.root));  // it may wait for that
  member.step = Step::kIdle;
  *outcome = state == kYes ? SMELT_COMMIT : SMELT_ABORT;
  return 0;
}

// The decision's line is everybody's, so it is looked at now and then only, and always before sleeping.
bool is_time_to_look_at_decision(smelt_two_phase_commit& member) {
  return ++member.looks % 16 == 0 || member.bell(member.index).sleepers.load(std::memory_order_relaxed) != 0;
}

// The outcome as a participant has heard of it.
int hear(smelt_two_phase_commit& member, State* state) {
  combine(member);
  // acquire: all that came with the outcome. The one above may be a round ahead, where nobody waited for our vote.
  const uint64_t told = member.lines(member.parent).told.load(std::memory_order_acquire);
  if (round_of(told) == member.round) {
    *state = state_of(told);
    return *state == kNo || *state == kYes ? 0 : -EPROTO;
  }
  return round_of(told) > member.round || is_time_to_look_at_decision(member) ? read_decision(member, state) : -EAGAIN;
}

// The votes by which the coordinator can decide.
int gather(smelt_two_phase_commit& member, State* state) {
  const State votes = below(member);
  if (votes != kOpen) {
    const int error = settle(member, votes, state);
    if (!error && votes == kYes) member.all_learned = member.round - 1;
    return error;
  }
  return is_time_to_look_at_decision(member) ? read_decision(member, state) : -EAGAIN;
}

// Has everybody learned the outcome of this round?
int all_have_learned(smelt_two_phase_commit& member, uint64_t round) {
  if (member.all_learned >= round) return 0;
  for (uint32_t i = 0; i < member.members; ++i)
    // acquire: this one's reads of the round's places come before our writing them.
    if (i != member.index && member.lines(i).learned.load(std::memory_order_acquire) < round) return -EAGAIN;
  member.all_learned = round;
  return 0;
}

// Does this member do that, and is it its next step?
int check(const smelt_two_phase_commit* member, bool coordinator, Step step) {
  if (!member) return -EINVAL;
  if (member->is_root() != coordinator) return -ENOTSUP;
  return member->step == step ? 0 : -EINVAL;
}

int enter(void* memory, size_t bytes, unsigned index, int64_t timeout_ns, smelt_two_phase_commit** out) {
  MeetingShape shape;
  if (const int error = shape_of_meeting(kTwoPhaseCommit, memory, bytes, &shape)) return error;
  auto* member = make_object<smelt_two_phase_commit>(kMemberArena);
  if (!member) return -ENOMEM;
  if (const int error = enter_meeting(memory, shape, index, timeout_ns, member)) {
    free_object(member);
    return error;
  }
  *out = member;
  return 0;
}

}  // namespace

size_t smelt_two_phase_commit_size(unsigned members, unsigned limit) {
  return meeting_bytes(kTwoPhaseCommit, members, limit);
}

int smelt_two_phase_commit_init(void* memory, size_t bytes, unsigned members, const smelt_tree* tree, unsigned limit) {
  return write_meeting(kTwoPhaseCommit, memory, bytes, tree, members, limit);
}

int smelt_two_phase_commit_open(void* memory, size_t bytes, unsigned index, int64_t timeout_ns,
                                smelt_two_phase_commit** member) {
  return member ? enter(memory, bytes, index, timeout_ns, member) : -EINVAL;
}

int smelt_two_phase_commit_create(unsigned members, const smelt_tree* tree, unsigned limit, int64_t timeout_ns,
                                  smelt_two_phase_commit** member) {
  const auto nothing_else = [](smelt_two_phase_commit*) {};
  return member ? create_members(kTwoPhaseCommit, tree, members, limit, timeout_ns, enter, nothing_else, member)
                : -EINVAL;
}

int smelt_two_phase_commit_create_shared(unsigned members, const smelt_tree* tree, unsigned limit, int64_t timeout_ns,
                                         smelt_two_phase_commit_ticket* ticket, smelt_two_phase_commit** member) {
  return ticket && member
             ? create_first_member(kTwoPhaseCommit, tree, members, limit, timeout_ns, enter, ticket, member)
             : -EINVAL;
}

int smelt_two_phase_commit_attach(const smelt_two_phase_commit_ticket* ticket, unsigned index, int64_t timeout_ns,
                                  smelt_two_phase_commit** member) {
  return ticket && member && index != 0 ? attach_member(kTwoPhaseCommit, *ticket, index, timeout_ns, enter, member)
                                        : -EINVAL;
}

void smelt_two_phase_commit_free(smelt_two_phase_commit* member) {
  if (!member) return;
  leave_meeting(member);
  free_object(member);
}

unsigned smelt_two_phase_commit_coordinator(const smelt_two_phase_commit* member) { return member->root; }

int smelt_two_phase_commit_propose(smelt_two_phase_commit* member, const void* data, size_t bytes) {
  if (const int error = check(member, true, Step::kIdle)) return error;
  if (!data && bytes != 0) return -EINVAL;
  if (bytes > member->capacity) return -EMSGSIZE;
  const uint64_t round = member->round + 1;
  if (round > 2) {
    if (const int error = wait_until(*member, [=] { return all_have_learned(*member, round - 2); })) return error;
  }
  member->round = round;
  const uint64_t length = bytes;
  std::memcpy(member->proposal(), &length, sizeof length);
  if (bytes != 0) std::memcpy(member->proposal() + sizeof length, data, bytes);
  // relaxed: the store that follows releases it.
  member->decision().store(word_of(round, kOpen), std::memory_order_relaxed);
  // release: the proposal, and the decision's word, are there.
  member->own_lines().relayed.store(round, std::memory_order_release);
  ring_children(*member);
  member->step = Step::kVoted;
  return 0;
}

int smelt_two_phase_commit_decide(smelt_two_phase_commit* member, int* outcome) {
  if (const int error = check(member, true, Step::kVoted)) return error;
  if (!outcome) return -EINVAL;
  State state;
  int error = wait_until(*member, [member, &state] { return gather(*member, &state); });
  if (error == -ETIMEDOUT) error = settle(*member, count(*member), &state);
  return error ? error : finish(*member, state, outcome);
}

int smelt_two_phase_commit_begin(smelt_two_phase_commit* member, void* data, size_t room, size_t* bytes) {
  if (const int error = check(member, false, Step::kIdle)) return error;
  if (!bytes || (!data && room != 0)) return -EINVAL;
  const uint64_t round = member->round + 1;
  Word& above = member->lines(member->parent).relayed;
  // acquire: the proposal, and the decision's word.
  const auto is_there = [&above, round] { return above.load(std::memory_order_acquire) >= round ? 0 : -EAGAIN; };
  if (const int error = wait_until(*member, is_there)) return error;
  // release: all that we have acquired goes along.
  member->own_lines().relayed.store(round, std::memory_order_release);
  ring_children(*member);
  member->round = round;
  uint64_t length;
  std::memcpy(&length, member->proposal(), sizeof length);
  const int error = length > member->capacity ? -EPROTO : length > room ? -EMSGSIZE : 0;
  if (error != -EPROTO) *bytes = length;
  if (error) {
    member->round = round - 1;
    return error;
  }
  if (length != 0) std::memcpy(data, member->proposal() + sizeof length, length);
  member->step = Step::kBegun;
  return 0;
}

int smelt_two_phase_commit_vote(smelt_two_phase_commit* member, int yes) {
  if (const int error = check(member, false, Step::kBegun)) return error;
  member->yes = yes != 0;
  // release: all that we did before goes along, to a member that counts.
  member->own_lines().own.store(word_of(member->round, yes ? kYes : kNo), std::memory_order_release);
  member->step = Step::kVoted;
  combine(*member);
  State decided;
  return yes ? 0 : settle(*member, kNo, &decided);
}

int smelt_two_phase_commit_outcome(smelt_two_phase_commit* member, int* outcome) {
  if (const int error = check(member, false, Step::kVoted)) return error;
  if (!outcome) return -EINVAL;
  State state;
  const int error = wait_until(*member, [member, &state] { return hear(*member, &state); });
  return error ? error : finish(*member, state, outcome);
}

int smelt_two_phase_commit_resolve(smelt_two_phase_commit* member, int* outcome) {
  if (const int error = check(member, false, Step::kVoted)) return error;
  if (!outcome) return -EINVAL;
  State state;
  const int error = settle(*member, count(*member), &state);
  return error ? error : finish(*member, state, outcome);
}
