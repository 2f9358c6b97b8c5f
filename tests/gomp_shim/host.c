// A program without OpenMP that loads libraries with it (as Python does), uses them in turn, from its own threads and
// from inside each other, and lets them go. Each may have an OpenMP runtime of its own.
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

typedef int (*count_function)(int);

static void use(count_function count) {
  CHECK(count(2) == 102 && count(3) == 103 && count(1) == 101 && count(2) == 102);
}

static void* in_thread(void* argument) {
  count_function count;
  *(void**)&count = argument;
  use(count);
  return NULL;
}

int main(int argc, char** argv) {
  CHECK(argc >= 2 && argc <= 5);
  for (int round = 0; round < 2; ++round) {
    void* plugin[4];
    count_function count[4];
    for (int i = 1; i < argc; ++i) {
      plugin[i - 1] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
      if (!plugin[i - 1]) fprintf(stderr, "%s\n", dlerror());
      CHECK(plugin[i - 1]);
      *(void**)&count[i - 1] =
          dlsym(plugin[i - 1], "plugin_count");  // POSIX's way around ISO C's rule on function pointers
      CHECK(count[i - 1]);
    }
    for (int turn = 0; turn < 3; ++turn) {
      for (int i = 0; i < argc - 1; ++i) {
        use(count[i]);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, in_thread, *(void**)&count[i]) == 0 && pthread_join(thread, NULL) == 0);
      }
    }
    for (int i = 0; i < argc - 1; ++i) CHECK(dlclose(plugin[i]) == 0);
  }
  puts("ok");
  return 0;
}
