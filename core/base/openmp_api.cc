// The counters of the OpenMP shim, for whoever links the library: the shim is another object, there or not.
#include <dlfcn.h>
#include <cerrno>
#include <cstring>

#include <smelt/openmp.h>

extern "C" int smelt_openmp_counters(smelt_openmp_counts* counts, size_t bytes) {
  if (!counts) return -EINVAL;
  std::memset(counts, 0, bytes);
  using Function = int (*)(smelt_openmp_counts*, size_t);
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "smelt_gomp_counters"));
  return function ? function(counts, bytes) : -ENOENT;
}
