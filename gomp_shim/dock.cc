// The workers of a hot team (hot_team.h), inside the libgomp region that keeps them: they wait for a fork, run the
// region, and join.
#include "base/os/os.h"
#include "hot_team.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "surplus.h"

namespace smelt::gomp {
namespace {

// The life of a surplus thread (surplus.h), from the meeting on.
void dock_lent(HotTeam& hot, uint32_t me, Position& position) {
  Lent& self = lend(*hot.surplus, me);
  smelt_gomp_lent = &self;
  uint64_t epoch = hot.first_epoch;
  for (bool stops = false;;) {
    ForkMessage message;
    while (!await_lent(self, epoch, stops, &message)) {
      alone(self);
      end_episode(position);
      stops = false;
    }
    if (!message.function) break;
    position.epoch = epoch;
    position.unmarked = 1;
    if (message.extra) begin_loop(position, *static_cast<const LoopCall*>(message.extra), message.function);
    message.function(message.data);
    epoch = position.epoch + 1;
    stops = !next_is_real(position);
    if (stops) {
      arrive_lent(self, epoch);
    } else {
      alone(self);
      end_episode(position);
    }
  }
  leave_lent(self);
  smelt_gomp_lent = nullptr;
}

// Where worker `me` says where it runs; nullptr: the first of its block does, for all of them.
std::atomic<uint32_t>* cpu_of(HotTeam& hot, uint32_t me) {
  if (!hot.lends) return &hot.region->cpus[me];
  const LentBlock& block = *hot.surplus->lent[me].block;
  return me == block.first ? &hot.region->cpus[&block - hot.surplus->block] : nullptr;
}

}  // namespace

// Aligned, as run_region(): of regions in a tight loop the pace depends on where the two begin (82 to 97 ns were seen),
// and what stands before them should not change it.
[[gnu::aligned(64)]] void dock(void* word) {
  HotTeam& hot = *static_cast<HotTeam*>(word);
  const auto me = static_cast<uint32_t>(REAL(omp_get_thread_num)());
  if (!come_to_meeting(hot, me, cpu_of(hot, me))) return;
  Position& position = smelt_gomp_position;
  const Position before = position;
  position = position_in(*hot.region, hot.barrier, me, hot.first_epoch, hot.level);
  smelt_gomp_own.docked_in = &hot;
  if (hot.lends) {
    dock_lent(hot, me, position);
  } else {
    work(
        hot, position,
        [&](const ForkMessage& message) {
          if (message.extra) begin_loop(position, *static_cast<const LoopCall*>(message.extra), message.function);
          message.function(message.data);
        },
        [&] { end_episode(position); });
  }
  end_kept();
  smelt_gomp_own.docked_in = nullptr;
  position = before;
}

}  // namespace smelt::gomp
