// User-level threads: no wake-up is lost, none runs twice at once, all get their turn; what is theirs stays theirs.
#include <smelt/thread.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepped.h"
#include "threads.h"

namespace smelt::test {
namespace {

// A sanitizer knows some thousands of threads, and is slow.
constexpr int kFew = kSanitized ? 500 : 5000;

TEST_F(Threads, ReturnWhatTheirFunctionReturns) {
  const Scheduler scheduler = scheduler_of(2);
  smelt_thread* thread = nullptr;
  const auto twice = [](void* argument) -> void* { return static_cast<char*>(argument) + 1; };
  char text[2];
  ASSERT_EQ(smelt_thread_spawn(scheduler.get(), twice, text, 1, &thread), 0);
  void* result = nullptr;
  ASSERT_EQ(smelt_thread_join(thread, &result), 0);
  EXPECT_EQ(result, text + 1);
}

TEST_F(Threads, RefuseWhatIsOutOfRange) {
  smelt_scheduler* none = nullptr;
  EXPECT_EQ(smelt_scheduler_create(SMELT_MAX_WORKERS + 1, nullptr, 0, 0, &none), -EINVAL);
  EXPECT_EQ(smelt_scheduler_create(1, nullptr, 1000, 0, &none), -EINVAL);
  EXPECT_EQ(smelt_scheduler_create(1, nullptr, 0, 4, &none), -EINVAL);
  EXPECT_EQ(smelt_scheduler_create(1, nullptr, 0, 0, nullptr), -EINVAL);
  const unsigned no_such_cpu = 100'000;
  EXPECT_EQ(smelt_scheduler_create(1, &no_such_cpu, 0, 0, &none), -EINVAL);
  EXPECT_EQ(none, nullptr);
  const Scheduler scheduler = scheduler_of(1);
  smelt_thread* thread = nullptr;
  EXPECT_EQ(smelt_thread_spawn(scheduler.get(), call, nullptr, 1, &thread), -EINVAL);
  EXPECT_EQ(smelt_thread_spawn(scheduler.get(), nullptr, nullptr, 0, &thread), -EINVAL);
  EXPECT_EQ(smelt_thread_spawn(nullptr, call, nullptr, 0, &thread), -EINVAL);
  EXPECT_EQ(smelt_thread_wait(), -EPERM);
  EXPECT_EQ(smelt_thread_self(), nullptr);
  EXPECT_EQ(smelt_thread_worker(), -1);
  EXPECT_EQ(smelt_thread_signal(nullptr), -EINVAL);
  EXPECT_EQ(smelt_thread_join(nullptr, nullptr), -EINVAL);
  smelt_thread_yield();
  smelt_scheduler_free(nullptr);
  run_one(scheduler, [] { EXPECT_EQ(smelt_thread_join(smelt_thread_self(), nullptr), -EDEADLK); });
}

// The bound on waiting: of those that may run, all do before one runs again.
TEST_F(Threads, TakeTurns) {
  for (const int count : {1, 2, 63, 64, 65, 511, 513, kSanitized ? 1000 : 3000}) {
    const Scheduler scheduler = scheduler_of(1);
    std::vector<int> rounds(count, 0);
    int arrived = 0;
    std::vector<Body> bodies;
    for (int i = 0; i < count; ++i)
      bodies.emplace_back([&, i] {
        ++arrived;
        while (arrived < count) smelt_thread_yield();  // all are there
        for (int round = 0; round < 20; ++round) {
          ++rounds[i];
          if (i % 61 == 0 && round > 2 && round < 17) {  // nobody is more than a round ahead
            const auto [least, most] = std::minmax_element(rounds.begin(), rounds.end());
            ASSERT_LE(*most - *least, 2) << count << " threads";
          }
          smelt_thread_yield();
        }
      });
    run_all(scheduler, bodies);
  }
}

// The same whatever makes them runnable, spawning, yielding or signals, in any mixture:
// while one waits for its turn, no other has two. One worker, so what the test knows of them is plain.
TEST_F(Threads, WaitForNoOtherToRunTwice) {
  const int count = kSanitized ? 300 : 1500;  // several groups of the vector's
  const int turns = kSanitized ? 30 : 60;
  struct Known {
    smelt_thread* thread = nullptr;
    long since = 0;  // when it became runnable, by the count of what happened; 0: it is not, or it runs
    long ran = 0;    // when it ran last
    bool waits = false;
    int permits = 0;
  };
  std::vector<Known> known(count);
  long now = 0;
  int violations = 0;
  bool over = false;
  uint64_t seed = 1;
  const auto dice = [&seed] { return seed = seed * 6364136223846793005u + 1442695040888963407u, seed >> 33; };
  const auto runs = [&](int me) {
    for (const Known& other : known)
      violations += other.since != 0 && &other != &known[me] && known[me].ran > other.since;
    known[me].since = 0;
    known[me].ran = ++now;
  };
  const auto yields = [&](int me) {
    known[me].since = ++now;
    smelt_thread_yield();
    runs(me);
  };
  const auto waits = [&](int me) {
    if (known[me].permits > 0) {
      --known[me].permits;
      smelt_thread_wait();  // returns at once
      return;
    }
    known[me].waits = true;
    smelt_thread_wait();
    runs(me);
  };
  const auto signals = [&](Known& other) {
    if (other.waits) {
      other.waits = false;
      other.since = ++now;
    } else {
      ++other.permits;
    }
    smelt_thread_signal(other.thread);
  };
  std::vector<Body> bodies;
  for (int i = 1; i < count; ++i)
    bodies.emplace_back([&, i] {
      runs(i);
      while (!over) {
        const uint64_t what = dice() % 8;
        if (what < 4)
          yields(i);
        else if (what < 6)
          signals(known[dice() % static_cast<uint64_t>(count)]);
        else
          waits(i);
      }
    });
  run_one(scheduler_of(1), [&] {
    runs(0);
    known[0].thread = smelt_thread_self();
    for (int i = 1; i < count; ++i) {
      known[i].since = ++now;
      known[i].permits = 0;
      ASSERT_EQ(smelt_thread_spawn(nullptr, call, &bodies[i - 1], 0, &known[i].thread), 0);
    }
    for (int turn = 0; turn < turns; ++turn) {
      for (int i = 0; i < count / 100; ++i) signals(known[dice() % static_cast<uint64_t>(count)]);
      yields(0);  // and never waits, so there is always one that runs
    }
    over = true;
    for (int i = 1; i < count; ++i) signals(known[i]);
    for (int i = 1; i < count; ++i) ASSERT_EQ(smelt_thread_join(known[i].thread, nullptr), 0);
  });
  EXPECT_EQ(violations, 0);
  EXPECT_GT(now, long{count} * turns / 2);
}

// Somebody who yields for ever keeps nobody from running.
TEST_F(Threads, OneThatYieldsForEverKeepsNobodyWaiting) {
  const Scheduler scheduler = scheduler_of(1);
  bool over = false;
  int turns = 0;
  std::vector<Body> bodies;
  bodies.emplace_back([&] {
    while (!over) smelt_thread_yield(), ++turns;
  });
  bodies.emplace_back([&] {
    turns = 0;
    for (int i = 0; i < 1000; ++i) smelt_thread_yield();
    over = true;
  });
  run_all(scheduler, bodies);
  EXPECT_LE(turns, 1002);
}

// Signals are counted, and none is lost: pairs that hand over to each other, with workers that steal and sleep.
void hand_over(unsigned workers, unsigned flags, int pairs, int rounds) {
  const Scheduler scheduler = scheduler_of(workers, flags);
  struct Pair {
    smelt_thread* thread[2];
    int turn = 0;  // plain: signals must order it
    long sum = 0;
  };
  std::vector<Pair> all(pairs);
  std::vector<Body> bodies;
  for (int i = 0; i < 2 * pairs; ++i)
    bodies.emplace_back([&, i, rounds] {
      Pair& pair = all[i / 2];
      for (int round = 0; round < rounds; ++round) {
        ASSERT_EQ(smelt_thread_wait(), 0);
        ASSERT_EQ(pair.turn, i % 2);
        pair.sum += round;
        pair.turn = 1 - i % 2;
        smelt_thread_signal(pair.thread[1 - i % 2]);
      }
    });
  for (int i = 0; i < 2 * pairs; ++i)
    ASSERT_EQ(smelt_thread_spawn(scheduler.get(), call, &bodies[i], SMELT_ANY_WORKER, &all[i / 2].thread[i % 2]), 0);
  for (Pair& pair : all) smelt_thread_signal(pair.thread[0]);
  // The last signal of each pair goes to one that does not wait any more: not before both are joined may one be gone.
  for (Pair& pair : all) ASSERT_EQ(smelt_thread_join(pair.thread[1], nullptr), 0);
  for (Pair& pair : all) ASSERT_EQ(smelt_thread_join(pair.thread[0], nullptr), 0);
  for (const Pair& pair : all) EXPECT_EQ(pair.sum, 2L * rounds * (rounds - 1) / 2);
}

TEST_F(Threads, LoseNoSignal) {
  hand_over(1, 0, 1, kFew);
  hand_over(2, 0, 1, kFew);
  hand_over(4, 0, 3, kFew / 4);
  hand_over(3, SMELT_NO_STEALING, 20, kFew / 50);
  hand_over(4, 0, 300, kFew / 100);
}

// Many signal one, from kernel threads and user-level ones: as many waits end as there were signals.
TEST_F(Threads, CountSignals) {
  constexpr int kSignallers = 6;
  const int each = kFew / 4;
  const Scheduler scheduler = scheduler_of(3);
  smelt_thread* waiter = nullptr;
  std::atomic<int> given{0};
  Body wait = [&] {
    for (int i = 0; i < kSignallers * each; ++i) {
      ASSERT_EQ(smelt_thread_wait(), 0);
      ASSERT_GE(given.load(), i + 1);  // never one that was not given
    }
  };
  ASSERT_EQ(smelt_thread_spawn(scheduler.get(), call, &wait, SMELT_ANY_WORKER, &waiter), 0);
  Body signal = [&] {
    for (int i = 0; i < each; ++i) {
      given.fetch_add(1);
      smelt_thread_signal(waiter);
      if (i % 5 == 0) smelt_thread_yield();
    }
  };
  std::vector<Body> inside(kSignallers / 2, signal);
  std::vector<std::thread> outside;
  for (int i = 0; i < kSignallers / 2; ++i) outside.emplace_back(signal);
  run_all(scheduler, inside);
  for (std::thread& thread : outside) thread.join();
  ASSERT_EQ(smelt_thread_join(waiter, nullptr), 0);
}

// While workers steal from each other, each thread is in one place at a time.
TEST_F(Threads, RunInOnePlaceAtATime) {
  const Scheduler scheduler = scheduler_of(4);
  const int count = kSanitized ? 100 : 500;
  std::vector<int> inside(count, 0);  // plain: a thread's own, whatever worker it is on
  std::vector<std::atomic<int>> guard(count);
  std::vector<smelt_thread*> self(count, nullptr);
  std::atomic<int> moves{0};
  // Not all alike, so that workers run out of threads and come for others'.
  const auto rounds_of = [](int i) { return 30 << i % 8; };
  std::vector<Body> bodies;
  for (int i = 0; i < count; ++i)
    bodies.emplace_back([&, i] {
      self[i] = smelt_thread_self();
      int before = smelt_thread_worker(), round = 0;
      // Rather not before one has moved; but where all workers have threads for good, none does.
      for (; round < rounds_of(i) || (moves.load() == 0 && round < 10 * rounds_of(i)); ++round) {
        ASSERT_EQ(guard[i].fetch_add(1), 0);
        ++inside[i];
        ASSERT_EQ(smelt_thread_self(), self[i]);
        ASSERT_EQ(guard[i].fetch_sub(1), 1);
        if (round % 3 == 0) smelt_thread_signal(smelt_thread_self()), smelt_thread_wait();
        smelt_thread_yield();
        const int now = smelt_thread_worker();
        if (now != before) moves.fetch_add(1);
        before = now;
      }
      EXPECT_EQ(inside[i], round);
    });
  run_all(scheduler, bodies, 0);  // all at one worker: the others must steal
  for (int i = 0; i < count; ++i) EXPECT_GE(inside[i], rounds_of(i));
  smelt_scheduler_counts counts;
  ASSERT_EQ(smelt_scheduler_figures(scheduler.get(), &counts), 0);
  EXPECT_EQ(counts.spawned, uint64_t(count));
  EXPECT_EQ(counts.ended, uint64_t(count));
}

// A worker that is kept busy keeps its threads from nobody: the others come and take them.
TEST_F(Threads, AreTakenFromABusyWorker) {
  const Scheduler scheduler = scheduler_of(2);
  std::atomic<int> others{0};
  Body other = [&] { others.fetch_add(1); };
  run_one(scheduler, [&] {
    for (int i = 0; i < 10; ++i) ASSERT_EQ(smelt_thread_spawn(nullptr, call, &other, SMELT_ANY_WORKER, nullptr), 0);
    while (others.load() < 10) std::this_thread::yield();  // never to the scheduler
  });
}

// The moment between a worker's last look and its sleep is short, so here it is stopped behind each of the last
// instructions on its way there, signalled to, and let go.
TEST_F(Threads, SeeASignalWhereverTheirWorkerIsOnItsWayToSleep) {
  const char* const wait = std::getenv("SMELT_WAIT");
  if (kSanitized || !wait || std::string(wait) != "sleep") GTEST_SKIP() << "a way that is long, or never the same";
  const OnOneCpu here;
  int ask[2], answer[2];
  ASSERT_EQ(pipe(ask) + pipe(answer), 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Scheduler scheduler = scheduler_of(1);
    Body waits = [&] {
      const pid_t worker = let_step() ? gettid() : -1;
      if (write(answer[1], &worker, sizeof worker) < 0) _exit(1);
      for (;;) {
        stop_here();
        smelt_thread_wait();
      }
    };
    smelt_thread* thread = nullptr;
    smelt_thread_spawn(scheduler.get(), call, &waits, 0, &thread);
    for (char word; read(ask[0], &word, 1) == 1 && write(answer[1], &word, 1) == 1;) smelt_thread_signal(thread);
    _exit(0);
  }
  pid_t thread;
  ASSERT_EQ(read(answer[0], &thread, sizeof thread), ssize_t{sizeof thread});
  Stepped worker(thread);
  const bool may = thread > 0 && worker.comes_here();
  const auto lose_no_signal = [&] {
    char word = 0;
    ASSERT_EQ(write(ask[1], &word, 1) + read(answer[0], &word, 1), 2);
    ASSERT_TRUE(worker.run());
  };
  constexpr int kLast = 200;
  int way = 0, stopped = 0, steps = 0;
  for (int time = 0; may && time < 6; ++time) {  // first the loader binds what is called; of the others the shortest
    for (steps = 0; worker.step();) ++steps;
    way = time < 2 ? steps : std::min(way, steps);
    lose_no_signal();
  }
  for (int far = std::max(way - kLast, 0); may && far <= way && !HasFailure(); ++far) {
    SCOPED_TRACE(std::to_string(far) + " instructions of " + std::to_string(way));
    for (steps = 0; steps < far && worker.step();) ++steps;
    stopped += steps == far;
    lose_no_signal();
  }
  EXPECT_TRUE(!may || HasFailure() || stopped >= kLast / 2) << stopped;
  worker.end(child);
  for (const int end : {ask[0], ask[1], answer[0], answer[1]}) close(end);
  if (!may) GTEST_SKIP() << "no process may be stepped here";
}

// Those that do not switch want a worker each: who finds work wakes one more where there is more to do. Spawned from
// outside, and by one of them.
TEST_F(Threads, AllRunWhereThereIsAWorkerForEach) {
  constexpr int kWorkers = 3;
  const Scheduler scheduler = scheduler_of(kWorkers);
  for (int round = 0; round < kFew / 20; ++round) {
    std::atomic<int> there{0};
    const Body stays = [&] {
      there.fetch_add(1);
      while (there.load() < kWorkers) std::this_thread::yield();  // never to the scheduler
    };
    std::vector<Body> bodies(kWorkers, stays);
    if (round % 2 == 0) {
      run_all(scheduler, bodies, round % kWorkers);
    } else {
      run_one(scheduler, [&] {
        smelt_thread* others[kWorkers - 1];
        for (int i = 1; i < kWorkers; ++i)
          ASSERT_EQ(smelt_thread_spawn(nullptr, call, &bodies[i], SMELT_ANY_WORKER, &others[i - 1]), 0);
        stays();
        for (smelt_thread* other : others) ASSERT_EQ(smelt_thread_join(other, nullptr), 0);
      });
    }
  }
}

TEST_F(Threads, StayWithTheirWorkerWhereNobodySteals) {
  const Scheduler scheduler = scheduler_of(3, SMELT_NO_STEALING);
  EXPECT_EQ(smelt_scheduler_workers(scheduler.get()), 3u);
  std::vector<Body> bodies(30, [] {
    for (int round = 0; round < 50; ++round) {
      EXPECT_EQ(smelt_thread_worker(), 2);
      smelt_thread_yield();
    }
  });
  run_all(scheduler, bodies, 2);
  smelt_scheduler_counts counts;
  ASSERT_EQ(smelt_scheduler_figures(scheduler.get(), &counts), 0);
  EXPECT_EQ(counts.stolen, 0u);
}

// A tree of threads, each of which joins its children.
void* tree(void* depth) {
  const size_t left = reinterpret_cast<size_t>(depth);
  if (left == 0) return reinterpret_cast<void*>(size_t{1});
  smelt_thread* child[2];
  size_t sum = 0;
  for (smelt_thread*& each : child)
    if (smelt_thread_spawn(nullptr, tree, reinterpret_cast<void*>(left - 1), SMELT_ANY_WORKER, &each) != 0)
      return nullptr;
  for (smelt_thread* each : child) {
    void* result = nullptr;
    if (smelt_thread_join(each, &result) != 0) return nullptr;
    sum += reinterpret_cast<size_t>(result);
  }
  return reinterpret_cast<void*>(sum);
}

TEST_F(Threads, JoinTheirChildren) {
  for (const unsigned workers : {1u, 4u}) {
    const Scheduler scheduler = scheduler_of(workers);
    const size_t depth = kSanitized ? 8 : 13;
    smelt_thread* root = nullptr;
    ASSERT_EQ(smelt_thread_spawn(scheduler.get(), tree, reinterpret_cast<void*>(depth), SMELT_ANY_WORKER, &root), 0);
    void* result = nullptr;
    ASSERT_EQ(smelt_thread_join(root, &result), 0);
    EXPECT_EQ(reinterpret_cast<size_t>(result), size_t{1} << depth);
  }
}

TEST_F(Threads, AreWaitedForBeforeTheirSchedulerGoes) {
  std::atomic<int> ended{0};
  Body body = [&] {
    for (int i = 0; i < 100; ++i) smelt_thread_yield();
    ended.fetch_add(1);
  };
  {
    const Scheduler scheduler = scheduler_of(2);
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(smelt_thread_spawn(scheduler.get(), call, &body, SMELT_ANY_WORKER, nullptr), 0);
  }
  EXPECT_EQ(ended.load(), 100);
}

TEST_F(Threads, OfTwoSchedulersSignalAndJoinEachOther) {
  const Scheduler one = scheduler_of(1), other = scheduler_of(2);
  run_one(one, [&] {
    smelt_thread* const self = smelt_thread_self();
    Body body = [&] { smelt_thread_signal(self); };
    smelt_thread* thread = nullptr;
    ASSERT_EQ(smelt_thread_spawn(other.get(), call, &body, SMELT_ANY_WORKER, &thread), 0);
    ASSERT_EQ(smelt_thread_wait(), 0);
    ASSERT_EQ(smelt_thread_join(thread, nullptr), 0);
  });
}

// A signaller from outside may be the last to know of the scheduler, which is freed as soon as its threads have ended.
TEST_F(Threads, AndTheirSchedulerMayGoWhileTheLastSignalIsGiven) {
  std::atomic<smelt_thread*> waiter{nullptr};
  std::atomic<bool> over{false};
  std::thread signaller([&] {
    while (!over.load()) {
      if (smelt_thread* const thread = waiter.exchange(nullptr)) smelt_thread_signal(thread);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < kFew / 100; ++i) {
    const Scheduler scheduler = scheduler_of(2);
    smelt_thread* thread = nullptr;
    Body body = [] { smelt_thread_wait(); };
    ASSERT_EQ(smelt_thread_spawn(scheduler.get(), call, &body, SMELT_ANY_WORKER, &thread), 0);
    waiter.store(thread);
    ASSERT_EQ(smelt_thread_join(thread, nullptr), 0);
  }
  over.store(true);
  signaller.join();
}

// --- what is a thread's own

[[gnu::noinline]] int get_errno() {
  asm volatile("" ::: "memory");
  return errno;
}
[[gnu::noinline]] void set_errno(int value) {
  asm volatile("" ::: "memory");
  errno = value;
}

TEST_F(Threads, KeepTheirErrno) {
  const Scheduler scheduler = scheduler_of(3);
  std::vector<Body> bodies;
  for (int i = 0; i < 50; ++i)
    bodies.emplace_back([i] {
      ASSERT_EQ(get_errno(), 0);
      for (int round = 0; round < 100; ++round) {
        set_errno(i + round);
        smelt_thread_yield();
        ASSERT_EQ(get_errno(), i + round);
      }
    });
  run_all(scheduler, bodies);
}

// Exceptions in flight and being handled, with switches in between, in many threads at once.
struct Unwound {
  ~Unwound() {
    smelt_thread_yield();
    if (std::uncaught_exceptions() != 1) std::terminate();
  }
};

TEST_F(Threads, KeepTheirExceptions) {
  for (const unsigned workers : {1u, 3u}) {
    const Scheduler scheduler = scheduler_of(workers);
    std::vector<Body> bodies;
    for (int i = 0; i < 40; ++i)
      bodies.emplace_back([i] {
        for (int round = 0; round < 20; ++round) {
          try {
            const Unwound unwound;
            throw i * 1000 + round;
          } catch (const int& caught) {
            smelt_thread_yield();
            ASSERT_EQ(caught, i * 1000 + round);
            try {
              smelt_thread_yield();
              throw std::string("inner");
            } catch (const std::string& inner) {
              smelt_thread_yield();
              ASSERT_EQ(inner, "inner");
            }
            smelt_thread_yield();
            ASSERT_EQ(std::uncaught_exceptions(), 0);
            try {
              throw;
            } catch (const int& again) {
              ASSERT_EQ(again, caught);
            }
          }
        }
      });
    run_all(scheduler, bodies);
  }
}

thread_local int of_kernel_thread = -1;
[[gnu::noinline]] int& of_this_kernel_thread() {
  asm volatile("" ::: "memory");
  return of_kernel_thread;
}

// thread_local is the worker's, as the header says: threads of one worker see each other's.
TEST_F(Threads, ShareTheirWorkersThreadLocals) {
  const Scheduler scheduler = scheduler_of(2, SMELT_NO_STEALING);
  std::vector<Body> bodies(10, [] {
    of_this_kernel_thread() = smelt_thread_worker();
    smelt_thread_yield();
    EXPECT_EQ(of_this_kernel_thread(), smelt_thread_worker());
  });
  run_all(scheduler, bodies, 0);
  run_all(scheduler, bodies, 1);
  EXPECT_EQ(of_this_kernel_thread(), -1);
}

struct Destroyed {
  std::atomic<int>* count = nullptr;
  int value = 0;
  ~Destroyed() {
    if (count && smelt_thread_self() == nullptr) count->fetch_add(1);
  }
};
thread_local Destroyed of_user_level_thread;
thread_local int with_a_value = 42;

// Inlined or not, on whatever worker: with variables of their own nothing goes astray.
TEST_F(Threads, HaveThreadLocalsOfTheirOwnWhereAskedFor) {
  smelt_scheduler* made = nullptr;
  const int error = smelt_scheduler_create(3, nullptr, 0, SMELT_OWN_TLS, &made);
  if (error == -ENOTSUP) GTEST_SKIP() << "not on this machine, or under a sanitizer";
  ASSERT_EQ(error, 0);
  const Scheduler scheduler(made);
  std::atomic<int> destroyed{0}, there{0};
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }), 0);
  std::mutex mutex;
  std::vector<pthread_t> selves(60);
  std::vector<Body> bodies;
  for (int i = 0; i < 60; ++i)
    bodies.emplace_back([&, i] {
      ASSERT_EQ(with_a_value, 42);
      with_a_value = i;
      errno = i;
      of_user_level_thread.count = &destroyed;
      selves[i] = pthread_self();
      there.fetch_add(1);
      while (there.load() < 60) smelt_thread_yield();  // all at once
      pthread_setspecific(key, &destroyed);
      smelt_thread* const self = smelt_thread_self();
      for (int round = 0; round < 30; ++round) {
        smelt_thread_yield();
        ASSERT_EQ(with_a_value, i);
        ASSERT_EQ(errno, i);
        ASSERT_EQ(smelt_thread_self(), self);
        ASSERT_TRUE(pthread_equal(pthread_self(), selves[i]));
        ++of_user_level_thread.value;
        try {
          throw i;
        } catch (const int& caught) {
          smelt_thread_yield();
          ASSERT_EQ(caught, i);
        }
        errno = i;
        if (mutex.try_lock()) {
          smelt_thread_yield();
          mutex.unlock();
        }
        std::free(std::malloc(100 + round));
      }
      ASSERT_EQ(of_user_level_thread.value, 30);
    });
  run_all(scheduler, bodies);
  EXPECT_EQ(destroyed.load(), 2 * 60);  // before the joins
  EXPECT_EQ(with_a_value, 42);
  for (size_t i = 1; i < selves.size(); ++i) EXPECT_FALSE(pthread_equal(selves[0], selves[i])) << i;
  pthread_key_delete(key);
}

#if defined(__x86_64__)
constexpr bool kKeepsRounding = true;
#else
constexpr bool kKeepsRounding = false;
#endif

TEST_F(Threads, KeepTheirRoundingModeAndFindTheirWorkersSignalMask) {
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  const Scheduler scheduler = scheduler_of(1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::vector<Body> bodies;
  for (int i = 0; i < 4; ++i)
    bodies.emplace_back([i] {
      if (kKeepsRounding && i % 2 == 1) std::fesetround(FE_UPWARD);
      for (int round = 0; round < 10; ++round) {
        smelt_thread_yield();
        EXPECT_EQ(std::fegetround(), kKeepsRounding && i % 2 == 1 ? FE_UPWARD : FE_TONEAREST);
        sigset_t now;
        pthread_sigmask(SIG_SETMASK, nullptr, &now);
        EXPECT_TRUE(sigismember(&now, SIGUSR2));  // its creator's
        EXPECT_FALSE(sigismember(&now, SIGUSR1));
      }
    });
  run_all(scheduler, bodies);
}

smelt_thread* signalled_by_handler = nullptr;

TEST_F(Threads, AreSignalledByHandlers) {
  const Scheduler scheduler = scheduler_of(2);
  std::atomic<int> woken{0};
  Body body = [&] {
    for (int i = 0; i < 50; ++i) {
      smelt_thread_wait();
      woken.fetch_add(1);
    }
  };
  ASSERT_EQ(smelt_thread_spawn(scheduler.get(), call, &body, SMELT_ANY_WORKER, &signalled_by_handler), 0);
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { smelt_thread_signal(signalled_by_handler); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  for (int i = 0; i < 50; ++i) {
    kill(getpid(), SIGUSR1);  // to whichever thread
    while (woken.load() <= i) std::this_thread::yield();
  }
  ASSERT_EQ(smelt_thread_join(signalled_by_handler, nullptr), 0);
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace smelt::test
