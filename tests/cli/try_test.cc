// smelt try: a user's command in pairs, and what is said of it. No test asserts how the times compare: that is
// trial_test.cc's, with planted ones.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "program.h"

namespace smelt::test {
namespace {

// Waits are short: a loaded machine must not make the program's runs long, nor have those without Smelt stopped.
Outcome try_with(std::vector<std::string> more, std::map<std::string, std::string> environment = {}) {
  for (const char* const counted : {"--pairs", "--runs"})
    if (std::find(more.begin(), more.end(), counted) != more.end()) more.insert(more.begin(), {"--seconds", "600"});
  more.insert(more.begin(), "try");
  environment["SMELT_TUNE"] = "spin_us=50";
  return run({std::move(more), std::move(environment)});
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

#define NEEDS_A_PROGRAM()                                             \
  const std::string program = from_environment("SMELT_TEST_MEETING"); \
  if (program.empty() || from_environment("SMELT_TEST_SHIM").empty()) \
  GTEST_SKIP() << "no OpenMP shim on this architecture"

TEST(Try, AnOpenMpProgram) {
  NEEDS_A_PROGRAM();
  const Outcome outcome = try_with({"--pairs", "3", "--json", "--", program, "200"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const nlohmann::json found = outcome.json();
  EXPECT_EQ(found["command"], nlohmann::json({program, "200"}));
  const std::string verdict = found["verdict"];
  EXPECT_TRUE(verdict == "faster" || verdict == "same" || verdict == "slower" || verdict == "unsettled") << verdict;
  ASSERT_EQ(found["pairs"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const nlohmann::json& pair = found["pairs"][i];
    EXPECT_EQ(pair["stock_first"], i % 2 == 0);  // in turns
    for (const char* side : {"stock", "smelt"}) EXPECT_GT(pair[side]["wall_s"], 0.0);
    EXPECT_NEAR(pair["ratio"], double{pair["stock"]["wall_s"]} / double{pair["smelt"]["wall_s"]},
                0.01 * double{pair["ratio"]});
  }
  EXPECT_EQ(found["ratio"]["confidence"], 0.75);
  EXPECT_LE(found["ratio"]["interval"][0], found["ratio"]["median"]);
  EXPECT_GE(found["ratio"]["interval"][1], found["ratio"]["median"]);
  EXPECT_EQ(found["output"]["same"], true);
  EXPECT_EQ(found["output"]["bytes"], std::string("600 meetings\n").size());
  EXPECT_EQ(found["exit_code"], 0);
  EXPECT_EQ(found["served"]["told"], true);
  EXPECT_EQ(found["served"]["any"], true);
  EXPECT_EQ(found["served"]["threads"], 2);
  EXPECT_TRUE(says(found["served"]["line"], "of 200 parallel regions")) << found["served"]["line"];
  EXPECT_EQ(found["interrupted"], false);
}

TEST(Try, ForPeople) {
  NEEDS_A_PROGRAM();
  const Outcome outcome = try_with({"--pairs", "1", "--", program, "50"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "smelt: " + program + " is run again and again (4 times), and writes its files each time\n");
  for (const char* part : {"\n  wall time stock ", "\n  CPU time  stock ", "\n  ratio     ",
                           "\n  output    the same, 13 bytes\n", "\n  served    OpenMP (libgomp, 2 threads): "})
    EXPECT_TRUE(says(outcome.out, part)) << part << "in\n" << outcome.out;
  // Nothing is certain of one pair, and nothing is said as if it were.
  EXPECT_TRUE(outcome.out.starts_with("not settled: ")) << outcome.out;
  EXPECT_TRUE(says(outcome.out, ", of 1 pair in ")) << outcome.out;
  EXPECT_FALSE(says(outcome.out, "certain")) << outcome.out;
}

TEST(Try, NothingServedIsNotCalledAGain) {
  NEEDS_A_PROGRAM();
  Outcome outcome = try_with({"--pairs", "2", "--", program, "0"});
  EXPECT_TRUE(outcome.out.starts_with("nothing to gain, nothing was served: ")) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  outcome = try_with({"--pairs", "2", "--json", "--", "sleep", "0"});
  EXPECT_EQ(outcome.json()["verdict"], "nothing served");
  EXPECT_EQ(outcome.json()["pairs"].size(), 0u);  // it is known at once
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(try_with({"--quiet", "--exit-code", "--", "sleep", "0"}).code, 3);
}

// Each run writes a line: nobody's files are written more often than --runs says.
TEST(Try, RunsNoMoreThanToldTo) {
  NEEDS_A_PROGRAM();
  const std::string mark = scratch() + "/try-runs";
  const Outcome outcome =
      try_with({"--runs", "7", "--exit-code", "--", "sh", "-c", "echo x >>" + mark + "; exec " + program + " 50"});
  EXPECT_EQ(read_file(mark), "x\nx\nx\nx\nx\nx\n") << outcome.out;  // two, and two pairs
  EXPECT_TRUE(says(outcome.err, "(7 times at most)")) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("not settled: ")) << outcome.out;
  EXPECT_EQ(outcome.code, 4);
}

// Stock that does not come to its end: under a quota, or beside a hog.
TEST(Try, StopsStockThatTakesTooLong) {
  if (from_environment("SMELT_TEST_SHIM").empty()) GTEST_SKIP() << "no OpenMP shim on this architecture";
  const std::vector<std::string> words = {
      "--seconds", "0.6", "--exit-code", "--", "sh", "-c", "[ -n \"$LD_PRELOAD\" ] || exec sleep 600"};
  Outcome outcome = try_with(words);
  EXPECT_TRUE(says(outcome.out, "output    not compared: without Smelt it did not come to its end")) << outcome.out;
  EXPECT_TRUE(says(outcome.out, " more than ") && says(outcome.out, " times as fast")) << outcome.out;
  // On a busy machine the pairs may take too long to be six.
  EXPECT_TRUE(outcome.code == 0 || outcome.code == 4) << outcome.code << outcome.out;
  EXPECT_EQ(outcome.out.starts_with("keep it: more than "), outcome.code == 0) << outcome.out;
}

// Open MPI frames its messages; the rule below one says nothing.
TEST(Try, QuotesAMessageAndNotItsFrame) {
  Outcome outcome =
      try_with({"--quiet", "--", "sh", "-c", "printf '%s\\n' ---- 'it has no input' more ---- >&2; exit 1"});
  EXPECT_EQ(outcome.out, "it fails without Smelt: exit status 1, after 'it has no input'; nothing was compared\n");
  if (::geteuid() != 0 || from_environment("SMELT_TEST_COMPONENT").empty()) return;
  outcome = try_with({"--quiet", "--", "mpirun", "-n", "2", "true"});
  EXPECT_TRUE(says(outcome.out, "attempt to run as root")) << outcome.out;
  for (const char* name : {" OMPI_ALLOW_RUN_AS_ROOT=1", " OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"})
    EXPECT_TRUE(says(outcome.out, name)) << outcome.out;
}

// The start by smelt run is a part of what users wait for.
TEST(Try, CountsTheStart) {
  NEEDS_A_PROGRAM();
  const nlohmann::json found = try_with({"--pairs", "3", "--json", "--", program, "50"}).json();
  const double start_s = found["machine"]["start_s"];
  EXPECT_GT(start_s, 0.0);
  for (const nlohmann::json& pair : found["pairs"]) EXPECT_GT(double{pair["smelt"]["wall_s"]}, start_s);
}

// As under Slurm: a daemon, and not the launcher, is the parent of the ranks, and has the launcher's environment for
// them.
TEST(Try, CountsRanksThatADaemonStarts) {
  const std::string at = scratch() + "/slurm";
  std::filesystem::create_directory(at);
  const std::string work = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
  write_file("slurm/srun",
             "#!/bin/sh\nexport -p >" + at + "/environment\necho go >" + at + "/jobs\nread end <" + at + "/ends\n",
             0755);
  const std::string daemon = "cd " + at +
                             "; mkfifo jobs ends; while read job <jobs; do ( . ./environment; setsid sh -c '" + work +
                             "' & setsid sh -c '" + work + "' & wait ); echo end >ends; done";
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    ::execlp("sh", "sh", "-c", daemon.c_str(), nullptr);
    ::_exit(1);
  }
  while (!std::filesystem::exists(at + "/ends")) ::usleep(1000);
  const nlohmann::json found = try_with({"--pairs", "1", "--json", "--", at + "/srun", "-n", "2", "./rank"}).json();
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ASSERT_EQ(found["pairs"].size(), 1u) << found;
  for (const char* side : {"stock", "smelt"})
    EXPECT_GT(double{found["pairs"][0][side]["user_s"]}, 0.1) << found;  // of srun itself: a few ms
}

// A program that leaves by _exit tells nothing: then nothing is said of what was served, neither that it was nor not.
TEST(Try, WhoDoesNotTellIsNotSpokenFor) {
  NEEDS_A_PROGRAM();
  const nlohmann::json found = try_with({"--pairs", "1", "--json", "--", program, "50", "leaves"}).json();
  EXPECT_NE(found["verdict"], "nothing served");
  EXPECT_TRUE(says(found["served"]["line"], "1 process left by a signal, _exit or exec and did not tell"))
      << found["served"]["line"];
}

TEST(Try, AnotherOutput) {
  if (from_environment("SMELT_TEST_SHIM").empty()) GTEST_SKIP() << "no OpenMP shim on this architecture";
  Outcome outcome = try_with({"--pairs", "2", "--", "sh", "-c", "echo one; echo ${LD_PRELOAD:+two}"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.out.starts_with("its output is another one with Smelt; ")) << outcome.out;
  EXPECT_TRUE(says(outcome.out, "differs: line 2 is 'two' instead of ''; without Smelt it was the same in 3 runs"))
      << outcome.out;
  outcome = try_with({"--pairs", "2", "--json", "--", "sh", "-c", "echo one; echo ${LD_PRELOAD:+two}"});
  EXPECT_EQ(outcome.json()["output"]["same"], false);
  // Longer than what is kept to be shown, and other only at its end.
  outcome = try_with({"--pairs", "1", "--", "sh", "-c", "head -c 300000 /dev/zero; echo ${LD_PRELOAD:+two}"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(says(outcome.out, "differs: behind the first 256 KiB (300004 bytes instead of 300001)")) << outcome.out;
}

// A program whose output is never the same is not Smelt's fault.
TEST(Try, AnOutputThatAlwaysDiffers) {
  Outcome outcome = try_with({"--pairs", "2", "--", "sh", "-c", "cat /proc/sys/kernel/random/uuid"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(says(outcome.out, "not compared: it differs from run to run without Smelt, too")) << outcome.out;
  outcome = try_with({"--pairs", "2", "--json", "--", "sh", "-c", "cat /proc/sys/kernel/random/uuid"});
  EXPECT_TRUE(outcome.json()["output"]["same"].is_null());
}

TEST(Try, AProgramThatFails) {
  Outcome outcome = try_with({"--", "sh", "-c", "echo begun; echo 'no such input' >&2; exit 3"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "it fails without Smelt: exit status 3, after 'no such input'; nothing was compared\n");
  outcome = try_with({"--", "sh", "-c", "kill -SEGV $$"});
  EXPECT_TRUE(outcome.out.starts_with("it fails without Smelt: ended by signal 11 (")) << outcome.out;
  outcome = try_with({"--json", "--", "false"});
  EXPECT_EQ(outcome.json()["verdict"], "fails without Smelt");
  EXPECT_EQ(outcome.code, 1);
  if (from_environment("SMELT_TEST_SHIM").empty()) return;
  outcome = try_with({"--", "sh", "-c", "exit ${LD_PRELOAD:+4}"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.out.starts_with("do not use it here: it fails with Smelt and not without: exit status 4"))
      << outcome.out;
}

TEST(Try, NotFoundAndBadInput) {
  EXPECT_EQ(try_with({"--", "/no/such/program"}).code, 127);
  EXPECT_EQ(try_with({"--", scratch()}).code, 126);
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--pairs", "0", "--", "true"},
                                                {"--pairs", "1001", "--", "true"},
                                                {"--pairs", "some", "--", "true"},
                                                {"--seconds", "-1", "--", "true"},
                                                {"--paris", "3", "--", "true"},
                                                {"--library", "/no/such.so", "--", "true"}}) {
    const Outcome outcome = try_with(words);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

// Its input is empty, not the terminal's; its output and errors go nowhere.
TEST(Try, KeepsTheProgramToItself) {
  const Outcome outcome = try_with({"--pairs", "1", "--", "sh", "-c", "cat; echo noise; echo more noise >&2"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_FALSE(says(outcome.out, "noise")) << outcome.out;
  EXPECT_FALSE(says(outcome.err, "noise")) << outcome.err;
}

// As long as it is told to, and no less than three pairs.
TEST(Try, TakesTheTimeItIsGiven) {
  NEEDS_A_PROGRAM();
  const std::string meets = "; exec " + program + " 20";  // else there is nothing to gain
  const nlohmann::json found = try_with({"--seconds", "0.5", "--json", "--", "sh", "-c", "sleep 0.02" + meets}).json();
  EXPECT_GE(found["pairs"].size(), 3u);
  EXPECT_LE(found["pairs"].size(), 12u);  // of 40 ms each, at least
  EXPECT_EQ(try_with({"--seconds", "0.1", "--json", "--", "sh", "-c", "sleep 0.2" + meets}).json()["pairs"].size(), 3u);
}

TEST(Try, AnInterruptionEndsTheProgramAndTellsWhatIsKnown) {
  NEEDS_A_PROGRAM();
  const std::string mark = scratch() + "/try-mark";
  Call call;
  call.arguments = {
      "try", "--pairs", "1000", "--", "sh", "-c", "echo x >>" + mark + "; sleep 0.1; exec " + program + " 20"};
  call.interrupt_when = [&] { return std::filesystem::exists(mark) && std::filesystem::file_size(mark) > 2 * 7; };
  Outcome outcome = run(call);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_TRUE(says(outcome.err, "smelt: interrupted: this is what ")) << outcome.err;
  EXPECT_TRUE(says(outcome.out, "\n  ratio ")) << outcome.out;

  // In the first run: nothing is known, and the program, which would take a minute, is gone.
  const std::string pid = scratch() + "/try-pid";
  call.arguments = {"try", "--", "sh", "-c", "echo $$ >" + pid + ".new; mv " + pid + ".new " + pid + "; exec sleep 60"};
  call.interrupt_when = [&] { return std::filesystem::exists(pid); };
  outcome = run(call);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(says(outcome.err, "nothing is known yet")) << outcome.err;
  EXPECT_NE(::kill(std::stoi(read_file(pid)), 0), 0);
}

TEST(Try, ShowsItsProgress) {
  Call call;
  NEEDS_A_PROGRAM();
  call.arguments = {"try", "--pairs", "3", "--", "sh", "-c", "sleep 0.15; exec " + program + " 20"};
  call.terminal = true;
  EXPECT_TRUE(says(run(call).err, "measured 3 of 3 pairs"));
  call.arguments.insert(call.arguments.begin() + 1, "--quiet");
  EXPECT_EQ(run(call).err, "");
}

}  // namespace
}  // namespace smelt::test
