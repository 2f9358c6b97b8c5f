// A profile without a measurement: the kernel's topology, and a typical cost per class of distance.
//
// The kernel tells for each CPU which others share its core, its caches and its package, as lists ("0-3,8"). Reading
// the list of one member settles the whole group, so a machine of 256 CPUs takes a few files per core and not ten per
// CPU.
#include "profile/profile.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "base/os/os.h"
#include "model/distance.h"

namespace smelt {
namespace {

constexpr uint32_t kLargestCpu = 8191;  // the kernel's own limit on x86
constexpr size_t kTextBytes = 8192;     // longest list: every second CPU of 1,024, with four digits each

// Calls visit(cpu) for each number of a kernel list; false when the text is not such a list.
template <typename Visit>
bool for_each_listed(const char* text, Visit visit) {
  const char* at = text;
  while (*at >= '0' && *at <= '9') {
    char* end = nullptr;
    const unsigned long first = std::strtoul(at, &end, 10);
    unsigned long last = first;
    if (*end == '-') last = std::strtoul(end + 1, &end, 10);
    if (last < first || last > kLargestCpu) return false;
    for (unsigned long cpu = first; cpu <= last; ++cpu) visit(static_cast<uint32_t>(cpu));
    at = *end == ',' ? end + 1 : end;
  }
  return at != text && (*at == '\0' || *at == '\n');
}

// The topology being put together, in scratch memory that goes away with the guess's construction: too large for a
// thread's smallest stack.
struct Scan {
  char path[640];
  char text[kTextBytes];
  char nodes[kTextBytes];
  uint16_t index_of[kLargestCpu + 1];  // kNobody: not one of ours
#define CPU_ID(type, name, json) type name[kMaxProfileCpus];
#define COSTS_ID(type, name, json) CPU_ID(type, name, json)
#include "profile/fields.def"
  uint32_t n;

  void add(uint32_t cpu) {
    if (n == kMaxProfileCpus) return;  // larger machines: the profile covers the first 1,024
    index_of[cpu] = static_cast<uint16_t>(n);
    os_cpu[n++] = cpu;
  }

