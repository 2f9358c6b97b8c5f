// Memory runs out at every moment at which a team may be started: a child for each number of pages that are left. What
// cannot be built must leave the program as it would be without us.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static unsigned long mapped_bytes(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
  return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

static void region(void) {
  int count = 0;
#pragma omp parallel num_threads(3)
  {
#pragma omp atomic
    ++count;
#pragma omp barrier
    CHECK(count == 3);
  }
}

static void child(unsigned long left) {
  region();  // libgomp has its threads and what it needs
  const unsigned long bytes = mapped_bytes() + left;
  const struct rlimit limit = {bytes, bytes};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  for (int i = 0; i < 20; ++i) region();
  _exit(0);
}

int main(void) {
  for (unsigned long pages = 0; pages < 100; pages += pages < 40 ? 1 : 10) {
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) child(pages * (unsigned long)sysconf(_SC_PAGESIZE));
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status != 0) fprintf(stderr, "with %lu pages left: status %#x\n", pages, (unsigned)status);
    CHECK(status == 0);
  }
  puts("ok");
  return 0;
}
