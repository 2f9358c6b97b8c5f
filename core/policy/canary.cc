#include "policy/canary.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/os/os.h"

namespace smelt {
namespace {

constexpr int kTrips = 8;     // of a batch: 1 µs between near CPUs, against which the clock's 20 ns are little
constexpr int kWarmUp = 2;    // batches; lines and cores find their state
constexpr int kBatches = 12;  // wanted
constexpr int kEnough = 3;    // where the time is up before
constexpr uint64_t kNoAnswer = ~0ull;  // an answer: none came in time
constexpr uint64_t kOver = ~0ull;      // an epoch: no more pings
constexpr int kPollsPerLook = 64;      // at the clock
// First threads of pairs that are tried with all others: on 1,024 CPUs a look at all pairs would take milliseconds.
constexpr uint32_t kFirsts = 8;

// One pair per class of distance, of different threads.
uint32_t choose_pairs(const Profile& profile, uint32_t n, const uint32_t* cpus, CanaryPair* out) {
  uint32_t count = 0, firsts = 0;
  bool class_taken[kDistances] = {};
  const auto taken = [&](uint32_t thread) {
    for (uint32_t p = 0; p < count; ++p)
      if (out[p].thread[0] == thread || out[p].thread[1] == thread) return true;
    return false;
  };
  for (uint32_t i = 0; i < n && firsts < kFirsts && count < kCanaryPairs; ++i) {
    const uint16_t a = profile_index(profile, cpus[i]);
    if (a == kNobody || taken(i)) continue;
    ++firsts;
    for (uint32_t j = i + 1; j < n; ++j) {
      const uint16_t b = profile_index(profile, cpus[j]);
      if (b == kNobody || b == a || taken(j)) continue;
      const Distance distance = distance_in(profile, a, b);
      bool& seen = class_taken[static_cast<uint32_t>(distance)];
      const Costs& costs = profile.costs;
      const float known = (costs.hop[costs.at(a, b)] + costs.hop[costs.at(b, a)]) / 2;
      if (seen || !(known > 0)) continue;
      seen = true;
      out[count++] = {{static_cast<uint16_t>(i), static_cast<uint16_t>(j)}, {cpus[i], cpus[j]}, distance, known, 0};
      break;  // i is taken
    }
  }
  return count;
}

bool drifted(const CanaryPair& pair) {
  return pair.hop > 0 && std::max(pair.hop, pair.known) > kCanaryDrift * std::min(pair.hop, pair.known);
}

}  // namespace

bool Canary::await(const Epoch& flag, uint64_t epoch) {
  for (;;) {
    for (int i = 0; i < kPollsPerLook; ++i) {
      if (poll(flag, epoch)) return true;
      cpu_pause();
    }
    if (os::now_ns() > deadline_) return false;
  }
}

// The hop in picoseconds, or kNoAnswer.
uint64_t Canary::ask(Table& table, uint32_t cpu) {
  int64_t batch[kBatches];  // ascending
  int kept = 0;
  uint64_t epoch = 0;
  bool heard = os::current_cpu() == cpu;
  const int64_t first_look = os::now_ns();
  int64_t now = os::now_ns();
  const int64_t clock_ns = now - first_look;  // not always cheap in a virtual machine
  for (int turn = 0; heard && turn < kWarmUp + kBatches && now < deadline_; ++turn) {
    const int64_t start = now;
    for (int i = 0; heard && i < kTrips; ++i) {
      post(table.ping, ++epoch);
      heard = await(table.pong.epoch, epoch);
    }
    now = os::now_ns();
    if (!heard || turn < kWarmUp) continue;
    int at = kept++;
    for (; at > 0 && batch[at - 1] > now - start; --at) batch[at] = batch[at - 1];
    batch[at] = now - start;
  }
  post(table.ping, kOver);
  if (kept < kEnough || os::current_cpu() != cpu) return kNoAnswer;
  // The median: an interrupt spoils a batch or two. Batches that a slow pair could not finish before the deadline are
  // not needed.
  const int64_t ps = (batch[kept / 2] - clock_ns) * 1000 / (2 * kTrips);
  return ps > 0 ? static_cast<uint64_t>(ps) : kNoAnswer;
}

// True: we were on `cpu` all the time, as far as can be told.
bool Canary::reply(Table& table, uint32_t cpu) {
  bool stayed = os::current_cpu() == cpu;
  for (uint64_t epoch = 1; await(table.ping.epoch, epoch); ++epoch) {
    if (table.ping.epoch.load(std::memory_order_relaxed) == kOver) return stayed && os::current_cpu() == cpu;
    post(table.pong, epoch);
  }
  return false;
}

void Canary::play(uint32_t me) {
  for (uint32_t p = 0; p < count_; ++p) {
    Table& table = table_[p];
    // Release, both: an answer is complete when it is seen.
    if (pair_[p].thread[0] == me)
      table.answer.store(ask(table, pair_[p].cpu[0]), std::memory_order_release);
    else if (pair_[p].thread[1] == me)
      table.partner.store(reply(table, pair_[p].cpu[1]) ? 1 : 2, std::memory_order_release);
  }
}

CanaryReport Canary::lead(const Profile& profile, uint32_t n, const uint32_t* cpus) {
  const int64_t began = os::now_ns();
  count_ = choose_pairs(profile, n, cpus, pair_);
  deadline_ = os::now_ns() + kCanaryNs;
  post(go_, 1, PostOrder::kFenced);
  play(0);
  CanaryReport report;
  report.count = count_;
  for (uint32_t p = 0; p < count_; ++p) {
    report.pair[p] = pair_[p];
    uint64_t answer = 0;
    uint32_t partner = 0;
    while ((answer = table_[p].answer.load(std::memory_order_acquire)) == 0 ||
           (partner = table_[p].partner.load(std::memory_order_acquire)) == 0) {
      if (os::now_ns() > deadline_) break;
      cpu_pause();
    }
    if (answer != 0 && answer != kNoAnswer && partner == 1) report.pair[p].hop = static_cast<float>(answer) / 1000;
  }
  report.took_ns = os::now_ns() - began;
  return report;
}

void Canary::follow(uint32_t me, const WaitPolicy& policy) {
  if (!wait_briefly(go_.epoch, 1, policy)) wait_slowly(go_, 1, nullptr, policy);
  play(me);
}

bool canary_factors(const CanaryReport& report, float (&factor)[kDistances]) {
  std::fill(factor, factor + kDistances, 1.0f);
  bool any = false;
  for (uint32_t p = 0; p < report.count; ++p) {
    const CanaryPair& pair = report.pair[p];
    if (!drifted(pair)) continue;
    factor[static_cast<uint32_t>(pair.distance)] = pair.hop / pair.known;
    any = true;
  }
  return any;
}

void describe_canary(const CanaryReport& report, bool any_drifted, char* text, size_t room) {
  size_t used = 0;
  const auto add = [&](int length) { used = std::min(used + static_cast<size_t>(std::max(length, 0)), room - 1); };
  add(std::snprintf(text, room, "%s",
                    any_drifted ? "the machine is not as it was measured: " : "the profile holds as far as asked: "));
  if (report.count == 0) add(std::snprintf(text + used, room - used, "no two threads on different CPUs that it knows"));
  for (uint32_t p = 0; p < report.count; ++p) {
    const CanaryPair& pair = report.pair[p];
    add(std::snprintf(text + used, room - used, "%sCPUs %u and %u, %s: ", p ? "; " : "", pair.cpu[0], pair.cpu[1],
                      distance_name(pair.distance)));
    if (pair.hop > 0)
      add(std::snprintf(text + used, room - used, "a hop takes %.0f ns, was %.0f", static_cast<double>(pair.hop),
                        static_cast<double>(pair.known)));
    else
      add(std::snprintf(text + used, room - used, "no answer in time"));
  }
  std::snprintf(text + used, room - used, " (asked for %lld us)%s", static_cast<long long>(report.took_ns / 1000),
                any_drifted ? "; patterns are chosen for what was found; run 'smelt calibrate'" : "");
}

int rescale_profile(const Profile& from, const float (&factor)[kDistances], Profile* out) {
  void* image = os::map_pages(from.mapped_bytes);
  if (!image) return -ENOMEM;
  std::memcpy(image, from.mapping, from.mapped_bytes);
  Profile made = from;
  attach_image(image, &made);
  made.mapping = image;
  made.header.winners = made.header.winner_words = 0;
  made.winners = nullptr;
  made.winner_words = nullptr;
  auto* base = static_cast<char*>(image);
  const PackedLayout at = packed_layout(counts_of(from.header));
  const uint32_t n = from.header.cpus;
  for (const uint64_t matrix : {at.hop, at.send_busy, at.recv_busy, at.ready_read}) {
    auto* costs = reinterpret_cast<float*>(base + matrix);
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t j = 0; j < n; ++j)
        if (i != j) costs[size_t{i} * n + j] *= factor[static_cast<uint32_t>(distance_in(from, i, j))];
  }
  for (uint32_t d = 0; d < kDistances; ++d) made.costs.service[d] *= factor[d];
  *out = made;
  return 0;
}

}  // namespace smelt
