// How a program's call comes to its collective. Each collective's file ends with its functions of the C API, blocking
// and started, which are made of one struct, a Call: the arguments, and
//
//   int check(const smelt_group* group) const;            0, or the error in them
//   bool is_nothing(const Group& group) const;            nobody has anything to do, and nobody waits
//   int alone() const;                                    in a group of one: the operand is the result
//   int run(Group& group) const;                          blocking; inlined where it is one call, so that the struct
//                                                         stays in registers
//   int start(Group& group, Pending& place) const;        copies the arguments to `place`, and makes the machine there
#pragma once

#include <cerrno>

#include "group/engine.h"
#include "group/fold.h"

namespace smelt {

// Is something to be completed before a call, or nothing to be begun any more?
inline bool is_busy(const Group& group) { return group.completed != group.started || group.broken; }

// Apart, so that it costs the usual call nothing but the look.
template <typename Call>
[[gnu::noinline, gnu::cold]] int after_started(Group& group, Call call) {
  complete_until(group, group.started);
  if (group.broken) return -EMSGSIZE;
  return group.n > 1 ? call.run(group) : call.alone();
}

template <typename Call>
[[gnu::always_inline]] inline int blocking(smelt_group* group, const Call& call) {
  if (const int error = call.check(group)) return error;
  if (call.is_nothing(*group)) return 0;
  if (is_busy(*group)) [[unlikely]]
    return after_started(*group, call);
  return group->n > 1 ? call.run(*group) : call.alone();
}

// A request of which nothing is left to do, or that came to nothing.
inline int complete(smelt_request* request, int result) {
  request->group = nullptr;
  return request->result = result;
}

template <typename Call>
int started(smelt_group* group, smelt_request* request, const Call& call) {
  if (!request) return -EINVAL;
  if (const int error = call.check(group)) return complete(request, error);
  if (call.is_nothing(*group)) return complete(request, 0);
  if (group->n == 1) return complete(request, call.alone());
  if (group->started - group->completed == kOutstanding) complete_until(*group, group->completed + 1);
  if (group->broken) return complete(request, -EMSGSIZE);
  if (group->completed == group->started) group->first_place = group->started;
  Pending& place = group->place_of(group->started);
  place.request = request;
  place.is_barrier = false;
  if (const int error = call.start(*group, place)) return complete(request, error);
  request->group = group;
  ++group->started;
  advance(*group);
  return 0;
}

// --- what calls have in common

inline constexpr smelt_data kNowhere{};  // in place of the buffer that a participant other than the root names

inline smelt_data at(const void* base) { return {const_cast<void*>(base), nullptr, nullptr, nullptr}; }

inline size_t sum_of(const Group& group, const smelt_place* blocks) {
  size_t sum = 0;
  for (uint32_t i = 0; i < group.n; ++i) sum += blocks[i].bytes;
  return sum;
}
// Nothing lies anywhere.
inline bool is_row(const Group& group, const void* row, const smelt_place* blocks) {
  return blocks && (row || sum_of(group, blocks) == 0);
}

int copy_through(const smelt_data& in, const smelt_data& out, size_t bytes);  // 0

// Of reductions whose result everybody gets, or most.
struct FoldForAll {
  const smelt_data* in;
  const smelt_data* out;
  size_t elements;
  const smelt_fold* fold;

  size_t bytes() const { return elements * fold->element_bytes; }
  int check(const smelt_group* group) const { return !group || !in || !out || !fold ? -EINVAL : 0; }
  bool is_nothing(const Group&) const { return elements == 0 || fold->element_bytes == 0; }
  int alone() const { return copy_through(*in, *out, bytes()); }
};

}  // namespace smelt
