// smelt try: is this program faster with Smelt, here and now? Runs the user's own command in pairs, without and with,
// in turns, and says what came of it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
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
#include "profile/text/rows.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr double kUsualSeconds = 20;
constexpr size_t kLeastPairs = 3;    // however long they take
constexpr size_t kWantedPairs = 6;   // from which on the interval is one of 95 %
constexpr double kWorthwhile = 3;    // for those the usual time may be exceeded so many times
constexpr double kLeastSeconds = 3;  // a shorter look sees one moment of the machine
constexpr uint32_t kMostPairs = 1000;
constexpr double kGiveUp = 10;                 // times as long as with Smelt; then a run without is stopped
constexpr double kBriefSeconds = 1;            // of a longer run, a start is no part
constexpr int kStarts = 5;                     // of which the fastest counts
constexpr int kExitCodes[] = {0, 3, 5, 4, 3};  // with --exit-code, by VerdictKind

struct TryArguments {
  LaunchChoice choice;
  uint32_t pairs = 0, runs = 0;  // 0: as many as the seconds hold
  double seconds = kUsualSeconds;
  bool json = false, quiet = false, exit_code = false;
  std::vector<std::string> command;
};

// The reason why the rest is pointless, or ends.
enum class Ending { kNone, kStockFails, kSmeltFails, kInterrupted, kNothingToGain };

