// Collectives on a simulated machine: a group of Smelt's (smelt/group.h) beside the ways of its peers, each as a plain
// program. Threads, one a core, are the ranks, because simulated processes share no memory: so nobody can read another
// process's memory by a system call (single copy), and all data go through shared memory. `lab.py` writes the plan,
// which comes by standard input, one command a line:
//
//   cost I J HOP SEND RECEIVE READ   what a message from I to J costs, in cycles: goes into PROFILE with what Smelt
//                       chooses under all of them. Without such lines PROFILE is there already
//   OP BYTES WAY REPS   op: barrier, broadcast, reduce, allreduce; way: smelt, flat, sm, xhc. Sums of doubles, root 0.
//                       GROUP OP BYTES WAY in-a-loop alone: cycles until the last one has left. In a loop nobody waits
//                       for others between two calls (Smelt's group knows that: loose); alone, all begin at one time
//                       (strict). Each call has the other of two buffers. Every result is checked before.
#include <smelt/group.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fingerprint.h"
#include "base/os/shared_memory.h"
#include "generate/registry.h"
#include "measure/meeting.h"
#include "profile/profile.h"
#include "schedule/winner.h"

// The shared memory of a group whose participants are all threads: one mapping (in place of linux_shared_memory.cc).
namespace smelt::os {

static char* memory_file;  // one, as all groups have the same leader

int create_memory_file(const char*, uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_file || memory == MAP_FAILED) return -ENOMEM;
  memory_file = static_cast<char*>(memory);
  return 0;
}
int open_memory_file(int32_t, int32_t, uint64_t) { return 0; }
void close_file(int) {}
int take_pages(int, uint64_t offset, uint64_t bytes) {
  // Another may be writing to the same page. relaxed: nothing is told by it
  for (uint64_t at = offset / 4096 * 4096; at < offset + bytes; at += 4096)
    reinterpret_cast<std::atomic<char>*>(memory_file + at)->fetch_or(0, std::memory_order_relaxed);
  return 0;
}
void* map_file(int, uint64_t) { return memory_file; }
uint64_t file_size_limit() { return INT64_MAX; }
uint64_t random_number() { return 1; }
int read_process(int32_t, void*, uint64_t, uint64_t) { return -ENOSYS; }
int write_process(int32_t, const void*, uint64_t, uint64_t) { return -ENOSYS; }

}  // namespace smelt::os

namespace {

using Word = std::atomic<uint64_t>;

int cores, nodes;
constexpr int kMostCores = 64;

struct alignas(64) Line {
  Word word;
};

// Acquire: what the sender wrote before its store is seen after this.
template <class Holds>
void wait_until(const Word& word, Holds holds) {
  for (int polls = 0; !holds(word.load(std::memory_order_acquire)); polls++) {
    _mm_pause();
    if (polls > 1000) std::this_thread::yield();  // No simulated core is shared.
  }
}
void wait_for(const Line& line, uint64_t value) {
  wait_until(line.word, [value](uint64_t now) { return now >= value; });
}
// Release: pairs with the acquire of wait_until.
void tell(Line& line, uint64_t value) { line.word.store(value, std::memory_order_release); }
// Acquire and release: who sees the last addition sees what all wrote before theirs.
uint64_t add(Line& line, uint64_t value) { return line.word.fetch_add(value, std::memory_order_acq_rel) + value; }

void add(double* to, const double* from, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] += from[i];
}

