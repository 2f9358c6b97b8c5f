// A program without OpenMP that loads one with it (as Python does), uses it, and lets it go.
#include <dlfcn.h>

#include "check.h"

int main(int argc, char **argv) {
  CHECK(argc == 2);
  for (int round = 0; round < 2; ++round) {
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) fprintf(stderr, "%s\n", dlerror());
    CHECK(plugin);
    int (*count)(int);
    *(void **)&count = dlsym(plugin, "plugin_count");  // POSIX's way around ISO C's rule on function pointers
    CHECK(count);
    CHECK(count(2) == 102 && count(3) == 103 && count(1) == 101);
    // libgomp is marked NODELETE, so it stays; the plug-in itself goes.
    CHECK(dlclose(plugin) == 0);
  }
  puts("ok");
  return 0;
}
