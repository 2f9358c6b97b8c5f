// An OMPT tool that wants to be told of regions, barriers, singles and tasks: what it counts must be the program's, and
// so must be where it is told that calls return to.
#include <omp-tools.h>

#include "../gomp_shim/check.h"

static int barriers;

static void note(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t* task,
                 const void* address) {
  (void)parallel, (void)task, (void)address;
  if (kind == ompt_sync_region_barrier_explicit && endpoint == ompt_scope_begin)
    __atomic_fetch_add(&barriers, 1, __ATOMIC_RELAXED);
}

extern const char __executable_start, etext;
static int tasks, with_dependences;

static void note_task(ompt_data_t* maker, const ompt_frame_t* frame, ompt_data_t* task, int flags, int dependences,
                      const void* address) {
  (void)maker, (void)frame, (void)task;
  if (!(flags & ompt_task_explicit)) return;
  CHECK((const char*)address > &__executable_start && (const char*)address < &etext);
  __atomic_fetch_add(dependences ? &with_dependences : &tasks, 1, __ATOMIC_RELAXED);
}

static int regions;

static void note_region(ompt_data_t* maker, const ompt_frame_t* frame, ompt_data_t* region, unsigned requested,
                        int flags, const void* address) {
  (void)maker, (void)frame, (void)region, (void)flags;
  CHECK((const char*)address > &__executable_start && (const char*)address < &etext);
  CHECK(requested == 2);
  __atomic_fetch_add(&regions, 1, __ATOMIC_RELAXED);
}

static int singles_ended;

static void note_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* task,
                      uint64_t count, const void* address) {
  (void)region, (void)task, (void)count;
  if (kind != ompt_work_single_executor || endpoint != ompt_scope_end) return;
  CHECK((const char*)address > &__executable_start && (const char*)address < &etext);
  __atomic_fetch_add(&singles_ended, 1, __ATOMIC_RELAXED);
}

static int start(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  set(ompt_callback_sync_region, (ompt_callback_t)note);
  set(ompt_callback_task_create, (ompt_callback_t)note_task);
  set(ompt_callback_work, (ompt_callback_t)note_work);
  set(ompt_callback_parallel_begin, (ompt_callback_t)note_region);
  return 1;
}
static void end(ompt_data_t* data) { (void)data; }

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  (void)version, (void)runtime;
  static ompt_start_tool_result_t result = {start, end, {0}};
  return &result;
}

int main(void) {
#pragma omp parallel num_threads(2)
  {
    for (int i = 0; i < 50; ++i) {
#pragma omp barrier
    }
  }
  CHECK(barriers == 100);
  int x = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < 10; ++i) {
#pragma omp task shared(x)
    __atomic_fetch_add(&x, 1, __ATOMIC_RELAXED);
#pragma omp task depend(inout : x)
    __atomic_fetch_add(&x, 1, __ATOMIC_RELAXED);
  }
  CHECK(regions == 2 && x == 20 && tasks == 10 && with_dependences == 10 && singles_ended == 1);
#pragma omp single
  x = 0;
  CHECK(x == 0 && singles_ended == 2);
  puts("ok");
  return 0;
}