// A T of each rank's, on pages of its own, which lie on its node once it has touched them first.
template <class T>
class OfEach {
 public:
  OfEach() {
    void* memory = mmap(nullptr, kBytes * cores, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    base_ = static_cast<char*>(memory);
  }
  T& operator[](int rank) { return *reinterpret_cast<T*>(base_ + rank * kBytes); }  // As mmap left it: zeros.
  void touch(int rank) {
    for (size_t at = 0; at < kBytes; at += 4096) base_[rank * kBytes + at] = 0;
  }

 private:
  static constexpr size_t kBytes = (sizeof(T) + 4095) / 4096 * 4096;
  char* base_;
};

// Root is rank 0.
class Way {
 public:
  virtual ~Way() = default;
  virtual void enter(int me) = 0;  // once, before all calls
  virtual void barrier(int me) = 0;
  virtual void broadcast(int me, char* data, size_t bytes) = 0;
  virtual void reduce(int me, const double* in, double* out, size_t count) = 0;
  virtual void allreduce(int me, const double* in, double* out, size_t count) {
    reduce(me, in, out, count);
    broadcast(me, reinterpret_cast<char*>(out), count * sizeof *out);
  }
};

// Calls `piece(offset, length)` for each piece of a message.
template <class Piece>
void in_pieces(size_t total, size_t most, Piece piece) {
  for (size_t at = 0; at < total; at += most) piece(at, std::min(most, total - at));
}
constexpr size_t kPiece = 16 << 10;

// What anybody would write first, and libgomp's barrier: one shared line that all poll, one counter that all add to,
// one buffer that all read. Operands are copied to a buffer of each rank's, and the root adds them up. Each buffer has
// two halves in turn.
class Flat : public Way {
 public:
  void enter(int me) override { rank_.touch(me); }
  void barrier(int me) override {
    const uint64_t epoch = ++rank_[me].epoch;
    if (add(shared_.arrived, 1) == epoch * cores) tell(shared_.released, epoch);
    wait_for(shared_.released, epoch);
  }
  void broadcast(int me, char* data, size_t bytes) override {
    in_pieces(bytes, kPiece, [&](size_t at, size_t length) {
      const uint64_t k = ++rank_[me].down;
      char* const shared = rank_[0].room[0][k % 2];
      if (me == 0) {
        if (k > 2) wait_for(shared_.taken[k % 2], (k - 1) / 2 * (cores - 1));
        std::memcpy(shared, data + at, length);
        tell(shared_.published, k);
      } else {
        wait_for(shared_.published, k);
        std::memcpy(data + at, shared, length);
        add(shared_.taken[k % 2], 1);
      }
    });
  }
  void reduce(int me, const double* in, double* out, size_t count) override {
    in_pieces(count, kPiece / sizeof *in, [&](size_t at, size_t length) {
      const uint64_t k = ++rank_[me].up;
      if (me != 0) {
        if (k > 2) wait_for(shared_.freed, k - 2);
        std::memcpy(rank_[me].room[1][k % 2], in + at, length * sizeof *in);
        add(shared_.filled[k % 2], 1);
        return;
      }
      std::memcpy(out + at, in + at, length * sizeof *in);
      wait_for(shared_.filled[k % 2], (k + 1) / 2 * (cores - 1));
      for (int i = 1; i < cores; i++) add(out + at, reinterpret_cast<double*>(rank_[i].room[1][k % 2]), length);
      tell(shared_.freed, k);
    });
  }

 private:
  struct Rank {
    uint64_t epoch, down, up;
    alignas(64) char room[2][2][kPiece];
  };
  OfEach<Rank> rank_;
  struct {
    Line arrived, released, published, freed, taken[2], filled[2];
  } shared_{};
};

// Open MPI's coll/sm (ompi/mca/coll/sm, by what its sources do): eight segments of an 8 KiB fragment for each rank. An
// operation takes four of them, guarded by a flag that the root raises when all have left it and each rank leaves. A
// broadcast goes down a tree of degree 4, fragment by fragment, each rank told by a control word of its own; operands
// of a reduction all go to the root, which is told by a word for each rank, eight of them in a line. An allreduce is
// a reduction and a broadcast. A barrier counts children up and releases them down the tree.
class Sm : public Way {
 public:
  void enter(int me) override { rank_.touch(me); }
  void barrier(int me) override {
    const int turn = static_cast<int>(rank_[me].barriers++ % 2);
    Rank& mine = rank_[me];
    const uint64_t children = std::max(0, std::min(kDegree, cores - 1 - kDegree * me));
    if (children > 0) {
      wait_for(mine.in[turn], children);
      tell(mine.in[turn], 0);
    }
    if (me != 0) {
      add(rank_[parent(me)].in[turn], 1);
      wait_for(mine.out[turn], 1);
      tell(mine.out[turn], 0);
    }
    tell_children(
        me, [&](Rank& child) -> Line& { return child.out[turn]; }, 1);
  }
  void broadcast(int me, char* data, size_t bytes) override {
    in_segments(me, bytes, [&](int segment, size_t at, size_t length) {
      const char* from = rank_[me].fragment[segment];
      if (me == 0) {
        std::memcpy(rank_[me].fragment[segment], data + at, length);
      } else {
        Line& told = rank_[me].told[segment];
        wait_for(told, 1);
        tell(told, 0);
        if (kDegree * me + 1 < cores)
          std::memcpy(rank_[me].fragment[segment], rank_[parent(me)].fragment[segment], length);
        else
          from = rank_[parent(me)].fragment[segment];
      }
      tell_children(
          me, [&](Rank& child) -> Line& { return child.told[segment]; }, length);
      if (me != 0) std::memcpy(data + at, from, length);
    });
  }
  void reduce(int me, const double* in, double* out, size_t count) override {
    in_segments(me, count * sizeof *in, [&](int segment, size_t bytes_at, size_t length) {
      const size_t at = bytes_at / sizeof *in;
      if (me != 0) {
        std::memcpy(rank_[me].fragment[segment], in + at, length);
        rank_[0].heard[segment][me].store(length, std::memory_order_release);  // Pairs with wait_until.
        return;
      }
      std::memcpy(out + at, in + at, length);
      for (int i = cores - 1; i > 0; i--) {
        wait_until(rank_[0].heard[segment][i], [](uint64_t now) { return now != 0; });
        rank_[0].heard[segment][i].store(0, std::memory_order_relaxed);  // The flag's next use publishes it.
        add(out + at, reinterpret_cast<double*>(rank_[i].fragment[segment]), length / sizeof *in);
      }
    });
  }

