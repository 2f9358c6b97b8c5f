// This file says where a thread is, and what libgomp believes about it. The shim has one owner of that: this file.
//
// libgomp knows of a thread its team, number, level, work share and task: one range of words in its thread-local block
// (thread_state.h). A team that we keep between regions (hot_team.h, solo.h) works because its master has two such
// states, one inside the team and one around it, and the shim changes one for the other. An image of a state that is
// older than the last change of it makes the program wrong: a setting is undone, a barrier waits for another team. So
// all ways from one state to another stand in one table, states.def, and there is one rule:
//
//   around   is taken when the thread enters the team, and put back when it leaves; so nothing that happens around,
//            between two regions, can be undone. In the serial part it is not copied each time but compared, the whole
//            block: if a word differs from what the last region left, the team does not fit any more and ends
//   inside   is taken when the thread leaves the team, and put back when it enters
//   a visit  is a call of libgomp's that must see the state inside while the thread is around: a team's end. It takes
//            the state around for itself, whatever that is, and puts it back
//
// No other file saves or restores. What belongs to the program in these states:
//
//   settings       libgomp keeps them in the task, so they come and go with the range. A task inherits them when it is
//                  made, which is when a kept team starts: ThreadsOwn::settings numbers the versions of a thread's
//                  settings, each change makes a new one, and a team that has copied others than the thread has now
//                  ends
//   places         words outside the range: never written. What changes there is a difference
//   threadprivate  storage of the kernel thread's: teams never move a region to another thread than libgomp's
//   position       of the shim: the barrier and the episode of the thread's innermost region. It is kept on the stack
//                  while another region, or none of ours, is inside (PutAside)
//
// What is rare is not served but goes back to libgomp whole, so that no state has to be thought of together with all
// others: in target regions on the host and in leagues of teams (Away) regions, barriers and tasks are libgomp's, the
// hot team ends before one begins, and once a program has used `target nowait`, whose body may run on any thread and in
// any of its states, all regions to come are libgomp's.
//
// The tests have a shim that checks the table while programs run (tests/gomp_shim/states_check.cc): where a transition
// may begin, and what libgomp says before it, in between and after it (levels, sizes, ancestors, places, settings). The
// first difference ends the program with the transition's name.
#pragma once

#include "openmp/region.h"
#include "thread_state.h"

namespace smelt::gomp {

using namespace openmp;

struct Region;
struct HotTeam;
struct Note;

// The calling thread's. constinit, so that no caller looks for an initialiser first.
extern "C" constinit thread_local Position smelt_gomp_position
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// Where its next region hangs: of those that it opens where it is now. nullptr: it has opened none.
extern "C" constinit thread_local Region** smelt_gomp_next_region
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// The note of the region that it has, as the master, handed to libgomp as it is.
extern "C" constinit thread_local Note* smelt_gomp_untold
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// Its hot team as the master; nullptr: none is parked.
extern "C" constinit thread_local HotTeam* smelt_gomp_hot
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// Its further state. In one piece, because stacks pay for thread-local storage, and for the gaps in it.
struct ThreadsOwn {
  HotTeam* docked_in = nullptr;  // of a worker
  // The version of its settings: the changes, times two. Odd: libgomp has a block of settings of its own.
  uint32_t settings = 0;
  uint16_t away = 0;       // > 0: State::kAway
  bool ends = false;       // State::kEnded
  bool has_shell = false;  // shell.h
};
extern "C" constinit thread_local ThreadsOwn smelt_gomp_own
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

enum class State : uint8_t {
#define STATE(name, words) k##name,
#include "states.def"
  kSame,  // of states.def: as before
};

enum class Transition : uint8_t {
#define TRANSITION(name, from, between, words) k##name,
#include "states.def"
};

// A transition, from its beginning to the end of the block. It costs nothing but in the checking build.
class Crossing {
 public:
#ifdef SMELT_CHECK_STATE
  struct Answers {
    static constexpr int kLevels = 16;  // of those around; more are not compared
    int level, active_level, place, places;
    Icvs icvs;
    int numbers[kLevels], sizes[kLevels];  // by level: of the ancestors, and of the thread itself
  };
  explicit Crossing(Transition transition);
  ~Crossing();
  // The thread is inside a team of `size` now, as number `thread`; the team's threads have taken those settings.
  void inside(uint32_t thread, uint32_t size, const Icvs& taken) const;

