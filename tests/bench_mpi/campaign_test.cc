// What is read out of mpirun's own words, and which settings of the user's shell reach the runs.
#include "bench/mpi/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

using namespace smelt::bench;
using smelt::epcc::Finished;

namespace {

TEST(Explain, OurLineBeforeMpirunsBanner) {
  const Finished run{false, "exit status 1: -----", "",
                     "-----\nMPI_ABORT was invoked\n-----\nmpi_sweep: WRONG RESULT: bcast\n-----\n"};
  EXPECT_EQ(explain(run), "exit status 1: mpi_sweep: WRONG RESULT: bcast");
}

TEST(Explain, ElseTheFirstLineThatSaysSomething) {
  const Finished run{false, "exit status 213: -----", "", "\n------\nThere are not enough slots\nby now\n------"};
  EXPECT_EQ(explain(run), "exit status 213: There are not enough slots");
}

TEST(Explain, WithoutWordsTheStatus) {
  EXPECT_EQ(explain({false, "still running after 135 s", "", ""}), "still running after 135 s");
}

TEST(MentionsComponent, NotPartsOfNames) {
  const std::string verbose =
      "[vm:1] mca: base: components_register: found loaded component han\n"
      "[vm:1] mca: base: components_open: component smelt open function successful\n"
      "[vm:1] mca: base: components_open: found loaded component tuned";
  for (const char* name : {"tuned", "han", "smelt"}) EXPECT_TRUE(mentions_component(verbose, name)) << name;
  for (const char* name : {"sm", "xhc"}) EXPECT_FALSE(mentions_component(verbose, name)) << name;
}

// Two ranks speak at once, and MPI_COMM_SELF follows, where coll/self has priority 75.
TEST(ChosenComponent, IsTheOneOfHighestPriorityForTheWorld) {
  EXPECT_EQ(chosen_component("[vm:1] coll:find_available: coll component tuned is available\n"
                             "[vm:1] coll:base:comm_select: new communicator: MPI_COMM_WORLD (cid 0)\n"
                             "[vm:2] coll:base:comm_select: new communicator: MPI_COMM_WORLD (cid 0)\n"
                             "[vm:1] coll:base:comm_select: component available: tuned, priority: 30\n"
                             "[vm:2] coll:base:comm_select: new communicator: MPI_COMM_SELF (cid 1)\n"
                             "[vm:2] coll:base:comm_select: component available: self, priority: 75\n"
                             "[vm:1] coll:base:comm_select: component available: smelt, priority: 40\n"
                             "[vm:1] coll:base:comm_select: component not available: self\n"
                             "[vm:1] coll:base:comm_select: component available: basic, priority: 10\n"
                             "[vm:1] coll:base:comm_select: new communicator: MPI_COMM_SELF (cid 1)\n"
                             "[vm:1] coll:base:comm_select: component available: self, priority: 75\n"),
            "smelt");
  // Ranks tear each other's lines.
  EXPECT_EQ(chosen_component("[vm:1] coll:base:comm_select: new communicator: MPI_COMM_WORLD (cid 0)\n"
                             "[vm:1] coll:base:comm_select: component available: tuned, priority: 30\n"
                             "[vm:1] coll:ba[vm:2] coll:base:comm_select: component available: tuned, priority: 30\n"
                             "se:comm_select: new communicator: MPI_COMM_SELF (cid 1)\n"
                             "[vm:1] coll:base:comm_select: component available: self, priority: 75\n"),
            "tuned");
  EXPECT_EQ(chosen_component("[vm:1] coll:base:comm_select: new communicator: MPI_COMM_WORLD (cid 0)\n"
                             "[vm:2] coll:base:comm_select: new communicator: MPI_COMM_WORLD (cid 0)\n"
                             "[vm:1] coll:base:comm_select: component available: libnbc, priority: 10\n"
                             "[vm:1] coll:base:comm_sel[vm:2] coll:base:comm_select: component not available: sm\n"
                             "ect: component available: tuned, priority: 30\n"
                             "[vm:2] coll:base:comm_select: component available: tuned, priority: 30\n"),
            "tuned");
  EXPECT_EQ(chosen_component("nothing of that kind\n"), "");
  EXPECT_EQ(chosen_component(""), "");
}

TEST(CommonEnvironment, DropsWhatWouldMakeOneSideAnother) {
  setenv("OMPI_MCA_coll", "basic", 1);
  setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
  setenv("OMPI_MCA_coll_smelt_priority", "0", 1);
  setenv("OMPI_MCA_mca_base_component_path", "/nowhere", 1);
  setenv("OMPI_MCA_coll_smelt_verbose", "1", 1);
  setenv("OMPI_MCA_btl", "self,vader", 1);
  EXPECT_EQ(shown_settings(common_environment()),
            (std::vector<std::string>{"OMPI_MCA_btl=self,vader", "OMPI_MCA_coll_smelt_verbose=1"}));
}

}  // namespace
