// From an hwloc topology to our Machine: only what the cost of a message depends on.
#include "discover/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <hwloc.h>

#include "base/fingerprint.h"
#include "base/options.h"
#include "base/os/os.h"
#include "discover/synthetic.h"
#include "discover/system_files.h"
#include "discover/topology.h"
#include "model/distance.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

// Numbers objects as they are first met: dense, and equal for PUs under the same object.
class Numbering {
 public:
  uint16_t of(const void* object) {
    return numbers_.try_emplace(object, static_cast<uint16_t>(numbers_.size())).first->second;
  }
  size_t count() const { return numbers_.size(); }

 private:
  std::map<const void*, uint16_t> numbers_;
};

// The NUMA node a PU allocates from. Machines with high-bandwidth memory have several; the first is the ordinary one.
const void* node_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  const int first = pu->nodeset ? hwloc_bitmap_first(pu->nodeset) : -1;
  return first < 0 ? nullptr : hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(first));
}

std::string text_info(hwloc_obj_t object, const char* key) {
  const char* value = object ? hwloc_obj_get_info_by_name(object, key) : nullptr;
  return value ? value : "";
}

std::string count_of(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// The units that share a last-level cache where no description of one is shared by two cores, either because there are
// no caches in it (many virtual machines) or only each core's own (many Arm machines, whose system cache no firmware
// describes): a cluster of the kernel's, which hwloc makes a group of, a die, or else the package. The runtime has the
// same rule (profile/guess.cc).
void settle_llcs(std::vector<Pu>& pus, const std::vector<uint16_t>& clusters) {
  const auto shared = [&] {
    std::map<uint16_t, uint16_t> core_of;
    return std::any_of(pus.begin(), pus.end(),
                       [&](const Pu& pu) { return core_of.try_emplace(pu.llc, pu.core).first->second != pu.core; });
  };
  if (shared()) return;
  for (size_t i = 0; i < pus.size(); ++i) pus[i].llc = clusters[i];
  if (shared()) return;
  for (Pu& pu : pus) pu.llc = pu.package;
}

// The innermost that hwloc made of one of the kernel's clusters, or a die; `own` where there is neither.
const void* cluster_above(hwloc_obj_t pu, const void* own) {
  for (hwloc_obj_t at = pu->parent; at; at = at->parent)
    if (at->type == HWLOC_OBJ_DIE ||
        (at->type == HWLOC_OBJ_GROUP && at->subtype && std::strcmp(at->subtype, "Cluster") == 0))
      return at;
  return own;
}

}  // namespace

Topology new_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw UserError("hwloc cannot be initialised (out of memory?)");
  Topology topology(raw);
  // PUs outside our cpuset are kept, marked as not allowed: the shape is the machine's, not the job's. Devices are of
  // no interest, and looking for them makes hwloc slow.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  return topology;
}

void refuse_size(const std::string& who, size_t pus) {
  throw UserError(
      fmt::format("{}the topology has {} processing units; Smelt handles up to {}", who, pus, kMaxProfileCpus));
}

Machine machine_from(hwloc_topology_t topology) {
  const int pus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  if (pus < 1) throw UserError("the topology has no processing unit");
  if (pus > static_cast<int>(kMaxProfileCpus)) refuse_size("", static_cast<size_t>(pus));

  Machine machine;
  Numbering cores, l1s, l2s, llcs, clusters, nodes, packages;
  std::vector<uint16_t> cluster;  // of each PU
  const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu));) {
    const auto above = [&](hwloc_obj_type_t type) { return hwloc_get_ancestor_obj_by_type(topology, type, pu); };
    const hwloc_obj_t core = above(HWLOC_OBJ_CORE);
    const void* const own = core ? core : pu;  // stands in for an absent level
    hwloc_obj_t llc = nullptr;
    for (hwloc_obj_t at = pu->parent; at; at = at->parent)
      if (hwloc_obj_type_is_dcache(at->type)) llc = at;
    const hwloc_obj_t l1 = above(HWLOC_OBJ_L1CACHE), l2 = above(HWLOC_OBJ_L2CACHE);
    Pu out;
    out.os_index = pu->os_index;
    out.core = cores.of(own);
    out.l1 = l1s.of(l1 ? l1 : own);
    out.l2 = l2s.of(l2 ? l2 : own);
    const hwloc_obj_t package = above(HWLOC_OBJ_PACKAGE);
    out.llc = llcs.of(llc ? llc : own);
    cluster.push_back(clusters.of(cluster_above(pu, own)));
    out.node = nodes.of(node_of(topology, pu));
    out.package = packages.of(package);
    out.allowed = !allowed || hwloc_bitmap_isset(allowed, pu->os_index);
    machine.pus.push_back(out);
  }
  settle_llcs(machine.pus, cluster);
  std::set<uint16_t> shared_llcs;
  for (const Pu& pu : machine.pus) shared_llcs.insert(pu.llc);
  std::sort(machine.pus.begin(), machine.pus.end(), [](const Pu& a, const Pu& b) { return a.os_index < b.os_index; });

  machine.cpu_model = text_info(hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0), "CPUModel");
  if (machine.cpu_model.empty()) machine.cpu_model = text_info(hwloc_get_root_obj(topology), "CPUModel");
  machine.shape = count_of(packages.count(), "package") + ", " + count_of(nodes.count(), "NUMA node") + ", " +
                  count_of(shared_llcs.size(), "last-level cache") + ", " + count_of(cores.count(), "core") + ", " +
                  count_of(machine.pus.size(), "PU");
  return machine;
}

