// The work of single copy between the waits: copying and combining.
#include "group/single_copy.h"

#include <cstdio>

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "policy/thresholds.h"

namespace smelt {
namespace {

// relaxed, all of these: released and acquired with the episode that ends the tried call (Rings::finish_now).
void write_times(Consumed& mine, uint64_t call, const CallTimes& times) {
  const uint64_t i = call % Consumed::kCalls;
  mine.begun[i].store(times.begun, std::memory_order_relaxed);
  mine.done[i].store(times.done, std::memory_order_relaxed);
  mine.row[i].store(times.row, std::memory_order_relaxed);
}
CallTimes read_times(const Consumed& theirs, uint64_t call) {
  const uint64_t i = call % Consumed::kCalls;
  return {theirs.begun[i].load(std::memory_order_relaxed), theirs.done[i].load(std::memory_order_relaxed),
          theirs.row[i].load(std::memory_order_relaxed)};
}

const char* name_of(smelt_collective which) {
  static constexpr const char* kNames[] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) #mpi,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
  };
  return kNames[which];
}

void say_chosen(size_t number, const MethodTrials::Row& row) {
  using Method = MethodTrials::Method;
  const size_t size = number % MethodTrials::kSizes;
  const auto which = static_cast<smelt_collective>(number % MethodTrials::kRows / MethodTrials::kSizes);
  char bytes[32] = "any length";
  if (MethodTrials::longest(size) != UINT64_MAX)
    std::snprintf(bytes, sizeof bytes, "<= %llu KiB",
                  static_cast<unsigned long long>(MethodTrials::longest(size) >> 10));
  log_line("two ranks have tried %s of %s: shared memory %.1f us, single copy %.1f us; from now on %s%s",
           name_of(which), bytes, MethodTrials::time(row, Method::kShelf) / 1e3,
           MethodTrials::time(row, Method::kSingleCopy) / 1e3,
           row.chosen == Method::kSingleCopy ? "single copy" : "shared memory",
           number < MethodTrials::kRows ? "" : ", where a barrier follows");
}

}  // namespace

void Trial::begin_tried(const Group& group, smelt_collective of, size_t bytes) {
  trying = true;
  mine.row = group.trials.number_of(of, MethodTrials::size_of(bytes));
  mine.begun = os::now_ns();
}

// An episode of its own, in which nothing is said but that we are done.
void Trial::tell(Group& group) {
  mine.done = os::now_ns();
  ++group.episode;
  write_times(group.desk().consumed, group.trials.tried(), mine);
  group.finish_now();
}

void Trial::compare(Group& group, MethodTrials::Method ran) {
  const CallTimes theirs = read_times(group.desks[1 - group.me].consumed, group.trials.tried());
  if (theirs.row != mine.row) return group.trials.close();
  if (group.trials.note(mine.row, ran, time_together(mine, theirs)) && group.me == 0 && options().verbose >= 2)
    say_chosen(mine.row, *row);
}

// The first operand of a chain of combinations stays until the second is combined with it, so two places are enough for
// the operands that are read.
void combine_range(Group& group, const Notice* operands, const smelt_fold& fold, size_t begin, size_t end, char* out,
                   int* error) {
  const size_t width = fold.element_bytes, step = group.plan.limits.read_bytes / width;
  char* const first = group.scratch;
  char* const next = group.scratch + kReadBytes;
  char* const room = group.scratch + 2 * kReadBytes;
  for (size_t from = begin; from < end; from += step) {
    const size_t count = end - from < step ? end - from : step, bytes = count * width, offset = from * width;
    const auto operand = [&](uint32_t i) -> const void* {
      if (i == group.me) return reinterpret_cast<const char*>(operands[i].in) + offset;
      char* const to = i == group.n - 1 ? first : next;
      note(read_from(group.introduction(i), to, operands[i].in + offset, bytes), error);
      return to;
    };
    Chain chain(0, group.n);
    Combiner(fold, count, room, nullptr).chain(chain, operand, room, out + (from - begin) * width);
  }
}

size_t ReduceWork::begin_of(const Group& group, const Reduction& job, uint32_t i) {
  const bool alone = group.n == 2 && job.root != kEverybody && job.bytes() <= typical(ThresholdId::kReadAlone);
  return alone ? (i > job.root ? job.elements : 0) : slice(job.elements, i, group.n);
}

// In place is safe: our slice of everybody's operands is read by nobody but us, and overwritten by nobody but us.
void ReduceWork::copy(Group& group, const Reduction& job, const Notice* all, int* error) {
  const uint32_t n = group.n, me = group.me;
  const size_t width = job.fold.element_bytes, begin = begin_of(group, job, me), end = begin_of(group, job, me + 1);
  const size_t step = group.plan.limits.read_bytes / width;
  for (size_t from = begin; from < end; from += step) {
    const size_t upto = end - from < step ? end : from + step;
    char* const result =
        wants(job, me) ? static_cast<char*>(job.out.base) + from * width : group.scratch + 3 * kReadBytes;
    combine_range(group, all, job.fold, from, upto, result, error);
    for (uint32_t k = 1; k < n; ++k) {  // the next participant first, so that not all write to the same one
      const uint32_t r = (me + k) % n;
      if (wants(job, r))
        note(write_to(group.introduction(r), result, all[r].out + from * width, (upto - from) * width), error);
    }
  }
}

}  // namespace smelt
