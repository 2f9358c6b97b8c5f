// smelt try: is this program faster with Smelt, here and now? Runs the user's own command in pairs, without and with,
// in turns, and says what came of it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/os/os.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/launch_plan.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "cli/trial.h"
#include "cli/watched_run.h"
#include "discover/cpu_load.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr double kUsualSeconds = 20;
constexpr size_t kLeastPairs = 3;    // however long they take
constexpr size_t kWantedPairs = 6;   // from which on the interval is one of 95 %
constexpr double kWorthwhile = 3;    // for those the usual time may be exceeded so many times
constexpr double kLeastSeconds = 3;  // a shorter look sees one moment of the machine
constexpr uint32_t kMostPairs = 1000;

struct TryArguments {
  LaunchChoice choice;
  uint32_t pairs = 0;  // 0: as many as the seconds hold
  double seconds = kUsualSeconds;
  bool json = false, quiet = false;
  std::vector<std::string> command;
};

// The reason why the rest is pointless, or ends.
enum class Ending { kNone, kStockFails, kSmeltFails, kInterrupted };

struct Trial {
  std::vector<PairOfRuns> pairs;
  WatchedRun stock, smelt;  // of the warm-up, or the one that failed
  JobStats stats;
  std::string served;
  bool stock_varies = false;  // its outputs differ from each other
  std::string differs;        // "line 3 is ...": Smelt's output from stock's
  Ending ending = Ending::kNone;
  Circumstances seen;
};

class Trying {
 public:
  Trying(const TryArguments& arguments, const std::atomic<bool>& asked) : arguments_(arguments), asked_(asked) {
    LaunchChoice stock = arguments.choice;
    stock.stock = true;
    const LaunchPlan without = plan_launch(stock, arguments.command);
    const LaunchPlan with = plan_launch(arguments.choice, arguments.command);
    stock_ = {.command = without.command, .changes = without.changes};
    smelt_ = {.command = with.command, .changes = with.changes};
    kind_ = with.job;
  }

  Trial run() {
    warm_up();
    if (trial_.ending != Ending::kNone) return trial_;
    const LoadWatch watch(this_system());
    begun_ns_ = os::now_ns();
    {
      ProgressLine progress("pairs", !arguments_.quiet && !arguments_.json);
      while (trial_.ending == Ending::kNone && !enough()) {
        measure_pair();
        show(progress);
      }
    }
    look_around(watch);
    return trial_;
  }

 private:
  double elapsed() const { return static_cast<double>(os::now_ns() - begun_ns_) * 1e-9; }
  double pair_seconds() const {
    return trial_.pairs.empty() ? trial_.stock.times.wall_s + trial_.smelt.times.wall_s
                                : elapsed() / static_cast<double>(trial_.pairs.size());
  }
  size_t least() const {
    return static_cast<double>(kWantedPairs) * pair_seconds() <= kWorthwhile * arguments_.seconds ? kWantedPairs
                                                                                                  : kLeastPairs;
  }
  size_t expected() const {
    if (arguments_.pairs) return arguments_.pairs;
    const double held = arguments_.seconds / std::max(pair_seconds(), 1e-3);
    return std::max({least(), trial_.pairs.size(), static_cast<size_t>(held)});
  }

  bool enough() const {
    if (arguments_.pairs) return trial_.pairs.size() >= arguments_.pairs;
    if (trial_.pairs.size() < least()) return false;
    if (trial_.pairs.size() >= kMostPairs || elapsed() + pair_seconds() > arguments_.seconds) return true;
    return elapsed() >= std::min(kLeastSeconds, arguments_.seconds) && is_settled(trial_.pairs);
  }

  void show(ProgressLine& progress) const {
    const size_t done = trial_.pairs.size(), total = expected();
    const double left = static_cast<double>(total - std::min(done, total)) * pair_seconds();
    progress.show(done, total, left,
                  done >= 2 ? fmt::format("; {:.2f} times as fast so far", ratio_of(trial_.pairs).median) : "");
  }

