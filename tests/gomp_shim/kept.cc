// Regions inside regions that repeat, each checked against what OpenMP says they see. Under the shim most of the
// inner ones here are run by teams that are kept; the same checks hold under stock libgomp.
//   kept [rounds [object|key|standard-key|waited-for]]    the last: only what is to be done at a thread's end
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>

#include "check.h"

namespace {

int rounds = 40;

// The calling thread is where it was: in a team of `size`, as `thread`, at `level`.
struct Place {
  int level = omp_get_level(), active = omp_get_active_level(), size = omp_get_num_threads(),
      thread = omp_get_thread_num(), most = omp_get_max_threads();
  bool operator==(const Place&) const = default;
};

// Everything that can be asked, in a team of `size` whose maker stood at `around`.
void ask(const Place& around, int size) {
  const int me = omp_get_thread_num(), level = around.level + 1;
  CHECK(omp_get_level() == level && omp_get_active_level() == around.active + (size > 1));
  CHECK(omp_get_num_threads() == size && me >= 0 && me < size && omp_in_parallel());
  CHECK(omp_get_ancestor_thread_num(level) == me && omp_get_team_size(level) == size);
  CHECK(omp_get_ancestor_thread_num(level - 1) == around.thread && omp_get_team_size(level - 1) == around.size);
  CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_team_size(0) == 1);
  CHECK(omp_get_ancestor_thread_num(level + 1) == -1);
}

// All constructs in one region of `size`.
void constructs(int size, int round) {
  const Place around;
  int hits[64] = {}, seen[16] = {}, sections[3] = {}, dynamic[64] = {};
  long sum = 0, most = 0;
  int ordered = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum) reduction(max : most)
  {
    const int me = omp_get_thread_num();
    ask(around, size);
    ++seen[me];
    sum += me + 1;
    most = round + me;
#pragma omp for
    for (int i = 0; i < 64; ++i) ++hits[i];
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 64; ++i) dynamic[i] += hits[i];
    int told = -1;
#pragma omp single copyprivate(told)
    told = round;
    CHECK(told == round);
#pragma omp sections
    {
#pragma omp section
      ++sections[0];
#pragma omp section
      ++sections[1];
#pragma omp section
      ++sections[2];
    }
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 8; ++i) {
#pragma omp ordered
      {
        CHECK(ordered == i);
        ++ordered;
      }
    }
    if (me == round % size) {
      bool caught = false;
      try {
        throw round;
      } catch (int what) {
        caught = what == round;
      }
      CHECK(caught);
    }
#pragma omp barrier
    for (int i = 0; i < size; ++i) CHECK(seen[i] == 1);
    for (int i = 0; i < 64; ++i) CHECK(dynamic[i] == 1);
  }
  CHECK(sum == size * (size + 1) / 2 && most == round + size - 1 && ordered == 8);
  for (const int section : sections) CHECK(section == 1);
  CHECK(Place() == around);
  // A combined loop, and the team around is where it was in its own loops.
  int combined[40] = {};
#pragma omp parallel for num_threads(size) schedule(dynamic, 2)
  for (int i = 0; i < 40; ++i) ++combined[i];
  for (const int hit : combined) CHECK(hit == 1);
  CHECK(Place() == around);
}

// outer x inner, with worksharing in the team around between its inner regions.
void two_levels(int outer, int inner) {
  const Place around;
  int singles = 0, loops = 0;
#pragma omp parallel num_threads(outer) reduction(+ : singles, loops)
  {
    ask(around, outer);
    for (int round = 0; round < rounds; ++round) {
      constructs(inner, round);
#pragma omp single nowait
      ++singles;
#pragma omp for schedule(dynamic, 1)
      for (int i = 0; i < 5; ++i) {
        ++loops;
        if (round % 4 == 3) constructs(inner, i);  // in the middle of a loop of the team around
      }
    }
  }
  CHECK(singles == rounds && loops == 5 * rounds);
}

// Outer regions of their own for every inner one.
void many_outer(int outer, int inner, int count) {
  for (int i = 0; i < count; ++i) {
#pragma omp parallel num_threads(outer)
    constructs(inner, i);
  }
}

void three_levels(int a, int b, int c) {
#pragma omp parallel num_threads(a)
  for (int i = 0; i < rounds / 2; ++i) {
    const Place around;
#pragma omp parallel num_threads(b)
    {
      ask(around, b);
      for (int k = 0; k < 3; ++k) constructs(c, k);
    }
  }
}

void changing_sizes() {
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 3 * rounds; ++i) {
    constructs(1 + i % 3, i);
    if (i % 5 == 0) constructs(2, i);
  }
  for (int i = 0; i < rounds; ++i) {  // the team around changes, too
#pragma omp parallel num_threads(2 + i / 10 % 2)
    constructs(2, i);
  }
}