 private:
  static constexpr int kDegree = 4, kSegments = 8, kFlags = 2;
  static constexpr size_t kFragment = 8 << 10;
  struct Rank {
    uint64_t operations, barriers;
    Line in[2], out[2], told[kSegments];
    alignas(64) Word heard[kSegments][kMostCores];
    alignas(64) char fragment[kSegments][kFragment];
  };
  struct alignas(64) Flag {
    Word users, operation;
  };

  static int parent(int me) { return (me - 1) / kDegree; }
  template <class Which>
  void tell_children(int me, Which which, uint64_t value) {
    for (int c = kDegree * me + 1; c <= kDegree * me + kDegree && c < cores; c++) tell(which(rank_[c]), value);
  }
  template <class Segment>
  void in_segments(int me, size_t bytes, Segment segment) {
    constexpr int kOfFlag = kSegments / kFlags;
    in_pieces(bytes, kOfFlag * kFragment, [&](size_t begin, size_t all) {
      const uint64_t operation = rank_[me].operations++;
      Flag& flag = flag_[operation % kFlags];
      if (me == 0) {
        wait_until(flag.users, [](uint64_t users) { return users == 0; });
        flag.users.store(cores - 1, std::memory_order_relaxed);  // Published by the next store.
        flag.operation.store(operation + 1, std::memory_order_release);
      } else {
        wait_until(flag.operation, [&](uint64_t now) { return now > operation; });
      }
      in_pieces(all, kFragment, [&](size_t at, size_t length) {
        segment(static_cast<int>(operation % kFlags * kOfFlag + at / kFragment), begin + at, length);
      });
      // Release: the root's next use of the segments comes after ours.
      if (me != 0) flag.users.fetch_sub(1, std::memory_order_release);
    });
  }

  OfEach<Rank> rank_;
  Flag flag_[kFlags]{};
};

// Open MPI's coll/xhc (Katevenis, Ploumidis, Marazakis: A framework for hierarchical single-copy MPI collectives on
// multicore nodes, CLUSTER 2022) where nothing but copying in and out is to be had: the ranks of a node have a leader,
// the leaders rank 0. Every line has one writer. Data go from a leader's buffer to all members; a leader fills its own
// from its leader's. Operands are copied into buffers of all ranks'; up to 1 KiB the leader adds them up, of longer
// ones each other member a slice. Pieces follow each other through two halves of a buffer.
class Xhc : public Way {
 public:
  void enter(int me) override { rank_.touch(me); }
  void barrier(int me) override {
    const uint64_t epoch = ++rank_[me].epoch;
    for (int level = 0; level < 2; level++)
      if (leads(me, level)) for_members(me, level, [&](Rank& member) { wait_for(member.on[level].arrived, epoch); });
    if (me != 0) {
      tell(rank_[me].on[top(me)].arrived, epoch);
      wait_for(rank_[leader(me)].on[top(me)].released, epoch);
    }
    for (int level = 1; level >= 0; level--)
      if (leads(me, level)) tell(rank_[me].on[level].released, epoch);
  }
  void broadcast(int me, char* data, size_t bytes) override {
    in_pieces(bytes, kPiece, [&](size_t at, size_t length) { broadcast_piece(me, data + at, length); });
  }
  void reduce(int me, const double* in, double* out, size_t count) override {
    in_pieces(count, kPiece / sizeof *in,
              [&](size_t at, size_t length) { reduce_piece(me, in + at, out + at, length); });
  }
  void allreduce(int me, const double* in, double* out, size_t count) override {
    in_pieces(count, kPiece / sizeof *in, [&](size_t at, size_t length) {
      reduce_piece(me, in + at, out + at, length);
      broadcast_piece(me, reinterpret_cast<char*>(out + at), length * sizeof *in);
    });
  }

