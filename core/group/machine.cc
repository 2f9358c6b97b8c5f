#include "group/machine.h"

#include <pthread.h>
#include <new>

#include "base/fingerprint.h"
#include "base/log.h"
#include "base/options.h"
#include "group/group.h"
#include "policy/canary.h"
#include "profile/profile.h"

namespace smelt {
namespace {

Profile loaded, guess;  // written once, by load_once() and guess_only_once()
bool have_profile = false, have_guess = false, may_be_moved = false;  // likewise
pthread_once_t profile_once = PTHREAD_ONCE_INIT, guess_once = PTHREAD_ONCE_INIT;

Profile rescaled;  // the loaded one under what the canary found
KnownMachine as_loaded, as_found;
// release by the canary; acquire by the maker of a group
std::atomic<const KnownMachine*> known{&as_loaded};
std::atomic<bool> checked{false};  // the canary has been asked

uint64_t hash_of(const Profile& machine) {
  // The file's own checksum covers everything in it; a guess has none.
  if (machine.header.checksum != 0) return machine.header.checksum;
  const uint64_t hash = fnv1a(machine.os_cpu, machine.header.cpus * sizeof *machine.os_cpu);
  return fnv1a(machine.costs.hop, size_t{machine.header.cpus} * machine.header.cpus * sizeof(float), hash);
}

void load_once() {
  Refusal why;
  have_profile = load_profile(&loaded, &why) == 0;
  may_be_moved = is_virtual_machine();
  if (have_profile) as_loaded = {&loaded, hash_of(loaded)};
}
void guess_only_once() { have_guess = guess_profile(nullptr, &guess) == 0; }

// All participants come to the same: by the plan, which is everybody's, and the introductions.
bool is_to_ask(const Group& group) {
  const Profile* const profile = group.plan.profile;
  if (!group.plan.cpus || profile != group.machine->profile || profile->source == ProfileSource::kGuess ||
      profile->costs.unit != CostUnit::kNanoseconds)
    return false;
  for (uint32_t i = 0; i < group.n; ++i) {
    const Introduction& who = group.introduction(i);
    if (who.checked || who.local_processes != group.n) return false;
  }
  return true;
}

struct Finding {
  float factor[kDistances];
  bool drifted;
};

Finding ask(Group& group, Canary& canary) {
  uint32_t seen_on[kMaxParticipants];
  for (uint32_t i = 0; i < group.n; ++i) seen_on[i] = group.introduction(i).seen_on;
  const CanaryReport report = canary.lead(*group.machine->profile, group.n, seen_on);
  Finding finding;
  finding.drifted = canary_factors(report, finding.factor);
  if (options().verbose >= (finding.drifted ? 1 : 2)) {
    char text[kCanaryText];
    describe_canary(report, finding.drifted, text, sizeof text);
    log_line("%s", text);
  }
  return finding;
}

// It is called once in this process, for the loaded profile.
int adopt(const Finding& finding) {
  if (const int error = rescale_profile(loaded, finding.factor, &rescaled)) return error;
  as_found = {&rescaled, fnv1a(finding.factor, sizeof finding.factor, as_loaded.hash)};
  known.store(&as_found, std::memory_order_release);
  return 0;
}

}  // namespace

const KnownMachine* known_machine() {
  pthread_once(&profile_once, load_once);
  return known.load(std::memory_order_acquire);
}

// relaxed, as the store: a participant of a group that asks comes from the group before, in its own order.
bool machine_is_checked() { return checked.load(std::memory_order_relaxed) || !options().canary; }

bool machine_may_be_moved() { return may_be_moved; }

const Profile* common_profile(const Group& group) {
  for (uint32_t i = 1; i < group.n; ++i) {
    if (group.introduction(i).profile == group.introduction(0).profile) continue;
    // Somebody calibrated between two processes' starts. The kernel's description is the same for all.
    pthread_once(&guess_once, guess_only_once);
    return have_guess ? &guess : nullptr;
  }
  return group.machine->profile;
}

int check_machine(Group& group) {
  if (!is_to_ask(group)) return 0;
  checked.store(true, std::memory_order_relaxed);
  static_assert(sizeof(Canary) <= sizeof group.front->canary);
  Canary& canary = *std::launder(reinterpret_cast<Canary*>(group.front->canary));  // made by participant 0
  Finding finding;
  if (group.me == 0) {
    finding = ask(group, canary);
  } else {
    while (!canary.asked())
      if (group.host.progress) group.host.progress(group.host.context);
    canary.play(group.me);
  }
  if (group.host.broadcast(group.host.context, &finding, sizeof finding) != 0) return -EIO;
  if (!finding.drifted) return 0;
  int64_t error = adopt(finding);
  if (group.host.minimum(group.host.context, &error, 1) != 0) return -EIO;
  if (error != 0) {  // one without memory: nobody
    known.store(&as_loaded, std::memory_order_release);
    return 0;
  }
  group.machine = known_machine();
  return 1;
}

}  // namespace smelt