  // These runs also find out what was served, and whether the program works at all.
  void warm_up() {
    ProgressLine progress("runs to warm up", !arguments_.quiet && !arguments_.json);
    trial_.stock = watch_run(stock_, asked_);
    if (!accept(trial_.stock, Ending::kStockFails)) return;
    progress.show(1, 2, trial_.stock.times.wall_s);
    const StatsFile file;
    kind_.untold = file.path().empty();
    ChildPlan plan = smelt_;
    if (!kind_.untold) plan.changes.push_back({"SMELT_STATS", file.path()});
    trial_.smelt = watch_run(plan, asked_);
    progress.show(2, 2);
    trial_.stats = parse_job_stats(file.content());
    trial_.served = served_line(trial_.stats, kind_);
    if (accept(trial_.smelt, Ending::kSmeltFails)) compare_outputs(trial_.smelt);
  }

  bool accept(const WatchedRun& run, Ending otherwise) {
    if (run.interrupted)
      trial_.ending = Ending::kInterrupted;
    else if (!run.ended_well())
      trial_.ending = otherwise;
    return trial_.ending == Ending::kNone;
  }

  // Stock that differs from itself says nothing about Smelt.
  void compare_outputs(const WatchedRun& smelt) {
    if (trial_.differs.empty() && !(smelt.output == trial_.stock.output))
      trial_.differs = first_difference(smelt.output, trial_.stock.output);
  }

  void measure_pair() {
    PairOfRuns pair;
    pair.stock_first = trial_.pairs.size() % 2 == 0;
    for (const bool stock : {pair.stock_first, !pair.stock_first}) {
      WatchedRun run = watch_run(stock ? stock_ : smelt_, asked_);
      if (!accept(run, stock ? Ending::kStockFails : Ending::kSmeltFails)) {
        if (trial_.ending != Ending::kInterrupted) (stock ? trial_.stock : trial_.smelt) = std::move(run);
        return;
      }
      if (stock)
        trial_.stock_varies |= !(run.output == trial_.stock.output);
      else
        compare_outputs(run);
      (stock ? pair.stock : pair.smelt) = run.times;
    }
    trial_.pairs.push_back(pair);
  }

  void look_around(const LoadWatch& watch) {
    Circumstances& seen = trial_.seen;
    const LoadSeen load = watch.so_far();
    seen.cpus = os::allowed_cpus();
    seen.others_cpus = load.others_cpus;
    seen.stolen = load.stolen;
    seen.throttled = load.throttled;
    seen.threads = trial_.stats.threads();
    seen.ranks = trial_.stats.collectives.ranks;
    seen.told = trial_.stats.told() || !kind_.obstacle.empty();
    seen.served = trial_.stats.served();
    seen.not_served = trial_.served;
    for (const auto& [name, one] : trial_.stats.openmp) seen.guessed |= one.guessed;
    seen.messages = kind_.messages;
  }

  const TryArguments& arguments_;
  const std::atomic<bool>& asked_;
  ChildPlan stock_, smelt_;
  JobKind kind_;
  Trial trial_;
  int64_t begun_ns_ = 0;
};

std::string time_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1000) : fmt::format("{:.3f} s", seconds);
}

template <typename Get>
double median_of(const std::vector<PairOfRuns>& pairs, Get get) {
  std::vector<double> values;
  for (const PairOfRuns& pair : pairs) values.push_back(get(pair));
  return median(std::move(values));
}

std::string pairs_text(size_t pairs) { return fmt::format("{} {}", pairs, pairs == 1 ? "pair" : "pairs"); }

std::string output_text(const Trial& trial) {
  if (trial.stock_varies) return "not compared: it differs from run to run without Smelt, too";
  if (!trial.differs.empty())
    return fmt::format("differs: {}; without Smelt it was the same in {} runs", trial.differs, trial.pairs.size() + 1);
  const uint64_t bytes = trial.stock.output.bytes;
  return bytes ? fmt::format("the same, {} bytes", bytes) : "the same, none";
}