 private:
  static constexpr size_t kLeaderAlone = 1 << 10;
  struct Rank {
    uint64_t epoch, down, up;
    // As a member: arrived, acknowledged, ready, sliced; as a leader: released, published, taken.
    struct {
      Line arrived, released, published, acknowledged, ready, sliced, taken;
    } on[2];
    alignas(64) char down_room[2][kPiece], up_room[2][kPiece];
  };

  // Level 0 is the ranks of a node, level 1 the leaders of nodes. The highest on which this one is a member, or leads:
  static int size() { return cores / nodes; }
  static int top(int me) { return me % size() == 0 && nodes > 1 ? 1 : 0; }
  static int leader(int me) { return me % size() == 0 ? 0 : me / size() * size(); }
  static bool leads(int me, int level) { return me % size() == 0 && (level == 0 || me == 0); }
  static int stride(int level) { return level == 0 ? 1 : size(); }
  static int members(int level) { return level == 0 ? size() : nodes; }
  template <class Visit>
  void for_members(int leader, int level, Visit visit) {
    for (int i = 1; i < members(level); i++) visit(rank_[leader + i * stride(level)]);
  }

  void broadcast_piece(int me, char* data, size_t length) {
    Rank& mine = rank_[me];
    const uint64_t k = ++mine.down;
    const char* from = rank_[leader(me)].down_room[k % 2];
    if (me != 0) wait_for(rank_[leader(me)].on[top(me)].published, k);
    if (me % size() == 0) {
      for (int level = 0; level < 2 && k > 2; level++)
        if (leads(me, level))
          for_members(me, level, [&](Rank& member) { wait_for(member.on[level].acknowledged, k - 2); });
      std::memcpy(mine.down_room[k % 2], me == 0 ? data : from, length);
      if (me != 0) tell(mine.on[1].acknowledged, k);
      for (int level = 1; level >= 0; level--)
        if (leads(me, level)) tell(mine.on[level].published, k);
      if (me != 0) std::memcpy(data, mine.down_room[k % 2], length);
    } else {
      std::memcpy(data, from, length);
      tell(mine.on[0].acknowledged, k);
    }
  }

  void reduce_piece(int me, const double* in, double* out, size_t count) {
    Rank& mine = rank_[me];
    const uint64_t k = ++mine.up;
    const auto room = [&](Rank& rank) { return reinterpret_cast<double*>(rank.up_room[k % 2]); };
    if (me != 0 && k > 2) wait_for(rank_[leader(me)].on[top(me)].taken, k - 2);
    std::memcpy(room(mine), in, count * sizeof *in);
    const bool sliced = count * sizeof *in > kLeaderAlone;
    for (int level = 0; level < 2; level++) {
      if (members(level) == 1) continue;
      Rank& head = leads(me, level) ? mine : rank_[leader(me)];
      const int first = leads(me, level) ? me : leader(me);
      tell(mine.on[level].ready, k);
      if (&head != &mine && sliced) {
        wait_for(head.on[level].ready, k);
        for_members(first, level, [&](Rank& member) { wait_for(member.on[level].ready, k); });
        const size_t others = members(level) - 1, i = (me - first) / stride(level) - 1;
        const size_t begin = count * i / others, end = count * (i + 1) / others;
        for_members(first, level, [&](Rank& member) { add(room(head) + begin, room(member) + begin, end - begin); });
        tell(mine.on[level].sliced, k);
      }
      if (&head != &mine) return;
      for_members(me, level, [&](Rank& member) {
        wait_for(sliced ? member.on[level].sliced : member.on[level].ready, k);
        if (!sliced) add(room(mine), room(member), count);
      });
      tell(mine.on[level].taken, k);
    }
    std::memcpy(out, room(mine), count * sizeof *in);  // Only the root comes here.
  }