// A setting reaches the regions of the thread that made it, from then on, and no others.
void settings() {
#pragma omp parallel num_threads(2)
  {
    const int me = omp_get_thread_num();
    for (int i = 0; i < 2 * rounds; ++i) {
      const int size = 2 + (me == 1 ? i / 20 % 2 : 0), chunk = 1 + i / 16 + me;
      if (i % 20 == 0) omp_set_num_threads(size);
      omp_set_schedule(omp_sched_guided, chunk);
#pragma omp parallel
      {
        CHECK(omp_get_num_threads() == size);
        omp_sched_t kind;
        int seen = 0;
        omp_get_schedule(&kind, &seen);
        CHECK(kind == omp_sched_guided && seen == chunk && omp_get_max_threads() == size);
        if (i % 7 == 3 && omp_get_thread_num() == 1) omp_set_num_threads(9);  // this region's alone
        if (i % 7 == 5 && omp_get_thread_num() == 0) omp_set_schedule(omp_sched_static, 77);
      }
      CHECK(omp_get_max_threads() == size);
    }
  }
  // Levels: at most one is active, and then more again.
  for (int most = 1; most <= 2; ++most)
    for (int i = 0; i < 12; ++i) {
      omp_set_max_active_levels(most);
#pragma omp parallel num_threads(2)
      for (int k = 0; k < 12; ++k) {
#pragma omp parallel num_threads(2)
        CHECK(omp_get_num_threads() == most && omp_get_level() == 2);
      }
    }
  omp_set_max_active_levels(4);
}

// Regions inside tasks, tasks inside the inner regions, tasks of the team around beside them.
void tasks() {
  for (int i = 0; i < rounds; ++i) {
    int done = 0, inner = 0;
#pragma omp parallel num_threads(2)
    {
      const int me = omp_get_thread_num();
      for (int k = 0; k < 10; ++k) {
#pragma omp parallel num_threads(2) shared(inner)
        {
#pragma omp atomic
          ++inner;
        }
      }
#pragma omp task shared(done, inner)
      {
        omp_set_num_threads(3);
#pragma omp parallel shared(inner)
        {
          CHECK(omp_get_num_threads() == 3 && omp_get_max_threads() == 3);
#pragma omp atomic
          ++inner;
        }
#pragma omp atomic
        ++done;
      }
#pragma omp parallel num_threads(2) shared(done)
      {
        for (int k = 0; k < 5; ++k) {
#pragma omp task shared(done)
          {
#pragma omp atomic
            ++done;
          }
        }
#pragma omp barrier
        CHECK(omp_get_ancestor_thread_num(1) == me);
      }
#pragma omp task if (0) shared(inner)
      {
#pragma omp parallel num_threads(2) shared(inner)
        {
#pragma omp atomic
          ++inner;
        }
      }
    }
    CHECK(done == 2 + 2 * 2 * 5 && inner == 2 * 10 * 2 + 2 * 3 + 2 * 2);
  }
}

int fibonacci(int n) {
  if (n < 2) return n;
  int a = 0, b = 0;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

// Tasks, groups of them and dynamic loops in one region of `size`; what is behind them is checked on the way.
void tasks_and_loops(int size, int round) {
  const Place around;
  int sum = 0, in_tasks = 0, in_group = 0, hits[60] = {};
#pragma omp parallel num_threads(size) shared(sum, in_tasks, in_group, hits)
  {
    ask(around, size);
#pragma omp single nowait
    {
      const int result = fibonacci(8);
      CHECK(result == 21);
#pragma omp atomic
      sum += result;
    }
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < 60; ++i) {
#pragma omp atomic  // others may be in the next loop already
      ++hits[i];
#pragma omp task shared(in_tasks)
      {
        CHECK(omp_get_num_threads() == size && omp_get_ancestor_thread_num(around.level) == around.thread);
#pragma omp atomic
        ++in_tasks;
      }
    }
    int mine = 0;
#pragma omp taskgroup
    for (int i = 0; i < 4; ++i) {
#pragma omp task shared(mine, in_group)
      {
#pragma omp atomic
        ++mine;
#pragma omp atomic
        ++in_group;
      }
    }
    CHECK(mine == 4);
#pragma omp for schedule(runtime)
    for (int i = 0; i < 60; ++i) {
#pragma omp atomic
      hits[i] += 10;
    }
    CHECK(sum == 21 && in_tasks == 60);
    for (const int hit : hits) CHECK(hit == 11);
    if (round % 3 == 1) {
#pragma omp task shared(in_group)  // for the join
      {
#pragma omp atomic
        ++in_group;
      }
    }
  }
  CHECK(in_group == size * (round % 3 == 1 ? 5 : 4));
  CHECK(Place() == around);
}

// Regions with tasks and loops inside tasks, loops and the plain body of a team around.
void all_together(int outer, int inner) {
  int ran = 0, turns = 0;
#pragma omp parallel num_threads(outer) shared(ran, turns)
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 3; ++i) tasks_and_loops(inner, round);
    if (round % 3 == 2) {
#pragma omp for schedule(dynamic) reduction(+ : turns)
      for (int i = 0; i < 5; ++i) {
        tasks_and_loops(inner, i);
        ++turns;
      }
    }
    if (round % 3 == 1) {
#pragma omp single nowait
      for (int i = 0; i < 3; ++i) {
#pragma omp task shared(ran)
        {
          const Place around;
          tasks_and_loops(inner, i);
          CHECK(Place() == around);
#pragma omp atomic
          ++ran;
        }
      }
      for (int i = 0; i < 3; ++i) tasks_and_loops(inner, i);
      const int result = fibonacci(6);
      CHECK(result == 8);
#pragma omp barrier
    }
  }
  CHECK(ran == 3 * ((rounds + 1) / 3) && turns == 5 * (rounds / 3));
}

