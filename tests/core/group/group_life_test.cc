// Groups that cannot be made, disagree, come and go: all participants get the same answer, and nothing grows or stays
// behind.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <csignal>
#include <cstdlib>
#include <string>

#include "../sanitized.h"
#include "address_space.h"
#include "group/group.h"
#include "here.h"
#include "processes.h"

namespace smelt::test {
namespace {

int create_error(unsigned n, const std::function<void(Seat&)>& before, int expected) {
  return run_processes(n, [&](Seat& seat) {
    before(seat);
    const smelt_host host = host_of(&seat);
    smelt_group* group = nullptr;
    const int error = smelt_group_create(&host, n, seat.me, &group);
    EXPECT_HERE(error == expected, "participant %u: %d instead of %d", seat.me, error, expected);
    EXPECT_HERE((error == 0) == (group != nullptr), "participant %u: error and group", seat.me);
    smelt_group_free(group);
    return 0;
  });
}

TEST(GroupLife, NoMemoryForTheLeader) {
  EXPECT_EQ(create_error(
                3,
                [](Seat& seat) {
                  if (seat.me == 0) setenv("SMELT_SHM_MB", "0", 1);
                },
                -ENOMEM),
            0);
}

// ulimit -f: a file beyond it would end the process with SIGXFSZ.
TEST(GroupLife, FileSizeLimit) {
  const auto limit = [](Seat&) {
    const rlimit small{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &small);
  };
  EXPECT_EQ(create_error(2, limit, -ENOMEM), 0);
}

TEST(GroupLife, AddressSpaceOfOneFollower) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow takes more address space than that";
  if (!address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS has no effect here, as under qemu-user";
  const auto limit = [](Seat& seat) {
    if (seat.me == 1) limit_address_space();
  };
  EXPECT_EQ(create_error(3, limit, -ENOMEM), 0);
}

TEST(GroupLife, DifferentSettings) {
  EXPECT_EQ(create_error(
                3, [](Seat& seat) { set_setting("SMELT_TUNE=chunk", seat.me == 2 ? "512" : "1024"); }, -EINVAL),
            0);
}

// Who hears last that the group was refused must hear it all the same, though the leader has long put the memory to
// another use: its next group, of participants who agree.
TEST(GroupLife, RefusedWhileTheMemoryIsInUseAgain) {
  Meeting* const refused = Meeting::open(3);
  Meeting* const served = Meeting::open(3);
  Meeting* const gate = Meeting::open(2);
  struct Late : MeetingRank {
    Meeting* gate = nullptr;
  };
  const auto create = [](smelt_host host, int expected) {
    const auto& member = *static_cast<MeetingRank*>(host.context);
    smelt_group* group = nullptr;
    const int error = smelt_group_create(&host, member.n, member.me, &group);
    EXPECT_HERE(error == expected, "participant %u: %d instead of %d", member.me, error, expected);
    return 0;  // the group is left to the end of the process
  };
  const int failed = run_processes(5, [&](Seat& seat) {
    if (seat.me == 1) set_setting("SMELT_TUNE=chunk", "512");
    if (seat.me < 3) {
      Late member;
      static_cast<MeetingRank&>(member) = {refused, 3, seat.me};
      smelt_host host = host_of_rank(&member);
      if (seat.me == 2) {
        member.gate = gate;
        host.minimum = [](void* context, int64_t* values, int count) {
          const int error = host_minimum(context, values, count);
          static_cast<Late*>(static_cast<MeetingRank*>(context))->gate->meet();
          return error;
        };
      }
      if (create(host, -EINVAL) != 0) return 1;
    }
    if (seat.me == 0 || seat.me > 2) {
      MeetingRank member{served, 3, seat.me == 0 ? 0 : seat.me - 2};
      if (create(host_of_rank(&member), 0) != 0) return 1;
    }
    if (seat.me == 0) gate->meet();
    return 0;
  });
  EXPECT_EQ(failed, 0);
  for (Meeting* meeting : {refused, served, gate}) munmap(meeting, sizeof *meeting);
}

TEST(GroupLife, UnknownPattern) {
  EXPECT_EQ(create_error(
                2, [](Seat&) { set_setting("SMELT_TUNE=pattern", "daisy"); }, 0),
            0)
      << "said, and the default is used";
}

// Not one participant's process is where its ticket says: what another machine's ranks would see.
TEST(GroupLife, TicketFromElsewhere) {
  const int failed = run_processes(2, [](Seat& seat) {
    smelt_host host = host_of(&seat);
    host.broadcast = [](void* context, void* data, size_t bytes) {
      const int error = host_broadcast(context, data, bytes);
      if (static_cast<MeetingRank*>(context)->me == 1)
        static_cast<BlockTicket*>(data)->process = 1;  // init has no such file
      return error;
    };
    smelt_group* group = nullptr;
    EXPECT_HERE(smelt_group_create(&host, 2, seat.me, &group) == -ENOTSUP, "participant %u", seat.me);
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

unsigned lines_of(const char* path) {
  unsigned lines = 0;
  if (FILE* file = std::fopen(path, "r")) {
    for (int c; (c = std::fgetc(file)) != EOF;) lines += c == '\n';
    std::fclose(file);
  }
  return lines;
}

TEST(GroupLife, ComingAndGoingDoesNotGrow) {
  const int failed = run_processes(3, [](Seat& seat) {
    const smelt_host host = host_of(&seat);
    unsigned maps = 0;
    for (int round = 0; round < 600; ++round) {
      smelt_group *a = nullptr, *b = nullptr;
      EXPECT_HERE(smelt_group_create(&host, 3, seat.me, &a) == 0, "first group");
      EXPECT_HERE(smelt_group_create(&host, 3, seat.me, &b) == 0, "second group");
      char data[600] = "";
      if (seat.me == 2) std::snprintf(data, sizeof data, "round %d", round);
      const smelt_data where{data, nullptr, nullptr, nullptr};
      EXPECT_HERE(smelt_group_broadcast(a, &where, sizeof data, 2) == 0, "broadcast");
      EXPECT_HERE(data == "round " + std::to_string(round), "got %s", data);
      smelt_group_barrier(b);
      smelt_group_free(a);
      smelt_group_free(b);
      if (round == 50) maps = lines_of("/proc/self/maps");
    }
    // One more than then would be one every 550 rounds: what is not bounded by that grows.
    EXPECT_HERE(lines_of("/proc/self/maps") <= maps + 1, "maps grew from %u to %u", maps, lines_of("/proc/self/maps"));
    smelt_groups_end();
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// A participant that waits lets its host work.
TEST(GroupLife, ProgressWhileWaiting) {
  const int failed = run_processes(2, [](Seat& seat) {
    const smelt_host host = host_of(&seat);
    smelt_group* group = nullptr;
    EXPECT_HERE(smelt_group_create(&host, 2, seat.me, &group) == 0, "create");
    if (seat.me == 1) usleep(20000);
    smelt_group_barrier(group);
    EXPECT_HERE(seat.me == 1 || seat.progress_calls > 10, "progress was called %llu times",
                static_cast<unsigned long long>(seat.progress_calls));
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// The leader dies in the middle: its memory lives on in the others, and no name of it was ever anywhere.
TEST(GroupLife, LeaderDies) {
  const int failed = run_processes(2, [](Seat& seat) {
    const smelt_host host = host_of(&seat);
    smelt_group* group = nullptr;
    EXPECT_HERE(smelt_group_create(&host, 2, seat.me, &group) == 0, "create");
    char data[8] = "hello";
    const smelt_data where{data, nullptr, nullptr, nullptr};
    if (seat.me == 0) {
      smelt_group_broadcast(group, &where, sizeof data, 0);
      kill(getpid(), SIGKILL);
    }
    usleep(50000);
    std::memset(data, 0, sizeof data);
    EXPECT_HERE(smelt_group_broadcast(group, &where, sizeof data, 0) == 0 && std::string(data) == "hello", "broadcast");
    return 0;
  });
  EXPECT_EQ(failed, 1);  // the leader, by its signal
}

TEST(GroupLife, DescribesItself) {
  const int failed = run_processes(2, [](Seat& seat) {
    set_setting("SMELT_TUNE=flat_limit", "4096");
    set_setting("SMELT_TUNE=copy_limit", "65536");
    const smelt_host host = host_of(&seat);
    smelt_group* group = nullptr;
    EXPECT_HERE(smelt_group_create(&host, 2, seat.me, &group) == 0, "create");
    std::string text;
    char line[256];
    for (const smelt_collective which :
         {SMELT_COLLECTIVE_BARRIER, SMELT_COLLECTIVE_BROADCAST, SMELT_COLLECTIVE_REDUCE, SMELT_COLLECTIVE_ALLREDUCE}) {
      for (unsigned i = 0; smelt_group_describe(group, which, i, line, sizeof line) >= 0; ++i)
        text += std::string(line) + "\n";
    }
    for (const char* wanted :
         {"pair", "<= 24 B: inline, both", "<= 280 B: inline", "<= 4 KiB: through shared memory in one piece",
          "<= 64 KiB: through shared memory, sliced", "longer: single copy"})
      EXPECT_HERE(text.find(wanted) != std::string::npos, "'%s' is missing in\n%s", wanted, text.c_str());
    EXPECT_HERE(smelt_group_describe(group, SMELT_COLLECTIVE_REDUCE, 99, line, sizeof line) == -ENOENT, "past the end");
    EXPECT_HERE(smelt_group_summary(group, line, sizeof line) > 0 && std::strstr(line, "2 participants"), "%s", line);
    EXPECT_HERE(smelt_group_crowded(group) == (std::strstr(line, "crowded") != nullptr), "%s", line);
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// One participant's host says so, and all know.
TEST(GroupLife, KnowsACrowd) {
  for (const bool told : {false, true}) {
    const int failed = run_processes(2, [&](Seat& seat) {
      setenv("SMELT_CPUS", "2", 1);
      smelt_host host = host_of(&seat);
      host.local_processes = 2;
      host.crowded = told && seat.me == 1;
      smelt_group* group = nullptr;
      EXPECT_HERE(smelt_group_create(&host, 2, seat.me, &group) == 0, "create");
      EXPECT_HERE(smelt_group_crowded(group) == told, "told: %d", told);
      return 0;
    });
    EXPECT_EQ(failed, 0);
  }
}

}  // namespace
}  // namespace smelt::test