  OfEach<Rank> rank_;
};

void add_left(void*, const void* left, void* right, size_t count) {
  add(static_cast<double*>(right), static_cast<const double*>(left), count);
}
void add_both(void*, const void* left, const void* right, void* result, size_t count) {
  const auto *a = static_cast<const double*>(left), *b = static_cast<const double*>(right);
  for (size_t i = 0; i < count; i++) static_cast<double*>(result)[i] = a[i] + b[i];
}

// As ompi_coll_smelt calls it for MPI_SUM of MPI_DOUBLE: the order is kept.
class Smelt : public Way {
 public:
  void enter(int me) override {
    smelt::MeetingRank place{meeting_, static_cast<unsigned>(cores), static_cast<unsigned>(me)};
    smelt_host host = smelt::host_of_rank(&place);
    host.sync = SMELT_SYNC_LOOSE;
    check(smelt_group_create(&host, place.n, place.me, &group_[me]));
    if (me != 0) return;
    char line[256];
    smelt_group_summary(group_[0], line, sizeof line);
    std::printf("PLAN %s\n", line);
    for (const smelt_collective which : {SMELT_COLLECTIVE_BARRIER, SMELT_COLLECTIVE_BROADCAST}) {
      smelt_group_describe(group_[0], which, 0, line, sizeof line);
      std::printf("PLAN %s\n", line);
    }
  }
  void barrier(int me) override { check(smelt_group_barrier(group_[me])); }
  void broadcast(int me, char* data, size_t bytes) override {
    const smelt_data all = seen(data);
    check(smelt_group_broadcast(group_[me], &all, bytes, 0));
  }
  void reduce(int me, const double* in, double* out, size_t count) override {
    const smelt_data from = seen(in), to = seen(out);
    check(smelt_group_reduce(group_[me], &from, &to, count, &fold_, 0));
  }
  void allreduce(int me, const double* in, double* out, size_t count) override {
    const smelt_data from = seen(in), to = seen(out);
    check(smelt_group_allreduce(group_[me], &from, &to, count, &fold_));
  }

 private:
  static smelt_data seen(const void* memory) { return {const_cast<void*>(memory), nullptr, nullptr, nullptr}; }
  static void check(int error) {
    if (error == 0) return;
    std::printf("smelt: %s\n", std::strerror(-error));
    std::exit(1);
  }
  static constexpr smelt_fold fold_{sizeof(double), add_left, add_both, nullptr, SMELT_FOLD_COMMUTES};
  smelt::Meeting* meeting_ = smelt::Meeting::open(static_cast<unsigned>(cores));
  smelt_group* group_[kMostCores] = {};
};

struct Command {
  std::string op, name;
  size_t bytes;
  Way* way;
  int repetitions;
};

// A rank's own memory, and where it reports.
constexpr int kBuffers = 2;
constexpr size_t kLongest = 64 << 10;
constexpr int kMostCalls = 1000;
struct Buffers {
  alignas(64) double in[kBuffers][kLongest / sizeof(double)], out[kBuffers][kLongest / sizeof(double)];
  uint64_t left[kMostCalls];
};

class Runner {
 public:
  explicit Runner(const std::vector<Command>& commands) : commands_(commands) {}

  void run(int me, const std::vector<std::unique_ptr<Way>>& ways) {
    buffers_.touch(me);
    for (const auto& way : ways) way->enter(me);
    for (const Command& command : commands_) {
      prove(me, command);
      const double loop = time(me, command, false), alone = time(me, command, true);
      if (me == 0)
        std::printf("GROUP %s %zu %s %.0f %.0f\n", command.op.c_str(), command.bytes, command.name.c_str(), loop,
                    alone);
    }
  }

 private:
  void call(int me, const Command& command, int k) {
    const size_t count = command.bytes / sizeof(double);
    double *const in = buffers_[me].in[k % kBuffers], *const out = buffers_[me].out[k % kBuffers];
    switch (command.op[0]) {
      case 'a': return command.way->allreduce(me, in, out, count);
      case 'r': return command.way->reduce(me, in, out, count);
      case 'b':
        return command.op == "barrier"
                   ? command.way->barrier(me)
                   : command.way->broadcast(me, reinterpret_cast<char*>(me == 0 ? in : out), command.bytes);
    }
  }

