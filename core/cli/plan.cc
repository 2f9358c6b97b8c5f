#include "cli/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/options.h"
#include "base/os/os.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "generate/registry.h"
#include "profile/text/error.h"
#include "schedule/predict.h"
#include "schedule/validate.h"

namespace smelt {
namespace {

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

[[noreturn]] void refuse_plan(const PlanRequest& request, const Pattern& pattern, size_t n, int error) {
  if (error == -ENOMEM) throw UserError("out of memory; name fewer CPUs with --cpus");
  if (pattern.info && pattern.info->exchange && request.op != Operation::kBarrier)
    throw UserError(fmt::format("pattern {}: it serves barriers only; choose a tree for --op {}", request.pattern,
                                operation_name(request.op)));
  throw UserError(fmt::format("pattern {}: cannot serve {} CPU{}; choose another pattern or other --cpus",
                              request.pattern, n, n == 1 ? "" : "s"));
}

}  // namespace

PlannedCollective plan_collective(const Costs& machine, const std::vector<uint16_t>& members,
                                  const PlanRequest& request) {
  const auto n = static_cast<uint32_t>(members.size());
  const StillWorking working(request.working.empty()
                                 ? fmt::format("planning a {} for {} CPUs", operation_name(request.op), n)
                                 : request.working);
  const bool best = request.pattern == "best";
  const Pattern named = best ? Pattern{} : resolve_pattern(request.pattern);
  if (request.root >= 0 && named.info && named.info->exchange)
    throw UserError(fmt::format("--root: {} has no root; leave --root out or choose a tree", request.pattern));
  const auto need = [&](int error) {
    if (error) refuse_plan(request, named, n, error);
  };

  // Lazily backed, so what the largest pattern would need costs nothing to reserve; twice, for costs and validation.
  auto storage = std::make_shared<MappedArena>(2 * generation_bytes(n));
  Arena& arena = *storage;
  PlannedCollective p;
  need(storage->ok() ? subset_costs(machine, members, arena, &p.costs) : -ENOMEM);
  Choice choice;
  need(best ? choose_best(request.op, request.root, p.costs, arena, &choice, request.effort, request.visitor)
            : build(named, request.op, request.root, p.costs, arena, &choice, request.effort));
  Validation verdict;
  need(validate(choice.schedule, arena, &verdict));
  char text[64];
  choice_text(choice, text, sizeof text);
  if (verdict.flaw != Flaw::kNone)
    throw UserError(fmt::format("the schedule of {} is not correct ({}); choose another pattern and report this", text,
                                flaw_text(verdict.flaw)));
  Prediction prediction;
  need(predict(choice.schedule, p.costs, arena, &prediction));
  if (request.op == Operation::kBarrier) need(steady_price(choice.schedule, p.costs, arena, &p.steady));

  p.pattern = text;
  p.schedule = choice.schedule;
  p.predicted = prediction.makespan;
  p.done.assign(prediction.done, prediction.done + n);
  p.is_tree = choice.pattern.info->tree != nullptr;
  p.tree = choice.tree;
  p.gather = choice.gather;
  p.exchange = choice.exchange;
  p.storage = storage;
  return p;
}

std::vector<uint32_t> allowed_cpus_of(const std::vector<uint32_t>& known) {
  std::vector<uint32_t> allowed(os::allowed_cpu_list(nullptr, 0));
  allowed.resize(
      std::min<size_t>(allowed.size(), os::allowed_cpu_list(allowed.data(), static_cast<uint32_t>(allowed.size()))));
  std::vector<uint32_t> cpus;
  for (const uint32_t cpu : allowed)
    if (std::find(known.begin(), known.end(), cpu) != known.end()) cpus.push_back(cpu);
  if (cpus.empty())
    throw UserError(
        fmt::format("the profile of this machine knows none of the CPUs {} that this process may use; "
                    "run 'smelt calibrate'",
                    cpu_ranges(allowed)));
  return cpus;
}

}  // namespace smelt
