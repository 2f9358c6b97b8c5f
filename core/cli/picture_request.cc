#include "cli/picture_request.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <langinfo.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <cstring>
#include <set>

#include "base/options.h"
#include "base/os/os.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "generate/exact.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "schedule/choose.h"
#include "schedule/predict.h"
#include "schedule/validate.h"

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

Pattern resolve_pattern(const std::string& name) {
  Pattern pattern;
  const int error = find_pattern(name.c_str(), &pattern);
  if (error == 0) return pattern;
  // The row whose argument was wrong, for the error text.
  Pattern row;
  const std::string stem = name.substr(0, name.find(':'));
  if (error != -ENOENT && find_pattern(stem.c_str(), &row) == 0) {
    if (error == -ERANGE)
      throw UserError(fmt::format("pattern {}: {} is a whole number from {} to {}, e.g. {}:{}", name,
                                  row.info->argument ? row.info->argument : "the argument", row.info->min_argument,
                                  row.info->max_argument, stem, row.info->default_argument));
    throw UserError(fmt::format("pattern {}: {} takes no argument; write {}", name, stem, stem));
  }
  // nearest_pattern knows rows only; "best" is not one.
  const char* near = edit_distance(name.c_str(), "best") <= 2 ? "best" : nearest_pattern(name.c_str());
  throw UserError(fmt::format("pattern {}: there is none of this name{}; 'smelt tree --list' lists them", name,
                              near ? fmt::format(" (did you mean '{}'?)", near) : ""));
}

[[noreturn]] void refuse_request(const PictureRequest& request, const Pattern& pattern, size_t n, int error) {
  if (error == -ENOMEM) throw UserError("out of memory; name fewer CPUs with --cpus");
  if (pattern.info && pattern.info->exchange && request.op != Operation::kBarrier)
    throw UserError(fmt::format("pattern {}: it serves barriers only; choose a tree for --op {}", request.pattern,
                                operation_name(request.op)));
  throw UserError(fmt::format("pattern {}: cannot serve {} CPU{}; choose another pattern or other --cpus",
                              request.pattern, n, n == 1 ? "" : "s"));
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

std::vector<uint32_t> allowed_cpus_of(const MachineFile& machine) {
  std::vector<uint32_t> allowed(os::allowed_cpu_list(nullptr, 0));
  allowed.resize(
      std::min<size_t>(allowed.size(), os::allowed_cpu_list(allowed.data(), static_cast<uint32_t>(allowed.size()))));
  std::vector<uint32_t> cpus;
  for (const uint32_t cpu : allowed)
    if (std::find(machine.cpus.begin(), machine.cpus.end(), cpu) != machine.cpus.end()) cpus.push_back(cpu);
  if (cpus.empty())
    throw UserError(
        fmt::format("the profile of this machine knows none of the CPUs {} that this process may use; "
                    "run 'smelt calibrate'",
                    cpu_ranges(allowed)));
  return cpus;
}

Picture picture_costs(const MachineFile& machine, const PictureRequest& request) {
  Picture p;
  p.cpu = request.cpus.empty() ? machine.cpus : request.cpus;
  const std::vector<uint16_t> members = find_members(machine, p.cpu);
  for (const uint16_t member : members) p.core.push_back(machine.core[member]);
  const size_t n = p.cpu.size();
  auto storage = std::make_shared<MappedArena>(4 * n * n * sizeof(float) + n * 64 + 65536);
  if (!storage->ok() || subset_costs(request.paper ? machine.paper : machine.overlap, members, *storage, &p.costs) != 0)
    throw UserError("out of memory; name fewer CPUs with --cpus");
  p.storage = storage;
  p.machine = one_line(machine.name);  // from a file: it may hold anything, and goes to terminals
  p.origin = one_line(request.paper ? machine.paper_origin : machine.origin);
  p.cost_model = request.paper ? "paper" : "overlap";
  return p;
}

Picture make_picture(const MachineFile& machine, const PictureRequest& request, const CandidateVisitor* visitor) {
  Picture p;
  p.cpu = request.cpus.empty() ? machine.cpus : request.cpus;
  const auto n = static_cast<uint32_t>(p.cpu.size());
  const std::vector<uint16_t> members = find_members(machine, p.cpu);
  for (const uint16_t member : members) p.core.push_back(machine.core[member]);
  const int root = find_root(request, p.cpu);
  const StillWorking working(request.working.empty()
                                 ? fmt::format("planning a {} for {} CPUs", operation_name(request.op), n)
                                 : request.working);
  const bool best = request.pattern == "best";
  const Pattern named = best ? Pattern{} : resolve_pattern(request.pattern);
  if (root >= 0 && named.info && named.info->exchange)
    throw UserError(fmt::format("--root: {} has no root; leave --root out or choose a tree", request.pattern));

  // Lazily backed, so what the largest pattern would need costs nothing to reserve; twice, for costs and validation.
  auto storage = std::make_shared<MappedArena>(2 * generation_bytes(n));
  Arena& arena = *storage;
  if (!storage->ok()) refuse_request(request, named, n, -ENOMEM);
  if (subset_costs(request.paper ? machine.paper : machine.overlap, members, arena, &p.costs) != 0)
    refuse_request(request, named, n, -ENOMEM);

  Choice choice;
  int error = best ? choose_best(request.op, root, p.costs, arena, &choice, request.effort, visitor)
                   : build(named, request.op, root, p.costs, arena, &choice, request.effort);
  if (error) refuse_request(request, named, n, error);
  Validation verdict;
  if (validate(choice.schedule, arena, &verdict) != 0) refuse_request(request, named, n, -ENOMEM);
  char text[64];
  choice_text(choice, text, sizeof text);
  if (verdict.flaw != Flaw::kNone)
    throw UserError(fmt::format("the schedule of {} is not correct ({}); choose another pattern and report this", text,
                                flaw_text(verdict.flaw)));
  Prediction prediction;
  if (predict(choice.schedule, p.costs, arena, &prediction) != 0) refuse_request(request, named, n, -ENOMEM);

  p.machine = one_line(machine.name);  // from a file: it may hold anything, and goes to terminals
  p.origin = one_line(request.paper ? machine.paper_origin : machine.origin);
  p.op = request.op;
  p.pattern = text;
  p.requested = request.pattern;
  p.cost_model = request.paper ? "paper" : "overlap";
  p.predicted = prediction.makespan;
  if (request.op == Operation::kBarrier && steady_price(choice.schedule, p.costs, arena, &p.steady) != 0)
    refuse_request(request, named, n, -ENOMEM);
  p.done.assign(prediction.done, prediction.done + n);
  p.schedule = choice.schedule;
  p.is_tree = choice.pattern.info->tree != nullptr;
  p.tree = choice.tree;
  p.gather = choice.gather;
  p.exchange = choice.exchange;
  p.storage = storage;
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
  if (request->cpus.empty() && machine.here) request->cpus = allowed_cpus_of(machine);
  // The paper's model has no line that several poll.
  request->effort = {arguments.exact, arguments.moves, arguments.seed, {0, stop}, !request->paper};
  if (arguments.budget_ms > 0)
    request->effort.limits.deadline_ns = os::now_ns() + static_cast<int64_t>(arguments.budget_ms * 1e6);
  return machine;
}

bool terminal_takes_utf8() { return std::setlocale(LC_CTYPE, "") && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

}  // namespace smelt
