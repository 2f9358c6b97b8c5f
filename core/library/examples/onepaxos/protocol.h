// One replica from the inside: proposer, acceptor and learner in one.
//
// Two facts carry the protocol.
//   a. The acceptor accepts in the order of indices, so that a log is a prefix of the one order; and what stands in
//      any replica's log is decided. A replica may give its entries to one that lacks them. How they travel (the tree,
//      its repair, catching up) is a matter of speed: spread.cc.
//   b. All that an acceptor may have accepted beyond its leader's log is among the proposals which that leader has
//      under way (flight_), since it alone proposes. So one of the two is enough to go on: lead.cc.
//
// The leader changes: the new one, agreed through the utility, needs to know what was accepted. The acceptor says it,
//   and as it now knows of the change, it accepts nothing more from the old leader.
// The acceptor changes: only its leader may do that. It stops proposing, brings the next acceptor up to its own log,
//   and then has the utility agree on the new acceptor and on flight_, in one configuration. The old acceptor may be
//   alive and know nothing of that: what it still accepts is in there.
// Both at once: a new leader that gets no answer of the acceptor may take an old leader's, which is its log and its
//   flight_. The old leader must be the last one that proposed anything: all leaders since then answer that they did
//   not.
#ifndef SMELT_EXAMPLES_ONEPAXOS_PROTOCOL_H
#define SMELT_EXAMPLES_ONEPAXOS_PROTOCOL_H

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include <smelt/queue.h>

#include "log.h"
#include "message.h"
#include "tree.h"
#include "utility.h"

namespace onepaxos {

// Bit r: replica r has sent something that is not looked for at every poll.
struct alignas(SMELT_QUEUE_ALIGNMENT) Bell {
  std::atomic<uint64_t> from{0};
};

class Replica::Protocol final : public Utility::Host {
 public:
  // queues[r]: this replica's end of its pair with r. bells[r]: replica r's.
  Protocol(unsigned me, unsigned replicas, const Options& options, const Trees& trees, std::vector<smelt_queue*> queues,
           Bell* bells);

  // As in replica.h
  Apply apply;
  bool submit(const Command& command);
  bool applied(uint16_t client, uint64_t sequence) const;
  bool poll();
  bool stopped = false;
  Step stop_step = Step::kNone;
  unsigned stop_times = 0;
  std::atomic<int>* stops_left = nullptr;
  Counters counters;
  unsigned id() const { return me_; }
  const Configuration& configuration() const { return history_.back(); }
  bool leads() const { return !stopped && leading_ == Leading::kProposing; }
  uint64_t length() const { return log_.length(); }

 private:
  // --- protocol.cc: messages, time, the changes of configuration
  bool send(unsigned to, const Message& message);  // where the receiver looks all the time; false: full
  bool send_large(unsigned to, const Message& message, const Configuration& behind);
  void ring(unsigned to);
  void tell(unsigned to, const Message& message, const Configuration* behind) override;
  bool at(Step step) override;
  void agreed(const Configuration& configuration) override { adopt(configuration); }
  bool receive_from(unsigned from);
  void handle(unsigned from, const Message& message, const Configuration* behind);
  void adopt(const Configuration& next);
  void tick();
  void report();
  bool silent(unsigned r) const { return r != me_ && now_ - heard_[r] > options_.patience; }
  uint64_t silent_ones() const;
  uint32_t epoch() const { return configuration().epoch; }
  bool is_leader() const { return configuration().leader == me_; }
  bool is_acceptor() const { return configuration().acceptor == me_; }
  bool take(uint16_t client, uint64_t sequence);  // false: it has been applied
  void submit_again(bool all);

  // --- spread.cc: the log, and how it comes to the others
  struct Receiver {
    unsigned id;
    uint64_t next, limit;  // sent up to, to be sent up to; ~0: as it grows
    bool ring;             // it does not look here all the time
  };
  void learn(const Command& command);  // the next entry
  bool spread();
  void serve(unsigned to, uint64_t from, uint64_t limit);
  void ask(unsigned whom, uint64_t limit = ~uint64_t{0});
  void new_tree();
  void repair();
  void drop_old();

  // --- lead.cc: the leader
  enum class Leading {
    kNot,
    kAsking,     // what was accepted?
    kProposing,  // as usual
    kSyncing,    // no more proposals; the next acceptor learns all that this leader has learned
    kChanging    // flight_ has been offered to the utility, and must never grow again in this epoch
  };
  struct Answer {
    bool here = false;
    uint64_t length = 0;
    uint64_t led = 0;  // the epoch it last led in, plus one
    std::vector<Command> flight;
  };
  bool propose();
  void accept(const Message& message);
  void ask_everybody();
  void answer(unsigned to);
  void find_out();
  bool find_out_from_leaders();
  void take_over();
  void choose_next_acceptor();
  void sync();
  void change_acceptor();
  void suspect_leader();

  const unsigned me_, replicas_;
  const Options options_;
  const Trees& trees_;
  const std::vector<smelt_queue*> queues_;
  Bell* const bells_;
  Utility utility_;
  std::vector<Configuration> history_;  // by epoch
  std::vector<unsigned char> room_;     // for a message of several slots

  // Learner
  Log log_;
  struct Window {
    uint64_t highest = 0, bits = 0;  // bit k: sequence number highest-k has been applied
  };
  std::vector<Window> windows_;  // by client
  Tree tree_;
  std::vector<Receiver> receivers_;
  std::vector<uint64_t> lengths_;  // of the others' logs, as they last said
  Time progress_{};

  // Who submitted here
  struct Pending {
    Command command;
    Time since;
  };
  std::deque<Pending> pending_;
  std::vector<uint16_t> pending_of_;  // how many, by client

  // Leader. flight_[i] is proposed for index length()+i.
  Leading leading_ = Leading::kNot;
  std::deque<Command> waiting_, flight_;
  size_t sent_ = 0;   // of flight_
  uint64_t led_ = 0;  // the newest epoch in which it might propose, plus one
  std::vector<Answer> answers_;
  unsigned next_acceptor_ = 0;
  bool may_resume_ = false;                 // from kSyncing to kProposing
  uint64_t proposes_below_ = ~uint64_t{0};  // further, the slowest would be left behind

  // Time, as of the last look at the clock
  Time now_, next_tick_;
  std::vector<Time> heard_;
  unsigned polls_ = 0;
  uint64_t reported_ = 0;  // the length that it last told the others
};

}  // namespace onepaxos

#endif
