#include "measure/pinned.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profile/text/error.h"

namespace smelt {
namespace {

enum class Gate : int { kClosed, kOpen, kAbandoned };

struct Start {
  const PinnedJob* job;
  std::atomic<Gate>* gate;
};

// What a thread touches first lies on its own node, though `numactl` may have told the process otherwise: a policy is
// inherited. Where the call is refused (containers' filters), it lies where the process wants it.
void take_memory_nearby() { ::syscall(SYS_set_mempolicy, MPOL_LOCAL, nullptr, 0); }

void* thread_main(void* argument) {
  const auto* start = static_cast<const Start*>(argument);
  // Nobody begins before all exist: a job whose partner cannot be started would wait for it for ever.
  Gate gate;
  while ((gate = start->gate->load(std::memory_order_acquire)) == Gate::kClosed) ::sched_yield();
  if (gate == Gate::kOpen) {
    take_memory_nearby();
    start->job->work();
  }
  return nullptr;
}

int start_thread(pthread_t* thread, Start* start) {
  // Sized for the CPU's number: cpu_set_t ends at 1,023.
  const int cpu = start->job->os_cpu;
  if (cpu < 0) return EINVAL;
  cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpu) + 1);
  if (!set) return ENOMEM;
  const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (!error) {
    error = pthread_attr_setaffinity_np(&attributes, bytes, set);
    if (!error) error = pthread_create(thread, &attributes, thread_main, start);
    pthread_attr_destroy(&attributes);
  }
  CPU_FREE(set);
  return error;
}

}  // namespace

void run_pinned(const std::vector<PinnedJob>& jobs) {
  std::atomic<Gate> gate{Gate::kClosed};
  std::vector<Start> starts(jobs.size());
  std::vector<pthread_t> threads(jobs.size());
  size_t started = 0;
  int error = 0;
  for (; started < jobs.size(); ++started) {
    starts[started] = {&jobs[started], &gate};
    error = start_thread(&threads[started], &starts[started]);
    if (error) break;
  }
  gate.store(error ? Gate::kAbandoned : Gate::kOpen, std::memory_order_release);
  for (size_t i = 0; i < started; ++i) pthread_join(threads[i], nullptr);
  if (!error) return;
  const int cpu = jobs[started].os_cpu;
  if (error == EINVAL)
    throw UserError(fmt::format("CPU {} cannot be used by this process (offline, or outside its cpuset)", cpu));
  throw UserError(fmt::format("no thread can be started on CPU {} ({})", cpu, std::strerror(error)));
}

}  // namespace smelt
