// smelt info: the facts about this machine, their sources, and the conclusions from them.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <ctime>
#include <memory>
#include <set>

#include "base/options.h"
#include "cli/class_figures.h"
#include "cli/houses.h"
#include "cli/info.h"
#include "cli/launch_environment.h"
#include "cli/methods.h"
#include "cli/other_figures.h"
#include "cli/terminal.h"
#include "cli/thresholds.h"
#include "discover/machine.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

std::string name_of(const ProfileImage& figures) { return figures.header.machine[0] ? figures.header.machine : "this"; }

const char* source_name(ProfileSource source) {
  switch (source) {
    case ProfileSource::kSetting: return "SMELT_PROFILE";
    case ProfileSource::kUser: return "user";
    case ProfileSource::kSystem: return "system";
    case ProfileSource::kGuess: break;
  }
  return "guess";
}

// The contents of both forms of the report.
struct Report {
  Machine machine;
  Profile profile;             // as the runtime found it
  ProfileImage figures;        // of it; of a guess as hwloc has it, who knows the CPU's name
  std::vector<uint32_t> cpus;  // that take part in the barrier below
  PlannedCollective barrier;
  std::string shim;
  std::string advice;
};

// The barrier that a program would get: SMELT_TUNE=pattern counts. A bad one is told and stepped over.
PlannedCollective plan_barrier(const Report& r) {
  const std::vector<uint32_t>& known = r.figures.os_cpu;
  std::vector<uint16_t> members;
  for (const uint32_t cpu : r.cpus)
    members.push_back(static_cast<uint16_t>(std::find(known.begin(), known.end(), cpu) - known.begin()));
  PlanRequest request;
  request.pattern = options().pattern;
  try {
    return plan_collective(r.figures.costs(), members, request);
  } catch (const UserError& error) {
    if (request.pattern == "best") throw;
    warn(fmt::format("SMELT_TUNE=pattern: {}; best is shown", error.what()));
  }
  request.pattern = "best";
  return plan_collective(r.figures.costs(), members, request);
}

std::string advice_of(const Report& r) {
  const bool guessed = r.profile.source == ProfileSource::kGuess;
  if (guessed && options().profile[0])
    return "these costs are guessed: the file that SMELT_PROFILE names is of no use here";
  if (guessed) return "nothing was measured on this machine; run 'smelt calibrate' on it while it is idle";
  if (const size_t allowed = r.machine.allowed_cpus().size(); r.cpus.size() < allowed)
    return fmt::format("the profile knows {} of the {} CPUs that this process may use; run 'smelt calibrate'",
                       r.cpus.size(), allowed);
  return r.machine.virtualised
             ? "this is a virtual machine and may be moved; run 'smelt calibrate' again when timings change"
             : "";
}

std::string age_text(int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s old", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} min old", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{} h old", seconds / 3600);
  return fmt::format("{} days old", seconds / 86400);
}

Document profile_document(const Profile& profile) {
  const PackedHeader& header = profile.header;
  Document out = {{"source", source_name(profile.source)}, {"measured", profile.source != ProfileSource::kGuess}};
  if (profile.source != ProfileSource::kGuess)
    out.update({{"path", profile.path},
                {"created", date_text(header.created)},
                {"age_seconds", std::max<int64_t>(0, std::time(nullptr) - header.created)},
                {"method", header.method},
                {"pairs_measured", header.pairs_measured},
                {"pairs", size_t{header.cpus} * (header.cpus - 1)},
                {"ping_pong", header.one_way_hop},
                {"spread", header.spread},
                {"conditions", conditions_document(header.conditions)},
                {"others_cpus", header.others}});
  return out;
}

Document info_document(const Report& r) {
  const ProfileImage& figures = r.figures;
  const Costs costs = figures.costs();
  const auto count = [&r](uint16_t Pu::*member) {
    std::set<uint16_t> ids;
    for (const Pu& pu : r.machine.pus) ids.insert(pu.*member);
    return ids.size();
  };
  Document out = {{"machine", name_of(figures)},
                  {"pus", r.machine.pus.size()},
                  {"cores", count(&Pu::core)},
                  {"llcs", count(&Pu::llc)},
                  {"numa_nodes", count(&Pu::node)},
                  {"packages", count(&Pu::package)},
                  {"cpus", figures.os_cpu},
                  {"cpu_model", r.machine.cpu_model},
                  {"l1s", count(&Pu::l1)},
                  {"l2s", count(&Pu::l2)},
                  {"virtualised", r.machine.virtualised},
                  {"allowed_cpus", r.machine.allowed_cpus()},
                  {"cpu_quota", r.machine.cpu_quota ? Document(r.machine.cpu_quota) : Document(nullptr)},
                  {"profile", profile_document(r.profile)},
                  {"unit", cost_unit_name(costs.unit)},
                  {"hops", hops_document(costs, figures.package, figures.core)},
                  {"classes", classes_document(figures.classes)},
                  {"raced", winners_document(figures)},
                  {"methods", methods_document(figures.curves)}};
  add_other_figures(out, figures.queues, figures.wait, figures.fans, figures.distances);
  out["barrier"] = barrier_document(r.cpus, r.barrier);
  out["gomp_library"] = r.shim.empty() ? Document(nullptr) : Document(r.shim);
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

}  // namespace

Document barrier_document(const std::vector<uint32_t>& cpus, const PlannedCollective& barrier) {
  return {{"cpus", cpus},
          {"pattern", barrier.pattern},
          {"predicted", barrier.predicted},
          {"predicted_in_a_loop", barrier.steady}};
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

int info_of_this_machine(const InfoArguments& arguments) {
  Report r;
  r.machine = discover_machine();
  if (!r.machine.this_machine) {  // hwloc's environment puts another one in its place
    std::vector<std::string> words = {"info", "--machine", "this"};
    if (arguments.json) words.push_back("--json");
    if (arguments.thresholds) words.push_back("--thresholds");
    if (arguments.participants) words.push_back(fmt::format("--participants={}", arguments.participants));
    leave_to_house(words);
  }
  Refusal why;
  if (load_profile(&r.profile, &why) != 0)
    throw UserError("the kernel does not tell this machine's CPUs (/sys/devices/system/cpu)");
  r.figures = r.profile.source == ProfileSource::kGuess ? guess_image(r.machine) : image_from_profile(r.profile);
  r.cpus = allowed_cpus_of(r.figures.os_cpu);
  if (why.text[0]) warn(why.text);
  if (arguments.thresholds) {
    show(thresholds_document(name_of(r.figures), r.profile, situation_of(r.cpus.size(), arguments.participants, true)),
         arguments.json, thresholds_text);
  } else {
    r.shim = find_shim();
    r.advice = advice_of(r);
    r.barrier = plan_barrier(r);
    show(info_document(r), arguments.json, info_text);
  }
  unload_profile(&r.profile);
  return 0;
}

void add_info(CLI::App& app, Action& chosen, int (*run)(const InfoArguments&)) {
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
  verb->callback([arguments, &chosen, run] { chosen = [arguments, run] { return run(*arguments); }; });
}

}  // namespace smelt
