// smelt calibrate: what it writes, what it says, and what is left when it is stopped or cannot write.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/progress_line.h"
#include "profile/profile.h"
#include "profile/text/rows.h"
#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using Environment = std::map<std::string, std::string>;

json info(const Environment& environment) {
  const Outcome outcome = run({{"info", "--json"}, environment});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.json();
}

// What lies in the user's folder: the names, without the lock.
std::vector<std::string> files_in(const Environment& environment) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(environment.at("XDG_CACHE_HOME") + "/smelt", ignored))
    if (entry.path().filename() != "lock") names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// A profile that is whole, in both forms.
void expect_whole(const Environment& environment) {
  const Outcome exported = run({{"profile", "export"}, environment});
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_EQ(exported.err, "");
  const std::string packed = info(environment)["profile"]["path"];
  EXPECT_EQ(read_file(packed.substr(0, packed.size() - 8) + ".json"), exported.out);
}

TEST(Calibrate, ThenInfoSaysMeasured) {
  const auto here = cache("measured");
  // Load that ends in between makes it measure once more; of that, as of progress, the document's reader is not told.
  std::thread other([until = std::chrono::steady_clock::now() + std::chrono::milliseconds(400)] {
    while (std::chrono::steady_clock::now() < until) continue;
  });
  const Outcome outcome = run({{"calibrate", "--json"}, here});
  other.join();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json report = outcome.json();
  const std::string packed = report["profile"], text = report["json"];
  EXPECT_TRUE(packed.starts_with(here.at("XDG_CACHE_HOME") + "/smelt/")) << packed;
  EXPECT_TRUE(fs::exists(packed) && fs::exists(text));
  EXPECT_TRUE(json::accept(read_file(text)));

  const json out = info(here);
  EXPECT_EQ(out["profile"]["source"], "user");
  EXPECT_EQ(out["profile"]["measured"], true);
  EXPECT_EQ(out["profile"]["path"], packed);
  EXPECT_LT(out["profile"]["age_seconds"].get<double>(), 300);
  EXPECT_EQ(out["hops"].size(), report["hops"].size());
  EXPECT_EQ(out["methods"], report["methods"]);
  EXPECT_EQ(out["methods"].size(), out["cores"] < 2 ? 0u : out["cores"] < 4 ? 2u : 4u) << "loose and strict";
  for (const json& set : out["methods"])
    for (const char* collective : {"broadcast", "reduce", "allreduce"}) {
      EXPECT_EQ(set[collective][0]["from_bytes"], 0) << set;
      EXPECT_TRUE(set[collective].back()["method"].is_string()) << set;
    }
  const Outcome shown = run({{"info"}, here});
  EXPECT_NE(shown.out.find(packed), std::string::npos) << shown.out;
  // Both forms of the file are machines of their own.
  for (const std::string& file : {packed, text}) {
    const Outcome tree = run({{"tree", "--json", "--machine", file}, here});
    EXPECT_EQ(tree.code, 0) << tree.err;
  }
  // A damaged file is told, and stepped over.
  fs::resize_file(packed, 100);
  const Outcome damaged = run({{"info", "--json"}, here});
  EXPECT_EQ(damaged.code, 0);
  EXPECT_NE(damaged.err.find(packed), std::string::npos) << damaged.err;
  EXPECT_EQ(damaged.json()["profile"]["measured"], false);
}

// A profile that was measured beside other work says so for good.
TEST(Calibrate, KeepsWhatItWasMeasuredBeside) {
  const auto here = cache("beside");
  std::atomic<bool> ended{false};
  std::thread other([&ended] {
    while (!ended.load(std::memory_order_relaxed)) {
    }
  });
  const Outcome outcome = run({{"calibrate", "--no-methods", "--json"}, here});
  ended = true;
  other.join();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json conditions = outcome.json()["conditions"];
  EXPECT_NE(std::find(conditions.begin(), conditions.end(), "beside other work"), conditions.end()) << outcome.out;
  EXPECT_GE(outcome.json()["others_cpus"].get<double>(), 0.2);
  EXPECT_EQ(info(here)["profile"]["conditions"], conditions);
  EXPECT_EQ(run({{"profile", "verify", "--steady", "--quiet"}, here}).code, 1);
}

