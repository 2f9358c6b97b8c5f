// smelt info: the facts about the machine, their sources, and the conclusions from them.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <memory>
#include <set>

#include "base/options.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/launch_environment.h"
#include "cli/methods.h"
#include "cli/other_figures.h"
#include "cli/picture_request.h"
#include "cli/terminal.h"
#include "cli/thresholds.h"
#include "cli/zoo_list.h"
#include "discover/machine.h"
#include "discover/machine_file.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

struct InfoArguments {
  std::string machine = "this";
  bool json = false, thresholds = false;
  uint32_t participants = 0;
};

const char* source_name(ProfileSource source) {
  switch (source) {
    case ProfileSource::kSetting: return "SMELT_PROFILE";
    case ProfileSource::kUser: return "user";
    case ProfileSource::kSystem: return "system";
    case ProfileSource::kGuess: break;
  }
  return "guess";
}

template <typename Number>
size_t distinct(const std::vector<Number>& numbers) {
  return std::set<Number>(numbers.begin(), numbers.end()).size();
}

// The contents of both forms of the report. Parts that a file does not tell stay empty.
struct Report {
  MachineFile costs;
  bool this_machine = false;
  Machine machine;        // this_machine only
  PackedHeader header{};  // this_machine only
  ProfileSource source = ProfileSource::kGuess;
  std::string path;
  std::vector<uint32_t> cpus;  // that take part in the barrier below
  Picture barrier;
  std::string shim;  // this_machine only
  std::string advice;
};

// The barrier that a program would get: SMELT_TUNE=pattern counts on this machine. A bad one is told and stepped over.
Picture plan_barrier(const Report& r) {
  PictureRequest request;
  request.cpus = r.cpus;
  if (r.this_machine) request.pattern = options().pattern;
  try {
    return make_picture(r.costs, request);
  } catch (const UserError& error) {
    if (request.pattern == "best") throw;
    warn(fmt::format("SMELT_TUNE=pattern: {}; best is shown", error.what()));
  }
  request.pattern = "best";
  return make_picture(r.costs, request);
}

Report make_report(const std::string& what) {
  Report r;
  r.costs = read_machine_file(what);
  r.this_machine = r.costs.here;
  r.cpus = r.costs.cpus;
  if (r.this_machine) {
    r.machine = discover_machine();
    r.shim = find_shim();
    Profile profile;
    Refusal why;
    if (load_profile(&profile, &why) != 0)
      throw UserError("the kernel does not tell this machine's CPUs (/sys/devices/system/cpu)");
    r.header = profile.header;
    r.source = profile.source;
    r.path = profile.path;
    unload_profile(&profile);
    r.cpus = allowed_cpus_of(r.costs);
    if (r.source == ProfileSource::kGuess && options().profile[0])
      r.advice = "these costs are guessed: the file that SMELT_PROFILE names is of no use here";
    else if (r.source == ProfileSource::kGuess)
      r.advice = "nothing was measured on this machine; run 'smelt calibrate' on it while it is idle";
    else if (r.cpus.size() < r.machine.allowed_cpus().size())
      r.advice = fmt::format("the profile knows {} of the {} CPUs that this process may use; run 'smelt calibrate'",
                             r.cpus.size(), r.machine.allowed_cpus().size());
    else if (r.machine.virtualised)
      r.advice = "this is a virtual machine and may be moved; run 'smelt calibrate' again when timings change";
  } else if (r.costs.kind == "classes") {
    r.advice = "these costs are estimated from what others published; run 'smelt calibrate' on the machine itself";
  } else if (r.costs.kind == "guessed") {
    r.advice = "these costs are typical ones for the shape; run 'smelt calibrate' on the machine itself";
  }
  r.barrier = plan_barrier(r);
  return r;
}

std::string age_text(int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s old", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} min old", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{} h old", seconds / 3600);
  return fmt::format("{} days old", seconds / 86400);
}

