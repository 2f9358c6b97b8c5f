#include "openmp/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "openmp/at_exit.h"
#include "smelt_config.h"

namespace smelt::openmp {
namespace {

pthread_once_t once = PTHREAD_ONCE_INIT;  // resolve_all()
char version[32] = "";                    // library_version()

// The handle of the runtime that the program uses. In the usual case it comes after us in the global scope; a library
// loaded with RTLD_LOCAL (Python's import) brings it into no scope that RTLD_NEXT sees; wheels rename it.
void* find_library() {
  if (void* entry = dlsym(RTLD_NEXT, name_of(runtime.entry))) {
    Dl_info where;
    if (dladdr(entry, &where) && where.dli_fname) {
      if (void* handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) return handle;
    }
    return RTLD_NEXT;  // entry points in the main program itself
  }
  if (void* handle = dlopen(runtime.file, RTLD_LAZY | RTLD_NOLOAD)) return handle;
  void* found = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        const char* name = info->dlpi_name ? info->dlpi_name : "";
        const char* base = std::strrchr(name, '/') ? std::strrchr(name, '/') + 1 : name;
        if (std::strncmp(base, runtime.name, std::strlen(runtime.name)) != 0) return 0;
        *static_cast<void**>(result) = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        return *static_cast<void**>(result) != nullptr ? 1 : 0;
      },
      &found);
  return found;
}

// An object's version definitions and its symbols, and the strings that they refer to.
struct Definitions {
  const char* strings = nullptr;
  const char* first = nullptr;
  unsigned count = 0;
  const ElfW(Sym) * symbols = nullptr;
  const uint32_t* hashes = nullptr;       // DT_GNU_HASH
  const ElfW(Half) * versions = nullptr;  // DT_VERSYM: of each symbol, the number of its node

  explicit Definitions(const void* address) {
    Dl_info where;
    link_map* map = nullptr;
    if (!dladdr1(address, &where, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return;
    // glibc has relocated some of these addresses in place (DT_STRTAB), others not (DT_VERDEF).
    const auto address_of = [map](ElfW(Addr) value) {
      return reinterpret_cast<const char*>(value < map->l_addr ? value + map->l_addr : value);
    };
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) strings = address_of(entry->d_un.d_ptr);
      if (entry->d_tag == DT_VERDEF) first = address_of(entry->d_un.d_ptr);
      if (entry->d_tag == DT_VERDEFNUM) count = static_cast<unsigned>(entry->d_un.d_val);
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address_of(entry->d_un.d_ptr));
      if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const uint32_t*>(address_of(entry->d_un.d_ptr));
      if (entry->d_tag == DT_VERSYM) versions = reinterpret_cast<const ElfW(Half)*>(address_of(entry->d_un.d_ptr));
    }
    if (!strings || !first) count = 0;
    if (!strings || !symbols) hashes = nullptr;
  }

  // It goes on until `each` is false.
  template <typename Each>
  void for_each_node(Each each) const {
    const char* at = first;
    for (unsigned i = 0; i < count; ++i) {
      const auto* definition = reinterpret_cast<const ElfW(Verdef)*>(at);
      const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(at + definition->vd_aux);
      if (!each(definition->vd_ndx, strings + name->vda_name) || definition->vd_next == 0) break;
      at += definition->vd_next;
    }
  }
};

bool begins(const char* name, const char* beginning) {
  return std::strncmp(name, beginning, std::strlen(beginning)) == 0;
}

// is_called() of one object.
int calls_name(dl_phdr_info* info, size_t, void* beginning) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  if (!dynamic) return 0;
  const auto value = [dynamic](ElfW(Sxword) tag) -> ElfW(Addr) {
    for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == tag) return entry->d_un.d_val;
    return 0;
  };
  const auto address = [&](ElfW(Sxword) tag) {  // as in Definitions
    const ElfW(Addr) found = value(tag);
    return found && found < info->dlpi_addr ? found + info->dlpi_addr : found;
  };
  const auto* const strings = reinterpret_cast<const char*>(address(DT_STRTAB));
  const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(address(DT_SYMTAB));
  if (!strings || !symbols) return 0;
  bool linked = false;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    const char* const name = strings + (entry->d_tag == DT_NEEDED ? entry->d_un.d_val : 0);
    linked |= begins(name, "libgomp") || begins(name, "libomp") || begins(name, "libiomp");
  }
  if (!linked) return 0;
  const auto among = [&](ElfW(Addr) table, size_t bytes, size_t first) {
    const auto* const entries = reinterpret_cast<const ElfW(Rela)*>(table);
    for (size_t i = first; table && i < bytes / sizeof *entries; ++i) {
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(entries[i].r_info)];
      if (symbol.st_shndx == SHN_UNDEF && begins(strings + symbol.st_name, static_cast<const char*>(beginning)))
        return true;
    }
    return false;
  };
  // The first ones of the second table have no names.
  return among(address(DT_JMPREL), value(DT_PLTRELSZ), 0) ||
         among(address(DT_RELA), value(DT_RELASZ), value(DT_RELACOUNT));
}

