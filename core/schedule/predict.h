// The cost of a schedule under a model: a small simulation, exact for the model.
//
// Everybody starts at 0. A signal to k peers by separate lines: the i-th leaves at t, is visible to a polling peer at
// t + hop, and keeps the sender send_busy. By a shared line: one store, visible to each at its hop + (k-1) * poller,
// that keeps the sender the longest send_busy of the k.
// A wait for k peers serves the messages in the order in which the receiver can begin with them (visible - recv_busy),
// or, where the step says so, in the order of the peers. The first is read at max(now + ready_read, visible): `visible`
// counts for a receiver that was already polling, `ready_read` for one that found it there. Each further one is read at
// max(now + recv_busy, visible). In the paper's model both are t_receive, which gives the paper's figures to the cycle.
// A shared line whose readers sit on both sides of a boundary is as far from each as from the farthest, and a crossing
// (Costs::crossing) more.
//
// In exchanges everybody sends at once, so there messages also queue for shared resources (Costs::service), one after
// the other in the order in which they leave: for the ports of their core, then for those on their way. There, too, a
// receiver that has waited for the first message of a step begins to read the others only then, so the second costs a
// whole read and the rest overlap with that; and it takes them in the order of the step, as barriers do. Trees are
// priced without all that, as the generators value them: of their messages few are under way at once.
#pragma once

#include "schedule/programs.h"
#include "schedule/schedule.h"

namespace smelt {

struct Arrival;
struct Queues;
struct Turn;

struct Prediction {
  double makespan = 0;     // when the last participant is done, in the costs' unit
  uint16_t last = 0;       // that participant
  double* done = nullptr;  // [n] when each is done
};

// It tells when everybody was kept by which message, for pictures (draw/). The arrays are the caller's, with room for
// all slots, or nullptr: a slot is an index into Schedule::peers, one message as its sender or as its receiver sees it.
struct Trace {
  double* begin = nullptr;      // [slots] kept by the message from here ...
  double* end = nullptr;        // [slots] ... to here; between two of them a participant waits
  uint32_t* partner = nullptr;  // [slots] the message's other end
  // Schedule::peers, if waits are to be rewritten in the order in which they are served: a barrier looks at one line
  // after the other, and a far message that came first is still far when a near one has been waited for.
  uint16_t* order = nullptr;
};

// Messages are matched by sorting, so it takes O(messages * log). Only `done` stays in the arena; the scratch is about
// 60 bytes per message and given back. 0; -EDEADLK when the schedule cannot finish; -EINVAL when n differs or the
// schedule is malformed; -ENOMEM. With a `trace` it also writes down the events and their times.
int predict(const Schedule& schedule, const Costs& costs, Arena& arena, Prediction* out, Trace* trace = nullptr);

// The makespan alone; all scratch is given back.
int price_schedule(const Schedule& schedule, const Costs& costs, Arena& arena, double* makespan,
                   Trace* trace = nullptr);

// The cost of a barrier in a loop that does nothing else, per episode: the first to leave comes first the next time, so
// it is less than the makespan, or the same. Two participants that tell each other share one line (team/barrier.h). The
// later one gets the other's news with the line that it needs for its own store, which takes one transaction. Only the
// other has to read again. So the episode takes the mean of a hop and a ready read. In an exchange of one round among
// more, the next stores go to lines whose readers are still at them: each takes a share of a read more (measured with
// 4, 8 and 16 threads on 16 CPUs of one cache; with a second round between them they do not). 0 or an error as for
// predict; all scratch is given back.
int steady_price(const Schedule& barrier, const Costs& costs, Arena& arena, double* per_episode);

// The same for a caller that prices one schedule many times under the same costs, with other participants in its
// places: participant place[i] plays the part of i in the schedule. The part of the work that does not depend on that
// is done once, and stays in the arena: about 60 bytes per message.
class Pricer {
 public:
  // The memory that both point to must outlive it. 0, -EINVAL (also when n differs) or -ENOMEM.
  int make(const Schedule& schedule, const Costs& costs, Arena& arena);
  // Everybody starts at 0. In about 20 ns per message. 0 or -EDEADLK; `done` has room for n, by the schedule's numbers.
  int price(const uint16_t* place, double* done, double* makespan, Trace* trace = nullptr);
  // One episode more: everybody starts when `done` says that it has left the last one.
  int price_next(const uint16_t* place, double* done, double* makespan, Trace* trace = nullptr);

 private:
  bool is_exchange() const { return schedule_.op == Operation::kBarrier && schedule_.root == kNobody; }

  Programs programs_;
  Schedule schedule_;            // the one to be priced; its arrays are the caller's
  Costs costs_;                  // likewise
  double* visible_ = nullptr;    // [slots] of waits
  Arrival* arrivals_ = nullptr;  // [n] scratch
  // Of exchanges, scratch
  Queues* queues_ = nullptr;
  Turn* queue_ = nullptr;  // [n]
};

}  // namespace smelt
