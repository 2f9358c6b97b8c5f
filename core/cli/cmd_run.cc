// smelt run: put the OpenMP shims in front of a program, the Open MPI component under it, and become that program.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "base/options.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/launch_plan.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

struct RunArguments {
  LaunchChoice choice;
  bool dry_run = false, json = false, stats = false;
  std::vector<std::string> command;
};

// Signals that end or command a program: those sent to this process are meant for the program.
constexpr int kHandedOn[] = {SIGHUP, SIGTERM, SIGUSR1, SIGUSR2};
volatile pid_t g_program = 0;

void hand_on(int signal) { ::kill(g_program, signal); }

// Ends as the program did.
int end_like(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  const rlimit none{0, 0};  // the program has left what there is to leave
  ::setrlimit(RLIMIT_CORE, &none);
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
  return 128 + signal;
}

// Starts the program, waits for it, and hands signals on; its status. The terminal's Ctrl-C reaches it without us.
int wait_for_program(const ChildPlan& planned, int* error) {
  sigset_t handed_on, usual;  // none comes before there is somebody to hand it on to
  sigemptyset(&handed_on);
  for (const int signal : kHandedOn) sigaddset(&handed_on, signal);
  ::sigprocmask(SIG_BLOCK, &handed_on, &usual);
  ChildPlan plan = planned;
  plan.signals = &usual;
  const Child child = start_child(plan);
  *error = child.error;
  if (child.error) return 0;
  g_program = child.pid;
  for (const int signal : {SIGINT, SIGQUIT}) std::signal(signal, SIG_IGN);
  for (const int signal : kHandedOn) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) std::signal(signal, hand_on);
  }
  ::sigprocmask(SIG_SETMASK, &usual, nullptr);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The same, and at the end one line of counts.
int run_and_tell(const RunArguments& arguments, LaunchPlan plan) {
  int error = 0, status = 0;
  {
    const StatsFile file;
    plan.job.untold = file.path().empty();
    ChildPlan child{plan.command, plan.changes};
    if (!plan.job.untold) child.changes.push_back({"SMELT_STATS", file.path()});
    status = wait_for_program(child, &error);
    const JobStats stats = parse_job_stats(file.content());
    if (!error && arguments.json)
      std::fputs(document_text(served_document(stats, plan.job), -1).c_str(), stderr);
    else if (!error)
      warn(served_line(stats, plan.job));
  }  // the file is gone before a signal ends us
  return error ? cannot_execute(plan.command[0], error) : end_like(status);
}

bool wants_to_be_told(const RunArguments& arguments) {
  if (stats_file_in_environment()) return false;  // somebody above tells, of the whole job
  // The settings are read only if one is set: the program will warn of errors in them.
  return arguments.choice.verbose || arguments.stats || arguments.json ||
         (environment("SMELT_STATS") && options().stats);
}

int run_run(const RunArguments& arguments) {
  if (arguments.command.empty()) throw UserError("run what? e.g. smelt run -- ./app; see 'smelt run --help'");
  const LaunchPlan plan = plan_launch(arguments.choice, arguments.command);
  if (!arguments.choice.stock && !plan.job.obstacle.empty())
    warn(fmt::format("{}: {}, so the loader ignores LD_PRELOAD; it runs without Smelt", plan.command[0],
                     plan.job.obstacle));

  if (arguments.dry_run && arguments.json) {
    Document environment = Document::object();
    for (const EnvironmentChange& change : plan.changes)
      environment[change.name] = change.value ? Document(*change.value) : Document(nullptr);
    put(document_text({{"environment", std::move(environment)}, {"command", plan.command}}));
    return 0;
  }
  if (arguments.dry_run) {
    std::string line = as_shell_prefix(plan.changes);
    for (const std::string& word : plan.command) line += shell_word(word) + " ";
    line.back() = '\n';
    put(line);
    return 0;
  }

  if (wants_to_be_told(arguments)) {
    if (!arguments.choice.stock) return run_and_tell(arguments, plan);
    warn("not loaded: --stock");
  }
  set_environment(plan.changes);
  std::vector<char*> argv = argument_pointers(plan.command);
  ::execvp(argv[0], argv.data());
  return cannot_execute(plan.command[0], errno);
}

}  // namespace

void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& tail) {
  CLI::App* verb = app.add_subcommand(
      "run", "Run an OpenMP (GCC's libgomp, LLVM's libomp) or Open MPI program with Smelt's barriers and collectives");
  auto arguments = std::make_shared<RunArguments>();
  add_launch_options(*verb, arguments->choice);
  verb->add_flag("--dry-run", arguments->dry_run, "print the command instead of running it");
  verb->add_flag("--json", arguments->json,
                 "at the end, what was served as a line of JSON on standard error; with --dry-run, what would be set");
  verb->add_flag("--stock", arguments->choice.stock, "run without Smelt, for comparison");
  verb->add_flag("--stats", arguments->stats, "say at the end, in one line, what was served (also SMELT_STATS=1)");
  verb->add_flag("--verbose", arguments->choice.verbose,
                 "the same, and let Smelt say what it takes over (SMELT_VERBOSE=1)");
  verb->prefix_command();  // everything from the first word on belongs to the program
  verb->footer(
      "The exit code is the program's; 127: not found, 126: not executable.\nExample:\n  smelt run --verbose -- "
      "./app input.dat\n  smelt run -- mpirun -n 4 ./app");
  verb->callback([verb, arguments, &chosen, &tail] {
    arguments->command = command_behind(*verb, tail);
    chosen = [arguments] { return run_run(*arguments); };
  });
}

}  // namespace smelt
