// Membarrier that worked and is refused later: a program that filters its own system calls, in a process of its own
// here, for a filter is for good.
#include <gtest/gtest.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>

#include "base/options.h"
#include "base/os/os.h"
#include "policy/wait.h"

using namespace smelt;

namespace {

// What happens to membarrier from now on, in all threads: a SECCOMP_RET_... . What seccomp() returned.
long filter_membarrier(uint32_t action, unsigned flags) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof code / sizeof *code, code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

enum : int { kRight = 0, kNoFilter = 77 };

// Runs `body` in a child, which is killed if it does not end: what a lost wake-up looks like.
template <typename Body>
void in_a_child(Body body) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    ::_exit(body());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status)
                                    << (WTERMSIG(status) == SIGALRM ? ": the sleeper was never woken" : "");
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "no membarrier here, or no filters are permitted";
  EXPECT_EQ(WEXITSTATUS(status), kRight) << "the line that failed";
}
#define RIGHT(condition)                         \
  do                                             \
    if (!(condition)) return __LINE__ % 200 + 1; \
  while (0)

struct Sleeper {
  explicit Sleeper(uint64_t awaited) : epoch(awaited) {
    const uint64_t sleeps_before = sleeps();
    policy.spin_ns = 1000;
    pthread_create(
        &thread, nullptr,
        [](void* self) -> void* {
          auto& s = *static_cast<Sleeper*>(self);
          if (!wait_briefly(s.line.epoch, s.epoch, s.policy)) wait_slowly(s.line, s.epoch, nullptr, s.policy);
          return nullptr;
        },
        this);
    // Asleep, or just about to be: counted on the way into the kernel.
    while (sleeps() == sleeps_before) os::yield_cpu();
    ::usleep(20'000);
  }
  void join() { pthread_join(thread, nullptr); }

  Line line;
  WaitPolicy policy;  // unfenced
  uint64_t epoch;
  pthread_t thread;
};

int sleeps_before_and_after(uint32_t action) {
  const uint64_t before = sleeps();
  Sleeper first(1);
  post(first.line, 1, first.policy.order);
  first.join();
  RIGHT(sleeps() > before);
  if (!os::process_barrier()) return kNoFilter;
  RIGHT(wait_policy(false, 1).order == PostOrder::kUnfenced);

  // The thread that sleeps comes before the filter, which is for all threads.
  if (filter_membarrier(action, SECCOMP_FILTER_FLAG_TSYNC) != 0) return kNoFilter;
  Sleeper second(1);
  // What a writer does whose look at the bell came before its store: the order that the sleeper's membarrier would have
  // kept.
  second.line.epoch.store(1, std::memory_order_release);
  second.join();
  RIGHT(!os::process_barrier());
  RIGHT(os::process_barrier_refused());
  RIGHT(wait_policy(false, 1).order == PostOrder::kFenced);
  return kRight;
}

TEST(Refused, WithEpermSleepersFindTheEpoch) {
  in_a_child([] { return sleeps_before_and_after(SECCOMP_RET_ERRNO | EPERM); });
}
TEST(Refused, WithEnosysSleepersFindTheEpoch) {
  in_a_child([] { return sleeps_before_and_after(SECCOMP_RET_ERRNO | ENOSYS); });
}

// A restart from a checkpoint: the new address space is not registered. The filter asks us what the kernel is to say,
// and the first call is answered as there.
struct Kernel {
  int listener;
  int asked[8];
  int count = 0;
};

TEST(Refused, ALostRegistrationIsMadeAgain) {
  in_a_child([] {
    if (!os::process_barrier()) return +kNoFilter;
    static Kernel kernel;
    kernel.listener = static_cast<int>(filter_membarrier(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER));
    if (kernel.listener < 0) return +kNoFilter;
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          while (kernel.count < 3) {
            seccomp_notif call{};
            if (::ioctl(kernel.listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return nullptr;
            const bool lost = kernel.count == 0;
            kernel.asked[kernel.count++] = static_cast<int>(call.data.args[0]);
            seccomp_notif_resp answer{call.id, 0, lost ? -EPERM : 0,
                                      lost ? 0u : static_cast<uint32_t>(SECCOMP_USER_NOTIF_FLAG_CONTINUE)};
            ::ioctl(kernel.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
          }
          return nullptr;
        },
        nullptr);
    RIGHT(os::process_barrier());
    pthread_join(thread, nullptr);
    RIGHT(kernel.asked[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    RIGHT(kernel.asked[1] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    RIGHT(kernel.asked[2] == MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    RIGHT(!os::process_barrier_refused());
    return +kRight;
  });
}

}  // namespace
