#include "doubles.h"

#include <pthread.h>

#include "base/os/os.h"
#include "kept.h"

namespace smelt::kmp {

constinit Doubles doubles{};

namespace {

// libomp gives a thread of ours its place by its number; so many are tried, one after the other.
constexpr uint32_t kMostTried = 256;

// A thread of ours that is the master of the doubles, if libomp puts it at the place that is wanted.
struct Root {
  pthread_t thread;
  int32_t place;
  std::atomic<uint32_t> ready;  // 1: it has a place
  std::atomic<uint32_t> order;  // kStart: it is the one; kLeave
};
// The one, and all of them. Written before anybody is told that there are doubles.
Root* chosen = nullptr;
Root* roots = nullptr;

void wait_for_order(std::atomic<uint32_t>& order, uint32_t done) {
  // Acquire: what was written before the order; or before it was done.
  while (order.load(std::memory_order_acquire) == done) os::futex_wait(&order, done);
}

void give_order(std::atomic<uint32_t>& order, uint32_t what) {
  order.store(what, std::memory_order_release);  // with what it is about
  os::futex_wake_all(&order);
}
void inner_dock(void* data) {
  InnerTeam& team = *static_cast<InnerTeam*>(data);
  set_inside_of(&team);
  live_in(team, *team.region);
  set_inside_of(nullptr);
}

// The double's part of a start. Its thread builds barrier and fork, and ends the meeting.
void start_as_double(InnerTeam& team) {
  team.started = false;
  OwnBlock block;
  if (!block.find() || place_now() != team.place) return;
  set_icvs(team.icvs);
  lend_blocktime();
  if (!(icvs_now() == team.icvs)) return;
  REAL(GOMP_parallel_start)(inner_dock, &team, team.size);
  const auto given = static_cast<uint32_t>(REAL(omp_get_num_threads)());
  meet(team, *team.region, given);
  team.gtid = REAL(__kmpc_global_thread_num)(&nowhere);
  team.image = block.image();
  team.started = given == team.size && REAL(omp_get_level)() == kInnerLevel;
  if (team.started) return;
  team.fork = nullptr;
  dismiss(team);
  REAL(GOMP_parallel_end)();
}

// A double's life.
void sleep_as_double(InnerTeam& team) {
  for (;;) {
    wait_for_order(team.order, kNothing);
    const uint32_t order = team.order.load(std::memory_order_relaxed);  // acquired
    if (order == kStart) start_as_double(team);
    if (order == kEnd) REAL(GOMP_parallel_end)();
    if (order == kLeave) return;
    give_order(team.order, kNothing);
  }
}

void outer_dock(void*) { sleep_as_double(doubles.teams[REAL(omp_get_thread_num)()]); }

void* live_as_root(void* data) {
  Root& root = *static_cast<Root*>(data);
  REAL(__kmpc_global_thread_num)(&nowhere);
  icvs_now();  // libomp binds a thread when it first does something
  root.place = place_now();
  root.ready.store(1, std::memory_order_release);
  os::futex_wake_all(&root.ready);
  wait_for_order(root.order, kNothing);
  if (root.order.load(std::memory_order_relaxed) == kLeave) return nullptr;
  set_icvs(doubles.icvs);
  REAL(GOMP_parallel_start)(outer_dock, nullptr, doubles.size);
  const auto given = static_cast<uint32_t>(REAL(omp_get_num_threads)());
  const bool right = given == doubles.size && REAL(omp_get_level)() == kInnerLevel - 1;
  if (!right)
    for (uint32_t i = 1; i < given; ++i) give_order(doubles.teams[i].order, kLeave);
  doubles.ready.store(right ? 1 : 2, std::memory_order_release);
  os::futex_wake_all(&doubles.ready);
  if (right) sleep_as_double(doubles.teams[0]);
  REAL(GOMP_parallel_end)();
  return nullptr;
}

bool make_root(Root& root) {
  if (!make_sleeper(&root.thread, live_as_root, &root)) return false;
  uint32_t ready;
  while ((ready = root.ready.load(std::memory_order_acquire)) == 0) os::futex_wait(&root.ready, 0);
  return true;
}

// Finds a thread that libomp puts where the master of the team around is.
Root* find_root() {
  roots = static_cast<Root*>(os::map_pages(kMostTried * sizeof(Root)));
  if (!roots) return nullptr;
  Root* found = nullptr;
  uint32_t made = 0;
  while (!found && made < kMostTried && make_root(roots[made])) {
    if (roots[made].place == doubles.place) found = &roots[made];
    ++made;
  }
  for (uint32_t i = 0; i < made; ++i) {
    if (&roots[i] == found) continue;
    give_order(roots[i].order, kLeave);
    pthread_join(roots[i].thread, nullptr);
  }
  return found;
}

}  // namespace

void tell(InnerTeam& team, Order what) {
  give_order(team.order, what);
  wait_for_order(team.order, what);
}

bool make_doubles(const Position& around, uint32_t size) {
  doubles.around.store(around.region, std::memory_order_relaxed);
  doubles.size = size;
  doubles.process = os::process_id();
  doubles.icvs = icvs_now();
  doubles.place = place_now();
  doubles.ready.store(0, std::memory_order_relaxed);  // ordered by the order
  doubles.teams = static_cast<InnerTeam*>(os::map_pages(size * sizeof(InnerTeam)));
  if (!doubles.teams || !(chosen = find_root())) return false;
  give_order(chosen->order, kStart);
  uint32_t ready;
  while ((ready = doubles.ready.load(std::memory_order_acquire)) == 0) os::futex_wait(&doubles.ready, 0);
  if (ready == 1) {
    StandIn::add_sleepers(static_cast<int>(size));
    return true;
  }
  pthread_join(chosen->thread, nullptr);
  return false;
}

void unmake_doubles() {
  for (uint32_t i = 0; i < doubles.size; ++i) give_order(doubles.teams[i].order, kLeave);
  pthread_join(chosen->thread, nullptr);
  StandIn::add_sleepers(-static_cast<int>(doubles.size));
  os::unmap_pages(doubles.teams, doubles.size * sizeof(InnerTeam));
  os::unmap_pages(roots, kMostTried * sizeof(Root));
}

}  // namespace smelt::kmp
