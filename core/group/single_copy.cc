// What single copy does between the waits: copying and combining.
#include "group/single_copy.h"

namespace smelt {

// The first operand of a chain of combinations stays until the second is combined with it, so two places for what is
// read are enough.
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

// In place is safe: our slice of everybody's operands is read by nobody but us, and overwritten by nobody but us.
void ReduceSingle::combine_slice(Group& group, const Reduction& job) {
  const uint32_t n = group.n, me = group.me;
  const size_t width = job.fold.element_bytes, begin = slice(job.elements, me, n), end = slice(job.elements, me + 1, n);
  const size_t step = group.plan.limits.read_bytes / width;
  for (size_t from = begin; from < end; from += step) {
    const size_t upto = end - from < step ? end : from + step;
    char* const result =
        wants(job, me) ? static_cast<char*>(job.out.base) + from * width : group.scratch + 3 * kReadBytes;
    combine_range(group, notices.all, job.fold, from, upto, result, &error);
    for (uint32_t k = 1; k < n; ++k) {  // the next participant first, so that not all write to the same one
      const uint32_t r = (me + k) % n;
      if (wants(job, r))
        note(write_to(group.introduction(r), result, notices.all[r].out + from * width, (upto - from) * width), &error);
    }
  }
}

// Two participants, and the result goes to one of them: the other writes the first half of its operands straight into
// the place of the result while the root reads the second half there; the root combines both. Half the copying for
// each, and no result to send. Not in place: there the root's operands are where the other would write.
void ReduceSingle::exchange_halves(Group& group, const Reduction& job) {
  const size_t width = job.fold.element_bytes, half = slice(job.elements, 1, 2);
  const size_t step = group.plan.limits.read_bytes / width;
  const uint32_t other = 1 - group.me;
  if (group.me != job.root) {
    note(write_to(group.introduction(other), job.in.base, notices.all[job.root].out, half * width), &error);
    return;
  }
  char* const out = static_cast<char*>(job.out.base);
  for (size_t from = half; from < job.elements; from += step) {
    const size_t count = job.elements - from < step ? job.elements - from : step;
    note(read_from(group.introduction(other), out + from * width, notices.all[other].in + from * width, count * width),
         &error);
    combine_halves(group, job, from, from + count);
  }
}

// The root's: its own operands and the other's, which lie where the result belongs.
void ReduceSingle::combine_halves(Group& group, const Reduction& job, size_t begin, size_t end) {
  const size_t width = job.fold.element_bytes, step = group.plan.limits.read_bytes / width;
  for (size_t from = begin; from < end; from += step) {
    const size_t count = end - from < step ? end - from : step;
    const char* const mine = static_cast<const char*>(job.in.base) + from * width;
    char* const theirs = static_cast<char*>(job.out.base) + from * width;
    Combiner(job.fold, count, nullptr, nullptr)
        .combine(job.root == 0 ? mine : theirs, job.root == 0 ? theirs : mine, theirs, group.scratch);
  }
}

}  // namespace smelt