int threads_now() {
  int number = 0;
  if (DIR* const tasks = opendir("/proc/self/task")) {
    while (readdir(tasks)) ++number;
    closedir(tasks);
  }
  return number - 2;  // "." and ".."
}

// Wide teams that open regions by turns: stock has one inner team at a time, and ours must not have all of them.
void by_turns(int outer, int inner) {
  const char* const pretended = std::getenv("SMELT_CPUS");
  const int cpus = pretended ? atoi(pretended) : omp_get_num_procs();
  const int most = outer + inner + std::max(32, 2 * cpus);
  int seen = 0;
#pragma omp parallel num_threads(outer) reduction(max : seen)
  for (int turn = 0; turn < outer; ++turn) {
    if (turn == omp_get_thread_num()) {
      for (int i = 0; i < 8; ++i) {
        int ran = 0;
#pragma omp parallel num_threads(inner) reduction(+ : ran)
        ++ran;
        CHECK(ran == inner);
      }
      // Threads of libgomp's that have ended are listed until they have run once more, on a busy machine for a while.
      for (int waits = 0; waits < 5000 && (seen = threads_now()) >= most; ++waits) usleep(1000);
    }
#pragma omp barrier
  }
  CHECK(seen < most);
}

// What an inner thread has to do at its end is done soon after its region.
std::atomic<int> destroyed{0};
struct Counted {
  int uses = 0;
  ~Counted() { destroyed += uses; }
};
thread_local Counted counted;
pthread_key_t key;
tss_t standard_key;

// `use` is called by the second thread of every other inner region; each comes to be one more in `destroyed`.
template <typename Use>
void at_the_end(Use use) {
  destroyed = 0;
  for (int i = 0; i < rounds; ++i) {
#pragma omp parallel num_threads(2)
    for (int k = 0; k < 4; ++k) {
#pragma omp parallel num_threads(2)
      if (omp_get_thread_num() == 1 && k % 2 == 0) use();
    }
  }
  for (int waits = 0; destroyed < 4 * rounds && waits < 60000; ++waits) usleep(1000);
  CHECK(destroyed == 4 * rounds);
}

void ends(const std::string& what) {
  static int one = 1;
  const auto add = [](void* uses) { destroyed += *static_cast<int*>(uses); };
  if (what == "object") return at_the_end([] { ++counted.uses; });
  if (what == "key") {
    CHECK(pthread_key_create(&key, add) == 0);
    return at_the_end([] { CHECK(pthread_setspecific(key, &one) == 0); });
  }
  if (what == "standard-key") {
    CHECK(tss_create(&standard_key, add) == thrd_success);
    return at_the_end([] { CHECK(tss_set(standard_key, &one) == thrd_success); });
  }
  CHECK(what == "waited-for");  // by the thread around
  static struct {
    std::mutex mutex;
    std::condition_variable over;
    int done = 0;
  } wait[2];
#pragma omp parallel num_threads(2)
  for (int i = 1; i <= rounds; ++i) {
    auto& mine = wait[omp_get_thread_num()];
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
      std::unique_lock<std::mutex> lock(mine.mutex);
      mine.done = i;
      std::notify_all_at_thread_exit(mine.over, std::move(lock));
    }
    std::unique_lock<std::mutex> lock(mine.mutex);
    mine.over.wait(lock, [&] { return mine.done == i; });
  }
}

void* master(void*) {
  omp_set_max_active_levels(4);
  many_outer(2, 2, 20);
  two_levels(2, 2);
  return nullptr;
}

// Masters that end with everything parked; two at a time.
void masters() {
  for (int i = 0; i < 4; ++i) {
    pthread_t thread[2];
    for (pthread_t& one : thread) CHECK(pthread_create(&one, nullptr, master, nullptr) == 0);
    for (pthread_t& one : thread) CHECK(pthread_join(one, nullptr) == 0);
  }
}

void forks() {
  many_outer(2, 2, 60);
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      if (i == 1) _exit(omp_get_level());
      CHECK(omp_get_level() == 0);
      exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    many_outer(2, 2, 20);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) rounds = atoi(argv[1]);
  omp_set_dynamic(0);
  omp_set_max_active_levels(4);
  if (argc > 2) {  // alone, before anything has ended teams
    ends(argv[2]);
    puts("ok");
    return 0;
  }
  two_levels(2, 2);
  two_levels(4, 2);
  many_outer(2, 2, 3 * rounds);
  many_outer(3, 2, rounds);
  three_levels(2, 3, 2);
  changing_sizes();
  settings();
  tasks();
  all_together(2, 2);
  all_together(3, 2);
  all_together(2, 3);
  by_turns(12, 16);
  masters();
  forks();
  puts("ok");
  return 0;
}
