#include "group/single_copy.h"

#include <cerrno>

#include "base/os/shared_memory.h"
#include "group/reduction.h"

namespace smelt {
namespace {

// What a participant says of its memory. 0: not in one piece.
struct Notice {
  uint64_t in = 0;   // what the others may read
  uint64_t out = 0;  // where they may write
};

uint64_t address(const smelt_data& data) { return reinterpret_cast<uint64_t>(data.base); }

// Everybody tells everybody. True when everything that will be read (in) or written (out) is in one piece. Afterwards
// all are known to have arrived.
template <typename Needed>
bool exchange(Group& group, const Notice& own, Notice* all, Needed needed) {
  group.put_inline(group.desk().up, &own, sizeof own);
  bool possible = true;
  for (uint32_t i = 0; i < group.n; ++i) {
    if (i == group.me)
      all[i] = own;
    else
      std::memcpy(&all[i], group.get_inline(i, group.desks[i].up, sizeof own, nullptr), sizeof own);
    possible &= needed(i, all[i]);
  }
  group.finish_together();
  return possible;
}

// Nobody may go on before all have read and written what they had to.
void leave_together(Group& group) {
  group.finish_now();
  group.settle(group.episode);
}

void note(int failed, int* error) {
  if (failed) *error = -EIO;
}

size_t slice(size_t whole, uint32_t r, uint32_t n) { return whole / n * r + whole % n * r / n; }

// Elements [begin, end) of all operands, combined to `out`, which is a place for just these. The first operand of a
// chain of combinations stays until the second is combined with it, so two places for what is read are enough.
void combine_range(Group& group, const Notice* all, size_t begin, size_t end, const smelt_fold& fold, char* out,
                   int* error) {
  const size_t width = fold.element_bytes, step = group.plan.limits.read_bytes / width;
  char* const first = group.scratch;
  char* const next = group.scratch + kReadBytes;
  char* const room = group.scratch + 2 * kReadBytes;
  for (size_t at = begin; at < end; at += step) {
    const size_t count = end - at < step ? end - at : step, bytes = count * width, offset = at * width;
    const auto operand = [&](uint32_t i) -> const void* {
      if (i == group.me) return reinterpret_cast<const char*>(all[i].in) + offset;
      char* const to = i == group.n - 1 ? first : next;
      note(os::read_process(group.introduction(i).process, to, all[i].in + offset, bytes), error);
      return to;
    };
    Combiner(fold, count, room, nullptr).chain(0, group.n, operand, room, out + (at - begin) * width);
  }
}

// Two participants, and the result goes to one of them: the other writes the first half of its operands straight into
// the place of the result while the root reads the second half there; the root combines both. Half the copying for
// each, and no result to send. Not in place: there the root's operands are where the other would write.
void reduce_two(Group& group, const Notice* all, const smelt_data& in, char* out, size_t elements,
                const smelt_fold& fold, uint32_t root, int* error) {
  const size_t width = fold.element_bytes, half = slice(elements, 1, 2), step = group.plan.limits.read_bytes / width;
  const uint32_t other = 1 - group.me;
  const int32_t process = group.introduction(other).process;
  if (group.me != root) {
    note(os::write_process(process, in.base, all[root].out, half * width), error);
    leave_together(group);
    return;
  }
  const char* own = static_cast<const char*>(in.base);
  const auto combine = [&](size_t at, size_t count) {
    const char *mine = own + at * width, *theirs = out + at * width;
    Combiner(fold, count, nullptr, nullptr)
        .combine(root == 0 ? mine : theirs, root == 0 ? theirs : mine, out + at * width, group.scratch);
  };
  const auto count_at = [&](size_t at, size_t end) { return end - at < step ? end - at : step; };
  for (size_t at = half; at < elements; at += step) {
    const size_t count = count_at(at, elements);
    note(os::read_process(process, out + at * width, all[other].in + at * width, count * width), error);
    combine(at, count);
  }
  leave_together(group);
  for (size_t at = 0; at < half; at += step) combine(at, count_at(at, half));
}

}  // namespace

bool broadcast_single_copy(Group& group, const smelt_data& data, size_t bytes, uint32_t root, int* error) {
  ++group.episode;
  Notice all[kDirectCopyParticipants];
  if (!exchange(group, {address(data), address(data)}, all,
                [](uint32_t, const Notice& notice) { return notice.in != 0; }))
    return false;
  const size_t written = slice(bytes, 1, group.n);  // by the root, to each
  if (group.me != root) {
    note(os::read_process(group.introduction(root).process, static_cast<char*>(data.base) + written,
                          all[root].in + written, bytes - written),
         error);
  } else {
    for (uint32_t i = 0; i < group.n; ++i)
      if (i != root) note(os::write_process(group.introduction(i).process, data.base, all[i].out, written), error);
  }
  leave_together(group);
  return true;
}

bool reduce_single_copy(Group& group, const smelt_data& in, const smelt_data& out, size_t elements,
                        const smelt_fold& fold, uint32_t root, int* error) {
  ++group.episode;
  const uint32_t n = group.n, me = group.me;
  const bool receives = root == kEverybody || root == me;
  Notice all[kDirectCopyParticipants];
  const bool possible =
      exchange(group, {address(in), receives ? address(out) : 0}, all, [root](uint32_t i, const Notice& notice) {
        return notice.in && (notice.out || !(root == kEverybody || root == i));
      });
  if (!possible) return false;
  if (n == 2 && root != kEverybody && all[root].in != all[root].out) {
    reduce_two(group, all, in, static_cast<char*>(out.base), elements, fold, root, error);
    return true;
  }
  // In place is safe: our slice of everybody's operands is read by nobody but us, and overwritten by nobody but us.
  const size_t width = fold.element_bytes, begin = slice(elements, me, n), end = slice(elements, me + 1, n);
  const size_t step = group.plan.limits.read_bytes / width;
  for (size_t at = begin; at < end; at += step) {
    const size_t upto = end - at < step ? end : at + step;
    char* const result = receives ? static_cast<char*>(out.base) + at * width : group.scratch + 3 * kReadBytes;
    combine_range(group, all, at, upto, fold, result, error);
    for (uint32_t k = 1; k < n; ++k) {  // the next participant first, so that not all write to the same one
      const uint32_t r = (me + k) % n;
      if (root == kEverybody || root == r)
        note(os::write_process(group.introduction(r).process, result, all[r].out + at * width, (upto - at) * width),
             error);
    }
  }
  leave_together(group);
  return true;
}

}  // namespace smelt