TEST(Calibrate, WritesWhereItIsTold) {
  const std::string file = scratch() + "/mine.profile";
  const Outcome outcome = smelt({"calibrate", "--no-methods", "--output", file});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(file), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("SMELT_PROFILE=" + file), std::string::npos) << outcome.out;
  EXPECT_EQ(info({{"SMELT_PROFILE", file}})["profile"]["source"], "SMELT_PROFILE");
  const Outcome quiet = smelt({"calibrate", "--quiet", "--no-methods", "--output", file});
  EXPECT_EQ(quiet.out + quiet.err, "");
  const Outcome pairs_only = smelt({"calibrate", "--no-methods", "--json", "--output", file});
  EXPECT_EQ(pairs_only.json()["methods"], json::array());
  EXPECT_EQ(info({{"SMELT_PROFILE", file}})["methods"], json::array());
  expect_refused(smelt({"calibrate", "--output", "/proc/no/where.profile"}), "/proc/no");
}

TEST(Calibrate, ReportsClasses) {
  const Environment here = cache("classes");
  const Outcome outcome = run({{"calibrate", "--no-methods", "--json"}, here});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = outcome.json(), shown = info(here);
  EXPECT_TRUE(report["remarks"].is_array());
  EXPECT_EQ(shown["classes"], report["classes"]);
  EXPECT_EQ(shown["waiting"], report["waiting"]);
  EXPECT_EQ(report["classes"].empty(), report["cpus"] == 1);
  size_t pairs = 0;
  for (const json& row : report["classes"]) {
    EXPECT_GT(row["samples"], 0);
    EXPECT_LE(row["samples"], row["pairs"]);
    EXPECT_GT(row["hop"], 0);
    EXPECT_TRUE(row["marks"].is_array());
    pairs += row["pairs"].get<size_t>();
  }
  const size_t n = report["cpus"];
  EXPECT_EQ(pairs, n * (n - 1) / 2);
  const Outcome text = run({{"info"}, here});
  EXPECT_EQ(text.out.find("samples") != std::string::npos, n > 1) << text.out;
  const Outcome all = run({{"calibrate", "--no-methods", "--all-pairs", "--json"}, here});
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.json()["pairs_measured"], n * (n - 1));
}

// Waiting figures and marks are shown wherever the profile has them.
TEST(Calibrate, InfoShowsWhatTheProfileHas) {
  const Environment here = cache("shown");
  ASSERT_EQ(run({{"calibrate", "--no-methods", "--quiet"}, here}).code, 0);
  json profile = json::parse(run({{"profile", "export"}, here}).out);
  profile["wait"] = {{"poll", 12.5}, {"yield", 340}, {"futex_wake", 1900}, {"futex_return", 0}};
  if (!profile["classes"].empty()) profile["classes"][0]["marks"] = {"unsteady", "wide"};
  const std::string file = write_file("marked.json", profile.dump());
  ASSERT_EQ(run({{"profile", "import", file, "--replace"}, here}).code, 0);
  const Outcome text = run({{"info"}, here});
  EXPECT_NE(text.out.find("waiting     a poll 12.5 ns"), std::string::npos) << text.out;
  const json out = info(here);
  EXPECT_EQ(out["waiting"]["yield"], 340);
  EXPECT_EQ(out["waiting"]["futex_return"], nullptr);
  if (profile["classes"].empty()) return;
  EXPECT_NE(text.out.find("unsteady, wide"), std::string::npos) << text.out;
  EXPECT_EQ(out["classes"][0]["marks"], (json{"unsteady", "wide"}));
}

// The page has our own words only if --verbose asks for them.
TEST(Calibrate, ItsPageIsForAStranger) {
  const Environment here = cache("page");
  const std::string page = run({{"calibrate", "--no-methods", "--race", "0.1"}, here}).out;
  EXPECT_NE(page.find("all of it   smelt info\n"), std::string::npos) << page;
  for (const char* word : {"shelf", "fan ", "raced", "tight", "skewed"}) EXPECT_EQ(page.find(word), std::string::npos);
  const std::string all = run({{"calibrate", "--no-methods", "--race", "0.1", "--verbose"}, here}).out;
  EXPECT_NE(all.find("\nwaiting     a poll"), std::string::npos) << all;
}

