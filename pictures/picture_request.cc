#include "pictures/picture_request.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/os/os.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "generate/exact.h"
#include "profile/profile.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// Reads a number and moves `at` behind it; false where there is none.
bool read_number(const char*& at, const char* end, uint32_t* out) {
  const auto [next, error] = std::from_chars(at, end, *out);
  if (error != std::errc{}) return false;
  at = next;
  return true;
}

std::vector<uint32_t> sorted(std::vector<uint32_t> cpus) {
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

// The members' indices in the machine.
std::vector<uint16_t> find_members(const MachineFile& machine, const std::vector<uint32_t>& cpus) {
  std::vector<uint16_t> members;
  for (const uint32_t cpu : cpus) {
    const auto found = std::find(machine.cpus.begin(), machine.cpus.end(), cpu);
    if (found == machine.cpus.end())
      throw UserError(fmt::format("--cpus: {} has no CPU {}; its CPUs are {}", machine.name, cpu,
                                  cpu_ranges(sorted(machine.cpus))));
    members.push_back(static_cast<uint16_t>(found - machine.cpus.begin()));
  }
  return members;
}

// The machine and the participants, and nothing of what is planned.
Picture described(const MachineFile& machine, const PictureRequest& request) {
  Picture p;
  p.machine = one_line(machine.name);  // from a file: it may hold anything, and goes to terminals
  p.origin = one_line(request.paper ? machine.paper_origin : machine.origin);
  p.cost_model = request.paper ? "paper" : "overlap";
  p.cpu = request.cpus.empty() ? machine.cpus : request.cpus;
  for (const uint16_t member : find_members(machine, p.cpu)) p.core.push_back(machine.core[member]);
  return p;
}

}  // namespace

int find_root(const PictureRequest& request, const std::vector<uint32_t>& cpus) {
  if (!request.root) return -1;
  const auto found = std::find(cpus.begin(), cpus.end(), *request.root);
  if (found == cpus.end())
    throw UserError(
        fmt::format("--root: CPU {} does not take part; choose one of {}", *request.root, cpu_ranges(sorted(cpus))));
  return static_cast<int>(found - cpus.begin());
}

std::vector<uint32_t> parse_cpu_list(const std::string& text) {
  const auto refuse = [&text](const std::string& why) {
    return UserError(fmt::format("--cpus '{}': {}; write kernel CPU numbers like 0-3,8,10-11", text, why));
  };
  if (text.empty()) throw refuse("names no CPU");
  std::vector<uint32_t> cpus;
  std::set<uint32_t> seen;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    uint32_t first = 0;
    if (!read_number(at, end, &first)) throw refuse("not a list of numbers");
    uint32_t last = first;
    if (at < end && *at == '-' && !read_number(++at, end, &last)) throw refuse("not a list of numbers");
    if (last < first) throw refuse(fmt::format("the range {}-{} runs backwards", first, last));
    if (last - first >= kMaxParticipants || cpus.size() + (last - first) >= kMaxParticipants)
      throw refuse(fmt::format("names more than {} CPUs", kMaxParticipants));
    for (uint64_t cpu = first; cpu <= last; ++cpu) {
      if (!seen.insert(static_cast<uint32_t>(cpu)).second) throw refuse(fmt::format("names CPU {} twice", cpu));
      cpus.push_back(static_cast<uint32_t>(cpu));
    }
    if (at == end) return cpus;
    if (*at++ != ',') throw refuse("not a list of numbers");
  }
}

Picture picture_costs(const MachineFile& machine, const PictureRequest& request) {
  Picture p = described(machine, request);
  const size_t n = p.cpu.size();
  auto storage = std::make_shared<MappedArena>(4 * n * n * sizeof(float) + n * 64 + 65536);
  if (!storage->ok() || subset_costs(request.paper ? machine.paper : machine.overlap, find_members(machine, p.cpu),
                                     *storage, &p.costs) != 0)
    throw UserError("out of memory; name fewer CPUs with --cpus");
  p.storage = storage;
  return p;
}

