#include "openmp/omp.h"

namespace smelt::openmp {

Icvs icvs_now() {
  Icvs icvs{REAL(omp_get_max_threads)(),   REAL(omp_get_dynamic)(), REAL(omp_get_max_active_levels)(), 0, 0,
            REAL(omp_get_default_device)()};
  REAL(omp_get_schedule)(&icvs.schedule, &icvs.chunk);
  return icvs;
}

void set_icvs(const Icvs& icvs) {
  constexpr int kStatic = 1;  // omp_sched_static
  const Icvs now = icvs_now();
  if (now.threads != icvs.threads) REAL(omp_set_num_threads)(icvs.threads);
  if (now.dynamic != icvs.dynamic) REAL(omp_set_dynamic)(icvs.dynamic);
  if (now.levels != icvs.levels) REAL(omp_set_max_active_levels)(icvs.levels);
  if (now.schedule != icvs.schedule || now.chunk != icvs.chunk) {
    REAL(omp_set_schedule)(kStatic, icvs.chunk);  // libgomp's auto leaves the chunk as it is
    REAL(omp_set_schedule)(icvs.schedule, icvs.chunk);
  }
  if (now.device != icvs.device) REAL(omp_set_default_device)(icvs.device);
}

bool a_tool_watches() {
  constexpr int kNoTool = -2;  // omp_control_tool_notool
  // The command 0 means nothing to any tool.
  return smelt_real_omp_control_tool && REAL(omp_control_tool)(0, 0, nullptr) != kNoTool;
}

}  // namespace smelt::openmp
