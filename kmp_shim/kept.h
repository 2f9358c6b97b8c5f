// What the hot team (hot_team.h) and the teams of inner regions (inner_teams.h) have in common: a region of the
// program's run by threads that are inside a long one of libomp's.
#pragma once

#include "float_control.h"
#include "identity.h"
#include "openmp/episodes.h"
#include "openmp/hot_team.h"
#include "region.h"

namespace smelt::kmp {

// In ForkMessage::extra: how many arguments, and the control words.
inline const void* packed(int32_t argc, uint32_t control) {
  return reinterpret_cast<const void*>(uint64_t{control} << 32 | static_cast<uint32_t>(argc));
}

// The master's message of a region; `kept` are the arguments, written by it before a fork, read by all after it.
inline ForkMessage message_of(const RegionCall& call, void** kept, uint32_t control) {
  for (int32_t i = 0; i < call.argc; ++i)
    if (kept[i] != call.words[i + 3]) kept[i] = call.words[i + 3];
  return {reinterpret_cast<void (*)(void*)>(reinterpret_cast<void*>(call.function)), kept, packed(call.argc, control)};
}

inline void run_function(const ForkMessage& message, KmpThread gtid, KmpThread tid) {
  const auto extra = reinterpret_cast<uint64_t>(message.extra);
  const auto argc = static_cast<uint32_t>(extra);
  set_float_control(static_cast<uint32_t>(extra >> 32));
  void* words[kArguments + 2];
  words[0] = &gtid;
  words[1] = &tid;
  void* const* const kept = static_cast<void**>(message.data);
  for (uint32_t i = 0; i < argc; ++i) words[i + 2] = kept[i];
  smelt_kmp_call(reinterpret_cast<void*>(message.function), argc + 2, words);
}

// Passes an episode that is marked as real.
inline void pass_real(Position& at, KmpThread gtid) {
  REAL(__kmpc_barrier)(&nowhere, gtid);
  if (at.thread == 0) count(at.region->counters.real);
  step(at);
}

// A worker's life between its team's start and its end, inside a region of libomp's of that level.
[[gnu::always_inline]] inline void live_in(HotRecord& hot, Region& region) {
  const KmpThread gtid = REAL(__kmpc_global_thread_num)(&nowhere);
  const auto me = static_cast<uint32_t>(REAL(omp_get_thread_num)());
  if (!come_to_meeting(hot, me, region.cpus[me])) return;
  Position& at = position;
  const Position before = at;
  const uint32_t open = smelt_kmp_handed_on.open;
  at = position_in(region, hot.barrier, me, hot.first_epoch, hot.level);
  smelt_kmp_handed_on.open = HandedOn::kNothing;
  work(
      hot, at,
      [&](const ForkMessage& message) {
        run_function(message, gtid, static_cast<KmpThread>(me));
        if (at.has_inner) [[unlikely]]
          end_inner();
      },
      [&] { pass_real(at, gtid); });
  smelt_kmp_handed_on.open = open;
  at = before;
}

}  // namespace smelt::kmp
