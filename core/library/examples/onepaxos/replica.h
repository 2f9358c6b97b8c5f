// 1Paxos: a group of replicas, one thread each, agrees on one order of commands.
//
// Source: David, Guerraoui, Yabandeh, "Consensus Inside", Middleware 2014; over Smelt's trees: Kaestle et al., OSDI
// 2016, section 5.6. One replica leads and another is the one active acceptor. The leader gives every command an index
// and sends it to the acceptor; what the acceptor has accepted is decided, and it broadcasts it to all replicas:
// along a Smelt tree, or sequentially. A majority of all replicas agrees on the leader and the acceptor (utility.h).
//
//   Replicas group(3, {});                         // all replicas of this process
//   group[i].on_apply([](uint64_t index, const Command& command) { ... });
//   while (...) group[i].poll();                   // by thread i, again and again
//   group[i].submit(command);                      // by thread i
//
// What holds, whoever stops and whenever: all replicas apply the same commands in the same order, each command once,
// and what one replica has applied no later leader undoes. Progress is made as long as a majority runs and, of the
// leader and the acceptor, one; where both have stopped at once the others wait. Suspicion without cause costs
// time only.
#ifndef SMELT_EXAMPLES_ONEPAXOS_REPLICA_H
#define SMELT_EXAMPLES_ONEPAXOS_REPLICA_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace onepaxos {

enum : unsigned {
  kMaxReplicas = 64,
  kCommandBytes = 32,      // of a command: with its header one cache line, hence one slot of a queue
  kMaxClients = 1u << 16,  // client ids are 0 .. kMaxClients-1
  kOutstanding = 64,       // a client's sequence numbers that are not yet applied lie within so many
};

// A command says whose it is and which of his, so that it is applied once however often it is submitted, through
// whichever replicas. A client numbers its commands 1, 2, 3, ... and submits command s only when all up to
// s - kOutstanding have been applied; those in between may be applied in any order.
struct Command {
  uint64_t sequence = 0;  // from 1; 0 is nobody's
  uint16_t client = 0;
  uint8_t bytes = 0;  // of `data` that count
  uint8_t data[kCommandBytes] = {};
};

enum class Broadcast { kTree, kSequential };

// Where a test can stop a replica: before or after what it does, for good.
enum class Step {
  kNone,
  kLeaderBeforeProposing,    // it has a command and has sent it to nobody
  kLeaderProposed,           // sent to the acceptor
  kLeaderLearned,            // it knows that its command is decided, has applied it, and told no client
  kAcceptorBeforeAccepting,  // the proposal has come
  kAcceptorAccepted,         // accepted and told nobody
  kAcceptorToldOne,          // told the first of its children
  kAcceptorToldAll,
  kForwarderToldNobody,  // an inner node of the tree has learned
  kForwarderToldOne,
  kLearnerApplied,       // anybody but the acceptor
  kCandidateBefore,      // suspects, and is about to call for another configuration
  kCandidatePromised,    // a majority has promised to the candidate
  kCandidateOfferedOne,  // one other than itself has been offered the configuration
  kCandidateDecided,     // a majority has accepted; nobody else has been told
  kCandidateToldOne,     // one has
  kVoterPromised,        // who promised to a candidate
  kVoterAccepted,        // who accepted a configuration
  kNewLeaderAdopted,     // the new configuration's leader has asked nobody yet
  kNewLeaderKnows,       // it knows what had been accepted, and has proposed nothing
  kOldLeaderSyncing,     // the leader that changes the acceptor brings the next one up to date
  kNewAcceptorSynced,    // which is up to date, and has said so
  kNewAcceptorAdopted,   // which has become the acceptor, and has answered nobody
  kCount
};
const char* name(Step step);

struct Options {
  Broadcast broadcast = Broadcast::kTree;
  std::string pattern = "adaptive";  // of the tree, a name that smelt_tree_create knows
  // The kernel CPU of each replica, for the tree; empty, or with CPUs that repeat: all as far from each other.
  std::vector<unsigned> cpus;
  // A replica that says nothing for so long is suspected. A replica that is polled speaks more often than that.
  std::chrono::nanoseconds patience = std::chrono::milliseconds(100);
  unsigned clients = 64;              // client ids 0 .. clients-1
  unsigned leader = 0, acceptor = 1;  // in the beginning
};

// What a replica has seen, for reports and tests.
struct Counters {
  uint64_t applied = 0;         // commands
  uint64_t duplicates = 0;      // indices whose command had been applied at another: left out
  uint64_t configurations = 0;  // that followed the first
  uint64_t suspicions = 0;      // times it called for another configuration
};

// One replica. All its functions are for one thread at a time, its own; replicas are independent of each other.
class Replica {
 public:
  using Apply = std::function<void(uint64_t index, const Command& command)>;

  // Called by poll() with every command, once, in the agreed order: the same at all replicas. Indices rise; one that
  // holds a command for the second time is left out. To be set before the first poll().
  void on_apply(Apply apply);

  // Hands a command to the group; it is sent again, to the next leader, until this replica has applied it. False: this
  // replica has stopped, or the command's client or sequence number is out of range. A command that has been applied,
  // or is under way from here, is not submitted twice.
  bool submit(const Command& command);

  // Has this replica applied it? Then it is decided for good. Valid for the last kOutstanding of a client's commands.
  bool applied(uint16_t client, uint64_t sequence) const;

  // Receives, sends, applies and watches the others, and never waits. True: there was something to do.
  bool poll();

  // Stops as if its thread had been stopped: nothing is sent, applied or answered any more, for good.
  void crash();
  bool stopped() const;

  // For tests, before the first poll(): stops at this step, when it comes there for the `times`-th time. Where several
  // replicas have the same `left`, only so many of them do.
  void stop_at(Step step, unsigned times = 1, std::atomic<int>* left = nullptr);

  unsigned id() const;
  unsigned leader() const;    // as far as this replica knows
  unsigned acceptor() const;  // so too
  bool leads() const;         // it is the leader, and takes commands without a detour
  uint64_t length() const;    // indices 0 .. length-1 are applied here
  const Counters& counters() const;

  class Protocol;
  explicit Replica(std::unique_ptr<Protocol> protocol);
  ~Replica();

 private:
  std::unique_ptr<Protocol> protocol_;
};

// The group: makes the replicas and what connects them, and outlives all threads that poll them. Throws
// std::invalid_argument for options that cannot be, std::runtime_error where Smelt refuses.
class Replicas {
 public:
  Replicas(unsigned replicas, const Options& options);  // 2 .. kMaxReplicas; a stop is survived from 3 on
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  unsigned size() const;
  Replica& operator[](unsigned i);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace onepaxos

#endif
