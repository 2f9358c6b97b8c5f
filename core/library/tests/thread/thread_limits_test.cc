// User-level threads: what happens at the end of a stack, of memory, of a process.
#include <smelt/thread.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads.h"

namespace smelt::test {
namespace {

// How a child has ended: its exit status, or 1000 and the signal.
int ended(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The same of one that does this; it exits with 0 if that returns.
int in_child(const std::function<void()>& does) {
  const pid_t child = fork();
  if (child == 0) {
    does();
    _exit(0);
  }
  return ended(child);
}

// --- memory

// So much address space more than there is taken now.
void limit_memory(size_t bytes) {
  size_t pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%zu", &pages) != 1) _exit(9);
  std::fclose(file);
  const size_t all = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{all, all};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(9);
}

// A million threads, one after the other and many at a time, where there is room for some thousands.
TEST_F(Threads, AMillionUnderALimitOfMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more than any limit";
  const auto million = [] {
    limit_memory(1 << 30);
    smelt_scheduler* scheduler = nullptr;
    if (smelt_scheduler_create(4, nullptr, 16384, 0, &scheduler) != 0) _exit(1);
    constexpr int kAll = 1'000'000, kAtATime = 10'000;
    std::vector<smelt_thread*> threads(kAtATime);
    const auto one = [](void* argument) -> void* {
      smelt_thread_yield();
      return argument;
    };
    for (int first = 0; first < kAll; first += kAtATime) {
      for (int i = 0; i < kAtATime; ++i)
        if (smelt_thread_spawn(scheduler, one, &threads[i], SMELT_ANY_WORKER, &threads[i]) != 0) _exit(2);
      for (int i = 0; i < kAtATime; ++i) {
        void* result = nullptr;
        if (smelt_thread_join(threads[i], &result) != 0 || result != &threads[i]) _exit(3);
      }
    }
    smelt_scheduler_counts counts;
    smelt_scheduler_figures(scheduler, &counts);
    smelt_scheduler_free(scheduler);
    if (counts.spawned != kAll || counts.stacks >= 2 * kAtATime) _exit(4);
  };
  EXPECT_EQ(in_child(million), 0);
}

// Without memory for one more, spawn says so, and goes on when others have ended.
TEST_F(Threads, AreRefusedWithoutMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more than any limit";
  const auto rounds = [] {
    limit_memory(512 << 20);
    smelt_scheduler* scheduler = nullptr;
    if (smelt_scheduler_create(1, nullptr, 1 << 20, 0, &scheduler) != 0) _exit(1);
    static smelt_thread* threads[1000];
    const auto one = [](void*) -> void* {
      smelt_thread_wait();
      return nullptr;
    };
    for (int round = 0; round < 3; ++round) {
      int count = 0, error = 0;
      while (count < 1000 && (error = smelt_thread_spawn(scheduler, one, nullptr, 0, &threads[count])) == 0) ++count;
      if (error != -ENOMEM || count < 10) _exit(2);
      for (int i = 0; i < count; ++i) smelt_thread_signal(threads[i]);
      for (int i = 0; i < count; ++i)
        if (smelt_thread_join(threads[i], nullptr) != 0) _exit(3);
    }
    smelt_scheduler_free(scheduler);
  };
  EXPECT_EQ(in_child(rounds), 0);
}

// So many, all alive at once: how much memory each takes.
long memory_of_each(unsigned workers, int count, size_t stack_bytes) {
  const auto resident = [] {
    long pages = 0, all = 0;
    FILE* file = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(file, "%ld %ld", &all, &pages), 2);
    std::fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
  };
  const long before = resident();
  const Scheduler scheduler = scheduler_of(workers, 0, stack_bytes);
  std::atomic<int> begun{0};
  Body body = [&] {
    begun.fetch_add(1);
    smelt_thread_wait();
  };
  std::vector<smelt_thread*> threads(count);
  int spawned = 0, joined = 0;
  for (smelt_thread*& thread : threads)
    spawned += smelt_thread_spawn(scheduler.get(), call, &body, SMELT_ANY_WORKER, &thread) == 0;
  EXPECT_EQ(spawned, count);
  while (begun.load() < spawned) std::this_thread::yield();
  const long each = (resident() - before) / count;
  for (smelt_thread* thread : threads) smelt_thread_signal(thread);
  for (smelt_thread* thread : threads) joined += smelt_thread_join(thread, nullptr) == 0;
  EXPECT_EQ(joined, count);
  return each;
}

// They take a page or so each, whatever their stacks' size.
TEST_F(Threads, TakeMemoryAsTheyTouchIt) {
  if (kSanitized) GTEST_SKIP() << "shadow memory counts";
  EXPECT_LT(memory_of_each(2, 20'000, 1 << 20), 3 * sysconf(_SC_PAGESIZE));
}

#if defined(__SANITIZE_ADDRESS__)
// What is mapped next where stacks were is not forbidden for what lay there.
TEST_F(Threads, LeaveNoForbiddenMemory) {
  uintptr_t where = 0;
  run_one(scheduler_of(1), [&where] {
    char here = 0;
    where = reinterpret_cast<uintptr_t>(&here);
    smelt_thread_yield();
  });
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(__asan_region_is_poisoned(reinterpret_cast<void*>(where / page * page), page), nullptr);
}
#endif

// ./check --full's. What page tables take is not counted, but must be there, too.
TEST_F(Threads, DISABLED_AMillionAtOnce) {
  if (kSanitized) GTEST_SKIP() << "shadow memory counts";
  long available = 0;  // KiB
  FILE* file = std::fopen("/proc/meminfo", "r");
  char line[128];
  while (file && std::fgets(line, sizeof line, file)) std::sscanf(line, "MemAvailable: %ld", &available);
  if (file) std::fclose(file);
  if (available < 6L << 20) GTEST_SKIP() << "6 GiB of memory are not to be had";
  EXPECT_LT(memory_of_each(4, 1'000'000, 0), sysconf(_SC_PAGESIZE) * 5 / 4);
}

// --- the end of the stack

constexpr int kNotHere = 77;  // a child's exit status

[[gnu::noinline]] int dig(int depth) {
  volatile char room[512];
  room[0] = static_cast<char>(depth);
  return depth == 0 ? room[0] : dig(depth - 1) + room[0];
}

// As with a kernel before 6.13, for the rest of this process: guards cannot be marked, and split mappings.
void refuse_marks() {
  constexpr uint32_t kGuardInstall = 102;
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_madvise, 0, 3),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kGuardInstall, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(kNotHere);
}

struct Overflow {
  int depth = 1000;  // 0: the signal comes from elsewhere
  bool own_handler = false, older_kernel = false;
  unsigned flags = 0;
};

// What a child that overflows a stack says, and how it ends.
std::string overflow(const Overflow& how, int* status) {
  int pipe_end[2];
  EXPECT_EQ(pipe(pipe_end), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_end[1], 2);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (how.older_kernel) refuse_marks();
    if (how.own_handler) {
      struct sigaction action {};
      action.sa_handler = [](int) { _exit(7); };
      action.sa_flags = SA_ONSTACK;
      sigaction(SIGSEGV, &action, nullptr);
    }
    smelt_scheduler* scheduler = nullptr;
    if (smelt_scheduler_create(2, nullptr, 32768, how.flags, &scheduler) != 0) _exit(kNotHere);
    Body body = [&how] {
      if (how.depth > 0) {
        dig(how.depth);
      } else {
        raise(SIGSEGV);
      }
    };
    smelt_thread* thread = nullptr;
    if (smelt_thread_spawn(scheduler, call, &body, 0, &thread) != 0) _exit(2);
    smelt_thread_join(thread, nullptr);
    smelt_scheduler_free(scheduler);
    _exit(0);
  }
  close(pipe_end[1]);
  std::string said;
  char text[256];
  for (ssize_t got; (got = read(pipe_end[0], text, sizeof text)) > 0;) said.append(text, static_cast<size_t>(got));
  close(pipe_end[0]);
  *status = ended(child);
  return said;
}

TEST_F(Threads, ThatOverflowTheirStackSaySo) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a handler";
  int status;
  for (const Overflow& how : {Overflow{}, Overflow{.older_kernel = true}, Overflow{.flags = SMELT_OWN_TLS}}) {
    const std::string said = overflow(how, &status);
    if (status == kNotHere && (how.older_kernel || how.flags != 0)) continue;
    EXPECT_EQ(status, 1000 + SIGSEGV);
    EXPECT_EQ(said,
              "smelt: a user-level thread ran over the end of its stack of 32768 bytes: give smelt_scheduler_create "
              "more\n");
  }
  EXPECT_EQ(overflow({.depth = 40}, &status), "");
  EXPECT_EQ(status, 0);
  // Another SIGSEGV, and a program with a handler of its own, are none of our business.
  EXPECT_EQ(overflow({.depth = 0}, &status), "");
  EXPECT_EQ(status, 1000 + SIGSEGV);
  EXPECT_EQ(overflow({.own_handler = true}, &status), "");
  EXPECT_EQ(status, 7);
}

// So many threads at once: how many of their stacks had no guard when they had all begun to be.
uint64_t unguarded(smelt_scheduler* scheduler, size_t count, const std::function<void()>& meanwhile) {
  std::vector<smelt_thread*> threads(count);
  const auto one = [](void*) -> void* { return smelt_thread_wait(), nullptr; };
  for (smelt_thread*& thread : threads)
    if (smelt_thread_spawn(scheduler, one, nullptr, SMELT_ANY_WORKER, &thread) != 0) _exit(2);
  smelt_scheduler_counts counts;
  smelt_scheduler_figures(scheduler, &counts);
  meanwhile();
  for (smelt_thread* thread : threads) smelt_thread_signal(thread);
  for (smelt_thread* thread : threads)
    if (smelt_thread_join(thread, nullptr) != 0) _exit(3);
  return counts.unguarded;
}

// Where guards split mappings, there are not enough of these for all, whichever scheduler's they are. Nobody's work is
// hindered, and who comes when they are gone has guards again.
TEST_F(Threads, HaveGuardsAsLongAsThereAreMappings) {
  if (kSanitized) GTEST_SKIP() << "sanitizers want mappings themselves";
  const int how = in_child([] {
    long limit = 0;
    FILE* file = std::fopen("/proc/sys/vm/max_map_count", "r");
    if (!file || std::fscanf(file, "%ld", &limit) != 1) _exit(4);
    refuse_marks();
    constexpr size_t kStack = 16384;
    const bool enough = limit >= 80'000;
    {
      const Scheduler first = scheduler_of(2, 0, kStack), second = scheduler_of(2, 0, kStack);
      uint64_t others = 0;
      const uint64_t own = unguarded(first.get(), 12'000, [&] { others = unguarded(second.get(), 8'000, [] {}); });
      if ((own + others > 0) == enough || own + others >= 15'000) _exit(5);
    }
    if (limit >= 40'000 && unguarded(scheduler_of(1, 0, kStack).get(), 1'000, [] {}) != 0) _exit(6);
  });
  if (how == kNotHere) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(how, 0);
}

