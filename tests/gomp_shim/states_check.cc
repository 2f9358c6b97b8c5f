// The checking half of gomp_shim/states.h, in libsmelt_gomp_checked.so alone: before a transition, in between and after
// it, what libgomp says about the calling thread must be what the table says. The first difference ends the program.
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "hot_team.h"
#include "openmp/behind.h"
#include "region.h"

namespace smelt::gomp {
namespace {

constexpr const char* kStateNames[] = {
#define STATE(name, words) #name,
#include "states.def"
};
constexpr const char* kTransitionNames[] = {
#define TRANSITION(name, from, between, words) #name,
#include "states.def"
};

// Sets of states, for the table.
#define STATE(name, words) constexpr uint32_t k##name [[maybe_unused]] = 1u << static_cast<uint32_t>(State::k##name);
#include "states.def"
constexpr uint32_t kAny = (1u << static_cast<uint32_t>(State::kSame)) - 1;
constexpr uint32_t kRegion = kHot | kOne | kKept | kStock;

constexpr uint32_t kFrom[] = {
#define TRANSITION(name, from, between, words) from,
#include "states.def"
};
constexpr State kBetween[] = {
#define TRANSITION(name, from, between, words) State::k##between,
#include "states.def"
};

// Do regions inherit other numbers of threads than are set around them, by their level?
const bool threads_are_listed = [] {
  for (const char* name : {"OMP_NUM_THREADS", "OMP_NUM_THREADS_ALL"})
    if (const char* const value = environment(name); value && std::strchr(value, ',')) return true;
  return false;
}();

thread_local State place = State::kSerial;  // kSerial: it is not inside anything

State state() {
  if (place != State::kSerial) return place;
  return smelt_gomp_own.ends ? State::kEnded : smelt_gomp_hot ? State::kParked : State::kSerial;
}

using Answers = Crossing::Answers;
constexpr int kLevels = Answers::kLevels;

int ask(const char* name) {
  std::atomic<int (*)()> found{nullptr};
  return behind(found, name)();
}
int ask(const char* name, int level) {
  std::atomic<int (*)(int)> found{nullptr};
  return behind(found, name)(level);
}

Answers answers() {
  Answers a{REAL(omp_get_level)(),
            REAL(omp_get_active_level)(),
            ask("omp_get_place_num"),
            ask("omp_get_partition_num_places"),
            icvs_now(),
            {},
            {}};
  for (int i = 0; i <= a.level && i < kLevels; ++i) {
    a.numbers[i] = ask("omp_get_ancestor_thread_num", i);
    a.sizes[i] = ask("omp_get_team_size", i);
  }
  return a;
}

const char* name_of(Transition transition) { return kTransitionNames[static_cast<uint32_t>(transition)]; }
const char* name_of(State which) { return kStateNames[static_cast<uint32_t>(which)]; }

void expect(Transition transition, const char* when, const char* what, int is, int should) {
  if (is == should) return;
  log_line("transition %s in state %s: %s, %s is %d where the table has %d", name_of(transition), name_of(state()),
           when, what, is, should);
  __builtin_trap();
}

void expect_settings(Transition transition, const char* when, const Icvs& is, const Icvs& should) {
  expect(transition, when, "nthreads-var", is.threads, should.threads);
  expect(transition, when, "dyn-var", is.dynamic, should.dynamic);
  expect(transition, when, "max-active-levels-var", is.levels, should.levels);
  expect(transition, when, "run-sched-var", is.schedule, should.schedule);
  expect(transition, when, "the chunk of run-sched-var", is.chunk, should.chunk);
  expect(transition, when, "default-device-var", is.device, should.device);
}

// The ancestors up to that level.
void expect_ancestors(Transition transition, const char* when, const Answers& is, const Answers& should, int level) {
  for (int i = 0; i <= level && i < kLevels; ++i) {
    expect(transition, when, "the number of an ancestor", is.numbers[i], should.numbers[i]);
    expect(transition, when, "the size of a team around", is.sizes[i], should.sizes[i]);
  }
}

// While a team is parked, libgomp's key must have no value: its destructor would wait for the parked workers.
void expect_held_key(Transition transition, const char* when) {
  const HotTeam* const hot = smelt_gomp_hot;
  if (!hot || smelt_gomp_own.away != 0 || smelt_gomp_own.ends) return;
  expect(transition, when, "whether libgomp's key has a value beside a hot team", hot->state.has_pool(), false);
}

}  // namespace

// A thread that ends is not asked: libgomp's destructor may have freed what it would look at.
Crossing::Crossing(Transition transition)
    : transition_(transition),
      place_(place),
      around_(transition == Transition::kEndThread || smelt_gomp_own.ends ? Answers{-1, 0, 0, 0, {}, {}, {}}
                                                                          : answers()) {
  const auto row = static_cast<uint32_t>(transition);
  if ((kFrom[row] >> static_cast<uint32_t>(state()) & 1) == 0) {
    log_line("transition %s: the table does not have it in state %s", name_of(transition), name_of(state()));
    __builtin_trap();
  }
  switch (kBetween[row]) {
    case State::kSerial:
    case State::kParked:
    case State::kEnded:
    case State::kSame: break;  // told by the shim's own words
    default: place = kBetween[row];
  }
  expect_held_key(transition, "before it");
}

void Crossing::inside(uint32_t thread, uint32_t size, const Icvs& taken) const {
  constexpr const char* kWhen = "inside";
  if (around_.level < 0) return;
  const Answers is = answers();
  const int deeper = transition_ != Transition::kWork;  // a worker is in libgomp's team all the time
  expect(transition_, kWhen, "omp_get_level()", is.level, around_.level + deeper);
  expect(transition_, kWhen, "omp_get_active_level()", is.active_level, around_.active_level + (size > 1 ? deeper : 0));
  expect(transition_, kWhen, "omp_get_thread_num()", REAL(omp_get_thread_num)(), static_cast<int>(thread));
  expect(transition_, kWhen, "omp_get_num_threads()", REAL(omp_get_num_threads)(), static_cast<int>(size));
  expect_ancestors(transition_, kWhen, is, around_, around_.level);
  if (size > 1 && deeper)
    expect(transition_, kWhen, "whether one level more may be active", around_.active_level < around_.icvs.levels, 1);
  if (threads_are_listed) return;
  expect_settings(transition_, kWhen, is.icvs, taken);
  if (deeper) expect_settings(transition_, kWhen, is.icvs, around_.icvs);
}

Crossing::~Crossing() {
  constexpr const char* kWhen = "after it";
  place = place_;
  expect_held_key(transition_, kWhen);
  if (around_.level < 0) return;
  const Answers is = answers();
  expect(transition_, kWhen, "omp_get_level()", is.level, around_.level);
  expect(transition_, kWhen, "omp_get_active_level()", is.active_level, around_.active_level);
  expect(transition_, kWhen, "omp_get_place_num()", is.place, around_.place);
  expect(transition_, kWhen, "omp_get_partition_num_places()", is.places, around_.places);
  expect_ancestors(transition_, kWhen, is, around_, around_.level);
  switch (transition_) {
    // What a thread of a team changes is its implicit task's, and ends with the region or (HotRecord::spoiled) the
    // team.
    case Transition::kWork:
    case Transition::kWorkStock:
    case Transition::kRunTeams: break;
    default: expect_settings(transition_, kWhen, is.icvs, around_.icvs);
  }
}

}  // namespace smelt::gomp
