// A machine that is not there, for programs on one that is smaller: preloaded, it says which CPU a thread runs on and
// which CPUs a process may use. With a profile of such a machine (false_profile.cc), patterns for many CPUs really run
// on two.
//
//   PRETENDED_CPUS=64   how many. A thread has the first free CPU when it first asks, keeps it, and gives it back when
//                       it ends
//   PRETENDED_STEP=9    the order in which CPUs are tried: 0, 9, 18, ... modulo their number; odd, so that all come.
//                       Default 1
//
// Where there are more threads than pretended CPUs, the last ones share CPUs with the first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kMost = 1024 };

static unsigned cpus = 1, step = 1;
static atomic_char taken[kMost];
static atomic_uint latecomers;
static pthread_key_t thread_end;
static _Thread_local int mine = -1;
static long (*real_syscall)(long, ...);

static void give_back(void* value) { atomic_store(&taken[(size_t)value - 1], 0); }

static unsigned number(const char* name, unsigned otherwise) {
  const char* text = getenv(name);
  const unsigned value = text ? (unsigned)atoi(text) : otherwise;
  return value >= 1 && value <= kMost ? value : otherwise;
}

__attribute__((constructor)) static void begin(void) {
  cpus = number("PRETENDED_CPUS", 1);
  step = number("PRETENDED_STEP", 1);
  pthread_key_create(&thread_end, give_back);
}

int sched_getcpu(void) {
  if (mine >= 0) return mine;
  for (unsigned i = 0; i < cpus; ++i) {
    const unsigned cpu = i * step % cpus;
    if (atomic_exchange(&taken[cpu], 1)) continue;
    pthread_setspecific(thread_end, (void*)((size_t)cpu + 1));
    return mine = (int)cpu;
  }
  return mine = (int)(atomic_fetch_add(&latecomers, 1) % cpus);
}

// The core asks for the affinity mask by the system call, as glibc's function would refuse machines of more than 1,024
// CPUs.
long syscall(long which, ...) {
  long words[6];
  va_list arguments;
  va_start(arguments, which);
  for (int i = 0; i < 6; ++i) words[i] = va_arg(arguments, long);
  va_end(arguments);
  if (which == SYS_sched_getaffinity) {
    const size_t bytes = (size_t)words[1];
    unsigned char* mask = (unsigned char*)words[2];
    memset(mask, 0, bytes);
    for (unsigned cpu = 0; cpu < cpus && cpu / 8 < bytes; ++cpu) mask[cpu / 8] |= (unsigned char)(1u << cpu % 8);
    return (long)bytes;
  }
  if (!real_syscall) *(void**)&real_syscall = dlsym(RTLD_NEXT, "syscall");
  return real_syscall(which, words[0], words[1], words[2], words[3], words[4], words[5]);
}