// Methods of two processes: slicing is worth it from above 1 KiB on, and with a barrier after each call always.
json loose_and_strict() {
  constexpr uint64_t kSizes[] = {64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304};
  json loose = {{"participants", 2}, {"sizes", kSizes}};
  for (const char* method : {"broadcast_shelf", "broadcast_single", "reduce_flat", "reduce_sliced", "reduce_single",
                             "allreduce_flat", "allreduce_sliced", "allreduce_single"})
    loose["ns"][method] = std::vector<int>(std::size(kSizes), 1000);
  json strict = loose;
  strict["sync"] = "strict";
  for (size_t i = 0; i < std::size(kSizes); ++i) {
    if (kSizes[i] > 1024) loose["ns"]["reduce_sliced"][i] = 500;
    strict["ns"]["reduce_sliced"][i] = 500;
  }
  return {loose, strict};
}

TEST(Calibrate, InfoShowsLooseAndStrictMethods) {
  Environment here = cache("strict");
  ASSERT_EQ(run({{"calibrate", "--no-methods", "--race", "0", "--quiet"}, here}).code, 0);
  json profile = json::parse(run({{"profile", "export"}, here}).out);
  profile["methods"] = loose_and_strict();
  const std::string file = write_file("strict.json", profile.dump());
  ASSERT_EQ(run({{"profile", "import", file, "--replace"}, here}).code, 0);
  EXPECT_EQ(json::parse(run({{"profile", "export"}, here}).out)["methods"], profile["methods"]);
  const std::string text = run({{"info"}, here}).out;
  EXPECT_NE(text.find("for 2 processes, measured: broadcast shelf; reduce flat, sliced from"), std::string::npos)
      << text;
  EXPECT_NE(text.find("for 2 processes, a barrier after each call, measured: broadcast shelf; reduce sliced;"),
            std::string::npos)
      << text;
  const Call listed{{"info", "--thresholds", "--participants", "2"}, here};
  const std::string both = run(listed).out;
  EXPECT_NE(
      both.find("    strict 0 B: sliced gains on flat at all sizes measured, from 64 B (500 ns against 1 µs) on, 2 "
                "participants, a barrier after each\n"),
      std::string::npos)
      << both;
  EXPECT_EQ(both.find("    strict"), both.rfind("    strict")) << "no other limit differs";
  here["SMELT_TUNE"] = "sync=strict";
  const std::string strict = run({listed.arguments, here}).out;
  EXPECT_EQ(strict.find("    strict"), std::string::npos) << strict;
  EXPECT_NE(strict.find("flat_reduce 0 B  [curves]"), std::string::npos) << strict;
}

// The races once reserved memory for all candidates at a time, and what they could not get lost the whole calibration.
TEST(Calibrate, FitsIntoLittleMemory) {
  const Environment here = cache("little");
  Call call{{"calibrate", "--no-methods", "--json"}, here};
  call.prepare = [] {
    const rlimit memory{250u << 20, 250u << 20};
    return ::setrlimit(RLIMIT_AS, &memory) == 0;
  };
  const Outcome outcome = run(call);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = outcome.json();
  EXPECT_EQ(report["raced"].empty(), report["cpus"] == 1) << report["remarks"];
  expect_whole(here);
}

// Sixty busy processes: what takes two seconds on an idle machine took more than a minute, and nothing said so.
TEST(Calibrate, EndsInTimeBesideMuchLoad) {
  struct Load {
    std::vector<pid_t> children;
    Load() {
      for (int i = 0; i < 60; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
          ::prctl(PR_SET_PDEATHSIG, SIGKILL);
          for (std::atomic<unsigned> spin{0};;) spin.fetch_add(1, std::memory_order_relaxed);
        }
        children.push_back(child);
      }
    }
    ~Load() {
      for (const pid_t child : children) ::kill(child, SIGKILL);
      for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    }
  };
  const Environment here = cache("load");
  const Load load;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run({{"calibrate", "--json", "--limit", "4"}, here});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(seconds, 30) << "4 s and a step of each kind";
  const json report = outcome.json();
  std::printf("%.1f s, ended early: %s, %s\n", seconds, report["ended_early"].dump().c_str(),
              report["remarks"].dump().c_str());
  // It may also be done a moment after the limit, where that is not looked at any more.
  if (report["ended_early"] == true) {
    EXPECT_GE(report["seconds"].get<double>(), 4) << "no figure of an idle machine beside this load";
    EXPECT_NE(report["remarks"].dump().find("ended at its limit"), std::string::npos) << report["remarks"];
  }
  expect_whole(here);
}

