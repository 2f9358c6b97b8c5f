// The work of single copy between the waits: copying and combining.
#include "group/single_copy.h"

#include "policy/thresholds.h"

namespace smelt {

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
