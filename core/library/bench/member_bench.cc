// Members that come and go (core/library/agree), between threads.
//
//   member/join_leave/<n>   one joins, leaves, and the n - 1 others receive both views; one thread does it all, so this
//                           is what the calls cost, mending and the others' receiving included
//   member/exclude/<n>      the same, but the one is taken out by another
//   member/message/<n>      one sends 8 bytes and n receive them, all by one thread: what the calls cost
//   member/ping_pong        8 bytes there and back between two threads: two messages, each received by both
//
// Time is per such step.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <smelt/member.h>

namespace {

void must(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "member_bench: %s: error %d\n", what, -error);
  std::exit(1);
}

struct Team {
  smelt_membership* membership = nullptr;
  std::vector<smelt_member*> members;

  explicit Team(unsigned n, unsigned places) {
    const smelt_member_terms terms{places, 1024, 8, -1};
    must(smelt_membership_create(&terms, &membership), "create");
    for (unsigned i = 0; i < n; ++i) members.push_back(join());
    receive();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    for (smelt_member* member : members) smelt_member_leave(member);
    smelt_membership_free(membership);
  }
  smelt_member* join() {
    smelt_member* member = nullptr;
    must(smelt_member_join(membership, SMELT_MEMBER_ANY, SMELT_MEMBER_ANY, 0, &member), "join");
    return member;
  }
  void receive() {
    smelt_member_event event;
    uint64_t data;
    for (smelt_member* member : members)
      while (smelt_member_try_receive(member, &data, sizeof data, &event) == 0) {
      }
  }
};

void join_leave(benchmark::State& state, unsigned n, bool exclude) {
  Team team(n - 1, n);
  for (auto _ : state) {
    smelt_member* member = team.join();
    team.receive();
    if (exclude) must(smelt_member_exclude(team.members[0], smelt_member_place(member)), "exclude");
    smelt_member_leave(member);
    team.receive();
  }
}

void message(benchmark::State& state, unsigned n) {
  Team team(n, n);
  uint64_t data = 0;
  for (auto _ : state) {
    must(smelt_member_send(team.members[0], &++data, sizeof data), "send");
    smelt_member_event event;
    for (smelt_member* member : team.members)
      must(smelt_member_try_receive(member, &data, sizeof data, &event), "receive");
  }
}

// Receives until the other has sent something; false: that it is over.
bool await_from(smelt_member* member, unsigned place) {
  smelt_member_event event;
  uint64_t data = 0;
  do {
    must(smelt_member_receive(member, &data, sizeof data, &event), "receive");
  } while (event.kind != SMELT_MEMBER_MESSAGE || event.place != place);
  return data != 0;
}

void ping_pong(benchmark::State& state) {
  Team team(0, 2);
  smelt_member *here = nullptr, *there = nullptr;
  must(smelt_member_join(team.membership, 0, SMELT_MEMBER_ANY, -1, &here), "join");
  must(smelt_member_join(team.membership, 1, SMELT_MEMBER_ANY, -1, &there), "join");
  team.members = {here, there};
  uint64_t data = 1;
  std::thread peer([there, data] {
    while (await_from(there, 0)) must(smelt_member_send(there, &data, sizeof data), "send");
  });
  for (auto _ : state) {
    must(smelt_member_send(here, &data, sizeof data), "send");
    await_from(here, 1);
  }
  data = 0;
  must(smelt_member_send(here, &data, sizeof data), "send");
  peer.join();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const unsigned n : {2u, 8u, 32u, 128u}) {
    const std::string of = std::string("/").append(std::to_string(n));
    const auto add = [&of](const char* name, auto body) {
      benchmark::RegisterBenchmark((name + of).c_str(), body)->Unit(benchmark::kMicrosecond);
    };
    add("member/join_leave", [n](benchmark::State& state) { join_leave(state, n, false); });
    add("member/exclude", [n](benchmark::State& state) { join_leave(state, n, true); });
    add("member/message", [n](benchmark::State& state) { message(state, n); });
  }
  benchmark::RegisterBenchmark("member/ping_pong", ping_pong)->Unit(benchmark::kMicrosecond)->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
