// queue_bench from outside: which rows it prints and how it ends. No time is judged.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "epcc/child.h"

using namespace smelt::epcc;

namespace {

using Json = nlohmann::json;

Finished run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::getenv("QUEUE_BENCH"));
  return run_child(arguments, Environment::of_this_process(), 240);
}

bool one_cpu() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) < 2;
}

void expect_figure(const Json& figure, const std::string& of) {
  const double least = figure.at("min"), q1 = figure.at("q1"), median = figure.at("median");
  const double q3 = figure.at("q3"), most = figure.at("max");
  EXPECT_GT(least, 0) << of;
  EXPECT_LE(least, q1) << of;
  EXPECT_LE(q1, median) << of;
  EXPECT_LE(median, q3) << of;
  EXPECT_LE(q3, most) << of;
}

TEST(QueueBench, HasEveryRowAndEverybodyInIt) {
  if (one_cpu()) GTEST_SKIP() << "one CPU";
  const Finished finished = run({"--quick", "--json", "--capacity", "16,64,2048"});
  ASSERT_TRUE(finished.ok) << finished.failure;
  const Json json = Json::parse(finished.out);
  const bool boost = json.at("boost");

  std::set<std::string> wanted, found;
  for (const std::string what : {"round-trip", "one-way"})
    for (const std::string kind : {"ump", "fastforward", "one-to-many"}) {
      if (what == "round-trip" && kind == "one-to-many") continue;
      for (const std::string between : {"threads", "processes"})
        for (const int capacity : {16, 64, 2048})
          for (const int bytes : {0, 8, 56, 1024, 65536})
            if (bytes <= capacity * 56)
              wanted.insert(what + " " + kind + " " + between + " " + std::to_string(capacity) + " " +
                            std::to_string(bytes));
    }
  for (const Json& row : json.at("rows")) {
    const std::string what = row.at("what"), kind = row.at("kind"), between = row.at("between");
    const std::string name = what + " " + kind + " " + between + " " + std::to_string(row.at("capacity").get<int>()) +
                             " " + std::to_string(row.at("bytes").get<int>());
    EXPECT_TRUE(found.insert(name).second) << name << " is there twice";
    expect_figure(row.at("ns"), name);
    std::set<std::string> theirs{"ring", "pipe", "mutex"}, beside;
    if (what == "round-trip" && row.at("bytes") <= 56) theirs.insert("raw");
    if (boost) theirs.insert("boost");
    for (const auto& [whose, figures] : row.at("against").items()) {
      beside.insert(whose);
      expect_figure(figures.at("ns"), name + " " + whose);
      expect_figure(figures.at("ratio"), name + " / " + whose);
      // A ratio of pairs lies between the ratios of the extremes.
      const double least = row.at("ns").at("min").get<double>() / figures.at("ns").at("max").get<double>();
      const double most = row.at("ns").at("max").get<double>() / figures.at("ns").at("min").get<double>();
      EXPECT_GE(figures.at("ratio").at("min").get<double>(), 0.999 * least) << name << " / " << whose;
      EXPECT_LE(figures.at("ratio").at("max").get<double>(), 1.001 * most) << name << " / " << whose;
    }
    EXPECT_EQ(beside, theirs) << name;
  }
  EXPECT_EQ(found, wanted);
}

TEST(QueueBench, PrintsATableForPeople) {
  if (one_cpu()) GTEST_SKIP() << "one CPU";
  const Finished finished = run({"--quick", "--capacity", "16", "--bytes", "8"});
  ASSERT_TRUE(finished.ok) << finished.failure;
  for (const char* text : {"round-trip", "one-way", "ump threads", "fastforward processes", "one-to-many threads",
                           "/ raw", "/ ring", "/ boost", "/ pipe", "/ mutex", "3 rounds"})
    EXPECT_NE(finished.out.find(text), std::string::npos) << text;
}

TEST(QueueBench, RefusesWhatItCannotMeasure) {
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
           {"--cpus", "0"}, {"--cpus", "0,0"}, {"--cpus", "0,100000"}, {"--bytes", "7"}, {"--capacity", "0"}}) {
    const Finished finished = run(bad);
    EXPECT_FALSE(finished.ok) << bad[0] << " " << bad[1];
    EXPECT_NE(finished.failure.find("exit status 2"), std::string::npos) << finished.failure;
  }
  EXPECT_NE(run({"--help"}).out.find("ours / theirs"), std::string::npos);
}

}  // namespace
