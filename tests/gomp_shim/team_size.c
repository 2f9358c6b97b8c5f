// What a program is told of how many threads it will have, and how many it gets: its first thread, one that it makes, a
// child, and where it names a number.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int team(void) {
  int size = 0;
#pragma omp parallel
#pragma omp atomic
  ++size;
  return size;
}

static void* say(void* who) {
  const int processors = omp_get_num_procs(), most = omp_get_max_threads();
  printf("%s %d %d %d\n", (const char*)who, processors, most, team());
  fflush(stdout);
  return NULL;
}

int main(void) {
  if (fork() == 0) {  // libgomp's children of a parent with a team hang by themselves
    say("child");
    _exit(0);
  }
  wait(NULL);
  say("main");
  pthread_t thread;
  pthread_create(&thread, NULL, say, "thread");
  pthread_join(thread, NULL);
  omp_set_num_threads(3);
  printf("call %d %d\n", omp_get_max_threads(), team());
  int size = 0;
#pragma omp parallel num_threads(4)
#pragma omp atomic
  ++size;
  printf("clause %d\n", size);
  return 0;
}
