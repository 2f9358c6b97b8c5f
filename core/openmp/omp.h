// The entry points that shims call and that every runtime has by the same names: those of omp.h, and two of the ABI
// that GCC had before 4.9. With the slot of each (openmp/symbols.h).
#pragma once

#include "openmp/symbols.h"

#define IN_ALL(result, name, ...)                                  \
  __attribute__((visibility("default"))) result name(__VA_ARGS__); \
  extern void* smelt_real_##name __attribute__((visibility("hidden")))

extern "C" {
// `function` runs in all threads of a team but its master, which comes back and is inside.
IN_ALL(void, GOMP_parallel_start, void (*function)(void*), void* data, unsigned threads);
IN_ALL(void, GOMP_parallel_end, void);

IN_ALL(int, omp_control_tool, int command, int modifier, void* argument);
IN_ALL(int, omp_get_active_level, void);
IN_ALL(int, omp_get_cancellation, void);
IN_ALL(int, omp_get_default_device, void);
IN_ALL(int, omp_get_dynamic, void);
IN_ALL(int, omp_get_level, void);
IN_ALL(int, omp_get_max_active_levels, void);
IN_ALL(int, omp_get_max_threads, void);
IN_ALL(int, omp_get_num_procs, void);
IN_ALL(int, omp_get_num_threads, void);
IN_ALL(void, omp_get_schedule, int* kind, int* chunk);
IN_ALL(int, omp_get_thread_limit, void);
IN_ALL(int, omp_get_thread_num, void);
IN_ALL(void, omp_set_default_device, int device);
IN_ALL(void, omp_set_dynamic, int dynamic);
IN_ALL(void, omp_set_max_active_levels, int levels);
IN_ALL(void, omp_set_num_threads, int threads);
IN_ALL(void, omp_set_schedule, int kind, int chunk);
}
#undef IN_ALL

namespace smelt::openmp {

// The settings that regions inherit, and all runtimes have.
struct Icvs {
  int threads, dynamic, levels, schedule, chunk, device;
  bool operator==(const Icvs&) const = default;
};
Icvs icvs_now();                  // the calling task's
void set_icvs(const Icvs& icvs);  // as far as they differ

// Does a tool of OMPT's watch? It would miss what a shim takes.
bool a_tool_watches();

}  // namespace smelt::openmp
