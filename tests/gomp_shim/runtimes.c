// Libraries with an OpenMP runtime of their own each, in the moments that matter: settings called through tables and
// tail calls, a library that gets the place of one that was closed, regions in a constructor, and other libraries'
// loading meanwhile.
//   runtimes settings LIBRARY...
//   runtimes reopen LIBRARY...        one after the other, each closed before the next: all must come to the same place
//                                     (else the exit status is 3)
//   runtimes beside FIRST LIBRARY...  the same, while FIRST stays
//   runtimes constructor LIBRARY...   the last one's constructor runs a region, and says what it counted
//   runtimes loading SLOW LIBRARY...  used again while another thread is inside the constructor of SLOW
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "check.h"

typedef int (*function)(int);

static void* open_library(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  CHECK(library);
  return library;
}

static function find(void* library, const char* name) {
  function found;
  *(void**)&found = dlsym(library, name);  // POSIX's way around ISO C's rule on function pointers
  CHECK(found);
  return found;
}

static void use(function count) { CHECK(count(2) == 102 && count(3) == 103); }

static void settings(char** names, int n) {
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < n; ++i) CHECK(find(open_library(names[i]), "plugin_settings")(i + 2) == 0);
}

static void reopen(char** names, int n) {
  function first = NULL;
  for (int i = 0; i < n; ++i) {
    void* library = open_library(names[i]);
    function count = find(library, "plugin_count");
    if (!first) first = count;
    if (count != first) _Exit(3);  // something else has got the place: this shows nothing
    use(count);
    // The runtime itself stays: its sleeping threads are in its code, with or without us.
    Dl_info runtime;
    CHECK(dladdr(dlsym(library, "omp_get_thread_num"), &runtime));
    open_library(runtime.dli_fname);
    CHECK(dlclose(library) == 0);
  }
}

static void constructor(char** names, int n) {
  for (int i = 0; i < n - 1; ++i) use(find(open_library(names[i]), "plugin_count"));
  CHECK(find(open_library(names[n - 1]), "constructor_counted")(0) == 2 * 250);
}

static sem_t inside, leave;

// Called by the slow library.
void host_while_loading(void);
void host_while_loading(void) {
  sem_post(&inside);
  sem_wait(&leave);
}

static void* load(void* name) {
  open_library(name);
  return NULL;
}

static void loading(char** names, int n) {
  function count[8];
  CHECK(n <= 8 && sem_init(&inside, 0, 0) == 0 && sem_init(&leave, 0, 0) == 0);
  for (int i = 1; i < n; ++i) use(count[i] = find(open_library(names[i]), "plugin_count"));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, load, names[0]) == 0);
  sem_wait(&inside);  // from here on that thread holds the loader's lock
  for (int i = 1; i < n; ++i) use(count[i]);
  sem_post(&leave);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc >= 3);
  char** names = argv + 2;
  const int n = argc - 2;
  if (strcmp(argv[1], "settings") == 0)
    settings(names, n);
  else if (strcmp(argv[1], "reopen") == 0)
    reopen(names, n);
  else if (strcmp(argv[1], "beside") == 0)
    use(find(open_library(names[0]), "plugin_count")), reopen(names + 1, n - 1);
  else if (strcmp(argv[1], "constructor") == 0)
    constructor(names, n);
  else if (strcmp(argv[1], "loading") == 0)
    loading(names, n);
  else
    CHECK(!"known");
  puts("ok");
  return 0;
}