struct Trial {
  std::vector<PairOfRuns> pairs;
  WatchedRun stock, smelt;  // of the warm-up, or the one that failed
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
    stock_ = plan_launch(stock, arguments.command);
    smelt_ = plan_launch(arguments.choice, arguments.command);
  }

  Trial run() {
    warn_of_runs();
    warm_up();
    if (trial_.ending != Ending::kNone) return trial_;
    start_s_ = trial_.smelt.times.wall_s < kBriefSeconds ? start_seconds() : 0;
    const LoadWatch watch(this_system());
    begun_ns_ = os::now_ns();
    ProgressLine progress("pairs", talks());
    while (trial_.ending == Ending::kNone && !enough()) {
      measure_pair();
      show(progress);
    }
    look_around(watch.so_far());
    return trial_;
  }

 private:
  bool talks() const { return !arguments_.quiet && !arguments_.json; }
  double elapsed() const { return static_cast<double>(os::now_ns() - begun_ns_) * 1e-9; }
  double pair_seconds() const {
    return trial_.pairs.empty() ? trial_.stock.times.wall_s + trial_.smelt.times.wall_s
                                : elapsed() / static_cast<double>(trial_.pairs.size());
  }
  size_t least() const {
    return static_cast<double>(kWantedPairs) * pair_seconds() <= kWorthwhile * arguments_.seconds ? kWantedPairs
                                                                                                  : kLeastPairs;
  }
  // --runs counts the two to warm up.
  size_t most() const { return arguments_.runs ? (arguments_.runs - 2) / 2 : kMostPairs; }
  size_t expected() const {
    const double held = arguments_.seconds / std::max(pair_seconds(), 1e-3);
    const size_t wanted =
        arguments_.pairs ? arguments_.pairs : std::max({least(), trial_.pairs.size(), static_cast<size_t>(held)});
    return std::min(most(), wanted);
  }

  bool enough() const {
    const size_t done = trial_.pairs.size();
    if (done >= most()) return true;
    if (arguments_.pairs) return done >= arguments_.pairs;
    if (done < least()) return false;
    if (elapsed() + pair_seconds() > arguments_.seconds) return true;
    if (trial_.pairs.back().stopped) return done >= kWantedPairs;
    return elapsed() >= std::min(kLeastSeconds, arguments_.seconds) && is_settled(trial_.pairs);
  }

  void warn_of_runs() const {
    if (!talks()) return;
    const std::string often =
        arguments_.runs    ? fmt::format("{} times at most", arguments_.runs)
        : arguments_.pairs ? fmt::format("{} times", 2 * arguments_.pairs + 2)
                           : fmt::format("for about {}; --runs N: N times at most", duration_text(arguments_.seconds));
    warn(fmt::format("{} is run again and again ({}), and writes its files each time", arguments_.command[0], often));
  }

  void show(ProgressLine& progress) const {
    const size_t done = trial_.pairs.size(), total = expected();
    const double left = static_cast<double>(total - std::min(done, total)) * pair_seconds();
    progress.show(done, total, left,
                  done >= 2 ? fmt::format("; {:.2f} times as fast so far", ratio_of(trial_.pairs).median) : "");
  }

  // These runs tell what was served, and whether the program works. Smelt's is first: it says what is long for stock.
  void warm_up() {
    ProgressLine progress("runs to warm up", talks());
    trial_.smelt = watch_run({smelt_.command, smelt_.changes}, {.asked = asked_, .told = true});
    if (trial_.smelt.interrupted || trial_.smelt.error) {
      trial_.ending = trial_.smelt.error ? Ending::kSmeltFails : Ending::kInterrupted;
      return;
    }
    progress.show(1, 2, trial_.smelt.times.wall_s);
    smelt_.job.untold = trial_.smelt.untold;
    look_at_served(trial_.smelt.stats);
    trial_.stock = run_stock();
    progress.show(2, 2);
    if (!accept(trial_.stock, Ending::kStockFails) || !accept(trial_.smelt, Ending::kSmeltFails)) return;
    compare_outputs(trial_.smelt);
    if (verdict_of({}, trial_.seen).kind == VerdictKind::kNothingServed && trial_.differs.empty())
      trial_.ending = Ending::kNothingToGain;
  }

  // A run that would take too long is stopped: containers with a quota and hogged CPUs have such.
  WatchedRun run_stock() {
    slowest_smelt_s_ = std::max(slowest_smelt_s_, trial_.smelt.times.wall_s);
    const double limit_s = std::max(kGiveUp * slowest_smelt_s_, arguments_.seconds / kWantedPairs);
    return watch_run({stock_.command, stock_.changes},
                     {.asked = asked_, .limit_s = limit_s, .elsewhere = stock_.elsewhere});
  }

  // What a start by smelt run takes more than a start. With options, or settings, it is not the small program's.
  double start_seconds() {
    const std::string smelt = find_program(program_invocation_name);
    if (smelt.empty()) return 0;
    std::vector<std::string> by_smelt = {smelt, "run", "--", "true"};
    if (arguments_.choice.with_options()) by_smelt.insert(by_smelt.begin() + 2, {"--bind", "none"});
    double least_s[2] = {kBriefSeconds, kBriefSeconds};
    for (int start = 0; start < kStarts && !asked_; ++start)
      for (const bool with : {false, true}) {
        const WatchedRun run = watch_run({with ? by_smelt : std::vector<std::string>{"true"}, {}}, {.asked = asked_});
        if (run.ended_well()) least_s[with] = std::min(least_s[with], run.times.wall_s);
      }
    return std::max(least_s[1] - least_s[0], 0.0);
  }

  bool accept(const WatchedRun& run, Ending otherwise) {
    if (run.interrupted)
      trial_.ending = Ending::kInterrupted;
    else if (!run.ended_well() && !run.stopped)
      trial_.ending = otherwise;
    return trial_.ending == Ending::kNone;
  }

  // Stock that differs from itself says nothing about Smelt, nor does stock that was stopped.
  void compare_outputs(const WatchedRun& smelt) {
    if (trial_.differs.empty() && !trial_.stock.stopped && !(smelt.output == trial_.stock.output))
      trial_.differs = first_difference(smelt.output, trial_.stock.output);
  }

  void measure_pair() {
    PairOfRuns pair;
    pair.stock_first = trial_.pairs.size() % 2 == 0;
    for (const bool stock : {pair.stock_first, !pair.stock_first}) {
      WatchedRun run =
          stock ? run_stock()
                : watch_run({smelt_.command, smelt_.changes}, {.asked = asked_, .elsewhere = smelt_.elsewhere});
      if (!accept(run, stock ? Ending::kStockFails : Ending::kSmeltFails)) {
        if (trial_.ending != Ending::kInterrupted) (stock ? trial_.stock : trial_.smelt) = std::move(run);
        return;
      }
      elsewhere_s_ += run.times.elsewhere_s;
      if (stock) {
        pair.stopped = run.stopped;
        if (trial_.stock.stopped && !run.stopped) trial_.stock = run;
        trial_.stock_varies |= !run.stopped && !trial_.stock.stopped && !(run.output == trial_.stock.output);
      } else {
        slowest_smelt_s_ = std::max(slowest_smelt_s_, run.times.wall_s);
        run.times.wall_s += start_s_;
        compare_outputs(run);
      }
      (stock ? pair.stock : pair.smelt) = run.times;
    }
    trial_.pairs.push_back(pair);
  }

  void look_at_served(const JobStats& stats) {
    trial_.served = served_line(stats, smelt_.job);
    Circumstances& seen = trial_.seen;
    seen.cpus = os::allowed_cpus();
    seen.threads = stats.threads();
    seen.ranks = stats.collectives.ranks;
    seen.told = stats.told() || !smelt_.job.obstacle.empty();
    seen.served = stats.served();
    seen.not_served = trial_.served;
    seen.set_by = smelt_.set_by;
    if (smelt_.by_quota.threads > 0 && !stats.openmp.empty()) seen.set_by.push_back("the quota");  // by a shim's teams
    for (const auto& [name, one] : stats.openmp) seen.guessed |= one.guessed;
    seen.messages = smelt_.job.messages;
  }

  void look_around(const LoadSeen& load) {
    Circumstances& seen = trial_.seen;
    const double ours = load.seconds > 0 ? elsewhere_s_ / load.seconds : 0;
    seen.others_cpus = std::max(load.others_cpus - ours, 0.0);
    seen.stolen = load.stolen;
    seen.throttled = load.throttled;
    seen.start_s = start_s_;
  }

  const TryArguments& arguments_;
  const std::atomic<bool>& asked_;
  LaunchPlan stock_, smelt_;
  Trial trial_;
  double slowest_smelt_s_ = 0, start_s_ = 0, elsewhere_s_ = 0;
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
  if (trial.stock.stopped) return "not compared: without Smelt it did not come to its end";
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
  if (trial.pairs.empty()) return out;
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
                     {"stopped", pair.stopped},
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
            {"start_s", seen.start_s}}}};
}

