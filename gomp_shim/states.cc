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

bool regions_inherit = true;

Icvs icvs_now() {
  Icvs icvs{REAL(omp_get_max_threads)(),   REAL(omp_get_dynamic)(), REAL(omp_get_max_active_levels)(), 0, 0,
            REAL(omp_get_default_device)()};
  REAL(omp_get_schedule)(&icvs.schedule, &icvs.chunk);
  return icvs;
}

void set_icvs(const Icvs& icvs) {
  REAL(omp_set_num_threads)(icvs.threads);
  REAL(omp_set_dynamic)(icvs.dynamic);
  REAL(omp_set_max_active_levels)(icvs.levels);
  REAL(omp_set_schedule)(kScheduleStatic, icvs.chunk);  // auto leaves the chunk as it is
  REAL(omp_set_schedule)(icvs.schedule, icvs.chunk);
  REAL(omp_set_default_device)(icvs.device);
}

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