std::string Machine::name() const {
  const size_t end = cpu_model.find_last_not_of(' ') + 1;  // some are filled up with blanks
  return end == 0 ? shape : cpu_model.substr(0, end) + ", " + shape;
}

std::vector<uint32_t> Machine::allowed_cpus() const {
  std::vector<uint32_t> cpus;
  for (const Pu& pu : pus)
    if (pu.allowed) cpus.push_back(pu.os_index);
  return cpus;
}

Machine discover_machine() {
  if (const char* description = environment("HWLOC_SYNTHETIC")) check_synthetic_size(description);
  const Topology topology = new_topology();
  if (hwloc_topology_load(topology.get()) != 0)
    throw UserError("hwloc cannot read this machine's topology; check HWLOC_XMLFILE and HWLOC_SYNTHETIC if set");
  Machine machine = machine_from(topology.get());
  machine.this_machine = hwloc_topology_is_thissystem(topology.get());
  if (!machine.this_machine) return machine;
  // The cpuset is hwloc's to know; the affinity (taskset, a job launcher) is the process's own.
  const Bitmap binding(hwloc_bitmap_alloc());
  if (binding && hwloc_get_cpubind(topology.get(), binding.get(), HWLOC_CPUBIND_PROCESS) == 0)
    for (Pu& pu : machine.pus) pu.allowed = pu.allowed && hwloc_bitmap_isset(binding.get(), pu.os_index);
  machine.cpu_quota = os::cgroup_cpu_quota();
  machine.virtualised = is_virtual_machine();
  return machine;
}

Machine machine_from_synthetic(const std::string& description) {
  check_synthetic_size(description);
  const Topology topology = new_topology();
  if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    throw UserError(fmt::format(
        "synthetic:{}: not a description that hwloc understands (for instance \"pack:2 numa:1 l3:2 core:4 pu:2\")",
        description));
  return machine_from(topology.get());
}

ProfileImage guess_image(const Machine& machine) {
  const auto n = static_cast<uint32_t>(machine.pus.size());
  ProfileImage image = make_image(n);
  image.header.fingerprint = machine.this_machine ? machine_fingerprint() : 0;
  image.header.poller = kTypicalPoller;
  for (uint32_t d = 0; d < kDistances; ++d) {
    image.header.service[d] = typical_cost(static_cast<Distance>(d)).service;
    image.header.crossing[d] = typical_cost(static_cast<Distance>(d)).crossing;
  }
  set_text(image.header.method, sizeof image.header.method, "guessed from the topology, not measured");
  set_text(image.header.machine, sizeof image.header.machine, machine.name());
  if (machine.this_machine) {
    utsname kernel{};
    if (::uname(&kernel) == 0) set_text(image.header.kernel, sizeof image.header.kernel, kernel.release);
    set_text(image.header.microcode, sizeof image.header.microcode,
             SystemFiles("").text("/sys/devices/system/cpu/cpu0/microcode/version").value_or(""));
  }
  for (uint32_t i = 0; i < n; ++i) {
    const Pu& a = machine.pus[i];
    image.os_cpu[i] = a.os_index;
    image.package[i] = a.package;
    image.core[i] = a.core;
    image.llc[i] = a.llc;
    image.node[i] = a.node;
    for (uint32_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const Pu& b = machine.pus[j];
      const TypicalCost cost = typical_cost(distance_between(a, b));
      const size_t pair = size_t{i} * n + j;
#define MATRIX(name) image.name[pair] = cost.name;
#include "profile/fields.def"
    }
  }
  return image;
}

}  // namespace smelt
