// The methods, one against the other, in real processes: their costs depend on page tables and on system calls between
// processes, which threads would not show.
//
// 1. Three groups of the same processes, each forced into its methods by the settings: flat, sliced, single copy.
// 2. For every size all methods take turns, a batch each, loose and strict (a barrier after each call, whose time
//    counts), so that a machine that changes in between changes for all of them. The first round of batches warms up
//    (pages, shelves, frequency) and does not count.
// 3. Each participant leaves its times in shared memory; the parent does the arithmetic. So the figures are there
//    however the processes ended.
#include "measure/methods.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <fmt/format.h>
#include <smelt/group.h>
#include <smelt/options.h>
#include <sys/mman.h>

#include "base/os/os.h"
#include "measure/cores.h"
#include "measure/processes.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

enum Forcing { kFlat, kSliced, kSingle, kForcings };

enum class What { kBroadcast, kReduce, kAllreduce };

struct Measured {
  CurveMethod method;
  What what;
  Forcing forcing;
};
constexpr uint32_t kLeastBatches = 3;  // of a size, to believe it

constexpr Measured kAll[kCurveMethods] = {
    {kBroadcastShelf, What::kBroadcast, kFlat},    {kBroadcastSingle, What::kBroadcast, kSingle},
    {kReduceFlat, What::kReduce, kFlat},           {kReduceSliced, What::kReduce, kSliced},
    {kReduceSingle, What::kReduce, kSingle},       {kAllreduceFlat, What::kAllreduce, kFlat},
    {kAllreduceSliced, What::kAllreduce, kSliced}, {kAllreduceSingle, What::kAllreduce, kSingle},
};

// ns of one batch of each participant: [sync][method][size][batch][participant], in memory that all processes share. 0:
// not measured.
class Times {
 public:
  Times(uint32_t n, const MethodEffort& effort)
      : n_(n),
        batches_(effort.batches),
        bytes_(size_t{kSyncs} * kCurveMethods * kCurveSizes * batches_ * n * sizeof(double)) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) times_ = static_cast<double*>(memory);
  }
  ~Times() {
    if (times_) ::munmap(times_, bytes_);
  }
  Times(const Times&) = delete;
  Times& operator=(const Times&) = delete;

  bool ok() const { return times_ != nullptr; }
  double& at(uint32_t sync, uint32_t method, uint32_t size, uint32_t batch, uint32_t participant) const {
    return times_[(((size_t{sync} * kCurveMethods + method) * kCurveSizes + size) * batches_ + batch) * n_ +
                  participant];
  }

  // The estimator of methods.h.
  double estimate(uint32_t sync, uint32_t method, uint32_t size) const {
    std::vector<double> slowest;
    for (uint32_t b = 0; b < batches_; ++b) {
      const double* batch = &at(sync, method, size, b, 0);
      if (*std::min_element(batch, batch + n_) > 0) slowest.push_back(*std::max_element(batch, batch + n_));
    }
    return slowest.size() < std::min(kLeastBatches, batches_) ? 0 : median(slowest);
  }

 private:
  uint32_t n_, batches_;
  size_t bytes_;
  double* times_ = nullptr;
};

uint32_t calls_of(const MethodEffort& effort, uint64_t bytes) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(effort.batch_bytes / bytes, 1, effort.most_calls));
}

void add_right(void*, const void* left, void* right, size_t elements) {
  const auto* l = static_cast<const double*>(left);
  auto* r = static_cast<double*>(right);
  for (size_t i = 0; i < elements; ++i) r[i] = l[i] + r[i];
}

void add_third(void*, const void* left, const void* right, void* result, size_t elements) {
  const auto* l = static_cast<const double*>(left);
  const auto* r = static_cast<const double*>(right);
  auto* to = static_cast<double*>(result);
  for (size_t i = 0; i < elements; ++i) to[i] = l[i] + r[i];
}

// One process's part.
class Participant {
 public:
  Participant(Rank& rank, const MethodEffort& effort, int64_t until_ns, const Times& times)
      : rank_(rank),
        effort_(effort),
        until_ns_(until_ns),
        times_(times),
        // Written, so that every page is there and its own.
        in_(kSampledBytes[effort.sizes - 1] / sizeof(double), 1.0),
        out_(in_.size(), 0.0) {}