  // All meet here, and the last one says when they go on.
  uint64_t meet() {
    const uint64_t turn = add(arrived_, 1);
    const uint64_t round = (turn + cores - 1) / cores;
    if (turn % cores == 0) {
      start_time_.store(__rdtsc() + 1500, std::memory_order_relaxed);  // Published by the next store.
      tell(started_, round);
    }
    wait_for(started_, round);
    return start_time_.load(std::memory_order_relaxed);
  }

  // Integers, so that every order has the same sum.
  void prove(int me, const Command& command) {
    const size_t count = command.bytes / sizeof(double);
    const bool broadcast = command.op == "broadcast", gets = command.op == "reduce" ? me == 0 : !broadcast || me != 0;
    for (int k = 0; k < kBuffers; k++) {
      for (size_t i = 0; i < count; i++) {
        buffers_[me].in[k][i] = static_cast<double>(i % 97 + k + me);
        buffers_[me].out[k][i] = -1;
      }
    }
    meet();
    // A group's short messages go round sixteen slots, which are to be in the caches before time counts.
    for (int k = 0; k < (command.bytes <= 4096 ? 20 : 4); k++) call(me, command, k);
    for (int k = 0; k < kBuffers && gets; k++) {
      for (size_t i = 0; i < count; i++) {
        const size_t of_root = i % 97 + k, of_all = cores * of_root + cores * (cores - 1) / 2;
        if (buffers_[me].out[k][i] == static_cast<double>(broadcast ? of_root : of_all)) continue;
        std::printf("wrong: %s of %zu bytes by %s, rank %d, element %zu\n", command.op.c_str(), command.bytes,
                    command.name.c_str(), me, i);
        std::fflush(stdout);
        _exit(1);
      }
    }
    meet();
  }

  // Of rank 0: the time of a call.
  double time(int me, const Command& command, bool strict) {
    const int times = command.repetitions, warm = times / 4;
    uint64_t start = meet();
    while (__rdtsc() < start) _mm_pause();
    for (int k = 0; k < times; k++) {
      if (strict) {
        start = meet();
        while (__rdtsc() < start) _mm_pause();
      }
      call(me, command, k);
      buffers_[me].left[k] = __rdtsc() - (strict ? start : 0);
    }
    meet();
    if (me != 0) return 0;
    std::vector<uint64_t> last(times);
    for (int k = 0; k < times; k++)
      for (int i = 0; i < cores; i++) last[k] = std::max(last[k], buffers_[i].left[k]);
    if (!strict) return static_cast<double>(last[times - 1] - last[warm]) / (times - 1 - warm);
    std::sort(last.begin() + warm, last.end());
    return static_cast<double>(last[(times + warm) / 2]);
  }

