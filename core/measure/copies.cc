// A writer and a reader, each a process on its CPU. For every sample the writer writes the whole message and says so
// over a line; the reader then moves it, by its own clock, and answers:
//
//   copy         memcpy from memory that both share to the reader's own
//   single copy  the same from the writer's own memory by a system call (cross memory attach)
//   reduce       doubles in the shared memory are added to the reader's own
//
// So the bytes are always in the writer's caches, as far as they fit, as they are when a collective hands them on. One
// sample is one message: nothing overlaps, and the clock's own cost is taken off. The figure is the midmean of the
// samples; the first one of each size warms up. A CPU with itself: one process writes and then reads; the system call
// reads its own memory.
#include "measure/copies.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/os/os.h"
#include "base/os/shared_memory.h"
#include "measure/bench_lines.h"
#include "measure/processes.h"
#include "profile/text/statistics.h"
#include "transport/segment.h"

namespace smelt {
namespace {

enum CopyCurve { kCopy, kSingleCopy, kReduce, kKinds };
constexpr uint64_t kLargest = kSampledBytes[kCurveSizes - 1];  // bytes: the curves' longest message
constexpr uint32_t kLeastSamples = 5;                          // of a size, however long it takes
constexpr int kPattern = 0x3f;  // in every byte: a small double, so that sums stay ordinary numbers

// Shared by the two processes.
struct CopyBoard {
  Line ready, done;
  std::atomic<uint64_t> source;  // the writer's own memory: its address there, and its process
  std::atomic<int32_t> process;
  float ns[kKinds][kCurveSizes];  // the result
  alignas(kPage) char data[kLargest];
};

void add(double* own, const double* other, size_t elements) {
  for (size_t i = 0; i < elements; ++i) own[i] += other[i];
}

// One process's part: the writer's, the reader's, or both.
class Partner {
 public:
  Partner(Rank& rank, const CopyEffort& effort, CopyBoard& board)
      : rank_(rank), effort_(effort), board_(board), own_(kSampledBytes[effort.sizes - 1] / sizeof(double)) {}

  int run() {
    const bool single = rank_.can_read_others();
    if (writes()) {
      board_.source.store(reinterpret_cast<uint64_t>(own_.data()), std::memory_order_relaxed);
      board_.process.store(os::process_id(), std::memory_order_relaxed);
    }
    if (rank_.n == 1) theirs_ = std::vector<double>(own_.size());
    for (uint32_t s = 0; s < effort_.sizes; ++s)
      for (const CopyCurve kind : {kCopy, kSingleCopy, kReduce}) {
        if (kind == kSingleCopy && !single) continue;
        if (!measure(kind, s)) return -EIO;
      }
    return 0;
  }

 private:
  bool writes() const { return rank_.me + 1 == rank_.n; }
  bool reads() const { return rank_.me == 0; }
  char* read_into() { return reinterpret_cast<char*>(rank_.n == 1 ? theirs_.data() : own_.data()); }

  bool measure(CopyCurve kind, uint32_t s) {
    const uint64_t bytes = kSampledBytes[s];
    const auto samples =
        static_cast<uint32_t>(std::clamp<uint64_t>(effort_.bytes / bytes, kLeastSamples, effort_.most_samples));
    std::vector<double> taken;
    for (uint32_t i = 0; i <= samples; ++i) {
      ++epoch_;
      if (writes()) {
        await(board_.done.epoch, epoch_ - 1);
        std::memset(kind == kSingleCopy ? reinterpret_cast<char*>(own_.data()) : board_.data, kPattern, bytes);
        post(board_.ready, epoch_);
      }
      if (reads()) {
        await(board_.ready.epoch, epoch_);
        const uint64_t start = ticks();
        if (!move(kind, bytes)) return false;
        const uint64_t end = ticks();
        const double clock = ns_between(end, ticks());
        if (i > 0) taken.push_back(ns_between(start, end) - clock);
        post(board_.done, epoch_);
      }
    }
    // One decimal: more would be noise. Nothing takes no time at all, and 0 would mean that it was not measured.
    if (reads()) board_.ns[kind][s] = static_cast<float>(std::max(0.1, std::round(midmean(taken) * 10) / 10));
    return true;
  }

  bool move(CopyCurve kind, uint64_t bytes) {
    char* const to = read_into();
    switch (kind) {
      case kCopy: std::memcpy(to, board_.data, bytes); return true;
      case kSingleCopy:
        return os::read_process(board_.process.load(std::memory_order_relaxed), to,
                                board_.source.load(std::memory_order_relaxed), bytes) == 0;
      case kReduce:
        add(reinterpret_cast<double*>(to), reinterpret_cast<const double*>(board_.data), bytes / sizeof(double));
        return true;
      case kKinds: break;
    }
    return false;
  }

  Rank& rank_;
  const CopyEffort& effort_;
  CopyBoard& board_;
  std::vector<double> own_;     // the writer's source, the reader's destination
  std::vector<double> theirs_;  // the destination where one does both
  uint64_t epoch_ = 0;
};

}  // namespace

std::vector<CopyPair> copy_cpus(const ProfileImage& image) {
  std::vector<CopyPair> out{{Distance::kSelf, image.os_cpu[0], image.os_cpu[0]}};
  const uint32_t n = image.n();
  struct Candidate {
    float hop;
    uint32_t a, b;
  };
  std::vector<Candidate> pairs[kDistances];
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = a + 1; b < n; ++b)
      pairs[static_cast<size_t>(distance_in(image, a, b))].push_back({image.hop[size_t{a} * n + b], a, b});
  for (uint32_t d = 0; d < kDistances; ++d) {
    if (pairs[d].empty()) continue;
    const auto middle = pairs[d].begin() + static_cast<std::ptrdiff_t>(pairs[d].size() / 2);
    std::nth_element(pairs[d].begin(), middle, pairs[d].end(),
                     [](const Candidate& x, const Candidate& y) { return x.hop < y.hop; });
    out.push_back({static_cast<Distance>(d), image.os_cpu[middle->a], image.os_cpu[middle->b]});
  }
  return out;
}

std::string measure_copies(const CopyPair& pair, const CopyEffort& effort, DistanceCurves* out) {
  *out = {};
  out->distance = static_cast<uint32_t>(pair.distance);
  ns_per_tick();
  const SharedLines<CopyBoard> board;
  if (!board.ok()) return "no memory to share";
  std::vector<uint32_t> cpus{pair.reader};
  if (pair.writer != pair.reader) cpus.push_back(pair.writer);
  const std::string why = run_processes(
      cpus, [&](Rank& rank) { return Partner(rank, effort, *board).run(); }, effort.limit_s);
  if (!why.empty()) return why;
  std::copy_n((*board).ns[kCopy], kCurveSizes, out->copy);
  std::copy_n((*board).ns[kSingleCopy], kCurveSizes, out->single_copy);
  std::copy_n((*board).ns[kReduce], kCurveSizes, out->reduce);
  return "";
}

}  // namespace smelt
