// How a group comes into being, and what its participants agree on later.
//
// 1. The leader (participant 0) carves a block and tells its ticket by the host's broadcast.
// 2. Everybody maps the block, takes and clears its own desk, and introduces itself there.
// 3. One minimum over all: did that work everywhere, and have all the same version? It also makes the introductions
//    visible.
// 4. Everybody plans, from the same introductions, the same thing; for the first group, once more if the machine is not
//    what its profile says (machine.h).
// A group that is refused is refused by the minimum alone: the leader may put the memory to another use as soon as it
// has heard, while others have yet to, so after a refusal nobody looks at the block.
// So a group costs two collectives of the host, the first one three, whatever its size, and nobody is a member of half
// a group.
#include <pthread.h>
#include <cerrno>
#include <cstring>

#include "base/options.h"
#include "base/os/os.h"
#include "base/os/shared_memory.h"
#include "group/create.h"
#include "group/machine.h"
#include "group/planning.h"
#include "group/started.h"
#include "policy/canary.h"
#include "policy/long_copy.h"
#include "transport/direct_copy.h"

namespace smelt {
namespace {

void attach(Group& group) {
  group.front = reinterpret_cast<Front*>(group.block.address);
  group.introductions = group.block.address + introductions_offset(group.n);
  group.desks = reinterpret_cast<Desk*>(group.block.address + desks_offset(group.n));
}

void introduce(Group& group) {
  auto* mine = reinterpret_cast<Introduction*>(group.introductions + group.me * kIntroductionBytes);
  std::memset(mine, 0, kIntroductionBytes);
  group.machine = known_machine();
  mine->profile = group.machine->hash;
  mine->seen_on = os::current_cpu();
  mine->checked = machine_is_checked();
  mine->quota = os::process_cpu_quota();
  mine->local_processes = group.host.local_processes;
  mine->crowded = group.host.crowded != 0;
  mine->process = os::process_id();
  group.probe = group.front->probe + group.me;
  mine->probe_address = reinterpret_cast<uint64_t>(&group.probe);
  mine->thread = os::thread_id();
  (void)cpus_of(0, &mine->cpus);
}

constexpr size_t arena_bytes(uint32_t n) {
  return size_t{n} * (sizeof(Route) + sizeof(ReduceRoute) + sizeof(uint16_t) + 64) + 8192;
}
// Under each of n roots we have n - 1 children at most, and room for n while they are looked for. Pages that are not
// written are not held.
constexpr size_t children_bytes(uint32_t n) { return size_t{n} * n * sizeof(uint16_t); }

// It is in whole words, so that the bytes before it are aligned.
constexpr size_t trials_bytes(uint32_t n) { return n == 2 ? (MethodTrials::kBytes + 7) / 8 * 8 : 0; }

}  // namespace

// Step 2. The pages of the desk are taken by their owner, on its NUMA node.
int take_seat(Group& group, const BlockTicket& ticket) {
  if (group.me != 0) {
    if (const int error = attach_block(ticket, group_bytes(group.n), &group.block)) return error;
  }
  attach(group);
  const uint64_t introduction = introductions_offset(group.n) + group.me * kIntroductionBytes;
  const uint64_t desk = reinterpret_cast<char*>(&group.desk()) - group.block.address;
  if (introduction >= kPage && take_block_pages(group.block, introduction, kIntroductionBytes) != 0) return -ENOMEM;
  if (take_block_pages(group.block, desk, sizeof(Desk)) != 0) return -ENOMEM;
  // Looked at before it is written: the kernel then maps the pages around it as well, in one fault for all of them.
  (void)*static_cast<volatile const char*>(static_cast<void*>(&group.desk()));
  // Memory that was never used is clear.
  if (ticket.use > 1) std::memset(static_cast<void*>(&group.desk()), 0, sizeof(Desk));
  introduce(group);
  return 0;
}

int offer(uint32_t n, Block* block, BlockTicket* ticket) {
  const int error = allocate_block(group_bytes(n), n, static_cast<uint64_t>(options().shm_mb) << 20, block, ticket);
  if (error) return error;
  auto* const front = reinterpret_cast<Front*>(block->address);
  if (!machine_is_checked()) new (front->canary) Canary;
  front->probe = ticket->segment;
  return 0;
}

smelt_sync asked_sync(const smelt_host& host) {
  if (host.sync == SMELT_SYNC_LOOSE || host.sync == SMELT_SYNC_STRICT) return host.sync;
  const char* const set = options().sync;
  return std::strcmp(set, "loose") == 0    ? SMELT_SYNC_LOOSE
         : std::strcmp(set, "strict") == 0 ? SMELT_SYNC_STRICT
                                           : SMELT_SYNC_AUTO;
}

void settle_sync(Group& group, smelt_sync asked, bool agreed) {
  group.sync_why = "";
  group.sync = agreed && asked == SMELT_SYNC_STRICT ? Sync::kStrict : Sync::kLoose;
  if (!agreed)
    group.sync_why = "what smelt_sync or SMELT_TUNE=sync says differs between the participants";
  else if (asked == SMELT_SYNC_AUTO)
    group.watch.begin(false);
  else
    group.sync_why = group.host.sync == asked ? "smelt_sync says so" : "SMELT_TUNE=sync says so";
}

namespace {

// Steps 1 to 3. `error` is what this participant has to bring in already: it must not stay away, the others wait for
// it.
int join(Group& group, int error) {
  BlockTicket ticket;
  if (group.me == 0 && !error) error = offer(group.n, &group.block, &ticket);
  if (error) ticket = BlockTicket{};
  if (group.host.broadcast(group.host.context, &ticket, sizeof ticket) != 0) return -EIO;
  if (!error) error = ticket.segment ? take_seat(group, ticket) : -ENOMEM;
  const auto version = static_cast<int64_t>(settings_hash());
  const auto sync = static_cast<int64_t>(asked_sync(group.host));
  // ~ turns the order round: the least of the last is the greatest version.
  int64_t least[] = {error, version, ~version, sync, ~sync};
  if (group.host.minimum(group.host.context, least, 5) != 0) return -EIO;
  if (least[0] != 0) return static_cast<int>(least[0]);
  if (least[1] != ~least[2]) return -EINVAL;
  settle_sync(group, static_cast<smelt_sync>(sync), least[3] == ~least[4]);
  return 0;
}

}  // namespace

void free_memory(smelt_group* group) {
  if (!group) return;
  if (group->scratch) os::unmap_pages(group->scratch, kScratchBytes);
  free_object(group);
}

namespace {

// Memory for small groups is mapped for several at a time; each gives its pages back by itself.
struct Stock {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  char* next = nullptr;  // guarded by the mutex
  size_t left = 0;
};
Stock stock;

void* map_from_stock(size_t bytes) {
  constexpr size_t kSmall = 512 << 10, kAtOnce = 8;  // so at most 4 MiB are mapped ahead
  if (bytes > kSmall) return os::map_pages(bytes);
  pthread_mutex_lock(&stock.mutex);
  if (stock.left < bytes) {
    if (stock.left > 0) os::unmap_pages(stock.next, stock.left);
    stock.next = static_cast<char*>(os::map_pages(kAtOnce * bytes));
    stock.left = stock.next ? kAtOnce * bytes : 0;
  }
  void* const memory = stock.left > 0 ? stock.next : os::map_pages(bytes);
  if (stock.left > 0) stock.next += bytes, stock.left -= bytes;
  pthread_mutex_unlock(&stock.mutex);
  return memory;
}

void give_stock_back() {
  pthread_mutex_lock(&stock.mutex);
  if (stock.left > 0) os::unmap_pages(stock.next, stock.left);
  stock.left = 0;
  pthread_mutex_unlock(&stock.mutex);
}

}  // namespace

// Everything a participant has to itself, in one piece: the object and its arena.
smelt_group* make_group(uint32_t n) {
  if (reserve_planning(n) != 0) return nullptr;
  const size_t wanted = sizeof(smelt_group) + arena_bytes(n) + kOutstanding * sizeof(Pending) + alignof(Pending) +
                        children_bytes(n) + exchange_bytes(n) + trials_bytes(n);
  const size_t bytes = (wanted + 2 * kPage - 1) / kPage * kPage;
  void* const memory = map_from_stock(bytes);
  if (!memory) return nullptr;
  auto* const group = place_object<smelt_group>(memory, bytes);
  const auto end = reinterpret_cast<uintptr_t>(group) + group->mapped_bytes;
  // The arena would write them, so they do not come from it: pages of parts that nobody starts or exchanges are not
  // held.
  group->exchange = reinterpret_cast<char*>(end / kPage * kPage - exchange_bytes(n));
  char* const trials = group->exchange - trials_bytes(n);
  if (n == 2) group->trials.open(trials);
  char* const lists = trials - children_bytes(n);
  char* const pending = lists - kOutstanding * sizeof(Pending);
  group->pending =
      reinterpret_cast<Pending*>(reinterpret_cast<uintptr_t>(pending) / alignof(Pending) * alignof(Pending));
  group->children = Arena(lists, children_bytes(n));
  group->arena =
      Arena(group->arena.mark(), static_cast<size_t>(reinterpret_cast<char*>(group->pending) - group->arena.mark()));
  group->routes = group->arena.make<Route>(n);
  group->reduce_routes = group->arena.make<ReduceRoute>(n);
  group->members = group->arena.make<uint16_t>(n);
  for (uint32_t i = 0; i < n; ++i) group->routes[i].parent = group->reduce_routes[i].parent = kUnrouted;
  return group;
}

namespace {

// Step 4.
int plan(Group& group, Arena& arena) {
  char* const begin = arena.mark();
  int error = plan_group(group, arena, &group.plan);
  if (error) return error;
  const int changed = check_machine(group);
  if (changed <= 0) return changed;
  arena.rewind(begin);
  return plan_group(group, arena, &group.plan);
}

}  // namespace

int complete_group(smelt_group* group, int error) {
  if (error && error != -EIO) {
    abandon_block(&group->block);
  } else {
    if (!error) error = plan(*group, group->arena);
    group->choose_sync(group->sync);
    group->wait_as(group->plan.crowded);
    group->piece_bytes = group->plan.limits.piece;
    // The others may still be reading the introductions, or, where the host failed, writing theirs.
    if (error) release_block(&group->block);
  }
  if (error) free_memory(group);
  return error;
}

bool Group::agree_on_shelves() {
  if (shelf_agreement == Agreement::kNotAsked) {
    shelf_agreement = Agreement::kOffered;
    prepare_long_copies(machine->profile);
    if (me == 0) {
      Block made;
      BlockTicket ticket;
      const bool ok = allocate_block(shelves_bytes(n), n, 0, &made, &ticket) == 0;
      if (ok) shelf_block = made, front->shelf = ticket;
      front->shelf_offer.store(ok ? 1 : 2, std::memory_order_release);
    }
  }
  if (shelf_agreement == Agreement::kOffered) {
    const uint32_t offer = front->shelf_offer.load(std::memory_order_acquire);
    if (offer == 0) return false;
    bool ok = offer == 1;
    if (ok && me != 0) ok = attach_block(front->shelf, shelves_bytes(n), &shelf_block) == 0;
    // Only as much as our two rings of pieces need, by their owner, on its NUMA node.
    for (const uint64_t channel : {uint64_t{0}, kChannelBytes})
      ok = ok && take_block_pages(shelf_block, kPage + me * kShelfBytes + channel,
                                  uint64_t{kPieceRing} * plan.limits.piece) == 0;
    if (ok && !scratch) scratch = static_cast<char*>(os::map_pages(kScratchBytes));
    cast(kHaveShelf, ok && scratch);
    shelf_agreement = Agreement::kCast;
  }
  bool all;
  if (!all_cast(kHaveShelf, &all)) return false;
  if (all)
    shelves = shelf_block.address + kPage;
  else
    abandon_block(&shelf_block);
  shelf_agreement = all ? Agreement::kGranted : Agreement::kRefused;
  return true;
}

bool Group::agree_on_single_copy() {
  if (copy_agreement == Agreement::kNotAsked) {
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; ++i) ok = i == me || can_read(introduction(i), front->probe + i);
    cast(kCanReadOthers, ok);
    copy_agreement = Agreement::kCast;
  }
  bool all;
  if (!all_cast(kCanReadOthers, &all)) return false;
  copy_agreement = all ? Agreement::kGranted : Agreement::kRefused;
  return true;
}

