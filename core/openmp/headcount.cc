#include "openmp/headcount.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "base/participants.h"
#include "policy/team_size.h"

namespace smelt::openmp {

constinit thread_local bool is_noted = false;

namespace {

// The kernel's numbers of threads; 0: none. That of a thread that has ended stays until somebody asks. Where all are
// taken, a thread is left out. Relaxed: numbers that say all by themselves.
std::atomic<int32_t> noted[kMaxParticipants];
// A thread asks. Acquire and release: of `recount`, which is its own.
std::atomic<bool> asking{false};
Recount recount;

// Adds the CPUs of all threads that are noted; answers with how many those are.
uint32_t add_all(os::CpuMask* mask) {
  uint32_t count = 0;
  for (auto& number : noted) {
    int32_t thread = number.load(std::memory_order_relaxed);
    if (thread == 0) continue;
    const int error = os::add_cpus_of_thread(thread, mask);
    count += error == 0;
    if (error == -ESRCH) number.compare_exchange_strong(thread, 0, std::memory_order_relaxed);
  }
  return count;
}

}  // namespace

void add_thread() {
  is_noted = true;
  const int32_t me = os::thread_id();
  for (auto& number : noted) {
    int32_t nobody = 0;
    if (number.load(std::memory_order_relaxed) == 0 &&
        number.compare_exchange_strong(nobody, me, std::memory_order_relaxed))
      return;
  }
}

void begin_headcount(uint32_t runtimes_cpus) {
  // libgomp counts what a quota pays for (gomp_shim/thread_calls.cc); where threads run is another matter.
  if (settled_team_size() != 0) runtimes_cpus = os::allowed_cpus();
  headcount.cpus.store(usable_cpus(runtimes_cpus), std::memory_order_relaxed);
  if (options().cpus == 0) headcount.fresh_until.store(0, std::memory_order_relaxed);
}

void ask_for_cpus() {
  if (asking.exchange(true, std::memory_order_acquire)) return;
  os::CpuMask mask{};
  const uint32_t present = add_all(&mask), seen = os::count(mask);
  const uint32_t threads = headcount.threads.load(std::memory_order_relaxed);
  const uint32_t before = headcount.cpus.load(std::memory_order_relaxed);
  // Fewer count only where they are too few for the threads there are, and all of those have been asked: threads that
  // the runtime binds have a CPU each, and leave the others to those that come later.
  const uint32_t now = seen < threads && present >= threads ? std::max(seen, 1u) : std::max(seen, before);
  headcount.cpus.store(now, std::memory_order_relaxed);
  headcount.fresh_until.store(recount.after(os::now_ns(), now != before), std::memory_order_relaxed);
  headcount.stale.store(false, std::memory_order_relaxed);
  if (now != before && options().verbose >= 2)
    log_line("threads may use %u CPU%s now, not %u", now, now == 1 ? "" : "s", before);
  asking.store(false, std::memory_order_release);
}

void forget_threads() {
  for (auto& number : noted)
    if (number.load(std::memory_order_relaxed) != 0) number.store(0, std::memory_order_relaxed);
  is_noted = false;
  asking.store(false, std::memory_order_relaxed);  // there is one thread
}

}  // namespace smelt::openmp
