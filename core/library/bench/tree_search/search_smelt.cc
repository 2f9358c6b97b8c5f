// The search by user-level threads: two processes, a worker each.   tree_search_smelt [--threads 64] [--roots 2000]
#include <chrono>

#include "library/bench/waiting_threads/user_threads.h"
#include "main.h"

int main(int count, char** words) {
  using namespace smelt::tree_search;
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
  return smelt::waiting_threads::in_two_processes([&](smelt::waiting_threads::UserThreads* threads, unsigned me) {
    const auto start = Clock::now();
    const uint64_t nodes = Search(options.tree, threads, options.explorers).count(me == 0);
    if (me == 0) print_result("user-level threads", nodes, seconds(start));
  });
}
