// smelt run: becomes the program, with the shim in front.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "program.h"
#include "smelt_config.h"

namespace smelt::test {
namespace {

std::string kmp_shim() { return std::filesystem::canonical(from_environment("SMELT_TEST_KMP_SHIM")).string(); }
std::string library() { return from_environment("SMELT_TEST_LIBRARY"); }

// What the component of this build tree adds to a printed command, "" in a build without Open MPI.
std::string component() {
  const std::string file = from_environment("SMELT_TEST_COMPONENT");
  return file.empty() ? "" : std::filesystem::canonical(file).parent_path().string();
}
constexpr bool kPmixWouldWarn = SMELT_OPEN_MPI_MAJOR >= 5;
std::string component_prefix(const std::string& others = "SYSTEM_DEFAULT:USER_DEFAULT") {
  if (component().empty()) return "";
  return "OMPI_MCA_mca_base_component_path=" + component() + ":" + others +
         (kPmixWouldWarn ? " PMIX_MCA_mca_base_component_path=:" : "") + " OMPI_MCA_coll_smelt_priority=90 ";
}

Outcome run_with(std::vector<std::string> more, std::map<std::string, std::string> environment = {}) {
  std::vector<std::string> all = {"run", "--library", library()};
  all.insert(all.end(), more.begin(), more.end());
  return run({all, std::move(environment)});
}

TEST(Run, KeepsTheExitCodeAndTheOutput) {
  EXPECT_EQ(run_with({"--", "sh", "-c", "exit 0"}).code, 0);
  EXPECT_EQ(run_with({"--", "sh", "-c", "exit 42"}).code, 42);
  EXPECT_EQ(run_with({"--", "sh", "-c", "kill -TERM $$"}).code, 128 + 15);
  EXPECT_EQ(run_with({"--", "echo", "hello"}).out, "hello\n");
  EXPECT_EQ(run_with({"echo", "no dashes"}).out, "no dashes\n");
}

// Everything behind the program's name is the program's, whatever it looks like.
TEST(Run, PassesArgumentsAsTheyAre) {
  // sh's own printf: that of Ubuntu's coreutils (uutils 0.8) drops a "--" behind the format.
  const Outcome outcome = run_with(
      {"--", "sh", "-c", "printf '%s\\n' \"$@\"", "sh", "--", "--help", "-x", "[a,b]", "", "a b", "tree", "--dry-run"});
  EXPECT_EQ(outcome.out, "--\n--help\n-x\n[a,b]\n\na b\ntree\n--dry-run\n") << outcome.err;
}

TEST(Run, PutsTheShimFirstAndKeepsTheRest) {
  const std::string print = "echo \"$LD_PRELOAD\"";
  EXPECT_EQ(run_with({"--", "sh", "-c", print}).out, library() + "\n");
  // libc itself is a library that can always be preloaded.
  EXPECT_EQ(run_with({"--", "sh", "-c", print}, {{"LD_PRELOAD", "libc.so.6 libpthread.so.0"}}).out,
            library() + ":libc.so.6:libpthread.so.0\n");
  const Outcome loaded = run_with({"--", "cat", "/proc/self/maps"});
  EXPECT_NE(loaded.out.find(std::filesystem::canonical(library()).filename().string()), std::string::npos);
}

TEST(Run, StockTakesTheShimAway) {
  EXPECT_EQ(run_with({"--stock", "--", "sh", "-c", "echo \"${LD_PRELOAD-none}\""}).out, "none\n");
  const Outcome dry = run_with({"--stock", "--dry-run", "--", "./app"}, {{"LD_PRELOAD", "libc.so.6"}});
  EXPECT_EQ(dry.out, "LD_PRELOAD=libc.so.6 ./app\n");
}

TEST(Run, Verbose) {
  EXPECT_EQ(run_with({"--verbose", "--", "sh", "-c", "echo \"$SMELT_VERBOSE\""}).out, "1\n");
  EXPECT_EQ(run_with({"--", "sh", "-c", "echo \"${SMELT_VERBOSE-unset}\""}).out, "unset\n");
  // Whoever wants to know more keeps it.
  EXPECT_EQ(run_with({"--verbose", "--", "sh", "-c", "echo \"$SMELT_VERBOSE\""}, {{"SMELT_VERBOSE", "2"}}).out, "2\n");
}

// The last line is the launcher's, one of the whole job; nothing beside it says something else.
TEST(Run, TellsWhatWasServed) {
  const std::string program = from_environment("SMELT_TEST_MEETING");
  if (program.empty() || from_environment("SMELT_TEST_SHIM").empty()) GTEST_SKIP() << "no OpenMP shim";
  const auto last_line = [](const Outcome& outcome) {
    const size_t end = outcome.err.rfind('\n');
    return end == std::string::npos ? "" : outcome.err.substr(outcome.err.rfind('\n', end - 1) + 1);
  };
  const std::map<std::string, std::string> counted = {{"SMELT_STATS", "1"}, {"SMELT_TUNE", "spin_us=50"}};
  Outcome outcome = run({{"run", "--", "sh", "-c", program + " 20; " + program + " 20"}, counted});
  EXPECT_EQ(outcome.out, "60 meetings\n60 meetings\n");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("smelt: OpenMP (libgomp, 2 threads): ")) << outcome.err;
  EXPECT_NE(outcome.err.find(" of 40 parallel regions and "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("; in 2 processes"), std::string::npos) << outcome.err;

  // The option is the same. A bad setting is told once, and calibrating is no remedy for a profile of no use.
  outcome = run({{"run", "--stats", "--", program, "5"}, {{"SMELT_PROFILE", "/none"}, {"SMELT_VERBOSE", "much"}}});
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 3) << outcome.err;
  EXPECT_NE(outcome.err.find(" of 5 parallel regions and "), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with("; costs guessed (SMELT_PROFILE names none of use here)\n")) << outcome.err;

