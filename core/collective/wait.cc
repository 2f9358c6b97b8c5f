#include "collective/wait.h"

#include <cstring>

#include "base/options.h"
#include "base/os/os.h"

namespace smelt {
namespace {

// A yield that takes longer than this has given the CPU to somebody who is not of our team.
constexpr int64_t kForeignSlice = 100'000;
// After such a yield, so many waits go straight to sleep before yielding is tried again: the foreigner may be gone.
constexpr int kYieldPenalty = 256;
// Without membarrier a wake-up can be missed; it is then noticed after this long.
constexpr int64_t kBlindSlice = 1'000'000;
// While spinning, the clock and the stop word are looked at once per so many polls.
constexpr int kPollsPerLook = 16;

// Waits that still avoid yielding, of all threads of the process: a foreigner on one CPU is soon on another.
std::atomic<int> yield_penalty{0};

enum class Seen { kNothing, kReached, kStopped };

inline Seen look(const Flag& flag, uint64_t epoch, const std::atomic<uint64_t>* stop) {
  if (poll(flag, epoch)) return Seen::kReached;
  // Equality, not >=: a thread that is already past this episode may have marked the next one (gomp_shim/tasks.h).
  if (stop && stop->load(std::memory_order_acquire) == epoch) return Seen::kStopped;
  return Seen::kNothing;
}

}  // namespace

bool wait_slowly(Flag& flag, uint64_t epoch, const std::atomic<uint64_t>* stop, const WaitPolicy& policy) {
  int64_t spin_ns = policy.spin_ns;
  int64_t yield_ns = policy.yield_ns;
  const uint32_t owner_cpu = flag.cpu.load(std::memory_order_relaxed);
  if (spin_ns != 0 && owner_cpu != ~0u && owner_cpu == os::current_cpu()) {
    // The one we wait for last ran right here: it cannot run while we spin.
    spin_ns = 0;
    yield_ns = kForeignSlice;
  }

  Seen seen;
  int64_t now = os::now_ns();
  const int64_t spin_until = spin_ns == kSpinForever ? INT64_MAX : now + spin_ns;
  while (now < spin_until) {
    for (int i = 0; i < kPollsPerLook; ++i) {
      if (poll(flag, epoch)) return true;
      cpu_pause();
    }
    if ((seen = look(flag, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
    now = os::now_ns();
  }

  if (yield_ns > 0) {
    if (yield_penalty.load(std::memory_order_relaxed) > 0) {
      yield_penalty.fetch_sub(1, std::memory_order_relaxed);  // a rough count is all that is needed
    } else {
      const int64_t yield_until = now + yield_ns;
      while (now < yield_until) {
        os::yield_cpu();
        if ((seen = look(flag, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
        const int64_t back = os::now_ns();
        if (back - now > kForeignSlice) {
          yield_penalty.store(kYieldPenalty, std::memory_order_relaxed);
          break;
        }
        now = back;
      }
    }
  }

  const bool barrier = os::process_barrier_available();
  for (;;) {
    const uint32_t word = flag.wake.load(std::memory_order_acquire);
    flag.sleepers.store(1, std::memory_order_seq_cst);
    if (barrier) os::process_barrier();
    if ((seen = look(flag, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
    os::futex_wait(&flag.wake, word, barrier ? 0 : kBlindSlice);
    if ((seen = look(flag, epoch, stop)) != Seen::kNothing) return seen == Seen::kReached;
  }
}

WaitPolicy wait_policy(bool crowded) {
  const Options& settings = options();
  if (std::strcmp(settings.wait, "spin") == 0) return {kSpinForever, 0};
  if (std::strcmp(settings.wait, "sleep") == 0) return {0, 0};
  const char* omp = environment("OMP_WAIT_POLICY");
  if (omp && strcasecmp(omp, "passive") == 0) return {0, 0};
  if (crowded) return {0, 200'000};
  if (omp && strcasecmp(omp, "active") == 0) return {kSpinForever, 0};
  return {settings.spin_us * 1000, 0};
}

uint32_t usable_cpus(uint32_t affinity) {
  if (options().cpus > 0) return static_cast<uint32_t>(options().cpus);
  uint32_t cpus = affinity ? affinity : os::allowed_cpus();
  const uint32_t quota = os::cgroup_cpu_quota();
  if (quota && quota < cpus) cpus = quota;
  return cpus ? cpus : 1;
}

}  // namespace smelt