struct Counts {
  size_t pus, cores, l1, l2, llc, nodes, packages;
};

Counts count(const Report& r) {
  if (!r.this_machine) {
    const Costs& c = r.costs.overlap;
    const auto copy = [&c](const uint16_t* ids) {
      return ids ? std::vector<uint16_t>(ids, ids + c.n) : std::vector<uint16_t>(1);
    };
    return {
        c.n, distinct(r.costs.core), 0, 0, distinct(copy(c.llc)), distinct(copy(c.node)), distinct(r.costs.package)};
  }
  const auto of = [&r](uint16_t Pu::*member) {
    std::set<uint16_t> ids;
    for (const Pu& pu : r.machine.pus) ids.insert(pu.*member);
    return ids.size();
  };
  return {r.machine.pus.size(), of(&Pu::core), of(&Pu::l1), of(&Pu::l2), of(&Pu::llc), of(&Pu::node), of(&Pu::package)};
}

Document info_document(const Report& r) {
  const Counts c = count(r);
  Document out = {{"machine", r.costs.name}, {"pus", c.pus},           {"cores", c.cores},    {"llcs", c.llc},
                  {"numa_nodes", c.nodes},   {"packages", c.packages}, {"cpus", r.costs.cpus}};
  if (r.this_machine) {
    out["cpu_model"] = r.machine.cpu_model;
    out["l1s"] = c.l1;
    out["l2s"] = c.l2;
    out["virtualised"] = r.machine.virtualised;
    out["allowed_cpus"] = r.machine.allowed_cpus();
    out["cpu_quota"] = r.machine.cpu_quota ? Document(r.machine.cpu_quota) : Document(nullptr);
    Document profile = {{"source", source_name(r.source)}, {"measured", r.source != ProfileSource::kGuess}};
    if (r.source != ProfileSource::kGuess)
      profile.update({{"path", r.path},
                      {"created", date_text(r.header.created)},
                      {"age_seconds", std::max<int64_t>(0, std::time(nullptr) - r.header.created)},
                      {"method", r.header.method},
                      {"pairs_measured", r.header.pairs_measured},
                      {"pairs", size_t{r.header.cpus} * (r.header.cpus - 1)},
                      {"ping_pong", r.header.one_way_hop},
                      {"spread", r.header.spread},
                      {"conditions", conditions_document(r.header.conditions)},
                      {"others_cpus", r.header.others}});
    out["profile"] = std::move(profile);
  } else {
    out["kind"] = r.costs.kind;
    out["origin"] = r.barrier.origin;
    out["sources"] = r.costs.sources;
  }
  out["unit"] = cost_unit_name(r.costs.unit);
  out["hops"] = hops_document(r.costs.overlap, r.costs.package, r.costs.core);
  out["classes"] = classes_document(r.costs.classes);
  out["raced"] = winners_document(r.costs.winners, r.costs.winner_cpus);
  out["methods"] = methods_document(r.costs.curves);
  add_other_figures(out, r.costs.queues, r.costs.wait, r.costs.fans, r.costs.distances);
  out["barrier"] = {{"cpus", r.cpus},
                    {"pattern", r.barrier.pattern},
                    {"predicted", r.barrier.predicted},
                    {"predicted_in_a_loop", r.barrier.steady}};
  if (r.this_machine) out["gomp_library"] = r.shim.empty() ? Document(nullptr) : Document(r.shim);
  out["advice"] = r.advice.empty() ? Document(nullptr) : Document(r.advice);
  return out;
}