bool output_differs(const Trial& trial) { return !trial.differs.empty() && !trial.stock_varies; }

std::string trial_text(const Trial& trial, const Verdict& verdict, double seconds) {
  const bool warns = output_differs(trial) || verdict.kind == VerdictKind::kSlower;
  const Ink ink = warns ? Ink::kWarning : verdict.kind == VerdictKind::kFaster ? Ink::kGood : Ink::kStrong;
  std::string out =
      inked(ink, (output_differs(trial) ? "its output is another one with Smelt; " : "") + verdict.text) + "\n";
  const auto row = [&out](const char* name, const std::string& text) {
    out += fmt::format("  {:<10}{}\n", name, text);
  };
  const RatioFound found = ratio_of(trial.pairs);
  const auto both = [&](auto get) {
    return fmt::format("stock {}, Smelt {}",
                       time_text(median_of(trial.pairs, [&](const PairOfRuns& p) { return get(p.stock); })),
                       time_text(median_of(trial.pairs, [&](const PairOfRuns& p) { return get(p.smelt); })));
  };
  row("wall time", both([](const RunTimes& t) { return t.wall_s; }));
  row("CPU time", both([](const RunTimes& t) { return t.cpu_s(); }));
  std::string ratio =
      fmt::format("{:.3f}, of {} in {}", found.median, pairs_text(trial.pairs.size()), duration_text(seconds));
  if (found.interval.confidence > 0)
    ratio += fmt::format("; quartiles {:.3f}-{:.3f}; {:.0f} % certain: {:.3f}-{:.3f}", found.lower_quartile,
                         found.upper_quartile, std::floor(found.interval.confidence * 100), found.interval.low,
                         found.interval.high);
  row("ratio", ratio);
  row("output", output_text(trial));
  row("served", trial.served);
  for (const std::string& reason : verdict.reasons)
    if (verdict.text.find(reason) == std::string::npos) row("note", reason);
  return out;
}

Document times_json(const RunTimes& times) {
  return {{"wall_s", times.wall_s}, {"user_s", times.user_s}, {"system_s", times.system_s}};
}

Document trial_json(const TryArguments& arguments, const Trial& trial, const Verdict& verdict, double seconds) {
  Document pairs = Document::array();
  for (const PairOfRuns& pair : trial.pairs)
    pairs.push_back({{"stock", times_json(pair.stock)},
                     {"smelt", times_json(pair.smelt)},
                     {"stock_first", pair.stock_first},
                     {"ratio", pair.ratio()}});
  const RatioFound found = ratio_of(trial.pairs);
  const Circumstances& seen = trial.seen;
  return {{"command", arguments.command},
          {"verdict", verdict_name(verdict.kind)},
          {"text", verdict.text},
          {"notes", verdict.reasons},
          {"ratio",
           {{"median", found.median},
            {"quartiles", {found.lower_quartile, found.upper_quartile}},
            {"interval", {found.interval.low, found.interval.high}},
            {"confidence", found.interval.confidence}}},
          {"pairs", pairs},
          {"seconds", seconds},
          {"interrupted", trial.ending == Ending::kInterrupted},
          {"output",
           {{"bytes", trial.stock.output.bytes},
            {"same", trial.stock_varies ? Document(nullptr) : Document(trial.differs.empty())},
            {"difference", output_differs(trial) ? Document(trial.differs) : Document(nullptr)}}},
          {"exit_code", trial.stock.code},
          {"served",
           {{"told", seen.told},
            {"any", seen.served},
            {"line", trial.served},
            {"threads", seen.threads},
            {"ranks", seen.ranks}}},
          {"machine",
           {{"cpus", seen.cpus},
            {"busy_with_others", seen.others_cpus},
            {"stolen", seen.stolen},
            {"throttled", seen.throttled},
            {"launcher_s", seen.launcher_s}}}};
}