Picture make_picture(const MachineFile& machine, const PictureRequest& request, const CandidateVisitor* visitor) {
  Picture p = described(machine, request);
  const std::vector<uint16_t> members = find_members(machine, p.cpu);
  const int root = find_root(request, p.cpu);
  static_cast<PlannedCollective&>(p) =
      plan_collective(request.paper ? machine.paper : machine.overlap, members,
                      {request.op, request.pattern, root, request.effort, request.working, visitor});
  p.op = request.op;
  p.requested = request.pattern;
  return p;
}

void add_picture_options(CLI::App& verb, PictureArguments& arguments) {
  arguments.machine_option =
      verb.add_option(
              "--machine", arguments.machine,
              "this; synthetic:DESCRIPTION in hwloc's notation; zoo:NAME (zoo:list lists them); or a file: profile "
              "(JSON or packed), cost matrix or costs by class (JSON), hwloc XML")
          ->type_name("MACHINE")
          ->capture_default_str();
  arguments.op_option = verb.add_option("--op", arguments.op, "what the pattern is for")
                            ->check(CLI::IsMember({"broadcast", "reduce", "barrier"}))
                            ->capture_default_str();
  verb.add_option("--pattern", arguments.pattern, "which pattern; best: the cheapest; see 'smelt tree --list'")
      ->type_name("NAME")
      ->capture_default_str();
  arguments.cpus_option =
      verb.add_option("--cpus", arguments.cpus,
                      "kernel CPU numbers that take part, in this order: 0-3,8,10-11 (default: all)")
          ->type_name("LIST");
  arguments.root_option =
      verb.add_option("--root", arguments.root, "CPU that is the root (default: the pattern's choice)")
          ->type_name("CPU");
  verb.add_option("--cost-model", arguments.cost_model,
                  "overlap: independent messages overlap; paper: sends and receives add up (OSDI'16, section 3.1)")
      ->check(CLI::IsMember({"overlap", "paper"}))
      ->capture_default_str();
  verb.add_option("--exact", arguments.exact, "find the optimal tree up to so many participants")
      ->check(CLI::Range(0u, kMostExact))
      ->capture_default_str();
  verb.add_option("--moves", arguments.moves, "moves of annealing above that (default: by the number of participants)");
  verb.add_option("--seed", arguments.seed, "of the annealing; the same seed finds the same tree")
      ->check(whole_number())
      ->capture_default_str();
  verb.add_option("--budget", arguments.budget_ms,
                  "ms that the search may take on a machine; what it finds then depends on the time")
      ->check(number_between(0, 1e9));
}

MachineFile read_request(const PictureArguments& arguments, const std::atomic<bool>* stop, PictureRequest* request) {
  request->op = arguments.op == "broadcast" ? Operation::kBroadcast
                : arguments.op == "reduce"  ? Operation::kReduce
                                            : Operation::kBarrier;
  request->pattern = arguments.pattern;
  request->paper = arguments.cost_model == "paper";
  if (arguments.root_option->count() > 0) request->root = arguments.root;
  // Before the machine: cheap errors first.
  if (arguments.cpus_option->count() > 0) request->cpus = parse_cpu_list(arguments.cpus);
  MachineFile machine = read_machine_file(arguments.machine);
  if (!machine.note.empty()) warn(machine.note);
  if (request->cpus.empty() && machine.here) request->cpus = allowed_cpus_of(machine.cpus);
  // The paper's model has no line that several poll.
  request->effort = {arguments.exact, arguments.moves, arguments.seed, {0, stop}, !request->paper};
  if (arguments.budget_ms > 0)
    request->effort.limits.deadline_ns = os::now_ns() + static_cast<int64_t>(arguments.budget_ms * 1e6);
  return machine;
}

}  // namespace smelt