  int run() {
    // Yesterday's profile may know other CPUs than today's: the trees are those of the kernel's topology.
    if (smelt_option_set("SMELT_PROFILE", "/dev/null") != 0) return -EINVAL;
    single_ = rank_.can_read_others();
    int error = 0;
    for (int f = 0; f < kForcings && !error; ++f)
      if (f != kSingle || single_) error = create(static_cast<Forcing>(f));                    // 1.
    for (uint32_t s = 0; s < effort_.sizes && !error && !over_; ++s) error = measure_size(s);  // 2.
    for (smelt_group* group : groups_) smelt_group_free(group);
    smelt_groups_end();
    return error;
  }

 private:
  int create(Forcing forcing) {
    constexpr const char* kAlways = "1099511627776";  // the settings' greatest value: no message is longer
    if (smelt_option_set("SMELT_TUNE=flat_limit", forcing == kFlat ? kAlways : "0") != 0) return -EINVAL;
    if (smelt_option_set("SMELT_TUNE=copy_limit", forcing == kSingle ? "0" : kAlways) != 0) return -EINVAL;
    const smelt_host host = rank_.host();
    return smelt_group_create(&host, rank_.n, rank_.me, &groups_[forcing]);
  }

  int measure_size(uint32_t s) {
    const uint64_t bytes = kSampledBytes[s];
    const uint32_t calls = calls_of(effort_, bytes);
    for (uint32_t round = 0; round <= effort_.batches; ++round) {
      if (const int error = look_at_the_clock(); error || over_) return error;
      for (const Measured& each : kAll) {
        if (!groups_[each.forcing]) continue;
        for (uint32_t sync = 0; sync < kSyncs; ++sync) {
          double ns = 0;
          if (const int error = batch(each, static_cast<Sync>(sync), bytes, calls, &ns)) return error;
          if (round > 0) times_.at(sync, each.method, s, round - 1, rank_.me) = ns / calls;
        }
      }
    }
    return 0;
  }

  // All go on, or none: a batch needs everybody.
  int look_at_the_clock() {
    int64_t time_left = os::now_ns() < until_ns_;
    if (host_minimum(static_cast<MeetingRank*>(&rank_), &time_left, 1) != 0) return -EIO;
    over_ = !time_left;
    return 0;
  }

  int batch(const Measured& each, Sync sync, uint64_t bytes, uint32_t calls, double* ns) {
    smelt_group* const group = groups_[each.forcing];
    int error = smelt_group_barrier(group);
    const int64_t begin = os::now_ns();
    for (uint32_t k = 0; k < calls && !error; ++k) {
      error = call(each.what, group, bytes, k % rank_.n);
      if (!error && sync == Sync::kStrict) error = smelt_group_barrier(group);
    }
    *ns = static_cast<double>(os::now_ns() - begin);
    return error;
  }

  int call(What what, smelt_group* group, uint64_t bytes, unsigned root) {
    const smelt_data in{in_.data(), nullptr, nullptr, nullptr}, out{out_.data(), nullptr, nullptr, nullptr};
    const smelt_fold sum{sizeof(double), add_right, add_third, nullptr, 0};
    const size_t elements = bytes / sizeof(double);
    switch (what) {
      case What::kBroadcast: return smelt_group_broadcast(group, &out, bytes, root);
      case What::kReduce: return smelt_group_reduce(group, &in, &out, elements, &sum, 0);
      case What::kAllreduce: break;
    }
    return smelt_group_allreduce(group, &in, &out, elements, &sum);
  }

  Rank& rank_;
  const MethodEffort& effort_;
  const int64_t until_ns_;
  const Times& times_;
  std::vector<double> in_, out_;
  smelt_group* groups_[kForcings] = {};
  bool single_ = false;
  bool over_ = false;  // the time
};

// One decimal: more would be noise, and both forms of the profile must carry the same number.
float rounded(double ns) { return static_cast<float>(std::round(ns * 10) / 10); }