TEST(Calibrate, ProgressIsForTerminals) {
  const Environment here = cache("terminal");
  Call call{{"calibrate", "--no-methods"}, here};
  call.terminal = true;
  const Outcome outcome = run(call);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const size_t cpus = info(here)["cpus"].size();
  EXPECT_EQ(outcome.err.find("\rsmelt: measured ") != std::string::npos, cpus > 1) << outcome.err;
  call.arguments.push_back("--quiet");
  EXPECT_EQ(run(call).err, "");
  call.arguments.back() = "--json";
  EXPECT_EQ(run(call).err.find("measured"), std::string::npos);
}

TEST(Calibrate, ProgressTellsTheTimeLeft) {
  EXPECT_EQ(duration_text(0.25), "250 ms");
  EXPECT_EQ(duration_text(1.5), "1.5 s");
  EXPECT_EQ(duration_text(41.7), "42 s");
  EXPECT_EQ(duration_text(300), "5 min");
  EXPECT_EQ(duration_text(9000), "2.5 h");
  // On a terminal that is this process's stderr for a moment.
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0);
  const int terminal = ::open(::ptsname(master), O_WRONLY | O_NOCTTY), before = ::dup(STDERR_FILENO);
  ::dup2(terminal, STDERR_FILENO);
  ProgressLine("pairs", true).show(3, 100, 41.7);
  ProgressLine("pairs", true).show(100, 100, 0);
  ProgressLine("pairs", false).show(1, 2, 3);
  {
    ProgressLine many("groups", true);
    many.announce(0.5, 12);  // a moment
    many.announce(150, 610);
    for (uint64_t i = 1; i <= 100; ++i) many.show(i, 100);
  }
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(terminal);
  std::string text;
  char shown[512];
  // The kernel hands over what was written piece by piece; an error comes after the last one.
  for (ssize_t length; (length = ::read(master, shown, sizeof shown)) > 0;)
    text.append(shown, static_cast<size_t>(length));
  ::close(master);
  EXPECT_TRUE(text.starts_with(
      "\rsmelt: measured 3 of 100 pairs, about 42 s left\033[K\r\n"
      "\rsmelt: measured 100 of 100 pairs\033[K\r\n"
      "\rsmelt: measuring, about 2 min in all, at most 10 min\033[K\rsmelt: measured 1 of 100 groups\033[K"))
      << text;
  EXPECT_TRUE(text.ends_with("\rsmelt: measured 100 of 100 groups\033[K\r\n")) << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\r'), 50) << "terminals are slower than pairs";
}

// --- stopped ---

TEST(Calibrate, InterruptedInEachPhaseLeavesAWholeProfile) {
  const Environment here = cache("interrupted");
  ASSERT_EQ(run({{"calibrate", "--no-methods", "--quiet"}, here}).code, 0);
  int interrupted = 0;
  for (const int signal : {SIGINT, SIGTERM})
    for (const double after : {0.001, 0.004, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2}) {
      const std::string before = run({{"profile", "export"}, here}).out;
      Call call{{"calibrate"}, here};
      call.interrupt_after = after;
      call.signal = signal;
      const Outcome outcome = run(call);
      expect_whole(here);
      if (outcome.code == 0) continue;  // it was quicker than the signal
      ++interrupted;
      // Before main has begun, the signal is the system's.
      EXPECT_TRUE(outcome.code == 130 || outcome.code == 128 + signal) << outcome.code << outcome.err;
      if (outcome.code != 128 + signal) {
        EXPECT_TRUE(outcome.err.ends_with("smelt: interrupted; the profile is as it was\n")) << outcome.err;
      }
      EXPECT_EQ(outcome.out, "");
      EXPECT_EQ(run({{"profile", "export"}, here}).out, before);
      for (const std::string& name : files_in(here)) EXPECT_FALSE(name.ends_with(".tmp")) << name;
    }
  EXPECT_GT(interrupted, 0);
  const Outcome last = run({{"calibrate", "--quiet", "--no-methods"}, here});
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(files_in(here).size(), 2u) << "both forms, and nothing beside them";
}

// --- where it cannot write ---

TEST(Calibrate, WithoutAHomeSaysSo) {
  Environment none = {{"XDG_CACHE_HOME", ""}, {"HOME", ""}};
  expect_refused(run({{"calibrate"}, none}), "neither XDG_CACHE_HOME nor HOME");
  none["HOME"] = "/dev/null";
  expect_refused(run({{"calibrate"}, none}), "/dev/null");
  expect_refused(run({{"profile", "import", "x.json"}, none}), "x.json");
  // Everything else does without.
  EXPECT_EQ(run({{"info"}, none}).code, 0);
  EXPECT_EQ(run({{"tree"}, none}).code, 0);
  none["HOME"] = "relative";
  expect_refused(run({{"calibrate"}, none}), "neither XDG_CACHE_HOME nor HOME");
}