  bool read_path() { return os::read_small_file(path, text, sizeof text) > 0; }
};

// Gives every CPU of the list in scan.text the number `id`; false when the list is unusable.
bool mark_group(Scan& scan, uint16_t* ids, uint16_t id) {
  return for_each_listed(scan.text, [&](uint32_t cpu) {
    if (scan.index_of[cpu] != kNobody) ids[scan.index_of[cpu]] = id;
  });
}

// One group number per list found in cpuN/<file>; a CPU without the file is a group of its own.
void scan_groups(Scan& scan, const char* root, const char* file, uint16_t* ids) {
  std::memset(ids, 0xff, kMaxProfileCpus * sizeof *ids);
  uint16_t groups = 0;
  for (uint32_t i = 0; i < scan.n; ++i) {
    if (ids[i] != kNobody) continue;
    const uint16_t id = groups++;
    std::snprintf(scan.path, sizeof scan.path, "%s/devices/system/cpu/cpu%u/%s", root, scan.os_cpu[i], file);
    if (scan.read_path()) mark_group(scan, ids, id);
    ids[i] = id;
  }
}

// Do two cores have one in common?
bool some_cores_share(const Scan& scan, const uint16_t* ids) {
  uint16_t core_of[kMaxProfileCpus];
  std::memset(core_of, 0xff, sizeof core_of);
  for (uint32_t i = 0; i < scan.n; ++i) {
    uint16_t& core = core_of[ids[i]];
    if (core != kNobody && core != scan.core[i]) return true;
    core = scan.core[i];
  }
  return false;
}

// The cache of the highest level that holds data, for every CPU.
void scan_llc(Scan& scan, const char* root) {
  std::memset(scan.llc, 0xff, sizeof scan.llc);
  uint16_t groups = 0;
  for (uint32_t i = 0; i < scan.n; ++i) {
    if (scan.llc[i] != kNobody) continue;
    const uint16_t id = groups++;
    long highest = 0;
    int best = -1;
    for (int index = 0; index < 8; ++index) {
      const auto attribute = [&](const char* name) {
        std::snprintf(scan.path, sizeof scan.path, "%s/devices/system/cpu/cpu%u/cache/index%d/%s", root, scan.os_cpu[i],
                      index, name);
        return scan.read_path();
      };
      if (!attribute("level")) break;
      const long level = std::strtol(scan.text, nullptr, 10);
      if (level <= highest || (attribute("type") && scan.text[0] == 'I')) continue;
      highest = level;
      best = index;
    }
    if (best >= 0) {
      std::snprintf(scan.path, sizeof scan.path, "%s/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", root,
                    scan.os_cpu[i], best);
      if (scan.read_path()) mark_group(scan, scan.llc, id);
    }
    scan.llc[i] = id;
  }
  // No caches at all (many virtual machines), or only each core's own: many Arm machines, whose system cache no
  // firmware describes. The kernel's other groups are then the best guess at the CPUs that share one;
  // discover/machine.cc has the same rule.
  for (const char* file : {"topology/cluster_cpus_list", "topology/die_cpus_list"})
    if (!some_cores_share(scan, scan.llc)) scan_groups(scan, root, file, scan.llc);
  if (!some_cores_share(scan, scan.llc)) std::memcpy(scan.llc, scan.package, sizeof scan.llc);
}

void scan_nodes(Scan& scan, const char* root) {
  std::memset(scan.node, 0, sizeof scan.node);  // a kernel without NUMA: one node
  std::snprintf(scan.path, sizeof scan.path, "%s/devices/system/node/online", root);
  if (!scan.read_path()) return;
  std::memcpy(scan.nodes, scan.text, sizeof scan.nodes);
  for_each_listed(scan.nodes, [&](uint32_t node) {
    std::snprintf(scan.path, sizeof scan.path, "%s/devices/system/node/node%u/cpulist", root, node);
    if (scan.read_path()) mark_group(scan, scan.node, static_cast<uint16_t>(node));
  });
}

bool scan_topology(Scan& scan, const char* root) {
  std::memset(scan.index_of, 0xff, sizeof scan.index_of);
  std::snprintf(scan.path, sizeof scan.path, "%s/devices/system/cpu/online", root);
  if (!scan.read_path() || !for_each_listed(scan.text, [&](uint32_t cpu) { scan.add(cpu); })) return false;
  for (uint32_t i = 1; i < scan.n; ++i)
    if (scan.os_cpu[i] <= scan.os_cpu[i - 1]) return false;
  scan_groups(scan, root, "topology/core_siblings_list", scan.package);
  scan_groups(scan, root, "topology/thread_siblings_list", scan.core);
  scan_llc(scan, root);
  scan_nodes(scan, root);
  return scan.n > 0;
}

// So many CPUs, all alike.
void assume_flat(Scan& scan, uint32_t cpus) {
  scan.n = 0;
  for (uint32_t cpu = 0; cpu < cpus && cpu <= kLargestCpu; ++cpu) scan.add(cpu);
  for (uint32_t i = 0; i < scan.n; ++i) {
    scan.core[i] = static_cast<uint16_t>(i);
    scan.package[i] = scan.llc[i] = scan.node[i] = 0;
  }
}

void fill_image(const Scan& scan, void* image) {
  const uint32_t n = scan.n;
  const PackedLayout at = packed_layout({.cpus = n});
  auto* base = static_cast<char*>(image);
  auto* header = static_cast<PackedHeader*>(image);
  header->cpus = n;
  header->unit = static_cast<uint32_t>(CostUnit::kNanoseconds);
  header->poller = kTypicalPoller;
  for (uint32_t d = 0; d < kDistances; ++d) {
    header->service[d] = typical_cost(static_cast<Distance>(d)).service;
    header->crossing[d] = typical_cost(static_cast<Distance>(d)).crossing;
  }
  std::snprintf(header->method, sizeof header->method, "guessed from the topology, not measured");
  std::snprintf(header->machine, sizeof header->machine, "%u CPUs, not calibrated", n);
#define CPU_ID(type, name, json) std::memcpy(base + at.name, scan.name, n * sizeof scan.name[0]);
#define COSTS_ID(type, name, json) CPU_ID(type, name, json)
#include "profile/fields.def"
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      const TypicalCost cost = typical_cost(i == j ? Distance::kSelf : distance_in(scan, i, j));
      const size_t pair = size_t{i} * n + j;
#define MATRIX(name) reinterpret_cast<float*>(base + at.name)[pair] = cost.name;
#include "profile/fields.def"
    }
  seal_packed(image, at.bytes);
}

// `image` is in a mapping of that size, which is the profile's from now on.
void take_image(const Scan& scan, void* image, uint64_t bytes, Profile* out) {
  fill_image(scan, image);
  attach_image(image, out);
  out->mapping = image;
  out->mapped_bytes = bytes;
}

int scan_machine(const char* sys_root, Scan& scan) {
  if (scan_topology(scan, sys_root ? sys_root : "/sys")) return 0;
  if (sys_root) return -ENODEV;
  const long configured = ::sysconf(_SC_NPROCESSORS_CONF);  // /sys is hidden (some sandboxes)
  assume_flat(scan, static_cast<uint32_t>(configured > 0 ? configured : 1));
  return 0;
}

}  // namespace

int guess_profile(const char* sys_root, Profile* out) {
  *out = Profile{};
  auto* scan = static_cast<Scan*>(os::map_pages(sizeof(Scan)));
  if (!scan) return -ENOMEM;
  int error = scan_machine(sys_root, *scan);
  const uint64_t bytes = packed_layout({.cpus = scan->n}).bytes;
  void* image = error ? nullptr : os::map_pages(bytes);
  if (!error && !image) error = -ENOMEM;
  if (!error) take_image(*scan, image, bytes, out);
  os::unmap_pages(scan, sizeof(Scan));
  return error;
}

// In a program's first region: one mapping, whose second part is scratch and stays, for to unmap it costs more than its
// few pages that are touched.
int assume_profile(uint32_t cpus, Profile* out) {
  *out = Profile{};
  const uint64_t bytes = (packed_layout({.cpus = cpus}).bytes + alignof(Scan) - 1) / alignof(Scan) * alignof(Scan);
  void* const image = os::map_pages(bytes + sizeof(Scan));
  if (!image) return -ENOMEM;
  auto& scan = *reinterpret_cast<Scan*>(static_cast<char*>(image) + bytes);
  assume_flat(scan, cpus);
  take_image(scan, image, bytes + sizeof(Scan), out);
  return 0;
}

}  // namespace smelt
