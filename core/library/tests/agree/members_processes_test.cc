// Members of several processes: the same, whoever is killed or stopped besides.
#include <atomic>
#include <csignal>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "diaries.h"

namespace smelt::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

class MembersOfProcesses : public testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "it does not look into other processes";
  }
};

// Joins, talks and leaves, so many times or (negative) for ever. 0, or what went wrong.
int visit(const smelt_member_ticket& ticket, Diaries& diaries, size_t limit, int turns, unsigned most, unsigned seed) {
  const Membership membership = attached(ticket);
  if (!membership) return 1;
  std::mt19937 random(seed);
  for (int turn = 0; turn != turns; ++turn) {
    smelt_member* made = nullptr;
    const int error = smelt_member_join(membership.get(), SMELT_MEMBER_ANY, -1, kLong, &made);
    if (error == -EBUSY || error == -ESTALE) {
      std::this_thread::yield();
      continue;
    }
    if (error != 0) return 2;
    Diary* diary = most == 0 ? nullptr : diaries.fresh();
    if (diary) {
      Writer writer{made, diary, limit};
      const int result = writer.talk(random() % most, 20us);
      if (result != 0 && result != -ESTALE && result != -ENOSPC) return 3;
    }
    smelt_member_leave(made);
  }
  return 0;
}

TEST_F(MembersOfProcesses, ComeAndGo) {
  Diaries diaries;
  smelt_member_ticket ticket;
  const Membership membership = for_processes(4, 64, 100, &ticket);
  const Member first = join(membership);
  Writer writer{first.get(), diaries.fresh(), 100};
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 3; ++i)
    children.push_back(in_another_process([&] { return visit(ticket, diaries, 100, 40, 60, i); }));
  size_t left = children.size();
  while (left > 0) {
    ASSERT_EQ(writer.receive_all(), 0);
    int status;
    for (pid_t& child : children) {
      if (child == 0 || waitpid(child, &status, WNOHANG) != child) continue;
      EXPECT_EQ(status, 0);
      child = 0;
      --left;
    }
    std::this_thread::yield();
  }
  ASSERT_EQ(writer.receive_all(), 0);
  diaries.check(writer.diary);
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 1);
}

// Killed at any time, in the middle of whatever they do; `most` 0: they do nothing but make views.
void kill_at_random(int kills, unsigned most, unsigned messages) {
  Diaries diaries;
  smelt_member_ticket ticket;
  constexpr size_t kLimit = 60;
  const Membership membership = for_processes(4, messages, kLimit, &ticket);
  const Member first = join(membership, SMELT_MEMBER_ANY, 2'000'000);
  ASSERT_TRUE(first);
  Writer writer{first.get(), diaries.fresh(), kLimit};
  std::mt19937 random(most + 7);
  std::vector<pid_t> children(3);
  const auto spawn = [&] {
    const unsigned seed = random();
    return in_another_process([&, seed] { return visit(ticket, diaries, kLimit, -1, most, seed); });
  };
  for (pid_t& child : children) child = spawn();
  uint64_t views = 0;
  for (int killed = 0; killed < kills; ++killed) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 8000);
    do {
      const uint64_t before = writer.diary->records.load();
      const int result = writer.receive(true);
      ASSERT_TRUE(result == 0 || result == -ETIMEDOUT) << result;
      if (most > 0 && random() % 4 == 0 && writer.diary->sent.load() < 2000) {
        const int sent = writer.send();
        ASSERT_TRUE(sent == 0 || sent == -EAGAIN) << sent;
      }
      views += writer.diary->records.load() > before;
    } while (std::chrono::steady_clock::now() < until);
    pid_t& child = children[random() % children.size()];
    ASSERT_EQ(kill(child, SIGKILL), 0);
    // Now and then it is waited for later: until then the kernel knows its number, and it is gone all the same.
    const pid_t gone = child;
    if (random() % 2) {
      ASSERT_EQ(ended(gone), 1000 + SIGKILL);
      child = spawn();
    } else {
      child = spawn();
      ASSERT_EQ(ended(gone), 1000 + SIGKILL);
    }
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  // The survivor finds all of them gone, though nobody has waited for them.
  const auto patience = std::chrono::steady_clock::now() + 30s;
  int result = 0;
  while ((result == 0 || smelt_member_view(first.get(), nullptr, nullptr, 0) > 1) &&
         std::chrono::steady_clock::now() < patience) {
    result = writer.receive(true);
    ASSERT_TRUE(result == 0 || result == -ETIMEDOUT) << result;
  }
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 1);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 1000 + SIGKILL);
  EXPECT_GT(views, static_cast<uint64_t>(kills) / 2);
  diaries.check(writer.diary);
}

TEST_F(MembersOfProcesses, KilledAtRandomWhileAllSend) { kill_at_random(120, 200, 64); }
TEST_F(MembersOfProcesses, KilledInTheMiddleOfViews) { kill_at_random(200, 0, 32); }