// A view of the file system for this call alone: true where root may have one.
bool private_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool has_private_mounts() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(private_mounts() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(Calibrate, OnAReadOnlyFileSystemSaysSoAtOnce) {
  if (!has_private_mounts()) GTEST_SKIP() << "file systems cannot be mounted here";
  const Environment here = cache("read-only");
  const std::string folder = here.at("XDG_CACHE_HOME");
  Call call{{"calibrate"}, here};
  call.prepare = [&folder] {
    return private_mounts() && ::mount("tmpfs", folder.c_str(), "tmpfs", MS_RDONLY, "size=1m") == 0;
  };
  expect_refused(run(call), "Read-only file system");
}

TEST(Calibrate, OnAFullDiskKeepsTheOldProfile) {
  if (!has_private_mounts()) GTEST_SKIP() << "file systems cannot be mounted here";
  const Environment here = cache("full");
  const std::string folder = here.at("XDG_CACHE_HOME");
  // Full from the beginning, then with room for one form ... until it fits.
  Call call{{"-c", R"("$SMELT" calibrate --no-methods --quiet && "$SMELT" profile export >"$X" || exit 9
    dd if=/dev/zero of="$XDG_CACHE_HOME/filler" bs=4k 2>/dev/null
    size=$(stat -c %s "$XDG_CACHE_HOME/filler")
    for free in 0 4096 8192 12288 16384 65536 1048576 16777216; do
      truncate -s $((size - free)) "$XDG_CACHE_HOME/filler"
      if "$SMELT" calibrate --no-methods --quiet; then echo written; break; fi
      "$SMELT" profile export | cmp - "$X" && echo kept
      find "$XDG_CACHE_HOME" -name '*.tmp'
    done)"},
            here};
  call.program = "/bin/sh";
  call.environment["SMELT"] = from_environment("SMELT");
  call.environment["X"] = scratch() + "/before.json";
  call.prepare = [&folder] {
    return private_mounts() && ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64m,mode=0700") == 0;
  };
  const Outcome outcome = run(call);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto refused = std::count(outcome.err.begin(), outcome.err.end(), '\n');
  std::string expected;
  for (long i = 0; i < refused; ++i) expected += "kept\n";
  EXPECT_EQ(outcome.out, expected + "written\n") << outcome.err;
  EXPECT_GE(refused, 2) << "for each form of the profile";
  for (size_t at = 0, end; (end = outcome.err.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = outcome.err.substr(at, end - at);
    EXPECT_NE(line.find("No space left"), std::string::npos) << line;
    EXPECT_NE(line.find("unchanged"), std::string::npos) << line;
  }
}

// The system's profile, in a view of the file system in which its folder is ours alone.
class SystemProfile : public testing::Test {
 protected:
  void SetUp() override {
    char place[512];
    ASSERT_EQ(system_profile_path(place, sizeof place), 0);
    path = place;
    for (root = fs::path(path).parent_path(); !fs::exists(root);) root = root.parent_path();
    if (!has_private_mounts() || root == "/" || scratch().starts_with(root.string() + "/"))
      GTEST_SKIP() << "nothing can be mounted over " << root;
  }
  // Mounts a copy of what earlier calls wrote; `writable` or not.
  Call call(std::vector<std::string> arguments, const char* options = "size=4m", unsigned long flags = 0) {
    Call out{std::move(arguments), {{"XDG_CACHE_HOME", scratch() + "/nothing"}}};
    out.prepare = [this, options, flags] {
      ::umask(077);  // the modes must not depend on it
      return private_mounts() && ::mount("tmpfs", root.c_str(), "tmpfs", flags, options) == 0 &&
             ::chmod(root.c_str(), 0755) == 0;
    };
    return out;
  }
  std::string path;
  fs::path root;
};

TEST_F(SystemProfile, IsWrittenForEverybody) {
  // One call each: what is mounted ends with it. So the shell is the program, and smelt what it runs.
  Call outer =
      call({"-c",
            "\"$SMELT\" calibrate --system --no-methods --quiet && stat -c '%a %n' \"$P\" \"${P%.profile}.json\" "
            "\"${P%/*}\" && \"$SMELT\" info --json && \"$SMELT\" profile export >\"$X\" && \"$SMELT\" profile "
            "import \"$X\" --system"});
  outer.program = "/bin/sh";
  outer.environment["SMELT"] = from_environment("SMELT");
  outer.environment["P"] = path;
  outer.environment["X"] = scratch() + "/system.json";
  const Outcome outcome = run(outer);
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  EXPECT_NE(outcome.out.find("644 " + path + "\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("755 " + fs::path(path).parent_path().string() + "\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\"source\": \"system\""), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("the same profile is there already"), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(path)) << "the test is not to leave anything";
}

TEST_F(SystemProfile, ThatCannotBeWrittenIsToldBeforeAnythingIsMeasured) {
  Call read_only = call({"calibrate", "--system"}, "size=1m", MS_RDONLY);
  read_only.prepare = [this] {
    return private_mounts() && ::mount("tmpfs", root.c_str(), "tmpfs", MS_RDONLY, "size=1m") == 0;
  };
  expect_refused(run(read_only), "Read-only file system");
  // By somebody who is not root, with a copy of the program that he may execute.
  const fs::path copy = fs::temp_directory_path() / ("smelt-" + std::to_string(::getpid()));
  fs::copy_file(from_environment("SMELT") + "-main", copy, fs::copy_options::overwrite_existing);
  fs::permissions(copy, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                            fs::perms::others_exec);
  Call other = call({"calibrate", "--system"});
  const auto mounts = other.prepare;
  other.prepare = [mounts] { return mounts() && ::setgid(65534) == 0 && ::setuid(65534) == 0; };
  other.program = copy;
  const Outcome outcome = run(other);
  fs::remove(copy);
  expect_refused(outcome, "Permission denied");
  EXPECT_NE(outcome.err.find("the system's profile is root's to write"), std::string::npos) << outcome.err;
}

// --- checked ---

TEST(CalibrateCheck, ComparesEachClassWithTheProfile) {
  const Environment here = cache("check");
  if (info(here)["profile"]["source"] != "system")
    expect_refused(run({{"calibrate", "--check"}, here}), "this machine has no profile; run 'smelt calibrate'");
  ASSERT_EQ(run({{"calibrate", "--no-methods", "--quiet"}, here}).code, 0);
  const Outcome outcome = run({{"calibrate", "--check", "--json"}, here});
  const json report = outcome.json();
  EXPECT_EQ(outcome.code, report["within"] == true ? 0 : 1) << outcome.out;
  EXPECT_EQ(report["classes"].size(), info(here)["classes"].size());
  EXPECT_EQ(report["advice"].is_null(), report["within"] == true);
  for (const json& row : report["classes"]) {
    EXPECT_GT(row["now"], 0);
    EXPECT_NEAR(row["ratio"], row["now"].get<double>() / row["stored"].get<double>(), 1e-6);
  }
  if (report["classes"].empty()) return;

  // A machine that has become a hundred times as fast: a virtual one may have become ten times as slow meanwhile.
  json profile = json::parse(run({{"profile", "export"}, here}).out);
  for (json& row : profile["hop"])
    for (json& hop : row) hop = hop.get<double>() * 100;
  for (json& row : profile["classes"]) row["hop"] = row["hop"].get<double>() * 100;
  ASSERT_EQ(run({{"profile", "import", write_file("slow.json", profile.dump()), "--replace"}, here}).code, 0);
  const Outcome changed = run({{"calibrate", "--check", "--json"}, here});
  EXPECT_EQ(changed.code, 1) << changed.out << changed.err;
  EXPECT_EQ(changed.json()["within"], false);
  EXPECT_NE(changed.json()["advice"].get<std::string>().find("run 'smelt calibrate'"), std::string::npos);
  const Outcome text = run({{"calibrate", "--check"}, here});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("changed"), std::string::npos) << text.out;
  const Outcome quiet = run({{"calibrate", "--check", "--quiet"}, here});
  EXPECT_EQ(quiet.code, 1);
  EXPECT_EQ(quiet.out + quiet.err, "");
  EXPECT_EQ(files_in(here).size(), 2u) << "nothing was written";
}

TEST(Calibrate, RefusesOptionsThatDoNotGoTogether) {}

}  // namespace
}  // namespace smelt::test
