#include "pictures/machines/machine_file.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <set>

#include "base/options.h"
#include "discover/machine.h"
#include "pictures/machines/class_file.h"
#include "pictures/machines/xml.h"
#include "pictures/machines/zoo.h"
#include "profile/text/json_checks.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

std::string base_name(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

// Costs of both models into the file's own storage. `fill` makes the overlap-aware and the paper's costs.
template <typename Fill>
void build_costs(MachineFile& file, uint32_t n, Fill fill) {
  // At most: input matrices, two sets of four matrices, one of two, and the group numbers.
  file.storage = std::make_shared<MappedArena>(size_t{n} * n * sizeof(float) * 16 + size_t{n} * 64 + 65536);
  if (!file.storage->ok() || fill(*file.storage) != 0)
    throw UserError(fmt::format("{}: out of memory for the costs of {} CPUs", file.name, n));
  if (!costs_are_sane(file.overlap) || !costs_are_sane(file.paper))
    throw UserError(fmt::format("{}: the costs are out of range", file.name));
  file.unit = file.overlap.unit;
}

template <typename T>
const T* copied(Arena& arena, const std::vector<T>& values) {
  T* out = arena.make<T>(values.size());
  if (out) std::copy(values.begin(), values.end(), out);
  return out;
}

MachineFile from_image(const ProfileImage& image, const std::string& fallback_name) {
  MachineFile file;
  file.name = image.header.machine[0] ? image.header.machine : fallback_name;
  file.kind = image.measured() ? "measured" : "guessed";
  file.origin = file.paper_origin = image.header.method;
  file.fingerprint = image.header.fingerprint;
  file.cpus = image.os_cpu;
  file.package = image.package;
  file.core = image.core;
  file.curves = image.curves;
  file.classes = image.classes;
  file.winners = image.winners;
  for (const Winner& winner : image.winners) file.winner_cpus.push_back(image.cpus_of(winner));
  file.wait = image.wait;
  file.fans = image.fans;
  file.queues = image.queues;
  file.distances = image.distances;
  file.one_way_hop = image.header.one_way_hop;
  build_costs(file, image.n(), [&](Arena& arena) {
    Costs& costs = file.overlap = image.costs();
#define MATRIX(name) costs.name = copied(arena, image.name);
#define COSTS_ID(type, name, json) MATRIX(name)
#include "profile/fields.def"
    costs.core = copied(arena, image.core);
    costs.package = copied(arena, image.package);
    return costs_are_sane(costs) ? paper_costs(costs, arena, &file.paper) : -ENOMEM;
  });
  return file;
}

std::string date_of(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  char text[32];
  return ::gmtime_r(&time, &utc) && std::strftime(text, sizeof text, "%Y-%m-%d", &utc) ? text : "?";
}

MachineFile from_profile(const ProfileImage& image, const char* path) {
  MachineFile file = from_image(image, "this");
  if (path[0]) file.paper_origin = file.origin += fmt::format(", {}, {}", date_of(image.header.created), path);
  return file;
}

// hwloc's environment puts another machine in the place of this one, for every program that asks hwloc. It is shown as
// the machine it is: nobody has measured it, and our profile is not its. Programs that run here still use the profile:
// the runtime does not ask hwloc.
MachineFile pretended_machine(const Machine& machine, const char* by) {
  MachineFile file = from_image(guess_image(machine), by);
  file.note = fmt::format("{} is set: this is the machine that it describes, not the one we run on", by);
  return file;
}

MachineFile this_machine() {
  for (const char* by : {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE", "HWLOC_FSROOT"})
    if (environment(by)) {
      const Machine machine = discover_machine();
      if (!machine.this_machine) return pretended_machine(machine, by);
    }
  Profile profile;
  Refusal why;
  if (load_profile(&profile, &why) != 0) throw UserError("out of memory for this machine's profile");
  // The runtime's guess and hwloc's agree (one class table); hwloc's knows the CPU's name.
  MachineFile file = profile.source == ProfileSource::kGuess ? from_image(guess_image(discover_machine()), "this")
                                                             : from_profile(image_from_profile(profile), profile.path);
  file.note = why.text;
  file.here = true;
  unload_profile(&profile);
  return file;
}

// A matrix file: t_send, t_receive (row = sender), unit, and optionally name, cpus, numa_node, socket, smt_core.
MachineFile from_matrices(const nlohmann::json& root, const JsonChecks& checks, const std::string& path) {
  const nlohmann::json& rows = checks.member(root, "t_send");
  if (!rows.is_array() || rows.empty() || rows.size() > kMaxParticipants)
    checks.fail("\"t_send\" is not a square matrix of 1 to {} rows", kMaxParticipants);
  const auto n = static_cast<uint32_t>(rows.size());
  const std::vector<float> t_send = checks.matrix(root, "t_send", n);
  const std::vector<float> t_receive = checks.matrix(root, "t_receive", n);
  const CostUnit unit = checks.unit(root, "unit");

  const auto list = [&](const char* key, uint32_t largest) {
    std::vector<uint32_t> out;
    if (!root.contains(key)) return out;
    const nlohmann::json& values = root.at(key);
    if (!values.is_array() || values.size() != n) checks.fail("\"{}\" is not a list of {} numbers", key, n);
    for (uint32_t i = 0; i < n; ++i) out.push_back(checks.whole(values[i], fmt::format("\"{}\"[{}]", key, i), largest));
    return out;
  };
  const auto groups = [&](const char* key) {
    const std::vector<uint32_t> wide = list(key, kNobody - 1);
    return std::vector<uint16_t>(wide.begin(), wide.end());
  };

  MachineFile file;
  file.name = root.contains("name") ? checks.text(root, "name") : base_name(path);
  file.kind = "matrix";
  // "measured" says so of t_send and t_receive, never of figures derived from them.
  if (root.contains("kind")) file.paper_origin = checks.text(root, "kind");
  if (root.contains("source"))
    file.paper_origin += (file.paper_origin.empty() ? "" : ": ") + checks.text(root, "source");
  file.origin = "derived from t_send and t_receive" + (file.paper_origin.empty() ? "" : " (" + file.paper_origin + ")");
  file.cpus = list("cpus", UINT32_MAX);
  file.package = groups("socket");
  file.core = groups("smt_core");
  if (file.cpus.empty()) {
    for (uint32_t i = 0; i < n; ++i) file.cpus.push_back(i);
  } else if (const std::set<uint32_t> known(file.cpus.begin(), file.cpus.end()); known.size() < n) {
    for (uint32_t i = 0; i < n; ++i)
      if (const auto first = std::find(file.cpus.begin(), file.cpus.end(), file.cpus[i]) - file.cpus.begin(); first < i)
        checks.fail("\"cpus\"[{}] is CPU {} again, after \"cpus\"[{}]", i, file.cpus[i], first);
  }
  const std::vector<uint16_t> nodes = groups("numa_node");
  if (file.package.empty()) file.package.assign(n, 0);
  for (uint32_t i = static_cast<uint32_t>(file.core.size()); i < n; ++i) file.core.push_back(static_cast<uint16_t>(i));
  build_costs(file, n, [&](Arena& arena) {
    // The paper's matrices are the paper's costs; the overlap-aware ones are derived from them.
    const uint16_t* node = nodes.empty() ? nullptr : copied(arena, nodes);
    const int error = costs_from_send_receive(n, unit, t_send.data(), t_receive.data(), node, arena, &file.paper);
    return error ? error : overlap_costs_from_additive(file.paper, arena, &file.overlap);
  });
  return file;
}

MachineFile from_classes(const nlohmann::json& root, const JsonChecks& checks) {
  const ClassFile classes = class_file_from_json(root, checks);
  MachineFile file = from_image(class_image(classes), classes.title);
  file.kind = "classes";
  for (const ClassCost& cost : classes.costs)
    file.sources.push_back(
        fmt::format("{}, {} ns per transfer: {}", distance_name(cost.distance), cost.transfer_ns, cost.source));
  if (!classes.note.empty()) file.sources.push_back(classes.note);
  return file;
}

MachineFile from_zoo(const std::string& name) {
  const ZooEntry* entry = find_in_zoo(name);
  if (!entry) {
    const ZooEntry* const meant = nearest_in_zoo(name);
    throw UserError(
        fmt::format("zoo:{}: the zoo has no machine of this name{}; 'smelt info --machine zoo:list' lists them", name,
                    meant ? fmt::format(" (did you mean 'zoo:{}'?)", meant->name) : ""));
  }
  const JsonChecks checks("zoo:" + name);
  return from_classes(checks.parse(entry->text), checks);
}

}  // namespace

MachineFile read_machine_file(const std::string& what) {
  constexpr std::string_view kSynthetic = "synthetic:", kZoo = "zoo:";
  if (what == "this") return this_machine();
  if (what.starts_with(kSynthetic)) {
    const std::string description = what.substr(kSynthetic.size());
    return from_image(guess_image(machine_from_synthetic(description)), description);
  }
  if (what.starts_with(kZoo)) return from_zoo(what.substr(kZoo.size()));
  const std::string text = read_text_file(what, " (a file, \"this\", \"synthetic:...\" or \"zoo:...\" is expected)");
  if (text.starts_with("SMELTPRF")) return from_profile(read_packed_profile(what), what.c_str());
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) throw UserError(what + ": the file is empty");
  if (text[first] == '<') return from_image(guess_image(machine_from_xml(what)), base_name(what));

  const JsonChecks checks(what);
  const nlohmann::json root = checks.parse(text);
  if (!root.is_object() || (!root.contains("t_send") && !root.contains("shape") && !root.contains("format")))
    checks.fail(
        "neither a Smelt profile nor a matrix file (\"t_send\", \"t_receive\") nor a class file (\"shape\") "
        "nor hwloc XML");
  if (root.contains("t_send")) return from_matrices(root, checks, what);
  if (root.contains("shape")) return from_classes(root, checks);
  return from_image(profile_from_json(text, what), base_name(what));
}

Profile profile_of(const MachineFile& machine) {
  Profile out;
  if (machine.unit == CostUnit::kNanoseconds) out.costs = machine.overlap;
  if (machine.kind == "measured") out.source = ProfileSource::kSetting;  // all that counts is that it is no guess
  out.header.one_way_hop = machine.one_way_hop;
  out.header.classes = static_cast<uint32_t>(machine.classes.size());
  out.classes = machine.classes.data();
  out.header.distances = static_cast<uint32_t>(machine.distances.size());
  out.distances = machine.distances.data();
  out.header.curve_sets = static_cast<uint32_t>(machine.curves.size());
  out.curves = machine.curves.data();
  out.wait = &machine.wait;
  return out;
}

}  // namespace smelt
