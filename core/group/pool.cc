#include "group/pool.h"

#include <cerrno>
#include <cstring>

#include "base/arch/cpu.h"
#include "base/fingerprint.h"
#include "base/options.h"
#include "base/os/os.h"
#include "group/create.h"
#include "group/machine.h"

namespace smelt {
namespace {

// Groups that rest in a process.
constexpr uint32_t kMostResting = 1024;  // each keeps its block mapped

constexpr uint64_t kBoxesInAPage = kPage / sizeof(Box);
constexpr uint64_t boxes_bytes(uint32_t n) { return uint64_t{pool_keys(n)} * sizeof(Box); }
constexpr uint64_t pool_bytes(uint32_t n) { return kPage + n * boxes_bytes(n); }

class Guard {
 public:
  explicit Guard(Pool& pool) : mutex_(pool.mutex) { pthread_mutex_lock(&mutex_); }
  ~Guard() { pthread_mutex_unlock(&mutex_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

// --- letters

// As Group::idle, before there is a group: the process that we wait for may need our CPU, or our host's progress.
template <typename Ready>
void wait_until(const Pool& pool, const smelt_host& host, Ready ready) {
  constexpr int kBurst = 500, kTurn = 16;  // polls: before the first yield (in a crowd kTurn), and between two
  for (int i = pool.crowded ? kBurst - kTurn : 0; i < kBurst; ++i) {
    if (ready()) return;
    cpu_pause();
  }
  for (uint32_t turn = 0;; ++turn) {
    if (turn % 2 == 0 || !host.progress)
      os::yield_cpu();
    else
      host.progress(host.context);
    for (int i = 0; i < kTurn; ++i) {
      if (ready()) return;
      cpu_pause();
    }
  }
}

void write(const Pool& pool, const smelt_host& host, Letter& letter, const Letter::Text& text) {
  wait_until(pool, host, [&] { return letter.full.load(std::memory_order_acquire) == 0; });
  letter.text = text;
  letter.full.store(1, std::memory_order_release);
}

Letter::Text read(const Pool& pool, const smelt_host& host, Letter& letter) {
  wait_until(pool, host, [&] { return letter.full.load(std::memory_order_acquire) != 0; });
  const Letter::Text text = letter.text;
  letter.full.store(0, std::memory_order_release);
  return text;
}

// Our own box of the key lies on our NUMA node. Where there is no memory for its page, that page is taken when it is
// written like any other: nobody could be told.
void take_box(Pool& pool, uint32_t key) {
  const uint64_t page = key / kBoxesInAPage;
  std::atomic<uint64_t>& word = pool.pages[page / 64];
  const uint64_t bit = uint64_t{1} << page % 64;
  if (word.load(std::memory_order_relaxed) & bit) return;  // relaxed, both: of our own memory, and only a hint
  (void)take_block_pages(pool.block, kPage + pool.me * boxes_bytes(pool.n) + page * kPage, kPage);
  word.fetch_or(bit, std::memory_order_relaxed);
}

// --- what rests; with the mutex held

smelt_group*& list_of(Pool& pool, uint64_t signature) { return pool.resting[signature % Pool::kLists]; }

void link(Pool& pool, smelt_group* group) {
  smelt_group*& list = list_of(pool, group->signature);
  group->next_alike = list;
  list = group;
  group->older = pool.newest;
  group->newer = nullptr;
  (pool.newest ? pool.newest->newer : pool.oldest) = group;
  pool.newest = group;
  ++pool.rest_count;
}

void unlink(Pool& pool, smelt_group* group) {
  smelt_group** alike = &list_of(pool, group->signature);
  while (*alike != group) alike = &(*alike)->next_alike;
  *alike = group->next_alike;
  (group->older ? group->older->newer : pool.oldest) = group->newer;
  (group->newer ? group->newer->older : pool.newest) = group->older;
  --pool.rest_count;
}

void drop(Pool& pool, smelt_group* group) {
  unlink(pool, group);
  forget_block(&group->block);
  free_memory(group);
}

void forget(Pool& pool, smelt_group* group) {
  // Just woken: its letter is on its way.
  if (block_is_kept(group->block) && !give_up_block(group->block, group->life)) return;
  drop(pool, group);
}

bool is_of(const smelt_group& group, uint64_t signature, const unsigned* members, uint32_t n) {
  if (group.signature != signature || group.n != n) return false;
  for (uint32_t i = 0; i < n; ++i)
    if (group.members[i] != members[i]) return false;
  return true;
}

// The leader's: nullptr: none of these participants, or not all of them have left it yet.
smelt_group* find_to_wake(Pool& pool, uint64_t signature, const unsigned* members, uint32_t n) {
  const Guard guard(pool);
  smelt_group* next;
  for (smelt_group* group = list_of(pool, signature); group; group = next) {
    next = group->next_alike;
    if (!is_of(*group, signature, members, n)) continue;
    if (!block_is_kept(group->block)) {
      drop(pool, group);
    } else if (group->crowded != group->plan.crowded) {
      forget(pool, group);  // the next one is planned by the CPUs of now
    } else if (wake_block(group->block, n, group->life, group->trace)) {
      unlink(pool, group);
      return group;
    }
  }
  return nullptr;
}

// The others': the group that the leader has woken.
smelt_group* find_woken(Pool& pool, uint64_t signature, const BlockTicket& ticket) {
  const Guard guard(pool);
  for (smelt_group* group = list_of(pool, signature); group; group = group->next_alike) {
    if (group->ticket.segment != ticket.segment || group->ticket.offset != ticket.offset ||
        group->ticket.use != ticket.use)
      continue;
    unlink(pool, group);
    return group;
  }
  return nullptr;
}

// All that the participants must have alike for the group to go on. `broken` and the like have been looked at.
uint64_t trace_of(const Group& group) {
  const uint64_t seen[] = {group.calls, group.episode,       group.pieces, static_cast<uint64_t>(group.copy_agreement),
                           group.life,  group.trials.tried()};
  return fnv1a(seen, sizeof seen);
}

bool may_rest(const Group& group) {
  const auto is_settled = [](Group::Agreement agreement) {
    return agreement == Group::Agreement::kNotAsked || agreement >= Group::Agreement::kGranted;
  };
  return !group.broken && group.completed == group.started && is_settled(group.shelf_agreement) &&
         is_settled(group.copy_agreement);
}

void give_shelves_back(Group& group) {
  release_block(&group.shelf_block);
  group.shelves = nullptr;
  group.shelf_agreement = Group::Agreement::kNotAsked;
  if (group.scratch) os::unmap_pages(group.scratch, kScratchBytes);
  group.scratch = nullptr;
}

// --- groups

// A call of smelt_pool_group.
struct Making {
  Pool& pool;
  const smelt_host& host;
  uint32_t key;
  const unsigned* members;
  uint32_t n, me;
  uint64_t signature;  // of the members
  smelt_sync asked;

  int lead(smelt_group** made);
  int follow(smelt_group** made);

 private:
  Letter& up(uint32_t i) { return pool.box(members[i], key).up; }
  Letter& down(uint32_t i) { return pool.box(members[i], key).down; }
  Letter::Text hear(Letter& letter) { return read(pool, host, letter); }
  void tell(Letter& letter, const Letter::Text& text) { write(pool, host, letter, text); }
  void tell_all(const Letter::Text& text) {
    for (uint32_t i = 1; i < n; ++i) tell(down(i), text);
  }

  // Takes a seat in the block, or says why not: *error. nullptr without memory.
  smelt_group* seated(const BlockTicket& ticket, const Block& block, int* error);
  // All have one, or some could not.
  int end(smelt_group* group, int error, bool in_sync, smelt_group** made);
  smelt_group* woken(smelt_group* group, bool in_sync);
};

smelt_group* Making::seated(const BlockTicket& ticket, const Block& block, int* error) {
  smelt_group* const group = make_group(n);
  *error = -ENOMEM;
  if (!group) return nullptr;
  group->n = n;
  group->me = me;
  group->host = host;
  group->pool = &pool;
  group->ticket = ticket;
  group->block = block;
  group->signature = signature;
  for (uint32_t i = 0; i < n; ++i) group->members[i] = static_cast<uint16_t>(members[i]);
  *error = take_seat(*group, ticket);
  return group;
}

int Making::end(smelt_group* group, int error, bool in_sync, smelt_group** made) {
  if (!group) return error;
  settle_sync(*group, asked, in_sync);
  error = complete_group(group, error);
  if (!error) *made = group;
  return error;
}

// The differences in a new life.
smelt_group* Making::woken(smelt_group* group, bool in_sync) {
  group->wake();
  group->host = host;
  group->watch = {};
  settle_sync(*group, asked, in_sync);
  group->choose_sync(group->sync);
  return group;
}

int Making::lead(smelt_group** made) {
  bool in_sync = true;
  for (uint32_t i = 1; i < n; ++i) in_sync &= hear(up(i)).sync == asked;
  if (smelt_group* const group = find_to_wake(pool, signature, members, n)) {
    // relaxed, both: ours alone until the letters are written, which release it
    if (group->front->shelf_offer.load(std::memory_order_relaxed) != 0)
      group->front->shelf_offer.store(0, std::memory_order_relaxed);
    tell_all({Letter::kWoken, 0, asked, in_sync, group->ticket});
    *made = woken(group, in_sync);
    return 0;
  }
  Block block;
  BlockTicket ticket;
  int error = offer(n, &block, &ticket);
  tell_all({error ? Letter::kRefused : Letter::kMade, error, asked, in_sync, ticket});
  if (error) return error;
  smelt_group* const group = seated(ticket, block, &error);
  for (uint32_t i = 1; i < n; ++i) error = std::min(error, int{hear(up(i)).error});
  tell_all({error ? Letter::kRefused : Letter::kSeated, error, 0, 0, {}});
  if (!group) abandon_block(&block);
  return end(group, error, in_sync, made);
}

int Making::follow(smelt_group** made) {
  take_box(pool, key);
  tell(up(me), {Letter::kHere, 0, asked, 0, {}});
  const Letter::Text told = hear(down(me));
  if (told.kind == Letter::kRefused) return told.error;
  if (told.kind == Letter::kWoken) {
    smelt_group* const group = find_woken(pool, signature, told.ticket);
    if (!group) return -EIO;  // never: a participant that forgets a group spoils its block
    *made = woken(group, told.in_sync);
    return 0;
  }
  int error;
  smelt_group* const group = seated(told.ticket, {}, &error);
  tell(up(me), {Letter::kSeated, error, 0, 0, {}});
  return end(group, hear(down(me)).error, told.in_sync, made);
}

// More processes than CPUs, as far as this one knows.
bool is_crowd(const smelt_host& host, uint32_t n) {
  const Profile* const profile = known_machine()->profile;
  uint32_t cpus = profile ? profile->header.cpus : n;
  if (const uint32_t quota = os::process_cpu_quota(); quota > 0 && quota < cpus) cpus = quota;
  if (options().cpus > 0) cpus = static_cast<uint32_t>(options().cpus);
  return host.crowded || std::max(n, host.local_processes) > cpus;
}

smelt_pool* make_pool(const smelt_host& host, uint32_t n, uint32_t me) {
  const size_t words = (boxes_bytes(n) / kPage + 64) / 64;
  auto* pool = make_object<smelt_pool>(words * sizeof(uint64_t) + 64);
  if (!pool) return nullptr;
  pool->n = n;
  pool->me = me;
  pool->crowded = is_crowd(host, n);
  pool->pages = reinterpret_cast<std::atomic<uint64_t>*>(pool->arena.make<uint64_t>(words));
  return pool;
}

// Joins as a group's participants do (create.cc).
int join(smelt_pool* pool, const smelt_host& host, uint32_t n, uint32_t me) {
  BlockTicket ticket;
  int error = pool ? 0 : -ENOMEM;
  if (me == 0 && !error)
    error = allocate_block(pool_bytes(n), n, static_cast<uint64_t>(options().shm_mb) << 20, &pool->block, &ticket);
  if (error) ticket = BlockTicket{};
  if (host.broadcast(host.context, &ticket, sizeof ticket) != 0) return -EIO;
  if (!error && !ticket.segment) error = -ENOMEM;
  if (!error && me != 0) error = attach_block(ticket, pool_bytes(n), &pool->block);
  if (!error) {
    pool->boxes = reinterpret_cast<Box*>(pool->block.address + kPage);
    // Memory that was never used is empty.
    if (ticket.use > 1) std::memset(static_cast<void*>(&pool->box(me, 0)), 0, boxes_bytes(n));
  }
  const auto version = static_cast<int64_t>(settings_hash());
  int64_t least[] = {error, version, ~version};
  if (host.minimum(host.context, least, 3) != 0) return -EIO;
  if (least[0] != 0) return static_cast<int>(least[0]);
  return least[1] == ~least[2] ? 0 : -EINVAL;
}

// A group of a pool that is freed: true, it rests there, and may be woken.
bool rest_group(smelt_group& group) {
  if (!may_rest(group)) {
    spoil_block(group.block);
    return false;
  }
  give_shelves_back(group);
  group.rest();
  group.trace = trace_of(group);
  Pool& pool = *group.pool;
  const Guard guard(pool);
  if (pool.rest_count >= kMostResting) forget(pool, pool.oldest);
  link(pool, &group);
  rest_block(group.block, group.trace);
  return true;
}

}  // namespace
}  // namespace smelt

using namespace smelt;

void smelt_group_free(smelt_group* group) {
  if (!group || (group->pool && rest_group(*group))) return;
  if (group->desks) group->leave();
  release_block(&group->shelf_block);
  release_block(&group->block);
  free_memory(group);
}

int smelt_pool_create(const smelt_host* host, unsigned n, unsigned me, smelt_pool** pool) {
  if (!host || !pool || !host->broadcast || !host->minimum || n < 1 || n > kMaxParticipants || me >= n) return -EINVAL;
  smelt_pool* const made = make_pool(*host, n, me);
  const int error = join(made, *host, n, me);
  if (!error) {
    *pool = made;
    return 0;
  }
  if (made) {
    if (error != -EIO)
      abandon_block(&made->block);
    else
      release_block(&made->block);
    free_object(made);
  }
  return error;
}

void smelt_pool_free(smelt_pool* pool) {
  if (!pool) return;
  while (smelt_group* group = pool->oldest) {
    if (block_is_kept(group->block)) (void)give_up_block(group->block, group->life);
    drop(*pool, group);
  }
  release_block(&pool->block);
  free_object(pool);
}

int smelt_pool_group(smelt_pool* pool, const smelt_host* host, unsigned key, const unsigned* members, unsigned n,
                     unsigned me, smelt_group** group) {
  if (!pool || !host || !members || !group || n < 1 || n > pool->n || me >= n || members[me] != pool->me)
    return -EINVAL;
  for (unsigned i = 0; i < n; ++i)
    if (members[i] >= pool->n) return -EINVAL;
  if (key >= pool_keys(pool->n)) return -ERANGE;
  Making making{*pool, *host, key, members, n, me, fnv1a(members, n * sizeof *members), asked_sync(*host)};
  return me == 0 ? making.lead(group) : making.follow(group);
}