  outcome = run({{"run", "--verbose", "--", "sh", "-c", program + " 5"}, counted});
  EXPECT_NE(last_line(outcome).find(" of 5 parallel regions and "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("took nothing"), std::string::npos) << outcome.err;
  // An inner one leaves it to the outer one.
  outcome = run({{"run", "--", from_environment("SMELT"), "run", "--verbose", "--", program, "5"}, counted});
  EXPECT_EQ(outcome.err.find("smelt: OpenMP ("), outcome.err.rfind("smelt: OpenMP (")) << outcome.err;
  EXPECT_NE(last_line(outcome).find(" of 5 parallel regions and "), std::string::npos) << outcome.err;

  EXPECT_EQ(run({{"run", "--verbose", "--", "sleep", "0"}, {}}).err,
            "smelt: loaded; no process called libgomp or libomp\n");
  EXPECT_EQ(run({{"run", "--verbose", "--stock", "--", program}, {}}).err, "smelt: not loaded: --stock\n");
  outcome = run({{"run", "--verbose", "--", program, "5", "leaves"}, counted});
  EXPECT_NE(last_line(outcome).find("1 process left by a signal, _exit or exec and did not tell"), std::string::npos)
      << outcome.err;
}

// With a launcher that waits, the program's end is still the launcher's, and so are the signals it is sent.
TEST(Run, EndsAsTheProgramDoes) {
  EXPECT_EQ(run_with({"--verbose", "--", "sh", "-c", "exit 42"}).code, 42);
  EXPECT_EQ(run_with({"--verbose", "--", "sh", "-c", "kill -KILL $$"}).code, 128 + 9);
  EXPECT_EQ(run_with({"--verbose", "--", "/no/such/program"}).code, 127);
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const std::string mark = scratch() + "/handed-on-" + std::to_string(signal);
    Call call;
    call.arguments = {
        "run", "--library", library(), "--verbose",
        "--",  "sh",        "-c",      "trap 'exit 7' TERM USR1; echo >" + mark + "; while :; do sleep 0.05; done"};
    call.interrupt_when = [&] { return std::filesystem::exists(mark); };
    call.signal = signal;
    EXPECT_EQ(run(call).code, 7) << signal;
  }
}

TEST(Run, DryRunPrintsWhatOneWouldType) {
  const Outcome dry = run_with({"--dry-run", "--verbose", "--", "./my app", "plain", "it's", "$HOME", ""});
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(dry.out, "LD_PRELOAD=" + library() + " " + component_prefix() +
                         "SMELT_VERBOSE=1 './my app' plain 'it'\\''s' '$HOME' ''\n");
  // And a shell that is given the line does the same.
  const Outcome line = run_with({"--dry-run", "--", "printf", "%s|", "a b", "it's", "$HOME", "x=1", "*", "\\"});
  const Outcome shell = run_with({"--stock", "--", "sh", "-c", line.out});
  EXPECT_EQ(shell.out, "a b|it's|$HOME|x=1|*|\\|");
}

// smelt env: what a shell sets by eval is what smelt run would have set; and what is taken away again.
TEST(Env, SwitchesAShellOnAndOff) {
  if (from_environment("SMELT_TEST_SHIM").empty()) GTEST_SKIP() << "no OpenMP shim on this architecture";
  const std::string smelt_program = from_environment("SMELT");
  const auto in_shell = [](const std::string& script, std::map<std::string, std::string> environment = {}) {
    Call call;
    call.program = "/bin/sh";
    call.arguments = {"-euc", script};
    call.environment = std::move(environment);
    const Outcome outcome = run(call);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string on = "eval \"$(" + smelt_program + " env)\"; ",
                    off = "eval \"$(" + smelt_program + " env --off)\"; ";
  const std::string print = "env | grep -E '^(LD_PRELOAD|OMPI_|PMIX_)' | sort";
  const std::string here = "LD_PRELOAD=libc.so.6\n";
  const std::map<std::string, std::string> before = {{"LD_PRELOAD", "libc.so.6"}};
  const std::string by_run = in_shell(smelt_program + " run -- sh -c \"" + print + "\"", before);
  EXPECT_NE(by_run.find("libsmelt_gomp.so"), std::string::npos) << by_run;
  EXPECT_EQ(in_shell(on + print, before), by_run);
  EXPECT_EQ(in_shell(on + on + print, before), by_run);  // twice is once
  EXPECT_EQ(in_shell(on + off + print, before), here);
  EXPECT_EQ(in_shell(off + print, before), here);
  EXPECT_EQ(in_shell(on + off + "echo ${LD_PRELOAD-none}"), "none\n");
}

TEST(Env, InOtherForms) {
  if (from_environment("SMELT_TEST_SHIM").empty()) GTEST_SKIP() << "no OpenMP shim on this architecture";
  const std::string odd = "/a 'b' \\ $HOME";
  const std::map<std::string, std::string> odd_path = {{"OMPI_MCA_mca_base_component_path", odd}};
  const nlohmann::json variables = run({{"env", "--format", "json"}, odd_path}).json();
  EXPECT_EQ(run({{"env", "--json"}, odd_path}).json(), variables);
  const std::string preload = variables["LD_PRELOAD"];
  EXPECT_NE(preload.find("libsmelt_gomp.so:"), std::string::npos);
  EXPECT_NE(smelt({"env", "--format", "file"}).out.find("LD_PRELOAD=" + preload + "\n"), std::string::npos);
  if (!component().empty()) {
    EXPECT_EQ(variables["OMPI_MCA_mca_base_component_path"], component() + ":" + odd);
  }
  EXPECT_EQ(run({{"env", "--off", "--format", "file"}, {{"LD_PRELOAD", preload}}}).out, "LD_PRELOAD=\n");
  // In a clean shell, too, there is something to be put into a file.
  EXPECT_NE(smelt({"env", "--off"}).out.find("unset LD_PRELOAD;\n"), std::string::npos);
  EXPECT_EQ(smelt({"env", "--format", "csh"}).code, 2);
}

TEST(Run, NotFoundAndNotExecutable) {
  const auto expect = [](const std::string& program, int code) {
    const Outcome outcome = run_with({"--", program});
    EXPECT_EQ(outcome.code, code) << program << ": " << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("smelt: " + program + ": ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  };
  expect("smelt-no-such-program", 127);
  expect("/no/such/program", 127);
  expect(write_file("plain.txt", "not a program", 0644), 126);
  expect(scratch(), 126);
  expect(write_file("orphan.sh", "#!/no/such/interpreter\n", 0755), 126);
}

TEST(Run, SaysWhenAPreloadCannotWork) {
  // A static executable as far as its headers tell: ELF, no PT_INTERP.
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phentsize = sizeof(Elf64_Phdr);
  const std::string file = write_file("static", std::string(reinterpret_cast<char*>(&header), sizeof header), 0755);
  const Outcome dry = run_with({"--dry-run", "--", file});
  EXPECT_EQ(dry.code, 0);
  EXPECT_NE(dry.err.find("statically linked"), std::string::npos) << dry.err;

  const std::string setuid = scratch() + "/setuid";
  std::filesystem::copy_file("/bin/true", setuid, std::filesystem::copy_options::overwrite_existing);
  ::chmod(setuid.c_str(), 04755);
  EXPECT_EQ(run_with({"--", setuid}).err, "");  // one's own gives no rights that one has not
  // Another user's; that of an own file is another's for nobody.
  if (::geteuid() == 0 && ::chown(setuid.c_str(), 65534, 0) == 0) ::chmod(setuid.c_str(), 04755);
  if (::geteuid() == 0) {
    const Outcome outcome = run_with({"--", setuid});
    EXPECT_EQ(outcome.code, 0);  // warned of, and run
    EXPECT_NE(outcome.err.find("runs without Smelt"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(run_with({"--", "true"}).err, "");
}

// Its runtime ends the program unless it is the first library of all.
TEST(Run, AddressSanitizerComesFirst) {
  const std::string program = from_environment("SMELT_TEST_SANITIZED");
  if (program.empty() || from_environment("SMELT_TEST_SHIM").empty())
    GTEST_SKIP() << "no AddressSanitizer library, or no shim";
  std::string name = smelt({"run", "--dry-run", "--", program}).out;  // LD_PRELOAD=libasan.so.8:...
  name = name.substr(0, name.find(':'));
  ASSERT_TRUE(name.starts_with("LD_PRELOAD=libasan.so.")) << name;
  name.erase(0, std::strlen("LD_PRELOAD="));
  const auto expect_served = [&](const Outcome& outcome, const char* how) {
    EXPECT_EQ(outcome.code, 0) << how << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "2 threads\n") << how;
    EXPECT_NE(outcome.err.find("symbols taken"), std::string::npos) << how << ": " << outcome.err;
  };
  // Looking for leaks needs rights that a container may not have.
  const std::map<std::string, std::string> plain = {{"ASAN_OPTIONS", "detect_leaks=0"}};
  expect_served(run({{"run", "--verbose", "--", program}, plain}), "alone");
  // Behind a wrapper it is in front of the program that smelt run belongs, or the user names the runtime.
  expect_served(run({{"run", "--verbose", "--", "sh", "-c", from_environment("SMELT") + " run -- " + program}, plain}),
                "smelt run in a wrapper");
  std::map<std::string, std::string> named = plain;
  named["LD_PRELOAD"] = name;
  expect_served(run({{"run", "--verbose", "--", "sh", "-c", program}, named}), "named by the user");

  const std::string shim = std::filesystem::canonical(from_environment("SMELT_TEST_SHIM")).string();
  const std::string both = "LD_PRELOAD=" + name + ":" + shim + ":" + kmp_shim();
  const auto printed = [&](std::vector<std::string> options, const std::string& before) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--dry-run", "--", program});
    std::map<std::string, std::string> environment = plain;
    if (!before.empty()) environment["LD_PRELOAD"] = before;
    return run({options, environment}).out;
  };
  EXPECT_TRUE(printed({}, "").starts_with(both + " "));
  EXPECT_TRUE(printed({}, name + ":libc.so.6").starts_with(both + ":libc.so.6 "));  // once
  EXPECT_TRUE(printed({}, shim).starts_with(both + " "));
  EXPECT_EQ(printed({"--stock"}, ""), program + "\n");
}

TEST(Run, FindsTheShimOfTheBuildTree) {
  if (from_environment("SMELT_TEST_SHIM").empty()) GTEST_SKIP() << "no OpenMP shim on this architecture";
  const std::string shim = std::filesystem::canonical(from_environment("SMELT_TEST_SHIM")).string();
  const std::string both = "LD_PRELOAD=" + shim + ":" + kmp_shim() + " ";
  EXPECT_EQ(smelt({"run", "--dry-run", "--", "app"}).out, both + component_prefix() + "app\n");
  EXPECT_EQ(smelt({"info", "--json"}).json()["gomp_library"], shim);
  // Asked for twice, it is there once.
  EXPECT_EQ(run({{"run", "--dry-run", "--", "app"}, {{"LD_PRELOAD", kmp_shim() + ":" + shim}}}).out,
            both + component_prefix() + "app\n");
}

TEST(Run, PutsTheComponentUnderOpenMpi) {
  if (component().empty()) GTEST_SKIP() << "built without Open MPI";
  const std::string path = "OMPI_MCA_mca_base_component_path", priority = "OMPI_MCA_coll_smelt_priority";
  const std::string print = "echo \"${" + path + "-none} ${" + priority + "-none}\"";
  const auto printed = [&](std::map<std::string, std::string> environment, bool stock = false) {
    std::vector<std::string> more = {"--", "sh", "-c", print};
    if (stock) more.insert(more.begin(), "--stock");
    return run_with(more, std::move(environment)).out;
  };
  const std::string ours = component() + ":SYSTEM_DEFAULT:USER_DEFAULT";
  EXPECT_EQ(printed({}), ours + " 90\n");
  EXPECT_EQ(printed({{path, "/a:/b"}}), component() + ":/a:/b 90\n");
  // The user's own wish is kept, in either form; an inner smelt run changes nothing.
  EXPECT_EQ(printed({{priority, "0"}}), ours + " 0\n");
  EXPECT_EQ(printed({{"SMELT_PRIORITY", "35"}}), ours + " none\n");
  EXPECT_EQ(printed({{path, ours}, {priority, "90"}}), ours + " 90\n");
  // Stock takes away what an outer smelt run put there, and no more.
  EXPECT_EQ(printed({}, true), "none none\n");
  EXPECT_EQ(printed({{path, ours}, {priority, "90"}}, true), "none none\n");
  EXPECT_EQ(printed({{path, component() + ":/a"}, {priority, "35"}}, true), "/a 35\n");
  EXPECT_EQ(printed({{path, "/a"}, {priority, "90"}}, true), "/a 90\n");
  const Outcome dry = run_with({"--stock", "--dry-run", "--", "app"}, {{path, ours}, {priority, "90"}});
  EXPECT_EQ(dry.out, "env -u " + path + " -u " + priority + " app\n");
}

// The component for messages, only where it is asked for.
TEST(Run, PutsMessagesUnderOpenMpiWhenAskedTo) {
  const std::string file = from_environment("SMELT_TEST_MESSAGES");
  if (file.empty()) GTEST_SKIP() << "built without the component for messages";
  const std::string messages = std::filesystem::canonical(file).parent_path().string();
  const std::string path = "OMPI_MCA_mca_base_component_path", enable = "OMPI_MCA_pml_smelt_enable";
  const std::string priority = "OMPI_MCA_coll_smelt_priority", rest = ":SYSTEM_DEFAULT:USER_DEFAULT";
  const auto printed = [&](const char* option, std::map<std::string, std::string> environment) {
    const Outcome outcome = run_with({option, "--", "sh", "-c", "echo \"${" + path + "-none} ${" + enable + "-none}\""},
                                     std::move(environment));
    if (std::strcmp(option, "--verbose") != 0) {
      EXPECT_EQ(outcome.err, "");
    }
    return outcome.out;
  };
  const std::string both = component() + ":" + messages;
  EXPECT_EQ(printed("--messages", {}), both + rest + " 1\n");
  EXPECT_EQ(printed("--messages", {{path, "/a"}}), both + ":/a 1\n");
  // The user's own wish is kept, in either form; an inner smelt run changes nothing.
  EXPECT_EQ(printed("--messages", {{enable, "0"}}), both + rest + " 0\n");
  EXPECT_EQ(printed("--verbose", {{enable, "1"}}), component() + rest + " 1\n");
  EXPECT_EQ(printed("--verbose", {{path, messages + ":/a"}, {enable, "1"}}), both + ":/a 1\n");
  EXPECT_EQ(printed("--messages", {{path, both + rest}, {enable, "1"}}), both + rest + " 1\n");
  EXPECT_EQ(printed("--verbose", {{path, both + rest}, {enable, "1"}}), both + rest + " 1\n");
  EXPECT_EQ(printed("--verbose", {}), component() + rest + " none\n");
  // Stock takes away what an outer smelt run put there, and no more.
  EXPECT_EQ(printed("--stock", {{path, both + rest}, {enable, "1"}}), "none none\n");
  EXPECT_EQ(printed("--stock", {{path, both + ":/a"}, {enable, "0"}}), "/a 0\n");
  EXPECT_EQ(printed("--stock", {{path, "/a"}, {enable, "1"}}), "/a 1\n");
  const Outcome stock = run_with({"--stock", "--messages", "--dry-run", "--", "app"},
                                 {{path, both + rest}, {priority, "90"}, {enable, "1"}});
  EXPECT_EQ(stock.out, "env -u " + path + " -u " + priority + " -u " + enable + " app\n");
  const Outcome dry = run_with({"--messages", "--dry-run", "--", "app"});
  EXPECT_EQ(dry.out, "LD_PRELOAD=" + library() + " " + path + "=" + both + rest +
                         (kPmixWouldWarn ? " PMIX_MCA_mca_base_component_path=:" : "") + " " + priority + "=90 " +
                         enable + "=1 app\n");
}

// A smelt with nothing beside it: asked for messages it says that there are none, and runs the program as ever. (Where
// the same Smelt is installed as well, it finds that.)
TEST(Run, SaysThatThereIsNoComponentForMessages) {
  const std::string alone = scratch() + "/alone/bin/smelt";
  std::filesystem::create_directories(std::filesystem::path(alone).parent_path());
  std::filesystem::copy_file(from_environment("SMELT") + "-main", alone,
                             std::filesystem::copy_options::overwrite_existing);
  const auto run_alone = [&](std::vector<std::string> options) {
    Call call;
    call.arguments = {"run", "--library", library(), "--dry-run"};
    call.arguments.insert(call.arguments.end(), options.begin(), options.end());
    call.arguments.insert(call.arguments.end(), {"--", "app"});
    call.program = alone;
    return run(call);
  };
  const Outcome without = run_alone({}), with = run_alone({"--messages"});
  if (without.out.find("OMPI_MCA_") != std::string::npos) GTEST_SKIP() << "this Smelt is installed here";
  EXPECT_EQ(without.out, "LD_PRELOAD=" + library() + " app\n");
  EXPECT_EQ(without.err, "");
  EXPECT_EQ(with.out, without.out);
  EXPECT_EQ(with.code, 0);
  EXPECT_NE(with.err.find("smelt: --messages: "), std::string::npos) << with.err;
  EXPECT_EQ(std::count(with.err.begin(), with.err.end(), '\n'), 1) << with.err;
}

// A path without a folder for PMIx, and only where the component is for an Open MPI that would hand PMIx its own.
TEST(Run, KeepsTheComponentFromPmix) {
  if (component().empty()) GTEST_SKIP() << "built without Open MPI";
  const std::string path = "OMPI_MCA_mca_base_component_path", pmix = "PMIX_MCA_mca_base_component_path";
  const auto printed = [&](std::map<std::string, std::string> environment, bool stock = false) {
    std::vector<std::string> more = {"--", "sh", "-c", "echo \"[${" + pmix + "-none}]\""};
    if (stock) more.insert(more.begin(), "--stock");
    return run_with(more, std::move(environment)).out;
  };
  EXPECT_EQ(printed({}), kPmixWouldWarn ? "[:]\n" : "[none]\n");
  EXPECT_EQ(printed({{pmix, ""}}), kPmixWouldWarn ? "[:]\n" : "[]\n");
  EXPECT_EQ(printed({{pmix, "/a"}}), "[/a]\n");
  EXPECT_EQ(printed({}, true), "[none]\n");
  const std::string ours = component() + ":SYSTEM_DEFAULT:USER_DEFAULT";
  EXPECT_EQ(printed({{path, ours}, {pmix, ":"}}, true), "[none]\n");
  EXPECT_EQ(printed({{path, ours}, {pmix, "/a"}}, true), "[/a]\n");
  EXPECT_EQ(printed({{pmix, ":"}}, true), "[:]\n");
}

// The short way of a plain run (core/cli/launch.cc) and smelt-main's.
TEST(Launch, GivesTheProgramTheSameEnvironment) {
  const auto variables = [](const std::string& program, const std::vector<std::string>& arguments,
                            const std::map<std::string, std::string>& environment) {
    Call call;
    call.arguments = arguments;
    call.environment = environment;
    call.program = program;
    const Outcome outcome = run(call);
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> lines;
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  const std::string smelt = from_environment("SMELT"), path = "OMPI_MCA_mca_base_component_path";
  const std::map<std::string, std::string> environments[] = {
      {},
      {{"LD_PRELOAD", "libc.so.6"}},
      {{"LD_PRELOAD", from_environment("SMELT_TEST_SHIM") + ":libc.so.6"}},
      {{path, "/a:/b"}, {"A", ""}, {"OMPI_MCA_coll_smelt_priority", "30"}},
      {{path, component() + ":/b"}, {"PATH", ":/nowhere:" + from_environment("PATH")}}};
  for (const auto& environment : environments)
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", "--", "env"}, {"run", "env"}}) {
      const auto usual = variables(smelt + "-main", arguments, environment);
      EXPECT_GE(usual.size(), 3u);
      EXPECT_EQ(variables(smelt, arguments, environment), usual);
    }
}

TEST(Launch, DoesAPlainRunAloneAndNothingElse) {
  namespace fs = std::filesystem;
  const std::string shim = from_environment("SMELT_TEST_SHIM");
  if (shim.empty()) GTEST_SKIP() << "no OpenMP shim";
  const fs::path tree = scratch() + "/launch";
  for (const char* folder : {"core", "gomp_shim", "kmp_shim"}) fs::create_directories(tree / folder);
  fs::copy_file(from_environment("SMELT"), tree / "core/smelt");
  fs::copy_file(shim, tree / "gomp_shim/libsmelt_gomp.so");
  fs::copy_file(kmp_shim(), tree / "kmp_shim/libsmelt_kmp.so");
  const auto outcome_of = [&](std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
    Call call;
    call.arguments = std::move(arguments);
    call.environment = std::move(environment);
    call.program = tree / "core/smelt";
    return run(call);
  };
  if (outcome_of({"--version"}).code == 0) GTEST_SKIP() << "this Smelt is installed here";
  const std::string print = "echo \"$LD_PRELOAD $*\"";
  const std::string shims = fs::canonical(tree / "gomp_shim/libsmelt_gomp.so").string() + ":" +
                            fs::canonical(tree / "kmp_shim/libsmelt_kmp.so").string();
  EXPECT_EQ(outcome_of({"run", "--", "sh", "-c", print, "sh", "--", "-x", ""}).out, shims + " -- -x \n");
  EXPECT_EQ(outcome_of({"run", "sh", "-c", "exit 42"}).code, 42);
  // All the others ask for smelt-main.
  const std::vector<std::string> others[] = {{},
                                             {"run"},
                                             {"run", "--"},
                                             {"run", "--verbose", "--", "true"},
                                             {"run", "--", "-x"},
                                             {"run", "--", "no-such-program"},
                                             {"run", "--", tree / "gomp_shim"},
                                             {"tree"}};
  for (const std::vector<std::string>& arguments : others) {
    const Outcome outcome = outcome_of(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err,
              "smelt: smelt-main is neither beside this program nor in its library directory; install "
              "Smelt again\n");
  }
  EXPECT_EQ(outcome_of({"run", "--", "true"}, {{"SMELT_STATS", "1"}}).code, 2);
}

}  // namespace
}  // namespace smelt::test