int64_t after(double seconds) { return os::now_ns() + static_cast<int64_t>(seconds * 1e9); }

double seconds_until(int64_t ns) { return static_cast<double>(ns - os::now_ns()) * 1e-9; }

uint32_t known_sizes(const CurveSet& set) {
  const float* const shelf = set.ns[kBroadcastShelf];
  return static_cast<uint32_t>(std::find(shelf, shelf + kCurveSizes, 0.0f) - shelf);
}

}  // namespace

std::string measure_sets(const std::vector<uint32_t>& cpus, const MethodEffort& effort, CurveSet (&out)[kSyncs]) {
  // The processes look at the clock themselves; the alarm is for those that never come to look.
  constexpr double kGrace = 3, kUsualLimitS = 60;
  const auto n = static_cast<uint32_t>(cpus.size());
  for (uint32_t sync = 0; sync < kSyncs; ++sync) out[sync] = {n, sync, {}};
  const Times times(n, effort);
  if (!times.ok()) return "no memory to share";
  const int64_t until_ns = effort.until_ns != 0 ? effort.until_ns : after(kUsualLimitS);
  const std::string why = run_processes(
      cpus, [&](Rank& rank) { return Participant(rank, effort, until_ns, times).run(); },
      static_cast<unsigned>(std::ceil(std::max(seconds_until(until_ns), 0.0) + kGrace)));
  for (CurveSet& set : out)  // 3.
    for (uint32_t m = 0; m < kCurveMethods; ++m)
      for (uint32_t s = 0; s < effort.sizes; ++s) set.ns[m][s] = rounded(times.estimate(set.sync, m, s));
  if (!why.empty()) return why;
  return known_sizes(out[0]) == effort.sizes ? "" : "the time was over";
}

std::vector<std::vector<uint32_t>> method_cpus(const ProfileImage& image) {
  constexpr size_t kMost = 16;  // the largest group that takes single copy
  std::vector<uint32_t> firsts = first_of_each_core(image), chosen;
  if (firsts.size() < 2) return {};
  // Both directions of a pair have the same hop.
  std::pair<uint32_t, uint32_t> nearest{firsts[0], firsts[1]};
  const auto hop = [&](uint32_t a, uint32_t b) { return image.hop[size_t{a} * image.n() + b]; };
  for (uint32_t a : firsts)
    for (uint32_t b : firsts)
      if (a < b && hop(a, b) < hop(nearest.first, nearest.second)) nearest = {a, b};
  std::vector<std::vector<uint32_t>> sets{{image.os_cpu[nearest.first], image.os_cpu[nearest.second]}};
  if (firsts.size() < 4) return sets;
  firsts.resize(std::min(firsts.size(), kMost));
  for (uint32_t i : firsts) chosen.push_back(image.os_cpu[i]);
  sets.push_back(chosen);
  return sets;
}

MeasuredMethods measure_methods(const ProfileImage& image, const Progress& progress, const MethodEffort& effort) {
  MeasuredMethods out;
  const auto sets = method_cpus(image);
  for (size_t i = 0; i < sets.size(); ++i) {
    MethodEffort share = effort;
    if (effort.until_ns != 0)
      share.until_ns = after(seconds_until(effort.until_ns) / static_cast<double>(sets.size() - i));
    CurveSet measured[kSyncs];
    const std::string why = measure_sets(sets[i], share, measured);
    const uint32_t sizes = known_sizes(measured[0]);
    if (sizes > 0) out.sets.insert(out.sets.end(), std::begin(measured), std::end(measured));
    if (!why.empty() && out.remark.empty())
      out.remark = sizes > 0 ? fmt::format("{}: the methods for {} processes are known up to {} bytes only", why,
                                           sets[i].size(), kSampledBytes[sizes - 1])
                             : fmt::format(
                                   "the methods for {} processes could not be measured: {}; typical limits are "
                                   "used",
                                   sets[i].size(), why);
    if (progress) progress(static_cast<uint32_t>(i + 1), static_cast<uint32_t>(sets.size()));
  }
  return out;
}

}  // namespace smelt