 private:
  const Transition transition_;
  const State place_;
  const Answers around_;
#else
  explicit Crossing(Transition) {}
  ~Crossing() {}  // so that the variable counts as used
  void inside(uint32_t, uint32_t, const Icvs&) const {}
#endif
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;
};

// libgomp's answers to a thread that asks where it is.
struct Whereabouts {
  int level, threads;  // omp_get_level(), omp_get_num_threads()
};

// The two states of the master of a team that we keep. Its thread's; of a parked one, its holder's (parked.h).
class KeptState {
 public:
  // Finds libgomp's block of the calling thread. False: there is none, or not as we know it.
  bool find() { return block_.words() != 0 || block_.find_mine(); }
  void forget_thread() { block_ = {}; }
  bool has_pool() const { return block_.words() == 0 || block_.destructor(); }

  // A team's start: take_around(), libgomp's start of the team, learn() inside, and proves(), which leaves the thread
  // around. learn(), false: nothing changed, or what changed is not the team's alone. proves(), false: the range is not
  // all that libgomp's answers depend on.
  void take_around() { block_.save(&around_); }
  bool learn() { return block_.learn_range(around_); }
  bool proves(const Whereabouts& around, const Whereabouts& inside);

  // Is the thread where the last region left it? In the serial part, and then nothing need be taken; and inside another
  // region, where loops, tasks and singles change the range, and the words outside must be the same.
  bool is_around() const { return block_.same_as(around_); }
  bool is_around_in_region() const { return block_.same_outside_range(around_); }
  void take_around_in_region() { block_.save_range(&around_); }

  void enter() const { block_.restore_range(inside_); }
  void leave() { block_.change_range(&inside_, around_); }

  // `what` as the team's master, by that thread, wherever it is around; and by any other. False: it was not done, for
  // libgomp's block of the calling thread was not found.
  template <typename What>
  void visit(What what) const {
    block_.while_in(inside_, what);
  }
  template <typename What>
  bool visit_as_another(What what) const {
    ThreadState here = block_;
    if (!here.find_mine()) return false;
    here.while_in(inside_, what);
    return true;
  }

  // thread_state.h: while a hot team is parked.
  bool hold_destructor() { return block_.hold_destructor(); }
  void release_destructor() { block_.release_destructor(); }

 private:
  ThreadState block_;
  StateImage around_;  // the whole block; inside other regions, the range is of the region just entered
  StateImage inside_;  // the range
};

// While something runs that belongs to none of the thread's regions.
class PutAside {
 public:
  PutAside() : position_(smelt_gomp_position) { smelt_gomp_position = kOutside; }
  ~PutAside() { smelt_gomp_position = position_; }
  PutAside(const PutAside&) = delete;
  PutAside& operator=(const PutAside&) = delete;

 private:
  const Position position_;
};

// For a thread that has a hot team: a region inside a target region may have given libgomp's key a value, which is
// taken away again.
void hold_key_again();

// While the thread is away. In the serial part the hot team has ended before. In a region its teams stay as they are:
// libgomp gives a target region an empty state of the thread, and then the one of before.
class GoAway {
 public:
  explicit GoAway(Transition transition) : crossing_(transition) { ++smelt_gomp_own.away; }
  ~GoAway() {
    if (smelt_gomp_hot) [[unlikely]]
      hold_key_again();
    --smelt_gomp_own.away;
  }
  GoAway(const GoAway&) = delete;
  GoAway& operator=(const GoAway&) = delete;

 private:
  const Crossing crossing_;
};

// Is the thread in a region of which its position tells?
inline bool has_position() { return smelt_gomp_position.region || smelt_gomp_position.word; }

}  // namespace smelt::gomp
