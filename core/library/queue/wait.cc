// Waiting for a slot or a message (place/wait.h). The first burst has been, in the caller.
//
// A crowd or not? Threads that are bound to a CPU each see one CPU in their affinity masks, like threads that share it.
// So where the mask has fewer CPUs than the queue has members, each tells where it is when it waits, or when a waiter
// has asked (answer()), and spins only as long as nobody else of the channel was last seen on its CPU.
#include <cerrno>

#include "base/seat.h"
#include "library/place/wait.h"
#include "library/queue/queue.h"

namespace smelt::queue {
namespace {

constexpr int kAskAgain = 8;  // yields: one CPU's threads have all had a turn by then

enum class Company { kApart, kUnknown, kHere };

// Those that count, as they were last seen. Hints, all of it: relaxed.
struct Neighbours {
  std::atomic<uint32_t>& own;
  const std::atomic<uint32_t>* sender;  // nullptr: that is us
  const EndLine* readers;
  uint32_t count;  // of them

  Company look() const {
    const uint32_t here = place::note_cpu(own);
    if (here == place::kNowhere) return Company::kUnknown;
    Company company = Company::kApart;
    if (sender) meet(sender->load(std::memory_order_relaxed), here, company);
    for (uint32_t i = 0; i < count; ++i)
      if (&readers[i].cpu != &own) meet(readers[i].cpu.load(std::memory_order_relaxed), here, company);
    return company;
  }

 private:
  static void meet(uint32_t there, uint32_t here, Company& company) {
    if (there == here) company = Company::kHere;
    if (there == place::kNowhere && company == Company::kApart) company = Company::kUnknown;
  }
};

// `look` is a try of the kind, and `bell` the one that we wait for.
template <typename Look>
struct WaiterDefaults : place::WaiterDefaults {
  const End& end;
  const Neighbours neighbours;
  Bell& bell;
  Look try_again;
  Company company = Company::kApart;

  WaiterDefaults(const End& end, const Neighbours& neighbours, Bell& bell, Look look)
      : end(end), neighbours(neighbours), bell(bell), try_again(look) {}

  int look() { return try_again(); }
  bool beside_another() {
    company = neighbours.look();
    return company == Company::kHere || (company == Company::kUnknown && end.unsure);
  }
  // Asks the ringer for its CPU, as a sleeper does: a system call for the ringer, so only where we do not know the CPU,
  // or where our knowledge seems out of date.
  void yielded(int times) {
    if (company == Company::kUnknown || times == kAskAgain) bell.sleepers.store(1, std::memory_order_relaxed);
  }
};

// `burst` is left for next time.
template <typename Look>
int wait_until(const End& end, const Neighbours& neighbours, int32_t& burst, Bell& bell, Look look) {
  WaiterDefaults<Look> waiter(end, neighbours, bell, look);
  const WaitPolicy& policy = end.unsure && waiter.beside_another() ? end.crowd : end.policy;
  burst = burst_of(policy);
  return place::wait_long({policy, end.timeout_ns, end.object.threads}, bell, waiter);
}

}  // namespace

void answer(Bell& bell, std::atomic<uint32_t>& cpu) {
  place::note_cpu(cpu);
  wake_sleepers(bell);
}

int wait_to_send(End& end, uint64_t slots) {
  Sender& sender = end.sender;
  const Neighbours neighbours{sender.channel->sent.cpu, nullptr, sender.readers, sender.count};
  return wait_until(end, neighbours, sender.burst, sender.channel->read,
                    [&end, slots] { return end.kind->can_send(end, slots); });
}

int wait_to_receive(End& end) {
  Receiver& receiver = end.receiver;
  // The other readers count only where there may not be a CPU for each: whom we wait for is the sender.
  const Neighbours neighbours{receiver.own->cpu, &receiver.channel->sent.cpu, receiver.readers,
                              end.unsure ? receiver.count : 0};
  return wait_until(end, neighbours, receiver.burst, receiver.channel->sent,
                    [&end] { return end.kind->can_receive(end); });
}

}  // namespace smelt::queue
