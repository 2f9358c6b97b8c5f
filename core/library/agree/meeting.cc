#include "library/agree/meeting.h"

#include <cerrno>
#include <cstring>
#include <new>

#include "base/os/os.h"
#include "base/seat.h"
#include "generate/registry.h"
#include "library/patterns/model.h"
#include "schedule/choose.h"

namespace smelt::agree {
namespace {

struct Head : place::Head {
  uint32_t members = 0;
  uint32_t capacity = 0;
  std::atomic<uint32_t> users{0};  // members that have not left yet; of memory for threads the last unmaps it
};
static_assert(sizeof(Head) <= kLineBytes && sizeof(Bell) <= kLineBytes);

struct TreeEntry {
  uint16_t member, parent;  // the root is its own parent
};

using place::in_lines;
using place::within;
size_t taken_at(uint32_t members) { return kLineBytes + in_lines(members * sizeof(TreeEntry)); }
size_t bells_at(uint32_t members) { return taken_at(members) + in_lines(members * sizeof(std::atomic<uint32_t>)); }
size_t body_at(uint32_t members) { return bells_at(members) + members * kLineBytes; }

TreeEntry* order_of(void* memory) { return within<TreeEntry>(memory, kLineBytes); }
std::atomic<uint32_t>* taken_of(void* memory, uint32_t members) {
  return within<std::atomic<uint32_t>>(memory, taken_at(members));
}

bool is_in_range(const Protocol& protocol, uint32_t members, uint32_t capacity) {
  return members >= 1 && members <= SMELT_MAX_PARTICIPANTS && capacity >= protocol.least && capacity <= protocol.most;
}

// Parents first, and the children of each in the order in which it sends to them.
void order_of_generated(const Tree& tree, Arena& arena, TreeEntry* order) {
  auto* members = arena.make<uint16_t>(tree.n);
  const uint32_t n = members ? top_down_order(tree, members) : 0;
  for (uint32_t i = 0; i < n; ++i) {
    const uint16_t parent = tree.parent[members[i]];
    order[i] = {members[i], parent == kNobody ? members[i] : parent};
  }
}

// The members' CPUs are not known before the members come, so member i is taken to run on the i-th allowed CPU, as
// contexts do. More members than CPUs, or CPUs that the profile does not know: the root sends to all.
int generate_order(uint32_t members, TreeEntry* order) {
  for (uint32_t i = 0; i < members; ++i) order[i] = {static_cast<uint16_t>(i), 0};
  uint32_t cpus[SMELT_MAX_PARTICIPANTS];
  if (members < 3 || os::allowed_cpu_list(cpus, members) < members) return 0;
  smelt_model* model = nullptr;
  if (const int error = smelt_model_load(nullptr, &model)) return error;
  MappedArena arena(generation_bytes(members));
  Costs costs;
  Choice choice;
  SearchEffort by_messages;
  by_messages.lines = false;  // its edges are queues
  const int error = !arena.ok() ? -ENOMEM
                    : costs_for_cpus(model, members, cpus, arena, &costs) != 0
                        ? 0
                        : choose_best(Operation::kBroadcast, 0, costs, arena, &choice, by_messages);
  if (!error && choice.tree.n == members) order_of_generated(choice.tree, arena, order);
  smelt_model_free(model);
  return error;
}

int order_of_given(const smelt_tree* tree, TreeEntry* order) {
  const unsigned n = smelt_tree_size(tree), root = smelt_tree_root(tree);
  order[0] = {static_cast<uint16_t>(root), static_cast<uint16_t>(root)};
  unsigned children[SMELT_MAX_PARTICIPANTS], have = 1;
  for (unsigned i = 0; i < have; ++i) {
    const int count = smelt_tree_children(tree, order[i].member, children, n);
    for (int c = 0; c < count && have < n; ++c) order[have++] = {static_cast<uint16_t>(children[c]), order[i].member};
  }
  return have == n ? 0 : -EINVAL;
}

// The tree, into `member`. That parents come first and nobody twice makes it a tree.
bool read_tree(const char* memory, Participant* member) {
  TreeEntry order[SMELT_MAX_PARTICIPANTS];
  std::memcpy(order, memory + kLineBytes, member->members * sizeof(TreeEntry));
  bool seen[SMELT_MAX_PARTICIPANTS] = {};
  for (uint32_t i = 0; i < member->members; ++i) {
    const TreeEntry seat = order[i];
    if (seat.member >= member->members || seat.parent >= member->members || seen[seat.member]) return false;
    if (i == 0 ? seat.parent != seat.member : !seen[seat.parent]) return false;
    seen[seat.member] = true;
    if (i == 0) member->root = seat.member;
    if (seat.member == member->index) member->parent = seat.parent;
    if (i != 0 && seat.parent == member->index) member->children[member->child_count++] = seat.member;
  }
  return true;
}

}  // namespace

size_t meeting_bytes(const Protocol& protocol, uint32_t members, uint32_t capacity) {
  return is_in_range(protocol, members, capacity) ? body_at(members) + protocol.bytes(members, capacity) : 0;
}

int write_meeting(const Protocol& protocol, void* memory, size_t bytes, const smelt_tree* tree, uint32_t members,
                  uint32_t capacity) {
  if (!memory || reinterpret_cast<uintptr_t>(memory) % kLineBytes != 0) return -EINVAL;
  const size_t needed = meeting_bytes(protocol, members, capacity);
  if (needed == 0 || bytes < needed || (tree && smelt_tree_size(tree) != members)) return -EINVAL;
  auto* base = static_cast<char*>(memory);
  auto* head = new (memory) Head;
  head->members = members;
  head->capacity = capacity;
  // relaxed, as all here: each reader hears of the meeting from us, in a way that orders it.
  head->users.store(members, std::memory_order_relaxed);
  if (const int error = tree ? order_of_given(tree, order_of(memory)) : generate_order(members, order_of(memory)))
    return error;
  for (uint32_t i = 0; i < members; ++i) {
    new (taken_of(memory, members) + i) std::atomic<uint32_t>(0);
    new (base + bells_at(members) + i * kLineBytes) Bell;
  }
  if (const int error = protocol.write(base + body_at(members), members, capacity)) return error;
  head->format = protocol.format;
  return 0;
}

// The words are copied first: others write them too.
int shape_of_meeting(const Protocol& protocol, const void* memory, size_t bytes, MeetingShape* shape) {
  if (!memory || reinterpret_cast<uintptr_t>(memory) % kLineBytes != 0) return -EINVAL;
  if (bytes < sizeof(Head)) return -EPROTO;
  const auto* head = static_cast<const volatile Head*>(memory);
  const uint64_t format = head->format;
  *shape = {head->members, head->capacity};
  if (format != protocol.format) return -EPROTO;
  const size_t needed = meeting_bytes(protocol, shape->members, shape->capacity);
  return needed != 0 && needed <= bytes ? 0 : -EPROTO;
}

int enter_meeting(void* memory, const MeetingShape& shape, uint32_t index, int64_t timeout_ns, Participant* member) {
  if (index >= shape.members) return -EINVAL;
  auto* base = static_cast<char*>(memory);
  member->members = shape.members;
  member->capacity = shape.capacity;
  member->index = index;
  member->children = member->arena.make<uint16_t>(shape.members);
  if (!member->children) return -ENOMEM;
  if (!read_tree(base, member)) return -EPROTO;
  if (!place::take_seat(taken_of(memory, shape.members)[index])) return -EBUSY;
  member->memory = base;
  member->bells = reinterpret_cast<Bell*>(base + bells_at(shape.members));
  member->body = base + body_at(shape.members);
  member->timeout_ns = timeout_ns;
  member->policy = wait_policy(shape.members > usable_cpus(), shape.members);
  return 0;
}

void leave_meeting(Participant* member) { member->object.leave(reinterpret_cast<Head*>(member->memory)->users); }

}  // namespace smelt::agree