  const std::vector<Command>& commands_;
  OfEach<Buffers> buffers_;
  Line arrived_{}, started_{};
  Word start_time_{0};
};

struct Cost {
  int from, to;
  float cycles[4];
};

// The profile under which Smelt plans, with what it chooses under these costs as the winners: to plan takes a core of
// the simulator minutes, so it is done beforehand, on a real machine.
void write_profile(const char* path, const std::vector<Cost>& costs) {
  const auto n = static_cast<uint32_t>(cores);
  smelt::Profile flat;
  if (smelt::assume_profile(n, &flat) != 0) std::abort();
  const size_t room = smelt::generation_bytes(n);
  std::vector<char> memory(room), image(smelt::packed_layout(smelt::kLargestCounts).bytes);
  smelt::PackedCounts counts{.cpus = n};
  smelt::PackedLayout at = smelt::packed_layout(counts);
  std::memcpy(image.data(), flat.mapping, at.bytes);
  auto& header = *reinterpret_cast<smelt::PackedHeader*>(image.data());
  header.unit = static_cast<uint32_t>(smelt::CostUnit::kCycles);
  header.created = 1;
  header.pairs_measured = n * (n - 1);
  for (const uint64_t ids : {at.llc, at.node, at.package})
    for (int i = 0; i < cores; i++)
      reinterpret_cast<uint16_t*>(&image[ids])[i] = static_cast<uint16_t>(i * nodes / cores);
  for (const Cost& cost : costs) {
    const uint64_t matrices[] = {at.hop, at.send_busy, at.recv_busy, at.ready_read};
    for (int m = 0; m < 4; m++)
      reinterpret_cast<float*>(&image[matrices[m]])[cost.from * cores + cost.to] = cost.cycles[m];
  }
  smelt::attach_image(image.data(), &flat);
  std::vector<uint16_t> members(n);
  std::iota(members.begin(), members.end(), uint16_t{0});
  std::vector<smelt::Winner> winners;
  std::vector<uint32_t> words;
  for (const auto op : {smelt::Operation::kBarrier, smelt::Operation::kBroadcast}) {
    smelt::Arena arena(memory.data(), room);
    smelt::Choice choice;
    if (smelt::choose_best(op, op == smelt::Operation::kBarrier ? -1 : 0, flat.costs, arena, &choice) != 0)
      std::abort();
    smelt::Winner winner{};
    winner.operation = static_cast<uint32_t>(op);
    winner.participants = n;
    winner.first_word = static_cast<uint32_t>(words.size());
    winner.words = smelt::winner_words(choice.schedule);
    winner.predicted = static_cast<float>(choice.predicted);
    smelt::pattern_text(choice.pattern, winner.pattern, sizeof winner.pattern);
    words.resize(words.size() + winner.words);
    smelt::write_winner(choice.schedule, members.data(), &words[winner.first_word]);
    winners.push_back(winner);
  }
  header.winners = counts.winners = static_cast<uint32_t>(winners.size());
  header.winner_words = counts.winner_words = static_cast<uint32_t>(words.size());
  at = smelt::packed_layout(counts);
  std::memcpy(&image[at.winners], winners.data(), winners.size() * sizeof winners[0]);
  std::memcpy(&image[at.winner_words], words.data(), words.size() * sizeof words[0]);
  smelt::seal_packed(image.data(), at.bytes);
  std::ofstream(path).write(image.data(), static_cast<std::streamsize>(at.bytes));
}

// The same file becomes one of the machine that this runs on.
void adopt_profile(const char* path) {
  std::ifstream in(path);
  std::string image{std::istreambuf_iterator<char>(in), {}};
  auto& header = *reinterpret_cast<smelt::PackedHeader*>(image.data());
  header.fingerprint = smelt::machine_fingerprint();
  smelt::seal_packed(image.data(), image.size());
  std::ofstream(path).write(image.data(), static_cast<std::streamsize>(image.size()));
  setenv("SMELT_PROFILE", path, 1);
}

}  // namespace

int main(int count, char** words) {
  cores = count > 3 ? std::atoi(words[1]) : 0;
  nodes = count > 3 ? std::atoi(words[2]) : 0;
  if (cores < 2 || cores > kMostCores || nodes < 1 || cores % nodes != 0) {
    std::fputs("usage: group CORES NODES PROFILE <PLAN\n", stderr);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<std::unique_ptr<Way>> ways;
  ways.push_back(std::make_unique<Smelt>());
  ways.push_back(std::make_unique<Flat>());
  ways.push_back(std::make_unique<Sm>());
  ways.push_back(std::make_unique<Xhc>());
  const std::vector<std::string> names = {"smelt", "flat", "sm", "xhc"},
                                 ops = {"barrier", "broadcast", "reduce", "allreduce"};
  std::vector<Command> commands;
  std::vector<Cost> costs;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    Command command{};
    line >> command.op;
    Cost cost{};
    if (command.op == "cost" && line >> cost.from >> cost.to && cost.from >= 0 && cost.from < cores && cost.to >= 0 &&
        cost.to < cores) {
      for (float& cycles : cost.cycles) line >> cycles;
      costs.push_back(cost);
      continue;
    }
    line >> command.bytes >> command.name >> command.repetitions;
    const size_t way = std::find(names.begin(), names.end(), command.name) - names.begin();
    if (!line || way == names.size() || std::find(ops.begin(), ops.end(), command.op) == ops.end() ||
        command.bytes > kLongest || command.bytes % sizeof(double) != 0 || command.repetitions < 4 ||
        command.repetitions > kMostCalls) {
      std::printf("unknown: %s\n", text.c_str());
      return 2;
    }
    command.way = ways[way].get();
    commands.push_back(command);
  }
  if (!costs.empty()) write_profile(words[3], costs);
  if (commands.empty()) return 0;
  adopt_profile(words[3]);
  Runner runner(commands);
  std::vector<std::thread> others;
  for (int i = 1; i < cores; i++) others.emplace_back([&, i] { runner.run(i, ways); });
  runner.run(0, ways);
  for (std::thread& other : others) other.join();
  std::fflush(stdout);
  _exit(0);
}
