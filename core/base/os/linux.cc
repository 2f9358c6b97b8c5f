// os.h on Linux: raw system calls where glibc has no wrapper, and the kernel's small text files.
#include "base/os/os.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/errno_keeper.h"
#include "base/os/no_cancellation.h"

// glibc has it from 2.32 on (sys/single_threaded.h). Weak: elsewhere there is none.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's name
extern "C" char __libc_single_threaded __attribute__((weak));

namespace smelt::os {

void* map_pages(size_t bytes) {
  const ErrnoKeeper keeper;
  if (bytes == 0) return nullptr;
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void unmap_pages(void* address, size_t bytes) {
  const ErrnoKeeper keeper;
  ::munmap(address, bytes);
}

void discard_pages(void* address, size_t bytes) {
  const ErrnoKeeper keeper;
  ::madvise(address, bytes, MADV_DONTNEED);
}

// Neither call says FUTEX_PRIVATE_FLAG: a word in memory shared by several processes must work too, and the key's
// look-up that the flag would save is lost in the 10 µs that a sleep costs anyway.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel reads the word itself");

namespace {
// A clock may stand: under libfaketime with an absolute time, in a replayed run, in a sandbox. A wait with a time limit
// would then never end. If the clock stands still, this thread's looks count instead: after more equal ones than
// a ticking clock gives in a row, each look puts the time ahead by the least that a look takes, and each sleep by the
// time that the kernel has slept. A reading that differs is the clock's word again. All this is one word, because a
// thread's stack holds it.
struct Readings {
  uint32_t last = 0;   // the low bits
  uint32_t equal = 0;  // since, and the sleeps, in looks; at most kMostLooks: 20 minutes
};
constexpr uint32_t kManyEqual = 64, kMostLooks = ~0u;
constexpr int64_t kLookNs = 300;
constinit thread_local Readings readings;

void add_looks(int64_t looks) {
  readings.equal = static_cast<uint32_t>(std::min<int64_t>(readings.equal + looks, kMostLooks));
}
}  // namespace

void futex_wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns) {
  const ErrnoKeeper keeper;
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
  const long result = ::syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns > 0 ? &timeout : nullptr, nullptr, 0);
  if (result == -1 && errno == ETIMEDOUT) add_looks(kManyEqual + timeout_ns / kLookNs + 1);
}

void futex_wake_all(std::atomic<uint32_t>* word) {
  // Written back only where the call has written it: the woken thread may run with this thread's errno
  // (core/library/thread/own_tls.h).
  const int saved = errno;
  if (::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0) == -1) errno = saved;
}

namespace {
// Relaxed: it guards no data, and a thread that still reads false asks the kernel itself.
std::atomic<bool> membarrier_refused{false};

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }
}  // namespace

bool process_barrier() {
  if (process_barrier_refused()) return false;
  const ErrnoKeeper keeper;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return true;
  // The process has not registered yet, or is registered no more (EPERM; a restart from a checkpoint makes a new
  // address space). Registering twice is harmless, so two threads that come here at once need no lock. Sandboxes that
  // filter the call answer EPERM or ENOSYS to both.
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    return true;
  membarrier_refused.store(true, std::memory_order_relaxed);
  return false;
}

void register_process_barrier() {
  const ErrnoKeeper keeper;
  membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool is_single_threaded() { return &__libc_single_threaded && __libc_single_threaded; }

bool process_barrier_refused() { return membarrier_refused.load(std::memory_order_relaxed); }

int32_t process_id() { return ::getpid(); }
int32_t thread_id() { return static_cast<int32_t>(::syscall(SYS_gettid)); }

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t read = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  if (static_cast<uint32_t>(read) != readings.last) {
    readings = {static_cast<uint32_t>(read), 0};
    return read;
  }
  add_looks(1);
  return readings.equal > kManyEqual ? read + (readings.equal - kManyEqual) * kLookNs : read;
}

void yield_cpu() {
  ::syscall(SYS_sched_yield);  // not sched_yield(): a shim of ours stands in front of it (kmp_shim/thread_calls.cc)
}

uint32_t current_cpu() {
  const ErrnoKeeper keeper;
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? ~0u : static_cast<uint32_t>(cpu);
}

int cpus_of_thread(int32_t thread, CpuMask* mask) {
  const ErrnoKeeper keeper;
  *mask = {};
  return ::syscall(SYS_sched_getaffinity, thread, sizeof *mask, mask) > 0 ? 0 : -errno;
}

uint32_t allowed_cpu_list(uint32_t* cpus, uint32_t room) {
  CpuMask mask;
  if (cpus_of_thread(0, &mask) != 0) return 0;
  uint32_t count = 0, first = 0;
  for (const unsigned long word : mask.word) {
    for (unsigned long left = word; left; left &= left - 1, ++count)
      if (count < room) cpus[count] = first + static_cast<uint32_t>(__builtin_ctzl(left));
    first += 8 * sizeof word;
  }
  return count;
}

