// fork before OpenMP is used, and after: the child of an unused process may use OpenMP, the parent goes on as before.
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void work(void) {
  for (int i = 0; i < 200; ++i) {
    int count = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      ++count;
#pragma omp barrier
      CHECK(count == 2);
#pragma omp barrier
    }
  }
}

static void in_child(int use_openmp) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (use_openmp) work();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  in_child(1);
  work();
  in_child(0);  // after a region libgomp itself does not survive a fork: the child only must end
  work();
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
#pragma omp master
    in_child(0);
#pragma omp barrier
  }
  work();
  puts("ok");
  return 0;
}
