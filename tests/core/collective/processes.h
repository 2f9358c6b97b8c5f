// Real processes that form groups: forked, with a host whose two slow collectives go over a shared page.
#pragma once

#include <smelt/group.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace smelt::test {

// The shared page of a host's own collectives: everybody meets, one writes, everybody reads, everybody meets.
struct Meeting {
  static constexpr int kValues = 128;
  pthread_barrier_t barrier;
  char data[1024];
  std::atomic<int64_t> values[kValues];

  static Meeting* create(unsigned n) {
    void* memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* meeting = static_cast<Meeting*>(memory);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&meeting->barrier, &attributes, n);
    return meeting;
  }
  void meet() { pthread_barrier_wait(&barrier); }
};

struct Seat {
  Meeting* meeting = nullptr;
  unsigned n = 0, me = 0;
  uint64_t progress_calls = 0;
};

inline int host_broadcast(void* context, void* data, size_t bytes) {
  auto* seat = static_cast<Seat*>(context);
  if (seat->me == 0) std::memcpy(seat->meeting->data, data, bytes);
  seat->meeting->meet();
  if (seat->me != 0) std::memcpy(data, seat->meeting->data, bytes);
  seat->meeting->meet();
  return 0;
}

inline int host_minimum(void* context, int64_t* values, int count) {
  auto* seat = static_cast<Seat*>(context);
  for (int i = 0; i < count; ++i)
    if (seat->me == 0) seat->meeting->values[i] = INT64_MAX;
  seat->meeting->meet();
  for (int i = 0; i < count; ++i) {
    int64_t seen = seat->meeting->values[i];
    while (values[i] < seen && !seat->meeting->values[i].compare_exchange_weak(seen, values[i])) {
    }
  }
  seat->meeting->meet();
  for (int i = 0; i < count; ++i) values[i] = seat->meeting->values[i];
  seat->meeting->meet();
  return 0;
}

inline smelt_host host_of(Seat* seat) {
  smelt_host host{};
  host.context = seat;
  host.progress = [](void* context) { ++static_cast<Seat*>(context)->progress_calls; };
  host.broadcast = host_broadcast;
  host.minimum = host_minimum;
  host.local_processes = seat->n;
  return host;
}

// Runs `body` in n processes; it returns 0 for success. The number of processes that failed, by exit status or signal.
inline int run_processes(unsigned n, const std::function<int(Seat&)>& body, unsigned timeout_s = 120) {
  Meeting* meeting = Meeting::create(n);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < n; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(timeout_s);
      Seat seat{meeting, n, i};
      const int result = body(seat);
      std::fflush(nullptr);
      _exit(result == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  munmap(meeting, sizeof *meeting);
  return failed;
}

}  // namespace smelt::test
