// The machine's fingerprint: a hash over CPU identification, microcode, kernel and topology.
//
// Every process that uses a profile computes it at start, so it must be cheap on the largest machines. It is made of
// CPUID (or MIDR, or the first block of /proc/cpuinfo), uname, and the kernel's aggregate lists (which CPUs are online,
// which belong to each node, which share caches with CPU 0), instead of three files for each of 256 CPUs. Frequencies
// are left out: they change from moment to moment.
#include "base/fingerprint.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/utsname.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/arena.h"
#include "base/os/os.h"

namespace smelt {

uint64_t fnv1a(const void* data, uint64_t bytes, uint64_t hash) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (uint64_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3ull;
  return hash;
}

namespace {

#if defined(__x86_64__) || defined(__i386__)

uint64_t hash_leaf(uint64_t hash, unsigned leaf) {
  unsigned words[4] = {};
  __cpuid(leaf, words[0], words[1], words[2], words[3]);
  return fnv1a(words, sizeof words, hash);
}

uint64_t hash_cpu(uint64_t hash) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx)) return hash;
  const unsigned vendor[3] = {ebx, edx, ecx};
  hash = fnv1a(vendor, sizeof vendor, hash);
  __cpuid(1, eax, ebx, ecx, edx);
  hash = fnv1a(&eax, sizeof eax, hash);  // family, model, stepping; ebx differs from CPU to CPU
  const bool hypervisor = ecx >> 31 & 1;
  if (__get_cpuid_max(0x80000000u, nullptr) >= 0x80000004u)
    for (unsigned leaf = 0x80000002u; leaf <= 0x80000004u; ++leaf) hash = hash_leaf(hash, leaf);  // the brand string
  if (hypervisor) hash = hash_leaf(hash, 0x40000000u);                                            // its vendor
  return hash;
}

#else

uint64_t hash_cpu(uint64_t hash) {
  char text[2048];
  int64_t length = os::read_small_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", text, sizeof text);
  if (length > 0) return fnv1a(text, static_cast<uint64_t>(length), hash);
  length = os::read_small_file("/proc/cpuinfo", text, sizeof text);
  if (length <= 0) return hash;
  if (char* block_end = std::strstr(text, "\n\n")) *block_end = '\0';
  char* rest = nullptr;
  for (char* line = ::strtok_r(text, "\n", &rest); line; line = ::strtok_r(nullptr, "\n", &rest)) {
    if (::strcasestr(line, "mhz") || ::strcasestr(line, "bogomips")) continue;
    hash = fnv1a(line, std::strlen(line), hash);
  }
  return hash;
}

#endif

// Files are read through a buffer that the caller has: a thread's smallest stack has no room for it.
struct Buffer {
  char text[4096];
};

uint64_t hash_file(uint64_t hash, const char* path, Buffer& buffer) {
  char* const text = buffer.text;
  const int64_t length = os::read_small_file(path, text, sizeof buffer.text);
  // An absent file counts as well: two machines that differ only in having it are different.
  if (length < 0) return fnv1a("-", 1, hash);
  return fnv1a(text, static_cast<uint64_t>(length), hash);
}

uint64_t hash_topology(uint64_t hash, Buffer& buffer) {
  hash = hash_file(hash, "/sys/devices/system/cpu/online", buffer);
  hash = hash_file(hash, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", buffer);
  hash = hash_file(hash, "/sys/devices/system/cpu/cpu0/topology/core_siblings_list", buffer);
  char path[96];
  for (int level = 0; level < 5; ++level) {
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/shared_cpu_list", level);
    hash = hash_file(hash, path, buffer);
  }
  char nodes[256];
  if (os::read_small_file("/sys/devices/system/node/online", nodes, sizeof nodes) <= 0) return hash;
  hash = fnv1a(nodes, std::strlen(nodes), hash);
  // "0-7" or "0,8": the highest number bounds the loop; 32 nodes tell machines apart well enough.
  const char* last = nodes;
  for (const char* at = nodes; *at; ++at)
    if (*at == '-' || *at == ',') last = at + 1;
  const long highest = std::strtol(last, nullptr, 10);
  for (long node = 0; node <= highest && node < 32; ++node) {
    std::snprintf(path, sizeof path, "/sys/devices/system/node/node%ld/cpulist", node);
    hash = hash_file(hash, path, buffer);
  }
  return hash;
}

uint64_t compute_fingerprint() {
  MappedArena arena(sizeof(Buffer));
  auto* const buffer = arena.make<Buffer>(1);
  if (!buffer)
    return 1;  // no memory: no profile will be found to be of this machine, and there is none to read it into
  uint64_t hash = hash_cpu(kFnvStart);
  hash = hash_file(hash, "/sys/devices/system/cpu/cpu0/microcode/version", *buffer);
  utsname kernel{};
  if (::uname(&kernel) == 0) hash = fnv1a(kernel.release, std::strlen(kernel.release), hash);
  hash = hash_topology(hash, *buffer);
  return hash ? hash : 1;  // 0 means "any machine"
}

std::atomic<uint64_t> known_fingerprint{0};  // 0: not computed yet

}  // namespace

uint64_t machine_fingerprint() {
  uint64_t fingerprint = known_fingerprint.load(std::memory_order_relaxed);
  if (fingerprint == 0) {
    // Threads that come here together compute the same value; no lock needed.
    fingerprint = compute_fingerprint();
    known_fingerprint.store(fingerprint, std::memory_order_relaxed);
  }
  return fingerprint;
}

bool is_virtual_machine() {
  char type[64];
  if (os::read_small_file("/sys/hypervisor/type", type, sizeof type) >= 0) return true;
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx >> 31 & 1);
#else
  return false;  // not told to programs elsewhere
#endif
}

}  // namespace smelt