// Stopped for longer than the others' patience, they are taken out; going on, they learn it, and come again.
TEST_F(MembersOfProcesses, StoppedOnesAreTakenOutAndComeAgain) {
  Diaries diaries;
  smelt_member_ticket ticket;
  constexpr size_t kLimit = 60;
  // On a busy machine the first one is late, too, but never by so much.
  const Membership membership = for_processes(3, 32, kLimit, &ticket, 5 * kShort);
  const Member first = join(membership);
  ASSERT_TRUE(first);
  Writer writer{first.get(), diaries.fresh(), kLimit};
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 2; ++i)
    children.push_back(in_another_process([&] { return visit(ticket, diaries, kLimit, -1, 1000, i); }));
  std::mt19937 random(5);
  const auto go_on = [&](auto until) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!until() && std::chrono::steady_clock::now() < patience) {
      ASSERT_EQ(writer.receive_all(), 0) << "nobody takes us out";
      writer.send();
      std::this_thread::sleep_for(20us);
    }
  };
  int excluded = 0;
  for (int round = 0; round < 12; ++round) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 20000);
    go_on([&] { return std::chrono::steady_clock::now() >= until; });
    for (const pid_t child : children) ASSERT_EQ(kill(child, SIGSTOP), 0);
    go_on([&] { return smelt_member_view(first.get(), nullptr, nullptr, 0) == 1; });
    excluded += smelt_member_view(first.get(), nullptr, nullptr, 0) == 1;
    for (const pid_t child : children) ASSERT_EQ(kill(child, SIGCONT), 0);
    go_on([&] { return smelt_member_view(first.get(), nullptr, nullptr, 0) > 1; });
  }
  EXPECT_EQ(excluded, 12);
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 1000 + SIGKILL);
  ASSERT_EQ(writer.receive_all(), 0);
  diaries.check(nullptr);
}

// All members are dead: the next one to come is alone, at whatever place.
TEST_F(MembersOfProcesses, TheirPlacesAreTakenAgain) {
  smelt_member_ticket ticket;
  const Membership membership = for_processes(3, 16, 8, &ticket);
  for (int round = 0; round < 10; ++round) {
    std::vector<pid_t> children;
    for (int place = 0; place < 3; ++place) {
      children.push_back(in_another_process([&] {
        const Membership there = attached(ticket);
        const Member member = join(there, place);
        if (!member) return 1;
        smelt_member_event event;
        char room[8];
        while (smelt_member_try_send(member.get(), room, 8) == 0) {
        }
        for (int i = 0; i < place; ++i) smelt_member_try_receive(member.get(), room, 8, &event);
        raise(SIGKILL);
        return 2;
      }));
      ASSERT_EQ(ended(children.back()), 1000 + SIGKILL);
    }
    const Member member = join(membership, round % 3);
    ASSERT_TRUE(member) << round;
    smelt_member_event event;
    char room[8];
    // The first view may have the dead in it, whom nobody has found yet.
    int views = 0;
    do {
      ASSERT_EQ(smelt_member_receive(member.get(), room, 8, &event), 0);
      EXPECT_EQ(event.kind, SMELT_MEMBER_VIEW);
      ASSERT_LE(++views, 3);
    } while (smelt_member_view(member.get(), nullptr, nullptr, 0) != 1);
  }
}

// The dead have left no room for the view that would say so, and not all of them are neighbours of the survivor's.
TEST_F(MembersOfProcesses, ManyDeadAndNoRoom) {
  smelt_member_ticket ticket;
  constexpr int kOthers = 11;
  const Membership membership = for_processes(kOthers + 1, 16, 8, &ticket);
  const Member first = join(membership, 0, 2'000'000);
  ASSERT_TRUE(first);
  smelt_member_event event;
  char room[8] = {};
  std::vector<pid_t> children;
  for (int place = 1; place <= kOthers; ++place) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    children.push_back(in_another_process([&] {
      const Membership there = attached(ticket);
      const Member member = join(there, place);
      if (write(told[1], member ? "y" : "n", 1) == 1) pause();
      return 1;
    }));
    char answer = 0;
    ASSERT_EQ(read(told[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    close(told[0]);
    close(told[1]);
    while (smelt_member_try_receive(first.get(), room, 8, &event) == 0) {
    }
  }
  while (smelt_member_try_send(first.get(), room, 8) == 0) {
  }
  while (smelt_member_try_receive(first.get(), room, 8, &event) == 0) {
  }
  ASSERT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), kOthers + 1);
  for (const pid_t child : children) kill(child, SIGKILL);
  const auto patience = std::chrono::steady_clock::now() + 30s;
  while (smelt_member_view(first.get(), nullptr, nullptr, 0) > 1 && std::chrono::steady_clock::now() < patience) {
    const int result = smelt_member_receive(first.get(), room, 8, &event);
    ASSERT_TRUE(result == 0 || result == -ETIMEDOUT) << result;
  }
  EXPECT_EQ(smelt_member_view(first.get(), nullptr, nullptr, 0), 1);
  for (const pid_t child : children) EXPECT_EQ(ended(child), 1000 + SIGKILL);
}

TEST_F(MembersOfProcesses, TicketsAreLookedAt) {
  smelt_member_ticket ticket;
  Membership membership = for_processes(3, 16, 8, &ticket);
  for (int word = 0; word < 3; ++word) {
    smelt_member_ticket wrong = ticket;
    wrong.word[word] ^= 0x10;  // another name, process, or length
    EXPECT_FALSE(attached(wrong)) << "word " << word;
  }
  const Membership there = attached(ticket);
  ASSERT_TRUE(there);
  membership.reset();
  EXPECT_FALSE(attached(ticket)) << "gone";
  EXPECT_TRUE(join(there)) << "the memory is not";
}

}  // namespace
}  // namespace smelt::test
