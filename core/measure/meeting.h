// The meeting of forked processes before they are a group (smelt/group.h): a shared page over which a host's two slow
// collectives go. The calibration and the tests of groups both bring their processes together here.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include <pthread.h>
#include <sys/mman.h>

#include <smelt/group.h>

namespace smelt {

// Everybody meets, one writes, everybody reads, everybody meets.
struct Meeting {
  static constexpr int kValues = 16;  // of one minimum
  pthread_barrier_t barrier;
  char data[1024];
  std::atomic<int64_t> values[kValues];
  struct {
    int32_t process;
    uint64_t address;
  } probe[SMELT_MAX_PARTICIPANTS];

  // It must be called before the processes are forked; nullptr without memory.
  static Meeting* open(unsigned n) {
    void* memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* meeting = static_cast<Meeting*>(memory);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&meeting->barrier, &attributes, n);
    pthread_barrierattr_destroy(&attributes);
    return meeting;
  }
  void meet() { pthread_barrier_wait(&barrier); }
};

// A process's place in it, and the context of the host's functions: a MeetingRank*.
struct MeetingRank {
  Meeting* meeting = nullptr;
  unsigned n = 0, me = 0;
};

inline int host_broadcast(void* context, void* data, size_t bytes) {
  const auto* rank = static_cast<const MeetingRank*>(context);
  if (bytes > sizeof rank->meeting->data) return -1;
  if (rank->me == 0) std::memcpy(rank->meeting->data, data, bytes);
  rank->meeting->meet();
  if (rank->me != 0) std::memcpy(data, rank->meeting->data, bytes);
  rank->meeting->meet();
  return 0;
}

inline int host_minimum(void* context, int64_t* values, int count) {
  const auto* rank = static_cast<const MeetingRank*>(context);
  Meeting& meeting = *rank->meeting;
  if (count > Meeting::kValues) return -1;
  for (int i = 0; i < count && rank->me == 0; ++i) meeting.values[i] = INT64_MAX;
  meeting.meet();
  for (int i = 0; i < count; ++i) {
    int64_t seen = meeting.values[i];
    while (values[i] < seen && !meeting.values[i].compare_exchange_weak(seen, values[i])) {
    }
  }
  meeting.meet();
  for (int i = 0; i < count; ++i) values[i] = meeting.values[i];
  meeting.meet();  // nobody begins another one before all have read
  return 0;
}

inline smelt_host host_of_rank(MeetingRank* rank) {
  smelt_host host{};
  host.context = rank;
  host.broadcast = host_broadcast;
  host.minimum = host_minimum;
  host.local_processes = rank->n;
  return host;
}

}  // namespace smelt