void resolve_all() {
  void* library = find_library();
  // A library of stubs for the omp_ functions, perhaps: calls of the names that it has are passed on to it.
  const bool none = !library;
  if (none) library = RTLD_NEXT;
  const char* name = slot_names;
  for (uint32_t i = 0; i < runtime.slots; ++i) {
    __atomic_store_n(&smelt_real[i], dlsym(library, name), __ATOMIC_RELAXED);  // relaxed: released below
    name += std::strlen(name) + 1;
  }
  static char none_loaded[40];  // it is told of at the end, too
  std::snprintf(none_loaded, sizeof none_loaded, "no %s is loaded", runtime.name);
  const char* const reason = none ? none_loaded : refuse(library);
  __atomic_store_n(&resolved_active, reason == nullptr, __ATOMIC_RELEASE);
  if (reason && options().verbose >= 1) log_line("%s: takes nothing: %s", SMELT_VERSION, reason);
  note_use(reason);
}

}  // namespace

void step_aside(const char* why) {
  __atomic_store_n(&resolved_active, false, __ATOMIC_RELEASE);
  if (options().verbose >= 1) log_line("%s: takes nothing: %s", SMELT_VERSION, why);
  note_refused(why);
}

bool resolved_active = false;

void resolve() { pthread_once(&once, resolve_all); }

void* resolved_late(void*& slot) {
  resolve();
  void* const function = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  return function ? function : missing(name_of(index_of(slot)));
}

const char* name_of(uint32_t index) {
  const char* name = slot_names;
  for (; index > 0; --index) name += std::strlen(name) + 1;
  return name;
}

bool knows_versions(const void* address, const VersionNodes& nodes) {
  bool known = true;
  Definitions(address).for_each_node([&](unsigned, const char* node) {
    if (!nodes.counts(node)) return true;
    std::snprintf(version, sizeof version, "%s", node);
    return known = nodes.known(node);
  });
  return known && version[0] != 0;
}

bool is_called(const char* beginning) { return dl_iterate_phdr(calls_name, const_cast<char*>(beginning)) != 0; }

bool for_each_export(const void* address, bool (*each)(const char* name, const char* node)) {
  const Definitions definitions(address);
  if (!definitions.hashes) return false;
  constexpr unsigned kNodes = 128;  // those of what lies beyond are taken for unknown
  const char* nodes[kNodes] = {};
  definitions.for_each_node([&](unsigned index, const char* node) {
    if (index < kNodes) nodes[index] = node;
    return true;
  });
  const auto node_of = [&](uint32_t symbol) {
    // The upper bit: not the name's default.
    const unsigned index = definitions.versions ? definitions.versions[symbol] & 0x7fffu : 0;
    return index < kNodes && nodes[index] ? nodes[index] : "";
  };
  // The table's header, its filter, then per bucket the first of its symbols, whose hashes follow one another; the last
  // of a bucket has bit 0. All that are in it are defined here and exported.
  const uint32_t buckets = definitions.hashes[0], first = definitions.hashes[1];
  const uint32_t* const bucket = definitions.hashes + 4 + definitions.hashes[2] * (sizeof(ElfW(Addr)) / 4);
  const uint32_t* const chain = bucket + buckets;
  for (uint32_t b = 0; b < buckets; ++b) {
    if (bucket[b] < first) continue;  // empty
    for (uint32_t i = bucket[b];; ++i) {
      if (!each(definitions.strings + definitions.symbols[i].st_name, node_of(i))) return false;
      if (chain[i - first] & 1) break;
    }
  }
  return true;
}

const char* library_version() { return version; }

uint32_t symbols_taken() {
  uint32_t count = 0;
  for (uint32_t i = 0; i < runtime.taken; ++i) count += smelt_real[i] != nullptr;
  return count;
}

}  // namespace smelt::openmp
