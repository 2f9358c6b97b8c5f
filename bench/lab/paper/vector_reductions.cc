#include "bench/lab/paper/vector_reductions.h"

#include <fmt/format.h>
#include <smelt/group.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>

#include "base/os/os.h"
#include "bench/lab/paper/smelt_barrier.h"
#include "bench/lab/paper/tree_reduction.h"
#include "measure/processes.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"

namespace smelt::paper {
namespace {

// Long vectors and crowds need fewer rounds.
Effort effort_for(bool quick, size_t words, bool crowded) {
  Effort effort = effort_of(quick);
  effort.episodes = std::max<uint32_t>(
      static_cast<uint32_t>(effort.episodes * 64 / std::max<size_t>(words, 64)) / (crowded ? 20 : 1), 4);
  if (crowded) effort.laps = std::min(effort.laps, 9u);
  return effort;
}

double contribution(uint32_t thread, size_t k) { return static_cast<double>(thread + 1 + k % 1000); }

bool is_sum(const double* result, uint32_t participants, size_t words) {
  for (size_t k = 0; k < words; ++k) {
    double sum = 0;
    for (uint32_t i = 0; i < participants; ++i) sum += contribution(i, k);
    if (result[k] != sum) return false;  // whole numbers: exact in any order
  }
  return true;
}

std::vector<double> vector_of(uint32_t thread, size_t words) {
  std::vector<double> out(words);
  for (size_t k = 0; k < words; ++k) out[k] = contribution(thread, k);
  return out;
}

void add_right(void*, const void* left, void* right, size_t elements) {
  const auto* l = static_cast<const double*>(left);
  auto* r = static_cast<double*>(right);
  for (size_t k = 0; k < elements; ++k) r[k] += l[k];
}

void add_integers(void*, const void* left, void* right, size_t elements) {
  const auto* l = static_cast<const int*>(left);
  auto* r = static_cast<int*>(right);
  for (size_t k = 0; k < elements; ++k) r[k] += l[k];
}

// times[lap] for each of `columns`, of participant 0, in memory that the processes share.
class SharedTimes {
 public:
  SharedTimes(size_t columns, uint32_t laps) : laps_(laps), bytes_(columns * laps * sizeof(double)) {
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw UserError("no memory to share");
    times_ = static_cast<double*>(memory);
  }
  ~SharedTimes() { ::munmap(times_, bytes_); }
  SharedTimes(const SharedTimes&) = delete;
  SharedTimes& operator=(const SharedTimes&) = delete;
  double& at(size_t column, uint32_t lap) const { return times_[column * laps_ + lap]; }
  Timed timed(size_t column, double hop_ns) const {
    const std::vector<double> of(&at(column, 0), &at(column, 0) + laps_);
    return {median(of), relative_iqr(of), hop_ns};
  }

