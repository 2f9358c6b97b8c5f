// smelt run --fit: how many threads what was seen of a place pays for, and what is set for that.
#include "cli/fit.h"

#include <gtest/gtest.h>

#include <map>

#include "program.h"

namespace smelt::test {
namespace {

using Variables = std::map<std::string, std::string>;

Fit fit(const Room& room, Variables set = {}) {
  set.try_emplace("NUMBA_NUM_THREADS", "1");  // so it stays
  return fit_into(room, [&](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  });
}

TEST(Fit, WholeCpusOfTheQuota) {
  EXPECT_EQ(fit({64, 2400}).threads, 2u);
  EXPECT_EQ(fit({64, 2400}).why, "2 threads (OMP_NUM_THREADS=2): the quota pays for 2.4 CPUs of 64");
  EXPECT_EQ(fit({64, 2499}).threads, 2u);
  EXPECT_EQ(fit({64, 2500}).threads, 3u);
  EXPECT_EQ(fit({64, 3000}).threads, 3u);
  EXPECT_EQ(fit({64, 1499}).threads, 1u);
  EXPECT_EQ(fit({64, 500}).threads, 1u);
  EXPECT_EQ(fit({64, 1}).threads, 1u);
  EXPECT_EQ(fit({4, 8000}).threads, 4u) << "more than there are";
  EXPECT_EQ(fit({4, 4000}).why, "4 threads (OMP_NUM_THREADS=4): 4 CPUs may be used");
  EXPECT_EQ(fit({1, 0}).why, "1 thread (OMP_NUM_THREADS=1): 1 CPU may be used");
}

TEST(Fit, WhatOthersOfTheGroupWantComesOff) {
  EXPECT_EQ(fit({64, 4000, 1.0}).threads, 3u);
  EXPECT_EQ(fit({64, 4000, 1.25}).threads, 3u);
  EXPECT_EQ(fit({64, 4000, 1.75}).threads, 2u);
  EXPECT_EQ(fit({64, 4000, 0.25}).threads, 4u) << "one of four looks";
  EXPECT_EQ(fit({64, 4000, 9.0}).threads, 1u);
  EXPECT_EQ(fit({64, 0, 9.0}).threads, 64u) << "without a quota the kernel shares CPUs out";
  EXPECT_EQ(fit({64, 4000, 1.5}).why,
            "3 threads (OMP_NUM_THREADS=3): the quota pays for 4 CPUs of 64, of which others in the group want 1.5");
}

TEST(Fit, RanksShareIt) {
  EXPECT_EQ(fit({64, 8000, 0, 4}).threads, 2u);
  EXPECT_EQ(fit({64, 8000, 0, 3}).threads, 2u);
  EXPECT_EQ(fit({2, 0, 0, 4}).threads, 1u);
  EXPECT_EQ(fit({64, 8000, 0, 4}).why, "2 threads (OMP_NUM_THREADS=2): the quota pays for 8 CPUs of 64, for 4 ranks");
  EXPECT_EQ(ranks_of({}), 1u);
  EXPECT_EQ(ranks_of({"./app", "-n", "4"}), 1u);
  EXPECT_EQ(ranks_of({"mpirun", "--bind-to", "core", "-n", "4", "./app"}), 4u);
  EXPECT_EQ(ranks_of({"/usr/bin/mpiexec", "-np", "16", "./app"}), 16u);
  EXPECT_EQ(ranks_of({"mpirun", "./app"}), 0u);
}

TEST(Fit, WhatIsSetIsOnlyLowered) {
  EXPECT_EQ(changes(fit({8, 0}, {{"OMP_NUM_THREADS", "4"}})), "");
  EXPECT_EQ(fit({8, 0}, {{"OMP_NUM_THREADS", "4"}}).why, "8 threads (as set already): 8 CPUs may be used");
  EXPECT_EQ(changes(fit({8, 2000}, {{"OMP_NUM_THREADS", "4"}})), "OMP_NUM_THREADS=2");
  EXPECT_EQ(changes(fit({8, 2000}, {{"OMP_NUM_THREADS", "4,3"}})), "OMP_NUM_THREADS=2,3");
  EXPECT_EQ(changes(fit({8, 2000}, {{"OMP_NUM_THREADS", ""}})), "OMP_NUM_THREADS=2");
  EXPECT_EQ(changes(fit({8, 2000}, {{"OPENBLAS_NUM_THREADS", "8"}, {"MKL_NUM_THREADS", "1"}})),
            "OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2");
  EXPECT_EQ(changes(fit({8, 2000}, {{"NUMBA_NUM_THREADS", ""}})), "OMP_NUM_THREADS=2 NUMBA_NUM_THREADS=2");
  EXPECT_EQ(fit({8, 2000}, {{"OMP_NUM_THREADS", "many"}}).why,
            "2 threads (OMP_NUM_THREADS=2): the quota pays for 2 CPUs of 8; OMP_NUM_THREADS=many was no number");
}

// Of the program itself, wherever it runs: at least 1, and no more than there are.
TEST(Fit, OfThisPlace) {
  const std::string library = from_environment("SMELT_TEST_LIBRARY");
  const std::string print = "echo ${OMP_NUM_THREADS-none}";
  const auto threads = [&](std::vector<std::string> words, Variables set) {
    std::vector<std::string> all = {"run", "--library", library};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--", "sh", "-c", print});
    return run({all, set});
  };
  EXPECT_EQ(threads({}, {}).out, "none\n");
  const Outcome fitted = threads({"--fit"}, {});
  EXPECT_GE(std::atoi(fitted.out.c_str()), 1) << fitted.err;
  EXPECT_NE(fitted.err.find("smelt: --fit: "), std::string::npos) << fitted.err;
  // Where a quota is shared, the others may want more or less by then.
  for (const Outcome& again :
       {threads({}, {{"SMELT_FIT", "1"}}), threads({"--fit"}, {{"OMP_NUM_THREADS", "100000"}})}) {
    if ((fitted.err + again.err).find("others in the group") == std::string::npos)
      EXPECT_EQ(again.out, fitted.out);
    else
      EXPECT_GE(std::atoi(again.out.c_str()), 1) << again.err;
  }
  EXPECT_EQ(threads({"--fit"}, {{"OMP_NUM_THREADS", "1"}}).out, "1\n");
  EXPECT_EQ(threads({"--fit", "--stock"}, {}).out, "none\n");
}

}  // namespace
}  // namespace smelt::test
