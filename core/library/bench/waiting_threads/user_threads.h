// Two processes of user-level threads, a worker each, that talk to each other: what programs that can be run by these
// or by kernel threads under MPI (kernel_threads.h) are given. A struct of both has
//
//   Lock                                         lock(), unlock()
//   run(count, body)                             body(0) to body(count - 1), until all have returned
//   yield()
//   send(key, data, bytes), receive(key, data, room)   to and from the other process; receive says how many came
#pragma once

#include <fmt/format.h>
#include <smelt/message.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <smelt/thread.hpp>
#include <vector>

#include "bench/allowed_cpus.h"

namespace smelt::waiting_threads {

[[noreturn]] inline void give_up(const char* what) {
  fmt::print(stderr, "{}\n", what);
  _exit(1);
}

// The first for one process and the last for the other.
inline unsigned cpu_of(unsigned me) {
  const std::vector<uint32_t> cpus = allowed_cpus();
  if (cpus.empty()) give_up("no CPU");
  return me == 0 ? cpus.front() : cpus.back();
}

// One worker: nobody runs between a lock and its unlock but its holder.
struct UserThreads {
  struct Lock {
    void lock() {}
    void unlock() {}
  };
  Scheduler scheduler;
  smelt_messages* messages = nullptr;
  unsigned other;

  UserThreads(smelt_endpoint* endpoint, unsigned me) : other(1 - me) {
    const unsigned cpu = cpu_of(me);
    if (Scheduler::create(scheduler, std::span(&cpu, 1)) != 0) give_up("no scheduler");
    if (smelt_messages_open(scheduler.get(), endpoint, 0, &messages) != 0) give_up("no messages");
  }
  ~UserThreads() { smelt_messages_close(messages); }
  UserThreads(const UserThreads&) = delete;
  UserThreads& operator=(const UserThreads&) = delete;

  void run(int count, const std::function<void(int)>& body) {
    std::vector<Thread> threads(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i)
      if (scheduler.spawn([&body, i] { body(i); }, threads[static_cast<size_t>(i)]) != 0) give_up("no thread");
  }
  void yield() { smelt_thread_yield(); }
  void send(int key, const void* data, size_t bytes) {
    if (smelt_message_send(messages, other, key, data, bytes) != 0) give_up("a message could not be sent");
  }
  size_t receive(int key, void* data, size_t room) {
    uint64_t bytes = 0;
    if (smelt_message_receive(messages, other, key, data, room, &bytes) != 0) give_up("the other process has died");
    return bytes;
  }
};

// body(threads, 0) here, and body(threads, 1) in another process. The exit status: 1 where one of them has failed.
inline int in_two_processes(const std::function<void(UserThreads*, unsigned)>& body) {
  smelt_endpoint_ticket ticket;
  smelt_endpoint* endpoint = nullptr;
  if (smelt_endpoint_offer(2, &ticket, &endpoint) != 0) give_up("no shared memory");
  int joined[2];  // nobody sends before both have: the child says so
  const pid_t child = pipe(joined) == 0 ? fork() : -1;
  if (child < 0) give_up("no process");
  const unsigned me = child == 0;
  if (me == 1) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (smelt_endpoint_join(&ticket, 2, 1, &endpoint) != 0 || write(joined[1], "", 1) != 1) give_up("no endpoint");
  } else {
    close(joined[1]);
    char byte;
    if (read(joined[0], &byte, 1) != 1) give_up("the other process has died");
  }
  {
    UserThreads threads(endpoint, me);
    body(&threads, me);
  }
  smelt_endpoint_leave(endpoint, 1);
  std::fflush(stdout);
  if (me == 1) _exit(0);
  int how = 0;
  return waitpid(child, &how, 0) == child && how == 0 ? 0 : 1;
}

}  // namespace smelt::waiting_threads