// The verdict on a program that does not run to its end; "" for all others.
std::string failure_text(const Trial& trial) {
  const bool stock = trial.ending == Ending::kStockFails;
  if (!stock && trial.ending != Ending::kSmeltFails) return "";
  const WatchedRun& run = stock ? trial.stock : trial.smelt;
  const std::string said = run.last_error_line.empty() ? "" : fmt::format(", after '{}'", run.last_error_line);
  const bool as_root = said.find("attempt to run as root") != std::string::npos;  // Open MPI
  if (stock)
    return fmt::format("it fails without Smelt: {}{}; {}", run.end_text(), said,
                       as_root ? "set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or be another user"
                               : "nothing was compared");
  return fmt::format("do not use it here: it fails with Smelt and not without: {}{}; docs/start.md says what to send",
                     run.end_text(), said);
}

int run_try(const TryArguments& arguments) {
  if (arguments.command.empty()) throw UserError("try what? e.g. smelt try -- ./app; see 'smelt try --help'");
  Interruption interruption("interrupted; nothing is known yet");
  const int64_t begun = os::now_ns();
  Trial trial = Trying(arguments, *interruption.asked()).run();
  const double seconds = static_cast<double>(os::now_ns() - begun) * 1e-9;
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
  if (trial.pairs.empty() && trial.ending != Ending::kNothingToGain) return interrupted;
  const Verdict verdict = verdict_of(trial.pairs, trial.seen);
  if (arguments.json)
    put(document_text(trial_json(arguments, trial, verdict, seconds)));
  else
    put_page(trial_text(trial, verdict, seconds));
  if (interrupted || output_differs(trial)) return interrupted ? interrupted : kExitWarning;
  return arguments.exit_code ? kExitCodes[static_cast<size_t>(verdict.kind)] : 0;
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
  verb->add_option("--runs", arguments->runs, "at most so many runs in all, with the two that are not counted")
      ->check(number_between(4, 2 * kMostPairs + 2));
  verb->add_flag("--exit-code", arguments->exit_code,
                 "0 for 'keep it', 3 for no difference and nothing to gain, 4 for not settled, 5 for slower");
  verb->add_flag("--json", arguments->json, "for programs");
  verb->add_flag("--quiet", arguments->quiet, "without a line of progress");
  add_launch_options(*verb, arguments->choice);
  verb->prefix_command();  // everything from the first word on belongs to the program
  verb->footer(
      "The program's input is empty. Its standard output is compared and kept nowhere; files that it writes are "
      "written in each run. The exit code is 0; 1 when the program fails, or its output is another one with Smelt; "
      "127: not found, 126: not executable.\nExample:\n  smelt try -- ./app input.dat\n  smelt try --runs 12 -- "
      "mpirun -n 4 ./app");
  verb->callback([verb, arguments, &chosen, &tail] {
    arguments->command = command_behind(*verb, tail);
    chosen = [arguments] { return run_try(*arguments); };
  });
}

}  // namespace smelt