uint32_t count(const CpuMask& mask) {
  uint32_t count = 0;
  for (const unsigned long word : mask.word) count += static_cast<uint32_t>(__builtin_popcountl(word));
  return count;
}

int add_cpus_of_thread(int32_t thread, CpuMask* mask) {
  const ErrnoKeeper keeper;
  // The number of a thread that has ended may be another process's by now.
  if (::syscall(SYS_tgkill, ::getpid(), thread, 0) != 0) return -errno;
  CpuMask its;
  if (const int error = cpus_of_thread(thread, &its)) return error;
  for (size_t i = 0; i < sizeof its.word / sizeof its.word[0]; ++i) mask->word[i] |= its.word[i];
  return 0;
}

uint32_t allowed_cpus() {
  const uint32_t count = allowed_cpu_list(nullptr, 0);
  return count ? count : 1;
}

int64_t read_small_file(const char* path, char* buffer, size_t bytes) {
  const ErrnoKeeper keeper;
  const NoCancellation no_cancellation;
  if (bytes == 0) return -EINVAL;
  buffer[0] = '\0';
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -errno;
  size_t length = 0;
  while (length + 1 < bytes) {
    const ssize_t got = ::read(fd, buffer + length, bytes - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(fd);
      buffer[0] = '\0';
      return -error;
    }
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  ::close(fd);
  buffer[length] = '\0';
  return static_cast<int64_t>(length);
}

// --- the limits of the control groups above us ----------------------------------------------------------------------
//
// A container with "2 CPUs" on a 64-CPU host sees all 64 in its affinity mask; the limit is a quota of CPU time per
// period. A team that spins with more threads than the quota pays for is stopped in the middle of its barriers, so
// the quota counts like an affinity mask. Another limit is how many threads and processes there may be. Any group on
// the way up to the root may set one: the tightest holds.

namespace {

// The quota is in thousandths of a CPU, rounded up.
uint32_t thousandths(long long quota, long long period) {
  if (quota <= 0 || period <= 0 || quota > LLONG_MAX / 1000) return 0;
  const long long wanted = quota * 1000, cpus = wanted / period + (wanted % period != 0);
  return cpus > INT_MAX ? 0 : static_cast<uint32_t>(cpus);  // nobody means such a number as a limit
}

uint32_t tighter(uint32_t a, uint32_t b) { return a == 0 ? b : b == 0 ? a : (a < b ? a : b); }

// Names and texts on the way. The caller may be a thread with the smallest stack, which has no room for them.
struct GroupScratch {
  char lines[4096];
  char where[512];
  char group[1280];
  char path[1400];
};

// "folder/name"; empty, which no file is, where it is too long. It is put together by hand, because printf's pages may
// not be in memory yet.
template <size_t kBytes>
void join(char (&out)[kBytes], const char* folder, const char* name) {
  const size_t length = std::strlen(folder), more = std::strlen(name);
  out[0] = '\0';
  if (length + 1 + more >= kBytes) return;
  std::memcpy(out, folder, length);
  out[length] = '/';
  std::memcpy(out + length + 1, name, more + 1);
}

// The quota one group sets itself, by its version's files, in thousandths; 0 when it sets none. A file takes 2 to 5 µs
// of a program's first region, so none is looked for in vain.
uint32_t group_quota(const char* group, bool second_version, GroupScratch& scratch) {
  char(&path)[sizeof scratch.path] = scratch.path;
  char text[96];
  if (second_version) {
    join(path, group, "cpu.max");  // "max 100000" or "150000 100000"
    long long quota = 0, period = 0;
    return read_small_file(path, text, sizeof text) > 0 && std::sscanf(text, "%lld %lld", &quota, &period) == 2
               ? thousandths(quota, period)
               : 0;
  }
  join(path, group, "cpu.cfs_quota_us");  // -1 for none
  if (read_small_file(path, text, sizeof text) <= 0) return 0;
  const long long quota = std::strtoll(text, nullptr, 10);
  if (quota <= 0) return 0;
  join(path, group, "cpu.cfs_period_us");
  if (read_small_file(path, text, sizeof text) <= 0) return 0;
  return thousandths(quota, std::strtoll(text, nullptr, 10));
}

// How many threads and processes it allows; 0 when it sets no limit. Both versions have the same file.
uint32_t group_tasks(const char* group, bool, GroupScratch& scratch) {
  char(&path)[sizeof scratch.path] = scratch.path;
  char text[32];
  join(path, group, "pids.max");  // "max" or "2048"
  if (read_small_file(path, text, sizeof text) <= 0) return 0;
  const long long tasks = std::strtoll(text, nullptr, 10);
  return tasks <= 0 || tasks > INT_MAX ? 0 : static_cast<uint32_t>(tasks);
}

// A controller of version 1, and the setting of one of its groups, or of version 2's.
struct Controller {
  const char* name;
  uint32_t (*limit)(const char* group, bool second_version, GroupScratch& scratch);
};

// Goes from <mount>/<inside> up to <mount> itself. In a container the path inside may be the host's and not exist here;
// the mount point is then the container's own group, which the walk reaches in any case.
uint32_t limit_upwards(const Controller& controller, bool second_version, const char* mount, const char* inside,
                       GroupScratch& scratch) {
  char(&group)[sizeof scratch.group] = scratch.group;
  if (std::strcmp(inside, "/") == 0) inside = "";
  const size_t root = std::strlen(mount), below = std::strlen(inside);
  if (root + below >= sizeof group) return controller.limit(mount, second_version, scratch);
  std::memcpy(group, mount, root);
  std::memcpy(group + root, inside, below + 1);
  uint32_t tightest = 0;
  for (;;) {
    tightest = tighter(tightest, controller.limit(group, second_version, scratch));
    char* slash = std::strrchr(group, '/');
    if (!slash || static_cast<size_t>(slash - group) < root) return tightest;
    *slash = '\0';
  }
}

bool names(const Controller& controller, const char* begin, const char* end) {
  const auto length = static_cast<ptrdiff_t>(std::strlen(controller.name));
  while (begin < end) {
    const char* comma = static_cast<const char*>(std::memchr(begin, ',', static_cast<size_t>(end - begin)));
    const char* stop = comma ? comma : end;
    if (stop - begin == length && std::memcmp(begin, controller.name, static_cast<size_t>(length)) == 0) return true;
    begin = stop + 1;
  }
  return false;
}

uint32_t tightest_limit(const Controller& controller, const char* mount, const char* membership,
                        GroupScratch& scratch) {
  if (read_small_file(membership, scratch.lines, sizeof scratch.lines) <= 0) return 0;
  uint32_t tightest = 0;
  char* rest = nullptr;
  for (char* line = ::strtok_r(scratch.lines, "\n", &rest); line; line = ::strtok_r(nullptr, "\n", &rest)) {
    // hierarchy:controllers:path, "0::/path" for version 2
    const char* controllers = std::strchr(line, ':');
    if (!controllers) continue;
    const char* path = std::strchr(++controllers, ':');
    if (!path) continue;
    char(&where)[sizeof scratch.where] = scratch.where;
    const bool second_version = path == controllers;
    if (second_version) {
      tightest = tighter(tightest, limit_upwards(controller, true, mount, path + 1, scratch));
      join(where, mount, "unified");             // beside version 1, systemd's "hybrid" layout
      if (::access(where, F_OK) != 0) continue;  // one look, instead of two at each group of the path
    } else if (names(controller, controllers, path)) {
      // The mount is named after its controllers, "cpu,cpuacct"; distributions add a link "cpu".
      join(where, mount, controller.name);
    } else {
      continue;
    }
    tightest = tighter(tightest, limit_upwards(controller, second_version, where, path + 1, scratch));
  }
  return tightest;
}

uint32_t tightest_limit(const Controller& controller, const char* mount, const char* membership) {
  const ErrnoKeeper keeper;
  auto* scratch = static_cast<GroupScratch*>(map_pages(sizeof(GroupScratch)));
  if (!scratch) return 0;
  const uint32_t tightest = tightest_limit(controller, mount, membership, *scratch);
  unmap_pages(scratch, sizeof(GroupScratch));
  return tightest;
}

}  // namespace

uint32_t cgroup_cpu_thousandths(const char* mount, const char* membership) {
  return tightest_limit({"cpu", group_quota}, mount, membership);
}

uint32_t cgroup_cpu_quota(const char* mount, const char* membership) {
  return (cgroup_cpu_thousandths(mount, membership) + 999) / 1000;
}

uint32_t cgroup_task_limit(const char* mount, const char* membership) {
  return tightest_limit({"pids", group_tasks}, mount, membership);
}

uint32_t process_cpu_thousandths() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static uint32_t thousandths;
  pthread_once(&once, [] { thousandths = cgroup_cpu_thousandths(); });
  return thousandths;
}

uint32_t process_cpu_quota() { return (process_cpu_thousandths() + 999) / 1000; }

// --- what the process may have --------------------------------------------------------------------------------------

uint32_t process_task_limit() {
  const ErrnoKeeper keeper;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static uint32_t of_groups;
  pthread_once(&once, [] { of_groups = cgroup_task_limit(); });
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur > INT_MAX) return of_groups;
  return tighter(of_groups, std::max(uint32_t{1}, static_cast<uint32_t>(limit.rlim_cur)));
}

bool address_space_is_limited() {
  const ErrnoKeeper keeper;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static bool committed;  // vm.overcommit_memory = 2: every page that might be written counts
  pthread_once(&once, [] {
    char text[8];
    committed = read_small_file("/proc/sys/vm/overcommit_memory", text, sizeof text) > 0 && text[0] == '2';
  });
  if (committed) return true;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    if (rlimit limit{}; ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  return false;
}

}  // namespace smelt::os
