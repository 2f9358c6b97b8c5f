// The search by user-level threads: two processes, a worker each.   breadth_first_smelt [--threads 64] [--scale 18]
#include "search.h"

#include <chrono>

#include "library/bench/waiting_threads/user_threads.h"
#include "main.h"

int main(int count, char** words) {
  using namespace smelt::breadth_first;
  using smelt::waiting_threads::UserThreads;
  Options options;
  if (!read_options(count, words, &options)) return 2;
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  std::vector<double> seconds;
  Found found;
  if (options.alone) {
    const Part all(options.shape, 0, 1);
    for (int round = 0; round < options.rounds; ++round) {
      const double begin = now();
      found = search_alone(all, root_of(options.shape));
      seconds.push_back(now() - begin);
    }
    print_result("alone", found, seconds);
    return 0;
  }
  return smelt::waiting_threads::in_two_processes([&](UserThreads* threads, unsigned me) {
    const Part part(options.shape, me, 2);
    for (int round = 0; round < options.rounds; ++round) {
      Search search(part, me, threads, options.searchers, options.receivers);
      threads->run(1, [&](int) {  // both begin at the same time
        threads->send(kTotalsKey, nullptr, 0);
        threads->receive(kTotalsKey, nullptr, 0);
      });
      const double begin = now();
      found = search.search(root_of(options.shape));
      seconds.push_back(now() - begin);
    }
    if (me == 0) print_result("user-level threads", found, seconds);
  });
}
