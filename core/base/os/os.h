// The runtime half's calls of the kernel, and no others. Every function leaves errno as it was, and none is a
// cancellation point.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smelt::os {

void* map_pages(size_t bytes);  // zeroed, private, anonymous; nullptr when refused
void unmap_pages(void* address, size_t bytes);
void discard_pages(void* address, size_t bytes);  // of map_pages: gives the memory back, zeroed when touched again

// Sleeps while *word == expected (or until woken, or spuriously). `timeout_ns` 0: for ever.
void futex_wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns = 0);
void futex_wake_all(std::atomic<uint32_t>* word);

// Makes every running thread of this process pass a full memory barrier (membarrier, private expedited): the slow side
// of an asymmetric Dekker. False when the kernel refuses: nobody has passed anything, and no later call will be tried.
// That can happen at any call, however many went well before: a program may filter its own system calls at any time.
bool process_barrier();
bool process_barrier_refused();  // has it been? Asks nobody

// The kernel must be told once that the process will want such barriers. With one thread that costs nothing. With more,
// the kernel first waits until all CPUs have been elsewhere (4 to 12 ms with 2), and till then the process cannot even
// end. So the code that makes the first thread had better call this before that. process_barrier() says it itself if
// nobody has.
void register_process_barrier();

bool is_single_threaded();  // false: it is not, or the C library (glibc before 2.32) does not tell

int32_t process_id();
int32_t thread_id();
int64_t now_ns();  // CLOCK_MONOTONIC; where that stands, the calling thread's looks and sleeps count
void yield_cpu();
uint32_t current_cpu();  // the kernel's number of the CPU we are on, ~0u when unknown

uint32_t allowed_cpus();  // in the affinity mask of the calling thread, at least 1
// The CPUs of that mask, ascending kernel numbers: writes at most `room` of them, returns how many there are.
uint32_t allowed_cpu_list(uint32_t* cpus, uint32_t room);
// CPUs by the kernel's numbers. The kernel refuses a mask shorter than its own, so cpu_set_t (1024 CPUs) would fail on
// the largest machines.
struct CpuMask {
  unsigned long word[8192 / (8 * sizeof(unsigned long))];
};
uint32_t count(const CpuMask& mask);
// The CPUs of the affinity mask of any thread on the machine; 0: the calling one. 0 or -ESRCH.
int cpus_of_thread(int32_t thread, CpuMask* mask);
// Adds the CPUs of the affinity mask of a thread of this process. -ESRCH: there is no such thread.
int add_cpus_of_thread(int32_t thread, CpuMask* mask);
// ceil(quota / period) of the tightest cgroup v2 or v1 above us; 0: none. The arguments are for the tests.
uint32_t cgroup_cpu_quota(const char* mount = "/sys/fs/cgroup", const char* membership = "/proc/self/cgroup");
// The quota itself, in thousandths of a CPU, rounded up.
uint32_t cgroup_cpu_thousandths(const char* mount = "/sys/fs/cgroup", const char* membership = "/proc/self/cgroup");
// Both, as they were when somebody first asked: it takes some forty system calls.
uint32_t process_cpu_quota();
uint32_t process_cpu_thousandths();

// How many threads and processes the tightest cgroup above us allows; 0: none says so. The arguments are for the tests.
uint32_t cgroup_task_limit(const char* mount = "/sys/fs/cgroup", const char* membership = "/proc/self/cgroup");
// The same with the user's limit (RLIMIT_NPROC); of the cgroups, as it was when somebody first asked.
uint32_t process_task_limit();
// May memory be refused that is only reserved, as the stacks of threads are (RLIMIT_AS, RLIMIT_DATA,
// vm.overcommit_memory)?
bool address_space_is_limited();

// Reads a small file into `buffer` (NUL-terminated). Bytes read, or a negative errno.
int64_t read_small_file(const char* path, char* buffer, size_t bytes);

}  // namespace smelt::os
