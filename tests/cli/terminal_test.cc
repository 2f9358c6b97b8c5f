// Pages as wide as the terminal.
#include "cli/terminal.h"

#include <gtest/gtest.h>

#include "program.h"

namespace smelt::test {
namespace {

TEST(Wrapped, GoesOnBelowTheLastColumn) {
  const std::string line = "note     virtual machine   the host may move virtual CPUs to other cores\n";
  EXPECT_EQ(wrapped(line, 60),
            "note     virtual machine   the host may move virtual CPUs to\n"
            "                           other cores\n");
  EXPECT_EQ(wrapped("         why: near ones become far ones from minute to minute\n", 40),
            "         why: near ones become far ones\n"
            "              from minute to minute\n");
  EXPECT_EQ(wrapped("  one and two and three and four\n", 20), "  one and two and\n  three and four\n");
}

TEST(Wrapped, LeavesAloneWhatFits) {
  const std::string text = "a  b\n\n  c   d\nno end";
  EXPECT_EQ(wrapped(text, 80), text);
  EXPECT_EQ(wrapped("exactly twenty chars\n", 20), "exactly twenty chars\n");
  EXPECT_EQ(wrapped("one two three four five six\n", 0), "one two three four five six\n");   // no terminal
  EXPECT_EQ(wrapped("one two three four five six\n", 10), "one two three four five six\n");  // hardly one
  EXPECT_EQ(wrapped("", 80), "");
}

TEST(Wrapped, WordsStayWhole) {
  EXPECT_EQ(wrapped("written     /a/very/long/path/that/is/a/word.profile\n", 30),
            "written\n  /a/very/long/path/that/is/a/word.profile\n");
  EXPECT_EQ(wrapped("/a/very/long/path/that/is/a/word.profile again\n", 30),
            "/a/very/long/path/that/is/a/word.profile\nagain\n");
}

// The escapes of colours take no column, a character in UTF-8 one.
TEST(Wrapped, CountsColumns) {
  const std::string coloured = "\033[32mok\033[m  two three four\n";
  EXPECT_EQ(wrapped(coloured, 20), coloured);
  EXPECT_EQ(wrapped("µs µs µs µs µs µs µs\n", 20), "µs µs µs µs µs µs µs\n");
  EXPECT_EQ(wrapped("µs µs µs µs µs µs µs µs\n", 20), "µs µs µs µs µs µs µs\nµs\n");
}

// A terminal of 60 columns, made by script(1): no line is longer, and severities have colours; a pipe has neither.
TEST(Terminal, PagesFitAndHaveColours) {
  const auto shown = [](const std::string& command) {
    Call call;
    call.program = "/bin/sh";
    call.arguments = {"-c", "command -v script >/dev/null || exit 99; script -qec 'stty cols 60; " + command +
                                "' /dev/null </dev/null | tr -d '\\r'"};
    call.environment = {{"TERM", "xterm"}};
    return run(call);
  };
  const std::string program = from_environment("SMELT");
  for (const std::string verb : {" config", " info", " doctor", " tree", " run --help"}) {
    const Outcome outcome = shown(program + verb);
    if (outcome.code == 99) GTEST_SKIP() << "there is no script(1)";
    std::string plain;
    for (size_t at = 0; at < outcome.out.size(); ++at) {
      if (outcome.out[at] == '\033')
        at = outcome.out.find('m', at);
      else if ((static_cast<unsigned char>(outcome.out[at]) & 0xc0) != 0x80)
        plain += outcome.out[at];
    }
    size_t lines = 0;
    for (size_t at = 0; at < plain.size(); ++lines) {
      const size_t end = std::min(plain.find('\n', at), plain.size());
      const std::string line = plain.substr(at, end - at);
      if (line.find('/') == std::string::npos) {  // a path stays whole
        EXPECT_LE(line.size(), 60u) << verb << ": " << line;
      }
      at = end + 1;
    }
    EXPECT_GT(lines, 5u) << outcome.out;
    EXPECT_EQ(outcome.out.find("\033[") != std::string::npos, verb == " doctor") << outcome.out;
    EXPECT_EQ(shown("NO_COLOR=1 " + program + verb).out.find("\033["), std::string::npos);
    EXPECT_EQ(shown("TERM=dumb " + program + verb).out.find("\033["), std::string::npos);
  }
  EXPECT_EQ(smelt({"doctor"}).out.find("\033["), std::string::npos);
}

// What takes over a second says so, on a terminal, and takes it back.
TEST(Terminal, LongWorkSaysWhatItIs) {
  Call call;
  call.arguments = {"tree",      "--machine", "synthetic:pack:2 core:64 pu:1",
                    "--op",      "broadcast", "--pattern",
                    "optimised", "--moves",   "400000000",
                    "--budget",  "2500"};
  const Outcome quiet = run(call);
  ASSERT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(quiet.err, "");
  call.terminal = true;
  const Outcome told = run(call);
  EXPECT_NE(told.err.find("\rsmelt: planning a broadcast for 128 CPUs, 1 s so far\033[K"), std::string::npos)
      << told.err;
  EXPECT_TRUE(told.err.ends_with("\r\033[K")) << told.err;
}

}  // namespace
}  // namespace smelt::test
