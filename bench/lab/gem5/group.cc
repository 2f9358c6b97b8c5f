// Collectives on a simulated machine: a group of Smelt's (smelt/group.h) beside the ways of its peers, each as a plain
// program. Threads, one a core, are the ranks, because simulated processes share no memory: so nobody can read another
// process's memory by a system call (single copy), and all data go through shared memory. `lab.py` writes the plan,
// which comes by standard input, one command a line:
//
//   OP BYTES WAY REPS   op: barrier, broadcast, reduce, allreduce, scatter, alltoall; way: smelt, flat, sm, xhc,
//                       linear, as far as it has that. Sums of doubles, root 0; the bytes of a scatter and an alltoall
//                       are those of a block.
//                       GROUP OP BYTES WAY in-a-loop alone: cycles until the last one has left. In a loop nobody waits
//                       for others between two calls (Smelt's group knows that: loose); alone, all begin at one time
//                       (strict). Each call has the other of two buffers. Every result is checked before.
#include <smelt/group.h>

#include <barrier>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "base/os/shared_memory.h"
#include "flat.h"
#include "linear.h"
#include "measure/meeting.h"
#include "profile/profile.h"
#include "sm.h"
#include "xhc.h"

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

using namespace simulated;

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
  void scatter(int me, const char* in, char* out, size_t bytes) override {
    const smelt_data to = seen(out);
    check(smelt_group_scatter(group_[me], in, &to, bytes, 0));
  }
  void alltoall(int me, const char* in, char* out, size_t bytes) override {
    check(smelt_group_alltoall(group_[me], in, out, bytes));
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

enum class Op { kBarrier, kBroadcast, kReduce, kAllreduce, kScatter, kAlltoall };
constexpr const char* kOps[] = {"barrier", "broadcast", "reduce", "allreduce", "scatter", "alltoall"};

struct Command {
  Op op;
  std::string name;
  size_t bytes;
  Way* way;
  int repetitions;
};

// A rank's own memory, and where it reports.
constexpr int kBuffers = 2;
constexpr size_t kLongest = kRow;
constexpr int kMostCalls = 1000;
size_t blocks(Op op) { return op == Op::kScatter || op == Op::kAlltoall ? cores : 1; }  // of a row
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
    // Asleep, as it takes long: they plan one after the other. So does whoever calls an operation first.
    entered_.arrive_and_wait();
    for (const Command& command : commands_) call(me, command, 0);
    meet();
    if (me == 0) end_quick_start();
    for (const Command& command : commands_) {
      prove(me, command);
      const double loop = time(me, command, false), alone = time(me, command, true);
      if (me == 0)
        std::printf("GROUP %s %zu %s %.0f %.0f\n", kOps[int(command.op)], command.bytes, command.name.c_str(), loop,
                    alone);
    }
  }

 private:
  void call(int me, const Command& command, int k) {
    const size_t count = command.bytes / sizeof(double);
    double *const in = buffers_[me].in[k % kBuffers], *const out = buffers_[me].out[k % kBuffers];
    char *const from = reinterpret_cast<char*>(in), *const to = reinterpret_cast<char*>(out);
    switch (command.op) {
      case Op::kBarrier: return command.way->barrier(me);
      case Op::kBroadcast: return command.way->broadcast(me, me == 0 ? from : to, command.bytes);
      case Op::kReduce: return command.way->reduce(me, in, out, count);
      case Op::kAllreduce: return command.way->allreduce(me, in, out, count);
      case Op::kScatter: return command.way->scatter(me, from, to, command.bytes);
      case Op::kAlltoall: return command.way->alltoall(me, from, to, command.bytes);
    }
  }

  // All meet here, and the last one says when they go on.
  uint64_t meet() {
    const uint64_t turn = add(arrived_, 1);
    const uint64_t round = (turn + cores - 1) / cores;
    if (turn % cores == 0) {
      start_time_.store(cycles() + 1500, std::memory_order_relaxed);  // Published by the next store.
      tell(started_, round);
    }
    wait_for(started_, round);
    return start_time_.load(std::memory_order_relaxed);
  }

  // Integers, so that every order has the same sum.
  void prove(int me, const Command& command) {
    const size_t block = command.bytes / sizeof(double), count = block * blocks(command.op);
    const auto expected = [&](int k, size_t i) -> size_t {
      switch (command.op) {
        case Op::kBroadcast: return i % 97 + k;
        case Op::kScatter: return (me * block + i) % 97 + k;
        case Op::kAlltoall: return (me * block + i % block) % 97 + k + i / block;
        default: return cores * (i % 97 + k) + cores * (cores - 1) / 2;
      }
    };
    const size_t result = command.op == Op::kScatter ? block : count;
    const bool gets = command.op == Op::kReduce ? me == 0 : command.op != Op::kBroadcast || me != 0;
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
      for (size_t i = 0; i < result; i++) {
        if (buffers_[me].out[k][i] == static_cast<double>(expected(k, i))) continue;
        std::printf("wrong: %s of %zu bytes by %s, rank %d, element %zu\n", kOps[int(command.op)], command.bytes,
                    command.name.c_str(), me, i);
        std::fflush(stdout);
        _exit(1);
      }
    }
    meet();
  }

  // Rank 0 gets the time of a call, the others 0.
  double time(int me, const Command& command, bool strict) {
    const int times = command.repetitions, warm = times / 4;
    uint64_t start = meet();
    while (cycles() < start) relax();
    for (int k = 0; k < times; k++) {
      if (strict) {
        start = meet();
        while (cycles() < start) relax();
      }
      call(me, command, k);
      buffers_[me].left[k] = cycles() - (strict ? start : 0);
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
  std::barrier<> entered_{cores};
  OfEach<Buffers> buffers_;
  SharedLine arrived_{}, started_{};
  Word start_time_{0};
};

// The profile, which `plan` has written, becomes one of the machine that this runs on.
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
  ways.push_back(std::make_unique<Linear>());
  const std::vector<std::string> names = {"smelt", "flat", "sm", "xhc", "linear"};
  std::vector<Command> commands;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    Command command{};
    std::string op;
    line >> op;
    line >> command.bytes >> command.name >> command.repetitions;
    const size_t way = std::find(names.begin(), names.end(), command.name) - names.begin();
    command.op = static_cast<Op>(std::find(std::begin(kOps), std::end(kOps), op) - std::begin(kOps));
    if (!line || way == names.size() || size_t(command.op) == std::size(kOps) ||
        command.bytes * blocks(command.op) > kLongest || command.bytes % sizeof(double) != 0 ||
        command.repetitions < 4 || command.repetitions > kMostCalls) {
      std::printf("unknown: %s\n", text.c_str());
      return 2;
    }
    command.way = ways[way].get();
    commands.push_back(command);
  }
  adopt_profile(words[3]);
  if (commands.empty()) return 0;  // the profile is another program's
  Runner runner(commands);
  std::vector<std::thread> others;
  for (int i = 1; i < cores; i++) others.emplace_back([&, i] { runner.run(i, ways); });
  runner.run(0, ways);
  for (std::thread& other : others) other.join();
  std::fflush(stdout);
  _exit(0);
}