std::string profile_facts(const Document& document) {
  const Document &profile = document["profile"], &quota = document["cpu_quota"];
  std::string out = fact("caches", told(document, "L1: {l1s}, L2: {l2s}, last level: {llcs}"));
  out += fact("allowed",
              fmt::format("{}: {}", document["allowed_cpus"].size(), shown(document, "allowed_cpus", As::kCpus)));
  out += fact("quota", quota.is_null() ? "none" : fmt::format("{} CPUs (cgroup)", quota.dump()));
  if (!profile["measured"]) return out + fact("profile", "none: the costs below are a guess from the machine's shape");
  out += fact("profile", told(profile, "{path} ({source})"));
  out += fact("measured", shown(profile, "created") + ", " + age_text(profile["age_seconds"]) +
                              told(profile, "; {pairs_measured} of {pairs} pairs; {method}"));
  if (!profile["conditions"].empty())
    out += fact("beware", told(profile, "it was measured {conditions}: calibrate again when the machine is quiet"));
  return out + fact("ping-pong", told(profile, "{ping_pong|1} ns one way, spread {spread|%}"));
}

std::string info_text(const Document& document) {
  std::string out = fact("machine", one_line(shown(document, "machine")));
  out +=
      fact("CPUs",
           told(document,
                "{pus} (cores: {cores}, last-level caches: {llcs}, NUMA nodes: {numa_nodes}, packages: {packages})"));
  if (document.contains("profile")) {
    out += profile_facts(document);
  } else {
    out += fact("costs", told(document, "{kind}: {origin}"));
    for (const Document& source : document["sources"]) out += fact("about", one_line(source));
  }
  const std::string unit = document["unit"];
  out += table_text(hops_table(document["hops"], unit)) + table_text(classes_table(document["classes"], unit)) +
         table_text(winners_table(document["raced"])) + methods_text(document["methods"]) + queues_text(document) +
         other_figures_text(document);
  out += fact("barrier", told(document,
                              "{barrier.pattern} for CPUs {barrier.cpus|cpus}: {barrier.predicted|1} {unit} "
                              "predicted, {barrier.predicted_in_a_loop|1} each in a loop"));
  if (const auto library = document.find("gomp_library"); library != document.end())
    out += fact("OpenMP shim", library->is_null() ? fmt::format("{} not found; was it built and installed?", kShimName)
                                                  : library->get<std::string>());
  if (!document["advice"].is_null()) out += fact("advice", shown(document, "advice"));
  return out;
}

}  // namespace

void add_info(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("info", "Show the machine, its profile, and the barrier that follows from them");
  auto arguments = std::make_shared<InfoArguments>();
  verb->add_option("--machine", arguments->machine,
                   "this; synthetic:DESCRIPTION; zoo:NAME (zoo:list lists them); or a file (see smelt tree --help)")
      ->type_name("MACHINE")
      ->capture_default_str();
  verb->add_flag("--json", arguments->json, "for programs");
  CLI::Option* thresholds =
      verb->add_flag("--thresholds", arguments->thresholds,
                     "at which size, time or count each method hands over to the next, and why there");
  verb->add_option("--participants", arguments->participants,
                   "for groups of so many processes; otherwise one on each CPU")
      ->type_name("N")
      ->check(CLI::Range(2u, kMaxParticipants))
      ->needs(thresholds);
  verb->footer(
      "Example:\n  smelt info\n  smelt info --thresholds\n  smelt info --machine 'synthetic:pack:2 l3:2 core:4 pu:2'\n"
      "  smelt info --machine zoo:list\nSmelt's words (hop, fan, canary, shelf ...): docs/glossary.md");
  verb->callback([arguments, &chosen] {
    chosen = [arguments] {
      if (arguments->machine == kZooList) return put_zoo_list(arguments->json);
      const Report report = make_report(arguments->machine);
      if (!report.costs.note.empty()) warn(report.costs.note);
      if (arguments->thresholds) {
        const Situation situation = situation_of(report.cpus.size(), arguments->participants, report.this_machine);
        show(thresholds_document(report.costs, situation), arguments->json, thresholds_text);
      } else {
        show(info_document(report), arguments->json, info_text);
      }
      return 0;
    };
  });
}

}  // namespace smelt
