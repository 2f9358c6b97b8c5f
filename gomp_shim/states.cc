#include "states.h"

#include "hot_team.h"
#include "real.h"

extern "C" {
constinit thread_local smelt::gomp::Position smelt_gomp_position;
constinit thread_local smelt::gomp::Region** smelt_gomp_next_region;
constinit thread_local smelt::gomp::Note* smelt_gomp_untold;
constinit thread_local smelt::gomp::HotTeam* smelt_gomp_hot;
constinit thread_local smelt::gomp::ThreadsOwn smelt_gomp_own;
}

namespace smelt::gomp {

bool KeptState::proves(const Whereabouts& around, const Whereabouts& inside) {
  const auto is_at = [](const Whereabouts& at) {
    return REAL(omp_get_level)() == at.level && REAL(omp_get_num_threads)() == at.threads;
  };
  leave();
  const bool is_around = is_at(around) && block_.same_as(around_);
  enter();
  const bool is_inside = is_at(inside);
  leave();
  return is_around && is_inside;
}

}  // namespace smelt::gomp
