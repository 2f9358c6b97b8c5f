#include "policy/wait.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/options.h"
#include "base/os/os.h"
#include "policy/yield_backoff.h"

namespace smelt {
namespace {

// When membarrier is refused a wake-up can be missed; it is then noticed after this long.
constexpr int64_t kBlindSlice = typical(ThresholdId::kBlindSlice);
// After a yield that took so long, although the wait is over with it, the time was a foreigner's.
constexpr int64_t kForeignStay = typical(ThresholdId::kForeignStay);

constinit YieldBackoff backoff({typical(ThresholdId::kYieldPause), typical(ThresholdId::kLongestYieldPause),
                                typical(ThresholdId::kYieldRun)});

std::atomic<uint64_t> slept{0};  // sleeps(): of all waits in the process

enum class Seen { kNothing, kReached, kStopped };

inline Seen look(const Epoch& flag, uint64_t epoch, const std::atomic<uint64_t>* stop) {
  if (poll(flag, epoch)) return Seen::kReached;
  if (stop && is_stopped(*stop, epoch)) return Seen::kStopped;
  return Seen::kNothing;
}

// GOMP_SPINCOUNT as time: a number of polls, with a multiplier, or "infinity". `otherwise` when it is unset or not
// understood (libgomp itself says so to the user then).
int64_t spincount_ns(int64_t otherwise, const Profile* profile) {
  const char* text = environment("GOMP_SPINCOUNT");
  if (!text || !*text) return otherwise;
  if (strcasecmp(text, "infinite") == 0 || strcasecmp(text, "infinity") == 0) return kSpinForever;
  char* end = nullptr;
  const unsigned long long count = std::strtoull(text, &end, 10);
  if (end == text) return otherwise;
  unsigned shift = 0;
  switch (*end) {
    case 'k':
    case 'K': shift = 1; break;
    case 'm':
    case 'M': shift = 2; break;
    case 'g':
    case 'G': shift = 3; break;
    case 't':
    case 'T': shift = 4; break;
    case 0: break;
    default: return otherwise;
  }
  double polls = static_cast<double>(count);
  while (shift-- > 0) polls *= 1000;
  const double ns = polls * static_cast<double>(find_threshold(ThresholdId::kPoll, profile).value);
  return ns > 1e18 ? kSpinForever : static_cast<int64_t>(ns);
}

}  // namespace

constinit Headcount headcount;
constinit std::atomic<int64_t> asked_spin_ns{-1};
constinit std::atomic<int64_t> awake_ns{0};

bool wait_slowly(Flag flag, uint64_t epoch, const std::atomic<uint64_t>* stop, const WaitPolicy& policy) {
  Seen seen = look(flag.epoch, epoch, stop);
  if (seen != Seen::kNothing) return seen == Seen::kReached;
  int64_t spin_ns = policy.spin_ns;
  int64_t yield_ns = policy.yield_ns;
  const uint32_t owner_cpu = flag.bell.cpu.load(std::memory_order_relaxed);
  // The one we wait for last ran right here: it cannot run while we spin.
  if (spin_ns != 0 && ((owner_cpu != 0 && owner_cpu == os::current_cpu() + 1) || headcount.crowded())) {
    spin_ns = 0;
    yield_ns = policy.foreign_ns;
  }

  int64_t now = os::now_ns();
  const int64_t spin_until = spin_ns == kSpinForever ? INT64_MAX : now + spin_ns;
  while (now < spin_until) {
    for (int i = 0; i < policy.look; ++i) {
      if ((seen = look(flag.epoch, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
      cpu_pause();
    }
    if ((seen = look(flag.epoch, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
    now = os::now_ns();
    if (headcount.crowded()) {  // others have come meanwhile
      yield_ns = policy.foreign_ns;
      break;
    }
  }

  headcount.note_long_wait(now);
  if (yield_ns > 0 && backoff.may_yield(now)) {
    const int64_t began = now, yield_until = now + yield_ns;
    while (now < yield_until) {
      os::yield_cpu();
      seen = look(flag.epoch, epoch, stop);
      const int64_t back = os::now_ns();
      const bool lost = back - now > (seen == Seen::kNothing ? policy.foreign_ns : kForeignStay);
      now = back;
      if (lost)
        backoff.lost(began, now);
      else if (seen != Seen::kNothing)
        backoff.kept();
      if (seen != Seen::kNothing) return seen == Seen::kReached;
      if (lost) break;
    }
  }

  const bool fenced = policy.order == PostOrder::kFenced;
  for (;;) {
    const uint32_t word = flag.bell.wake.load(std::memory_order_acquire);
    flag.bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();  // the store before the looks that follow; pairs with the writer's fence, and with a marker's
    const bool ordered = fenced || os::process_barrier();
    if ((seen = look(flag.epoch, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
    slept.fetch_add(1, std::memory_order_relaxed);
    os::futex_wait(&flag.bell.wake, word, ordered ? 0 : kBlindSlice);
    if ((seen = look(flag.epoch, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
  }
}

bool yield_to_team() {
  const int64_t began = os::now_ns();
  if (!backoff.may_yield(began)) return false;
  os::yield_cpu();
  const int64_t back = os::now_ns();
  if (back - began > kForeignStay) {
    backoff.lost(began, back);
    return false;
  }
  backoff.kept();
  return true;
}

uint64_t sleeps() { return slept.load(std::memory_order_relaxed); }

WaitPolicy wait_policy(bool crowded, uint32_t threads, const Profile* profile) {
  const auto value = [profile](ThresholdId id) { return static_cast<int64_t>(find_threshold(id, profile).value); };
  WaitPolicy policy{0,
                    0,
                    PostOrder::kFenced,
                    static_cast<int32_t>(value(ThresholdId::kBurst)),
                    static_cast<int32_t>(value(ThresholdId::kLook)),
                    value(ThresholdId::kForeignSlice)};
  const Options& settings = options();
  if (std::strcmp(settings.wait, "spin") == 0) {
    policy.spin_ns = kSpinForever;
    policy.order = PostOrder::kUnfenced;
    return policy;
  }
  if (std::strcmp(settings.wait, "sleep") == 0) return policy;
  const char* omp = environment("OMP_WAIT_POLICY");
  const bool passive = omp && strcasecmp(omp, "passive") == 0;
  const bool active = omp && strcasecmp(omp, "active") == 0;
  if (crowded) {
    // A yield keeps no CPU from anybody, so a passive crowd yields too before it sleeps, only not for long.
    policy.yield_ns = value(passive ? ThresholdId::kPassiveYield : ThresholdId::kYield);
    return policy;
  }
  int64_t spin_ns = value(ThresholdId::kSpin);
  // Under a quota smaller than the team, threads still run side by side until the period's quota is used up, so they
  // spin: as a crowd, two threads under a quota of one CPU took 1.5 times stock's time for a barrier. But the time that
  // a waiter burns is then missing elsewhere, so it does not spin for long.
  const uint32_t quota = os::process_cpu_thousandths();
  const bool scarce = quota && quota < uint64_t{1000} * threads;
  if (scarce) spin_ns = std::min(spin_ns, value(ThresholdId::kQuotaSpin));
  const int64_t asked = asked_spin_ns.load(std::memory_order_relaxed);
  if (asked < 0 && !scarce && !passive && settings.spin_us < 0)
    policy.yield_ns = awake_ns.load(std::memory_order_relaxed);
  policy.spin_ns = asked >= 0 ? asked : spincount_ns(passive ? 0 : active ? kSpinForever : spin_ns, profile);
  if (policy.spin_ns > 0 && !os::process_barrier_refused()) policy.order = PostOrder::kUnfenced;
  return policy;
}

uint32_t usable_cpus(uint32_t affinity) {
  if (options().cpus > 0) return static_cast<uint32_t>(options().cpus);
  return affinity ? affinity : os::allowed_cpus();
}

}  // namespace smelt
