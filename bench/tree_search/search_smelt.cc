// The search by user-level threads: two processes, a worker each.   tree_search_smelt [--threads 64] [--roots 2000]
#include <smelt/message.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <smelt/thread.hpp>

#include "base/os/os.h"
#include "main.h"

namespace {

using namespace smelt::tree_search;

[[noreturn]] void give_up(const char* what) {
  fmt::print(stderr, "tree_search_smelt: {}\n", what);
  _exit(1);
}

// The first for one process and the last for the other.
unsigned cpu_of(unsigned me) {
  std::vector<uint32_t> cpus(smelt::os::allowed_cpus());
  cpus.resize(smelt::os::allowed_cpu_list(cpus.data(), static_cast<uint32_t>(cpus.size())));
  if (cpus.empty()) give_up("no CPU");
  return me == 0 ? cpus.front() : cpus.back();
}

// One worker: nobody runs between a lock and its unlock but who has it.
struct UserThreads {
  struct Lock {
    void lock() {}
    void unlock() {}
  };
  smelt::Scheduler scheduler;
  smelt_messages* messages = nullptr;
  unsigned other;

  UserThreads(smelt_endpoint* endpoint, unsigned me) : other(1 - me) {
    const unsigned cpu = cpu_of(me);
    if (smelt::Scheduler::create(scheduler, std::span(&cpu, 1)) != 0) give_up("no scheduler");
    if (smelt_messages_open(scheduler.get(), endpoint, 0, &messages) != 0) give_up("no messages");
  }
  ~UserThreads() { smelt_messages_close(messages); }
  void run(int count, const std::function<void(int)>& body) {
    std::vector<smelt::Thread> threads(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i)
      if (scheduler.spawn([&body, i] { body(i); }, threads[static_cast<size_t>(i)]) != 0) give_up("no thread");
  }
  void yield() { smelt_thread_yield(); }
  void send(int key, const void* data, size_t bytes) {
    if (smelt_message_send(messages, other, key, data, bytes) != 0) give_up("a message could not be sent");
  }
  void receive(int key, void* data, size_t bytes) {
    if (smelt_message_receive(messages, other, key, data, bytes, nullptr) != 0) give_up("the other process has died");
  }
};

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!read_options(count, words, &options)) return 2;
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  if (options.alone) {
    const auto start = Clock::now();
    const uint64_t nodes = count_alone(options.tree);
    print_result("alone", nodes, seconds(start));
    return 0;
  }
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
  const auto start = Clock::now();
  {
    UserThreads threads(endpoint, me);
    const uint64_t nodes = Search(options.tree, &threads, options.explorers).count(me == 0);
    if (me == 0) print_result("user-level threads", nodes, seconds(start));
  }
  smelt_endpoint_leave(endpoint, 1);
  if (me == 1) _exit(0);
  int how = 0;
  return waitpid(child, &how, 0) == child && how == 0 ? 0 : 1;
}
