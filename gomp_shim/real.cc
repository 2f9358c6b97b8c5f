#include "real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "libgomp.h"
#include "region.h"
#include "smelt_config.h"

namespace smelt::gomp {
namespace {

pthread_once_t once = PTHREAD_ONCE_INIT;
const char* reason = nullptr;
char version[32] = "";

// Version nodes of the libgomps whose work-sharing was checked against the replacements made here (GCC 4.9 to 16). A
// newer node may mean a newer protocol between the entry points: then nothing is taken.
constexpr const char* kKnownNodes[] = {"GOMP_1.0",   "GOMP_2.0",   "GOMP_3.0",   "GOMP_4.0",  "GOMP_4.0.1",
                                       "GOMP_4.5",   "GOMP_5.0",   "GOMP_5.0.1", "GOMP_5.1",  "GOMP_5.1.1",
                                       "GOMP_5.1.2", "GOMP_5.1.3", "GOMP_6.0",   "GOMP_6.0.1"};

// The handle of the libgomp that the program uses. In the usual case it comes after us in the global scope; a
// library loaded with RTLD_LOCAL (Python's import) brings it into no scope that RTLD_NEXT sees; wheels rename it.
void* find_libgomp() {
  if (void* entry = dlsym(RTLD_NEXT, "GOMP_parallel")) {
    Dl_info where;
    if (dladdr(entry, &where) && where.dli_fname) {
      if (void* handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) return handle;
    }
    return RTLD_NEXT;  // GOMP_ entry points in the main program itself
  }
  if (void* handle = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD)) return handle;
  void* found = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        const char* name = info->dlpi_name ? info->dlpi_name : "";
        const char* base = std::strrchr(name, '/') ? std::strrchr(name, '/') + 1 : name;
        if (std::strncmp(base, "libgomp", 7) != 0) return 0;
        *static_cast<void**>(result) = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        return *static_cast<void**>(result) != nullptr ? 1 : 0;
      },
      &found);
  return found;
}

// Walks the version definitions of the object that holds `address`; keeps the last GOMP_ node (the newest) and
// returns false if one of them is unknown.
bool known_versions(const void* address) {
  Dl_info where;
  link_map* map = nullptr;
  if (!dladdr1(address, &where, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return false;
  const char* strings = nullptr;
  const char* definitions = nullptr;
  unsigned count = 0;
  // glibc has relocated some of these addresses in place (DT_STRTAB), others not (DT_VERDEF).
  auto address_of = [map](ElfW(Addr) value) {
    return reinterpret_cast<const char*>(value < map->l_addr ? value + map->l_addr : value);
  };
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = address_of(entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERDEF) definitions = address_of(entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERDEFNUM) count = static_cast<unsigned>(entry->d_un.d_val);
  }
  if (!strings || !definitions) return false;
  for (unsigned i = 0; i < count; ++i) {
    const auto* node = reinterpret_cast<const ElfW(Verdef)*>(definitions);
    const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(definitions + node->vd_aux);
    const char* text = strings + name->vda_name;
    if (std::strncmp(text, "GOMP_", 5) == 0 && std::strncmp(text, "GOMP_PLUGIN", 11) != 0) {
      bool known = false;
      for (const char* candidate : kKnownNodes) known |= std::strcmp(candidate, text) == 0;
      std::snprintf(version, sizeof version, "%s", text);
      if (!known) return false;
    }
    if (node->vd_next == 0) break;
    definitions += node->vd_next;
  }
  return version[0] != 0;
}

const char* why_not(void* libgomp) {
  if (getauxval(AT_SECURE)) return "the program is set-user-ID";
  if (!options().gomp) return "SMELT_GOMP=0";
  if (dlsym(libgomp, "__kmpc_fork_call")) return "the OpenMP runtime is LLVM's libomp";
#define SYMBOL(name)
#define TAKEN(name) \
  if (!smelt_real_##name) return "this libgomp has no " #name;
#define CALLED(name) TAKEN(name)
#include "symbols.def"
  if (!known_versions(smelt_real_GOMP_parallel)) return "this libgomp is newer than Smelt knows";
  if (reinterpret_cast<decltype(&omp_get_cancellation)>(smelt_real_omp_get_cancellation)())
    return "OMP_CANCELLATION is on";
  return nullptr;
}

void resolve_all() {
  void* libgomp = find_libgomp();
  // A library of stubs for the omp_ functions, perhaps: what there is of it is passed on to.
  const bool none = !libgomp;
  if (none) libgomp = RTLD_NEXT;
#define SYMBOL(name) __atomic_store_n(&smelt_real_##name, dlsym(libgomp, #name), __ATOMIC_RELAXED);
#include "symbols.def"
  reason = none ? "no libgomp is loaded" : why_not(libgomp);
  if (!reason) reason = start_regions();
  __atomic_store_n(&resolved_active, reason == nullptr, __ATOMIC_RELEASE);
  if (reason && options().verbose >= 1) log_line("%s: takes nothing: %s", SMELT_VERSION, reason);
}

// A program that never called OpenMP is told so, if it asked: at the end, because before that nobody can know.
[[gnu::destructor]] void report_idle() {
  if (__atomic_load_n(&smelt_real_GOMP_parallel, __ATOMIC_RELAXED)) return;
  const char* verbose = environment("SMELT_VERBOSE");
  if (verbose && *verbose >= '1' && *verbose <= '9')
    log_line("%s: took nothing: the program never called libgomp", SMELT_VERSION);
}

// In place of what is missing. A program can come to it because of us: it refers to a function weakly, to use it where
// there is an OpenMP runtime (`if (omp_set_num_threads) ...`), and finds ours. Where the reference is not weak, the
// loader would have ended the program here.
int do_nothing() { return 0; }  // the settings return nothing, omp_pause_resource that nothing went wrong
unsigned run_alone(GompFunction function, void* data) {
  function(data);
  return 1;  // thread, as GOMP_parallel_reductions wants to be told
}

}  // namespace

bool resolved_active = false;

void resolve() { pthread_once(&once, resolve_all); }

const char* slot_names() {
  return
#define SYMBOL(name) #name "\0"
#include "symbols.def"
      ;
}

void* missing(void* const& slot) {
  const char* name = slot_names();
  for (uint32_t i = index_of(slot); i > 0; --i) name += std::strlen(name) + 1;
  const bool region = (std::strncmp(name, "GOMP_parallel", 13) == 0 && !std::strstr(name, "_start")) ||
                      std::strcmp(name, "GOMP_teams_reg") == 0;
  // Where there is nothing to set, nothing is lost: that is for those who asked. Work that the compiler handed over is
  // another matter.
  static std::atomic<bool> told{false};
  if ((options().verbose >= 1 || std::strncmp(name, "GOMP_", 5) == 0) &&
      !told.exchange(true, std::memory_order_relaxed))
    log_line("%s was called, which no loaded library has: %s", name, region ? "run by one thread" : "it does nothing");
  return region ? reinterpret_cast<void*>(run_alone) : reinterpret_cast<void*>(do_nothing);
}

const char* libgomp_version() { return version; }

}  // namespace smelt::gomp