// Whose handler gets a SIGSEGV.
void* handler() {
  struct sigaction now {};
  sigaction(SIGSEGV, nullptr, &now);
  return reinterpret_cast<void*>(now.sa_sigaction);
}

TEST_F(Threads, LeaveNoHandlerBehind) {
  void* const before = handler();
  void* during = nullptr;
  {
    const Scheduler scheduler = scheduler_of(1), another = scheduler_of(1);
    during = handler();
  }
  EXPECT_EQ(during != before, !kSanitized);
  EXPECT_EQ(handler(), before);
}

// --- fork

TEST_F(Threads, ThatForkGoOnAloneInTheChild) {
  if (kSanitized) GTEST_SKIP() << "fork with threads";
  void* const before = handler();
  for (const unsigned flags : {0, int{SMELT_OWN_TLS}}) {
    smelt_scheduler* made = nullptr;
    const int error = smelt_scheduler_create(2, nullptr, 0, flags, &made);
    if (error == -ENOTSUP) GTEST_SKIP() << "no variables of their own on this machine";
    ASSERT_EQ(error, 0);
    const Scheduler scheduler(made);
    std::vector<Body> bodies;
    std::atomic<bool> over{false};
    bodies.emplace_back([&] {
      while (!over.load()) smelt_thread_yield();
    });
    bodies.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const pid_t child = fork();
        if (child == 0) {
          smelt_thread* thread = nullptr;
          Body nothing = [] {};
          smelt_thread_yield();
          if (smelt_thread_self() || smelt_thread_wait() != -EPERM) _exit(1);
          if (smelt_thread_spawn(scheduler.get(), call, &nothing, 0, &thread) != -ENOTSUP) _exit(2);
          smelt_scheduler_free(scheduler.get());
          // Nothing here is watched any more.
          if (handler() != before) _exit(6);
          if (i < 5) {  // one of its own
            smelt_scheduler* own = nullptr;
            bool ran = false;
            Body body = [&] {
              smelt_thread_yield();
              ran = true;
            };
            if (smelt_scheduler_create(1, nullptr, 0, 0, &own) != 0) _exit(3);
            if (smelt_thread_spawn(own, call, &body, 0, &thread) != 0) _exit(4);
            if (handler() == before) _exit(7);
            if (smelt_thread_join(thread, nullptr) != 0 || !ran) _exit(5);
            smelt_scheduler_free(own);
            if (handler() != before) _exit(8);
          }
          if (i % 2 == 0 || flags != 0) _exit(0);
          return;  // the last thread of the child ends, and with it the child, as with pthreads
        }
        const int how = ended(child);
        EXPECT_EQ(how, 0);
        if (how != 0) break;
        smelt_thread_yield();
      }
      over.store(true);
    });
    run_all(scheduler, bodies);
  }
}

}  // namespace
}  // namespace smelt::test