void Group::choose_sync(Sync chosen) {
  sync = chosen;
  plan.limits = plan.limits_of[static_cast<uint32_t>(chosen)];
  trials.set_strict(chosen == Sync::kStrict);
}

void Group::turn() {
  const bool strict = sync == Sync::kLoose;
  choose_sync(strict ? Sync::kStrict : Sync::kLoose);
  sync_why = strict ? "a barrier followed each of the last 32 calls" : "no barrier followed any of the last 32 calls";
  watch.begin(strict);
  if (host.sync_seen) host.sync_seen(host.context, strict ? SMELT_SYNC_STRICT : SMELT_SYNC_LOOSE);
}

void Group::find_route(uint32_t root) {
  char pattern[40];
  Route& route = routes[root] = plan_route(*this, root, pattern, sizeof pattern);
  if (route.parent != kNobody) route.line = route.aside ? desks[route.parent].up : desks[route.parent].down;
}

void Group::find_reduce_route(uint32_t root) {
  char pattern[40];
  char* const list = children.mark();
  auto* room = children.make<uint16_t>(n);  // n roots with n - 1 children at most: always there
  const ReduceRoute route = plan_reduce_route(*this, root, room, pattern, sizeof pattern);
  children.rewind(list + route.count * sizeof *room);
  reduce_routes[root] = route;
}

}  // namespace smelt

using namespace smelt;

int smelt_group_create(const smelt_host* host, unsigned n, unsigned me, smelt_group** group) {
  if (!host || !group || !host->broadcast || !host->minimum || n < 1 || n > kMaxParticipants || me >= n) return -EINVAL;
  Group refused;  // without memory of our own we still take part in refusing
  smelt_group* object = make_group(n);
  Group& made = object ? static_cast<Group&>(*object) : refused;
  made.n = n;
  made.me = me;
  made.host = *host;
  int error = join(made, object ? 0 : -ENOMEM);
  if (!object) return error ? error : -ENOMEM;
  error = complete_group(object, error);
  if (!error) *group = object;
  return error;
}

void smelt_groups_end(void) {
  release_segments();
  give_stock_back();
  release_planning();
}
