// A program that filters its own system calls after some regions: membarrier fails from then on, in all threads.
//   sandboxed EPERM|ENOSYS|KILL      KILL: whoever calls membarrier or sched_yield ends the program
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static unsigned state = 1;
static char memory[256 << 20];

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// Serial parts just long enough that the other thread (SMELT_TUNE=spin_us=20) is about to sleep, or just does, when the
// next region comes. They end with writes to memory that is in no cache: so the news of the region, queued behind them,
// is late. A lost wake-up makes any region the last. On a loaded machine fewer regions: `seconds` long at most.
static void regions(int count, double longest_us, double seconds) {
  const double start = now_us();
  for (int i = 0; i < count && now_us() - start < seconds * 1e6; ++i) {
    const double until = now_us() + longest_us / 3 + next_random(&state) % 1000 * longest_us / 1500;
    char* lines[40];
    for (int k = 0; k < 40; ++k) lines[k] = memory + (size_t)next_random(&state) * 16 % sizeof memory;
    while (now_us() < until) continue;
    for (int k = 0; k < 40; ++k) *lines[k] = 1;
    int arrived = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      ++arrived;
    }
    CHECK(arrived == 2);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const int kill = strcmp(argv[1], "KILL") == 0;
  const unsigned error = strcmp(argv[1], "EPERM") == 0 ? EPERM : ENOSYS;
  memset(memory, 1, sizeof memory);
  regions(2000, 400, 5);

  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kill ? SYS_sched_yield : SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    puts("no filters here");
    return 0;
  }
  regions(100000, 40, 10);
  puts("ok");
  return 0;
}
