// The workers of a hot team (hot_team.h), inside the libgomp region that keeps them: they wait for a fork, run the
// region, and join.
#include "base/os/os.h"
#include "hot_team.h"
#include "openmp/episodes.h"
#include "own_tasks.h"

namespace smelt::gomp {

// Aligned, as run_region(): of regions in a tight loop the pace depends on where the two begin (82 to 97 ns were seen),
// and what stands before them should not change it.
[[gnu::aligned(64)]] void dock(void* word) {
  HotTeam& hot = *static_cast<HotTeam*>(word);
  const auto me = static_cast<uint32_t>(REAL(omp_get_thread_num)());
  if (!come_to_meeting(hot, me, hot.region->cpus[me])) return;
  const Crossing crossing(Transition::kWork);
  Position& position = smelt_gomp_position;
  const Position before = position;
  position = position_in(*hot.region, hot.barrier, me, hot.first_epoch, hot.level);
  smelt_gomp_own.docked_in = &hot;
  work(
      hot, position,
      [&](const ForkMessage& message) {
        crossing.inside(me, hot.size, hot.taken);
        if (message.extra) begin_loop(position, *static_cast<const LoopCall*>(message.extra), message.function);
        message.function(message.data);
      },
      [&] { end_episode(position); });
  end_kept();
  smelt_gomp_own.docked_in = nullptr;
  position = before;
}

}  // namespace smelt::gomp
