// Waiting for a slot or a message: spin, yield, sleep, in the proportions of policy/wait.h, until the time is over.
//
// Not wait_slowly() itself, which waits for a number that only grows, and without an end. Sleeping is the same: the
// sleeper says so, fences, makes every thread of the process pass a barrier, and looks again; the other side looks for
// a sleeper after its store, without a fence of its own (transport/line.h). That membarrier reaches no other process.
// So between processes a wake-up can be missed, and they sleep in slices, as threads do where the kernel refuses it: a
// sleeper that was missed finds out when the slice is over.
//
// A crowd or not? Threads that are bound to a CPU each see one CPU in their affinity masks, like threads that share it.
// So where the mask has fewer CPUs than the queue has members, each tells where it is when it waits, or when a waiter
// has asked (answer()), and spins only as long as nobody else of the channel was last seen on its CPU.
#include <algorithm>
#include <cerrno>

#include "base/os/os.h"
#include "queue/queue.h"

namespace smelt::queue {
namespace {

constexpr int64_t kBlindSlice = typical(ThresholdId::kBlindSlice);

constexpr int kAskAgain = 8;  // yields: one CPU's threads have all had a turn by then

enum class Company { kApart, kUnknown, kHere };

// Is nobody that counts on this CPU? Hints, all of it: relaxed.
class Place {
 public:
  Place(std::atomic<uint32_t>& own, const std::atomic<uint32_t>* sender, const Member* readers, uint32_t count)
      : own_(own), sender_(sender), readers_(readers), count_(count) {}

  Company look() {
    const uint32_t here = os::current_cpu();
    // Stored on change only: the line is read by the others.
    if (own_.load(std::memory_order_relaxed) != here) own_.store(here, std::memory_order_relaxed);
    if (here == kNowhere) return Company::kUnknown;
    Company company = Company::kApart;
    if (sender_) meet(sender_->load(std::memory_order_relaxed), here, company);
    for (uint32_t i = 0; i < count_; ++i)
      if (&readers_[i].cpu != &own_) meet(readers_[i].cpu.load(std::memory_order_relaxed), here, company);
    return company;
  }

 private:
  static void meet(uint32_t there, uint32_t here, Company& company) {
    if (there == here) company = Company::kHere;
    if (there == kNowhere && company == Company::kApart) company = Company::kUnknown;
  }

  std::atomic<uint32_t>& own_;
  const std::atomic<uint32_t>* sender_;  // nullptr: that is us
  const Member* readers_;
  uint32_t count_;  // of readers_
};

// `bell` is the one that we wait for, `burst` is left for next time. `look` is a try of the kind: anything but -EAGAIN
// ends the wait.
template <typename Look>
int wait_until(const End& end, Place place, int32_t& burst, Bell& bell, Look look) {
  Company company = Company::kApart;
  const auto alone = [&] {
    company = place.look();
    return company == Company::kApart || (company == Company::kUnknown && !end.unsure);
  };
  const WaitPolicy& policy = end.unsure && !alone() ? end.crowd : end.policy;
  burst = burst_of(policy);
  int result;
  int64_t yield_ns = policy.yield_ns;
  int64_t now = os::now_ns();
  const auto after = [&now](int64_t ns) { return ns < 0 || ns > INT64_MAX - now ? INT64_MAX : now + ns; };
  const int64_t deadline = after(end.timeout_ns);
  const int64_t spin_until = std::min(after(policy.spin_ns), deadline);
  while (now < spin_until) {
    if (!alone()) {
      yield_ns = policy.foreign_ns;
      break;
    }
    for (int i = 0; i < policy.look; ++i) {
      if ((result = look()) != -EAGAIN) return result;
      cpu_pause();
    }
    now = os::now_ns();
  }
  const int64_t yield_until = std::min(after(yield_ns), deadline);
  for (int yields = 1; yield_ns > 0 && now < yield_until; ++yields) {
    os::yield_cpu();
    if ((result = look()) != -EAGAIN) return result;
    // Asks the ringer for its CPU, as a sleeper does: a system call for the ringer, so only where we do not know the
    // CPU, or where our knowledge seems out of date.
    if (company == Company::kUnknown || yields == kAskAgain) bell.sleepers.store(1, std::memory_order_relaxed);
    const int64_t back = os::now_ns();
    const bool lost = back - now > policy.foreign_ns;  // to a thread that is not of ours
    now = back;
    if (lost) break;
  }

  for (;;) {
    const uint32_t word = bell.wake.load(std::memory_order_acquire);
    bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();  // the store before the look that follows
    const bool ordered = end.threads && os::process_barrier();
    if ((result = look()) != -EAGAIN) return result;
    now = os::now_ns();
    if (now >= deadline) return -ETIMEDOUT;
    const int64_t left = deadline == INT64_MAX ? 0 : deadline - now;  // 0: for ever
    os::futex_wait(&bell.wake, word, ordered ? left : left ? std::min(left, kBlindSlice) : kBlindSlice);
    if ((result = look()) != -EAGAIN) return result;
  }
}

}  // namespace

void answer(Bell& bell, std::atomic<uint32_t>& cpu) {
  const uint32_t here = os::current_cpu();
  if (cpu.load(std::memory_order_relaxed) != here) cpu.store(here, std::memory_order_relaxed);
  wake_sleepers(bell);
}

int wait_to_send(End& end, uint64_t slots) {
  Sender& sender = end.sender;
  const Place place{sender.channel->sent.cpu, nullptr, sender.readers, sender.count};
  return wait_until(end, place, sender.burst, sender.channel->read,
                    [&end, slots] { return end.kind->can_send(end, slots); });
}

int wait_to_receive(End& end) {
  Receiver& receiver = end.receiver;
  // The other readers count only where there may not be a CPU for each: whom we wait for is the sender.
  const Place place{receiver.own->cpu, &receiver.channel->sent.cpu, receiver.readers, end.unsure ? receiver.count : 0};
  return wait_until(end, place, receiver.burst, receiver.channel->sent, [&end] { return end.kind->can_receive(end); });
}

}  // namespace smelt::queue
