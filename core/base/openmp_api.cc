// The counters of the OpenMP shims, for programs that link the library: a shim is another object, there or not.
#include <dlfcn.h>
#include <cerrno>
#include <cstring>

#include <smelt/openmp.h>

namespace {

// The shims that may be in this process, each with an OpenMP runtime of its own.
constexpr const char* kShims[] = {"smelt_gomp_counters", "smelt_kmp_counters"};

}  // namespace

extern "C" int smelt_openmp_counters(smelt_openmp_counts* counts, size_t bytes) {
  if (!counts) return -EINVAL;
  std::memset(counts, 0, bytes);
  using Function = int (*)(smelt_openmp_counts*, size_t);
  constexpr size_t kNumbers = sizeof(smelt_openmp_counts) / sizeof(uint64_t);  // it has nothing else
  uint64_t sum[kNumbers] = {};
  bool any = false;
  for (const char* name : kShims) {
    const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    if (!function) continue;
    smelt_openmp_counts of_shim = {};
    function(&of_shim, sizeof of_shim);
    any = true;
    uint64_t numbers[kNumbers];
    std::memcpy(numbers, &of_shim, sizeof numbers);
    for (size_t i = 0; i < kNumbers; ++i) sum[i] += numbers[i];
  }
  std::memcpy(counts, sum, bytes < sizeof sum ? bytes : sizeof sum);
  return any ? 0 : -ENOENT;
}
