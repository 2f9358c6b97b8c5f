// Waiting in a group. A process that waits must keep its host's other communication going, or a rank that is in the
// middle of a long message to us never gets here; so nobody sleeps, and between bursts of polls `progress` is called.
//
//   every process has a CPU   a burst, then progress every microsecond or so
//   a crowd                   a few polls, then alternately yield and progress: who waits must make room for whom it
//                             waits
//   two on one CPU            what each last waited on is in its status line; then as in a crowd
//
// Who tests what was started does not wait here, but mostly does elsewhere: in the host, which need not know of the
// crowd. After a few tests in vain it makes room as well (measured, two ranks on one CPU, a started barrier: 12 ms
// without).
//
// So the settings of threads' waits (SMELT_WAIT, SMELT_SPIN_US, SMELT_YIELD_US) are not the ranks': there is no sleep
// whose beginning they could set, and no bell that Open MPI's other communication would ring. Who wants ranks to give
// way where there are CPUs enough says so to Open MPI (mpi_yield_when_idle), which makes a crowd of the group
// (smelt_host::crowded); SMELT_CPUS=1 does the same.
#include "base/os/os.h"
#include "group/group.h"

namespace smelt {

bool Group::should_make_room(uint32_t peer) {
  const uint32_t here = os::current_cpu() + 1;
  std::atomic<uint32_t>& mine = desk().status.cpu;
  // Stored on change only: the line is read by others.
  if (mine.load(std::memory_order_relaxed) != here) mine.store(here, std::memory_order_relaxed);
  const bool same_cpu = peer != me && desks[peer].status.cpu.load(std::memory_order_relaxed) == here;
  return plan.crowded || same_cpu;
}

void Group::idle(uint32_t peer, uint32_t turn) {
  const bool make_room = should_make_room(peer);
  // Hosts yield in their progress too when they know of the crowd: one of two turns is enough for either.
  if (make_room && turn % 2 == 0)
    os::yield_cpu();
  else if (host.progress)
    host.progress(host.context);
}

void Group::tested_in_vain() {
  constexpr uint32_t kTests = 8;
  if (++in_vain < kTests) return;
  in_vain = 0;
  if (should_make_room(awaited)) os::yield_cpu();
}

}  // namespace smelt
