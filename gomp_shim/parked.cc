#include "parked.h"

#include <pthread.h>
#include <algorithm>

#include "base/os/os.h"
#include "policy/wait.h"
#include "real.h"

namespace smelt::gomp {
namespace {

constexpr uint32_t kFewParked = 32, kPartOfLimit = 16;  // on any machine; at most a sixteenth of a limit of threads
constexpr int64_t kRecently = 1'000'000'000;  // ns: if some were sent home so recently, the making is worth another try

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HotTeam* first = nullptr;  // of all teams that their masters keep; guarded by the lock, as their links

// Relaxed, both: numbers that say all by themselves.
std::atomic<uint32_t> threads_kept{0};  // in the teams of that list
std::atomic<int64_t> sent_at{0};        // when some were last sent home; 0: never

// The caller holds the lock.
void unlink(HotTeam& hot) {
  HotTeam** link = &first;
  while (*link && *link != &hot) link = &(*link)->next_kept;
  if (!*link) return;
  *link = hot.next_kept;
  threads_kept.fetch_sub(hot.size - 1, std::memory_order_relaxed);
}

// Takes any that is parked from its master; nullptr: none is.
HotTeam* take_any() {
  const int32_t process = os::process_id();
  pthread_mutex_lock(&lock);
  HotTeam* hot = first;
  for (; hot; hot = hot->next_kept) {
    uint32_t parked = kParked;
    // Acquire: the state that its master has left.
    if (hot->process == process &&
        hot->holder.compare_exchange_strong(parked, kOther, std::memory_order_acquire, std::memory_order_relaxed))
      break;
  }
  if (hot) unlink(*hot);
  pthread_mutex_unlock(&lock);
  return hot;
}

}  // namespace

bool may_park(uint32_t threads) {
  if (sent_at.load(std::memory_order_relaxed) != 0) return false;
  uint32_t most = std::max(kFewParked, 2 * headcount.cpus.load(std::memory_order_relaxed));
  if (const uint32_t limit = os::process_task_limit()) most = std::min(most, limit / kPartOfLimit);
  return threads_kept.load(std::memory_order_relaxed) + threads <= most && !os::address_space_is_limited();
}

void add_parked(HotTeam& hot) {
  hot.holder.store(kMaster, std::memory_order_relaxed);  // before anybody finds it
  pthread_mutex_lock(&lock);
  hot.next_kept = first;
  first = &hot;
  threads_kept.fetch_add(hot.size - 1, std::memory_order_relaxed);
  pthread_mutex_unlock(&lock);
}

bool take_parked(HotTeam& hot) {
  uint32_t holder = kParked;
  // Acquire: with the team, what its last holder has left, and has freed in libgomp.
  if (hot.holder.compare_exchange_strong(holder, kMaster, std::memory_order_acquire, std::memory_order_acquire))
    return true;
  // In a child that we were not told of, the holder is not there.
  while (holder == kOther && hot.process == os::process_id()) {
    os::yield_cpu();
    holder = hot.holder.load(std::memory_order_acquire);
  }
  return false;
}

void park(HotTeam& hot) { hot.holder.store(kParked, std::memory_order_release); }  // release: its state, for the next

void remove_parked(HotTeam& hot) {
  pthread_mutex_lock(&lock);
  unlink(hot);
  pthread_mutex_unlock(&lock);
  hot.holder.store(kNone, std::memory_order_relaxed);  // nobody finds it any more
}

bool send_parked_home() {
  bool sent = false;
  while (HotTeam* const hot = take_any()) {
    if (!send_home(*hot, true)) {
      add_parked(*hot);
      park(*hot);
      break;
    }
    sent = true;
    sent_at.store(os::now_ns(), std::memory_order_relaxed);
    hot->holder.store(kNone, std::memory_order_release);  // release: all that was done in its master's place
  }
  const int64_t at = sent_at.load(std::memory_order_relaxed);
  return sent || (at != 0 && os::now_ns() - at < kRecently);
}

void forget_parked() {
  lock = PTHREAD_MUTEX_INITIALIZER;  // another thread may have had it
  first = nullptr;
  threads_kept.store(0, std::memory_order_relaxed);
}

}  // namespace smelt::gomp
