#include "callers.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>

#include "real.h"

namespace smelt::gomp {

bool smelt_gomp_several = false;
std::atomic<uint64_t> callers[kCallers];

namespace {

// Another runtime's entry points, by where the call returns to: never changed once written, and full one day.
struct Meaning {
  std::atomic<const void*> address;
  std::atomic<void*> function;
};
constexpr uint32_t kMeanings = 512;
Meaning meanings[kMeanings];

// Any object that looks like an OpenMP runtime and is not the one that we serve.
int look_for_another(dl_phdr_info* info, size_t, void*) {
  const char* const path = info->dlpi_name ? info->dlpi_name : "";
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash ? slash + 1 : path;
  if (std::strncmp(name, "libgomp", 7) != 0 && std::strncmp(name, "libomp", 6) != 0 && std::strncmp(name, "libiomp", 7) != 0)
    return 0;
  const auto ours = reinterpret_cast<uintptr_t>(smelt_real_GOMP_parallel);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && ours >= begin && ours - begin < header.p_memsz) return 0;
  }
  return 1;
}

// The object that holds an address, as a handle: valid as long as the object is loaded, and it is, for it is calling.
// nullptr for the main program and what is no object (generated code): they see the global scope only.
void* object_of(const void* address) {
  Dl_info where;
  if (!dladdr(address, &where) || !where.dli_fname || !where.dli_fname[0]) return nullptr;
  void* const handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle) dlclose(handle);  // RTLD_NOLOAD counts a reference; the object must stay free to go
  return handle;
}

}  // namespace

bool find_out(const void* address) {
  resolve();
  if (!__atomic_load_n(&smelt_gomp_several, __ATOMIC_RELAXED) && dl_iterate_phdr(look_for_another, nullptr) != 0)
    __atomic_store_n(&smelt_gomp_several, true, __ATOMIC_RELAXED);
  bool ours = true;
  if (__atomic_load_n(&smelt_gomp_several, __ATOMIC_RELAXED)) {
    // The linker's order: the global scope, then the caller's own.
    void* bound = dlsym(RTLD_DEFAULT, "omp_get_thread_num");
    void* const object = bound ? nullptr : object_of(address);
    if (object) bound = dlsym(object, "omp_get_thread_num");
    ours = !bound || bound == smelt_real_omp_get_thread_num;
  }
  const auto bits = reinterpret_cast<uint64_t>(address);
  // Only what is served is remembered, so that the usual question is one comparison.
  if (ours) callers[(bits >> 4 ^ bits >> 14) % kCallers].store(bits | kOurs, std::memory_order_relaxed);
  return ours;
}

void* meant(const char* name, const void* address, void*& ours) {
  Meaning& known = meanings[reinterpret_cast<uint64_t>(address) / 4 % kMeanings];
  // Acquire: pairs with the release below, so that the function is there when its address is.
  if (known.address.load(std::memory_order_acquire) == address)
    if (void* function = known.function.load(std::memory_order_acquire)) return function;
  if (is_ours(address)) return resolved(ours);
  void* function = dlsym(RTLD_NEXT, name);
  if (!function)
    if (void* object = object_of(address)) function = dlsym(object, name);
  if (!function) return resolved(ours);
  const void* nobody = nullptr;
  if (known.address.compare_exchange_strong(nobody, address, std::memory_order_acq_rel))
    known.function.store(function, std::memory_order_release);
  return function;
}

}  // namespace smelt::gomp

// For the stubs: where to jump.
extern "C" __attribute__((visibility("hidden"))) void* smelt_gomp_meant(const char* name, const void* address, void** ours) {
  return smelt::gomp::meant(name, address, *ours);
}