// The verdict on a program that does not run to its end; "" for all others.
std::string failure_text(const Trial& trial) {
  const bool stock = trial.ending == Ending::kStockFails;
  if (!stock && trial.ending != Ending::kSmeltFails) return "";
  const WatchedRun& run = stock ? trial.stock : trial.smelt;
  const std::string said = run.last_error_line.empty() ? "" : fmt::format(", after '{}'", run.last_error_line);
  if (stock) return fmt::format("it fails without Smelt: {}{}; nothing was compared", run.end_text(), said);
  return fmt::format("do not use it here: it fails with Smelt and not without: {}{}; docs/start.md says what to send",
                     run.end_text(), said);
}

int run_try(TryArguments arguments) {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const double launcher_s = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  if (arguments.command.empty()) throw UserError("try what? e.g. smelt try -- ./app; see 'smelt try --help'");
  Interruption interruption("interrupted; nothing is known yet");
  const int64_t begun = os::now_ns();
  Trial trial = Trying(arguments, *interruption.asked()).run();
  const double seconds = static_cast<double>(os::now_ns() - begun) * 1e-9;
  trial.seen.launcher_s = launcher_s;
  if (trial.stock.error || trial.smelt.error)
    return cannot_execute(arguments.command[0], trial.stock.error ? trial.stock.error : trial.smelt.error);
  if (const std::string failure = failure_text(trial); !failure.empty()) {
    if (arguments.json) {
      const bool stock = trial.ending == Ending::kStockFails;
      const Document out = {{"command", arguments.command},
                            {"verdict", stock ? "fails without Smelt" : "fails with Smelt"},
                            {"text", failure},
                            {"exit_code", (stock ? trial.stock : trial.smelt).code},
                            {"served", {{"line", trial.served}}}};
      put(document_text(out));
    } else {
      put_page(inked(Ink::kWarning, failure) + "\n");
    }
    return kExitWarning;
  }
  const int interrupted = interruption.finish(
      trial.pairs.empty() ? "nothing is known yet" : "this is what is known from " + pairs_text(trial.pairs.size()));
  if (trial.pairs.empty()) return interrupted;
  const Verdict verdict = verdict_of(trial.pairs, trial.seen);
  if (arguments.json)
    put(document_text(trial_json(arguments, trial, verdict, seconds)));
  else
    put_page(trial_text(trial, verdict, seconds));
  return interrupted ? interrupted : output_differs(trial) ? kExitWarning : 0;
}

}  // namespace

void add_try(CLI::App& app, Action& chosen, const std::vector<std::string>& tail) {
  CLI::App* verb =
      app.add_subcommand("try", "Run your program in pairs, without and with Smelt, and say whether it is worth it");
  auto arguments = std::make_shared<TryArguments>();
  verb->add_option("--pairs", arguments->pairs, "how many pairs of runs; without it, as many as the time holds")
      ->check(number_between(1, kMostPairs));
  verb->add_option("--seconds", arguments->seconds,
                   fmt::format("about how long ({:.0f}); less where the ratio is clear, more for programs of which {} "
                               "pairs take longer",
                               kUsualSeconds, kLeastPairs))
      ->check(number_between(0.1, 1e6));
  verb->add_flag("--json", arguments->json, "for programs");
  verb->add_flag("--quiet", arguments->quiet, "without a line of progress");
  add_launch_options(*verb, arguments->choice);
  verb->prefix_command();  // everything from the first word on belongs to the program
  verb->footer(
      "The program's input is empty, its output is compared and kept nowhere. The exit code is 0; 1 when the program "
      "fails,\nor its output is another one with Smelt; 127: not found, 126: not executable.\nExample:\n  smelt try -- "
      "./app input.dat\n  smelt try --pairs 5 -- mpirun -n 4 ./app");
  verb->callback([verb, arguments, &chosen, &tail] {
    arguments->command = command_behind(*verb, tail);
    chosen = [arguments] { return run_try(*arguments); };
  });
}

}  // namespace smelt