 private:
  const uint32_t laps_;
  const size_t bytes_;
  double* times_;
};

// Runs the processes between two ping-pongs, whose mean is returned.
double run_group(const std::vector<uint32_t>& cpus, const std::function<int(Rank&)>& body) {
  constexpr unsigned kLimitSeconds = 300;
  std::string why;
  const double hop = hop_around(cpus, [&] { why = run_processes(cpus, body, kLimitSeconds); });
  if (!why.empty()) throw UserError("the processes of a group: " + why);
  return hop;
}

// The part of one process: a column for each size, loose, and the next for the same, strict.
int reduce_in_group(Rank& rank, const std::vector<size_t>& words, bool quick, const SharedTimes& times) {
  const smelt_fold sum{sizeof(double), add_right, nullptr, nullptr, 0};
  smelt_group* groups[2] = {};
  int error = 0;
  for (const bool strict : {false, true}) {
    smelt_host host = rank.host();
    host.sync = strict ? SMELT_SYNC_STRICT : SMELT_SYNC_LOOSE;
    if (!error) error = smelt_group_create(&host, rank.n, rank.me, &groups[strict]);
  }
  for (size_t s = 0; s < words.size() && !error; ++s) {
    const Effort effort = effort_for(quick, words[s], false);
    std::vector<double> in = vector_of(rank.me, words[s]), result(words[s]);
    const smelt_data from{in.data(), nullptr, nullptr, nullptr}, to{result.data(), nullptr, nullptr, nullptr};
    for (uint32_t lap = 0; lap <= effort.laps && !error; ++lap)  // the first warms up
      for (const bool strict : {false, true}) {
        smelt_group* const group = groups[strict];
        if (!error) error = smelt_group_barrier(group);
        const int64_t begin = os::now_ns();
        for (uint32_t k = 0; k < effort.episodes && !error; ++k) {
          error = smelt_group_reduce(group, &from, &to, words[s], &sum, 0);
          if (strict && !error) error = smelt_group_barrier(group);
        }
        if (!error) error = smelt_group_barrier(group);
        if (rank.me == 0 && lap > 0)
          times.at(s * 2 + strict, lap - 1) = static_cast<double>(os::now_ns() - begin) / effort.episodes;
      }
    if (rank.me == 0 && !error && !is_sum(result.data(), rank.n, words[s])) error = -EBADMSG;
  }
  for (smelt_group* group : groups) smelt_group_free(group);
  smelt_groups_end();
  return error;
}

// A column each for broadcast, reduction and barrier.
int all_in_group(Rank& rank, bool quick, const SharedTimes& times) {
  const Effort effort = effort_of(quick);
  const smelt_fold sum{sizeof(int), add_integers, nullptr, nullptr, SMELT_FOLD_ANY_ORDER};
  smelt_host host = rank.host();
  host.sync = SMELT_SYNC_STRICT;
  smelt_group* group = nullptr;
  int error = smelt_group_create(&host, rank.n, rank.me, &group);
  for (uint32_t lap = 0; lap <= effort.laps && !error; ++lap)  // the first warms up
    for (size_t column = 0; column < 3 && !error; ++column) {
      int own = static_cast<int>(rank.me) + 1, result = 0;
      const smelt_data from{&own, nullptr, nullptr, nullptr}, to{&result, nullptr, nullptr, nullptr};
      error = smelt_group_barrier(group);
      const int64_t begin = os::now_ns();
      for (uint32_t k = 0; k < effort.episodes && !error; ++k) {
        if (column == 0) error = smelt_group_broadcast(group, &from, sizeof own, 0);
        if (column == 1) error = smelt_group_reduce(group, &from, &to, 1, &sum, 0);
        if (!error) error = smelt_group_barrier(group);
      }
      if (rank.me == 0 && lap > 0)
        times.at(column, lap - 1) = static_cast<double>(os::now_ns() - begin) / effort.episodes;
      const auto all = static_cast<int>(rank.n * (rank.n + 1) / 2);
      if (!error && column == 0 && own != 1) error = -EBADMSG;
      if (!error && column == 1 && rank.me == 0 && result != all) error = -EBADMSG;
    }
  smelt_group_free(group);
  smelt_groups_end();
  return error;
}

}  // namespace

std::vector<Timed> time_reductions(const std::vector<uint32_t>& cpus, uint32_t threads,
                                   const std::vector<Contestant>& contestants, size_t words, bool quick) {
  std::vector<std::vector<double>> in;
  for (uint32_t thread = 0; thread < threads; ++thread) in.push_back(vector_of(thread, words));
  std::vector<double> result(words);
  std::vector<Lap> laps;
  const auto barrier = std::make_shared<SmeltBarrier>(threads, cpus, "best");
  for (const Contestant& each : contestants) {
    const auto reduction = std::make_shared<TreeReduction>(each.pattern, threads, cpus, words);
    laps.push_back([&, reduction, barrier](uint32_t rounds) {
      const double ns = time_threads(
          cpus, threads, rounds,
          [&](uint32_t thread) {
            reduction->reduce(thread, in[thread].data(), result.data());
            if (each.strict) barrier->wait(thread);
          },
          [&](uint32_t thread) { barrier->wait(thread); });
      if (!is_sum(result.data(), threads, words))
        throw UserError(fmt::format("WRONG RESULT: a reduction of {} doubles over {}", words, each.pattern));
      return ns;
    });
  }
  return time_laps(cpus, laps, effort_for(quick, words, threads > cpus.size()));
}

std::vector<std::vector<Timed>> time_group_reductions(const std::vector<uint32_t>& cpus,
                                                      const std::vector<size_t>& words, bool quick) {
  const SharedTimes times(words.size() * 2, effort_of(quick).laps);
  const double hop = run_group(cpus, [&](Rank& rank) { return reduce_in_group(rank, words, quick, times); });
  std::vector<std::vector<Timed>> out;
  for (size_t s = 0; s < words.size(); ++s) out.push_back({times.timed(s * 2, hop), times.timed(s * 2 + 1, hop)});
  return out;
}

std::vector<Timed> time_group(const std::vector<uint32_t>& cpus, bool quick) {
  constexpr size_t kColumns = 3;
  const SharedTimes times(kColumns, effort_of(quick).laps);
  const double hop = run_group(cpus, [&](Rank& rank) { return all_in_group(rank, quick, times); });
  std::vector<Timed> out;
  for (size_t column = 0; column < kColumns; ++column) out.push_back(times.timed(column, hop));
  return out;
}

double price_reduction(const PaperMachine& machine, const Contestant& contestant, size_t words) {
  constexpr size_t kLineWords = 64 / sizeof(double);
  Pricing pricing(machine.file, machine.members);
  const double barrier = contestant.strict ? pricing.in_a_loop("best") : 0;
  pricing.lengthen(static_cast<uint32_t>((words + kLineWords - 1) / kLineWords));
  return contestant.strict ? pricing.makespan(Work::kReduction, contestant.pattern, 0) + barrier
                           : pricing.busiest(Work::kReduction, contestant.pattern, 0);
}

}  // namespace smelt::paper
