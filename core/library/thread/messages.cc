// Messages between user-level threads: an endpoint's requests, and waits that give the worker away.
//
// The endpoint (message/endpoint.h) matches and copies; its `completed` is called by the thread that makes progress,
// and lets the thread run that waits for it. How the two meet, in the word `waits` of a message:
//
//     pending --- compare-and-swap, when the waiter's registers are saved ---> thread
//     pending or thread --- completer: exchange ---> done
//
// A completer that finds the thread lets it run, as if it had a bit of its own in the message: no signal is needed, and
// none is taken that was meant for something else. Nobody looks at a message after `done` but its owner.
//
// (Dang, Snir and Gropp, "Towards millions of communicating threads", EuroMPI 2016, sections 3 and 4. Their
// communication server is a thread of its own. With no CPU for it that loses, so then it is the workers with nothing to
// run: poll.h, idle.cc.)
//
// Only workers with nothing else to do ask whether somebody waits at all. So each worker counts the messages that it
// began and those that it completed in words of its own, and the asker adds them up.
//
// Waiting messages are in lists, one for each of some workers, so that the dead can be looked for: their waiters do not
// look themselves.
#include <smelt/message.h>

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "base/os/os.h"
#include "library/thread/scheduler.h"
#include "policy/wait.h"

namespace smelt::thread {
namespace {

constexpr uintptr_t kPending = 0, kDone = 1;  // or the thread that waits
constexpr int kRounds = 100;                  // of progress before a thread gives its worker away
constexpr uint64_t kVain = 1024;              // tests in vain before it is asked whether the other lives
constexpr uint32_t kLists = 64;               // with a lock each: workers share one only if there are more

struct ThreadMessage {
  smelt_transfer transfer;
  std::atomic<uintptr_t> waits;
  smelt_messages* messages;
  ThreadMessage *before, *after;  // in its list
  uint32_t peer, list;
  uint64_t vain;
};
static_assert(sizeof(ThreadMessage) == sizeof(smelt_message) && alignof(ThreadMessage) <= alignof(smelt_message));
static_assert(offsetof(ThreadMessage, waits) == offsetof(smelt_message, own));

ThreadMessage* message_of(smelt_message* message) { return reinterpret_cast<ThreadMessage*>(message); }

struct alignas(kLineBytes) Count {
  std::atomic<uint64_t> begun{0}, ended{0};
};
struct alignas(kLineBytes) List {
  std::atomic<uintptr_t> lock{0};
  ThreadMessage* first = nullptr;
};

}  // namespace
}  // namespace smelt::thread

using namespace smelt;
using namespace smelt::thread;

struct smelt_messages : Object, Poller {
  Scheduler* scheduler = nullptr;
  smelt_endpoint* endpoint = nullptr;
  unsigned context = 0;
  Count outside;           // of those that are none of our workers
  Count* count = nullptr;  // [workers]
  List lists[kLists];
  pthread_t server{};
  bool has_server = false;
  std::atomic<uint32_t> stop{0};
};

namespace {

// The worker of these messages' scheduler that we are on; nullptr: none.
Worker* here(const smelt_messages& messages) {
  Worker* const worker = current_worker();
  return worker && worker->scheduler == messages.scheduler && !worker->forked ? worker : nullptr;
}

// Each count has one writer, but for those of outside. A count must only be seen some time.
void begun_one(smelt_messages& messages, const Worker* worker) {
  if (worker) {
    std::atomic<uint64_t>& begun = messages.count[worker->number].begun;
    begun.store(begun.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    messages.outside.begun.fetch_add(1, std::memory_order_relaxed);
  }
}
// release: an asker that counts its end counts its begin, too
void ended_one(smelt_messages& messages, const Worker* worker) {
  if (worker) {
    std::atomic<uint64_t>& ended = messages.count[worker->number].ended;
    ended.store(ended.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  } else {
    messages.outside.ended.fetch_add(1, std::memory_order_release);
  }
}

void woken(smelt_transfer* transfer) {
  ThreadMessage& message = *reinterpret_cast<ThreadMessage*>(transfer);
  const Worker* const worker = here(*message.messages);
  ended_one(*message.messages, worker);
  // release: the message's words; acquire: the thread's registers
  const uintptr_t waits = message.waits.exchange(kDone, std::memory_order_acq_rel);
  if (waits != kPending) let_run(*reinterpret_cast<Thread*>(waits), worker);
}

bool is_done(const ThreadMessage& message) {
  return message.waits.load(std::memory_order_acquire) == kDone;  // acquire: its data, and its words
}

// --- the poller ---

// Several, if there are: so that their threads run one after the other, with no look between.
bool poll(Poller& poller) {
  constexpr int kBatch = 128;
  int some = 0;
  while (some < kBatch && smelt_endpoint_progress(static_cast<smelt_messages&>(poller).endpoint)) ++some;
  return some != 0;
}

uint64_t sum(const smelt_messages& messages, std::atomic<uint64_t> Count::*of) {
  uint64_t all = (messages.outside.*of).load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < messages.scheduler->workers; ++i)
    all += (messages.count[i].*of).load(std::memory_order_relaxed);
  return all;
}

bool is_needed(const Poller& poller) {
  const auto& messages = static_cast<const smelt_messages&>(poller);
  const uint64_t ended = sum(messages, &Count::ended);  // these first, so that there are never too few
  std::atomic_thread_fence(std::memory_order_acquire);  // pairs with ended_one(); only then the others
  return sum(messages, &Count::begun) != ended;
}

// If the other process has died, and all that it had sent has come, it is done, with -EPIPE.
void end_if_lost(const smelt_messages& messages, ThreadMessage& message) {
  if (is_done(message) || !smelt_endpoint_lost(messages.endpoint, static_cast<int>(message.peer))) return;
  smelt_transfer* const transfer = &message.transfer;
  smelt_endpoint_wait(messages.endpoint, &transfer, 1, 1);
}

void look_for_dead(Poller& poller) {
  auto& messages = static_cast<smelt_messages&>(poller);
  for (List& list : messages.lists) {
    lock(list.lock);
    for (ThreadMessage* message = list.first; message; message = message->after) end_if_lost(messages, *message);
    unlock(list.lock, 0);
  }
}

void* serve(void* argument) {
  auto& messages = *static_cast<smelt_messages*>(argument);
  Polling& polling = messages.scheduler->polling;
  constexpr int64_t kGrace = 1'000'000, kAgain = 10'000'000, kPatience = 10'000'000;  // ns
  std::atomic<uint32_t> nothing{0};
  while (messages.stop.load(std::memory_order_acquire) == 0) {
    uintptr_t rest;
    if (is_needed(messages) && try_lock(polling.watch, &rest)) {
      int64_t needed = os::now_ns(), looked = needed;
      for (uint32_t vain = 0; messages.stop.load(std::memory_order_acquire) == 0;) {
        vain = poll(messages) ? 0 : vain + 1;
        if (vain < kRounds) {
          cpu_pause();
          continue;
        }
        os::yield_cpu();
        const int64_t now = os::now_ns();
        if (is_needed(messages)) needed = now;
        if (now - needed > kGrace) break;
        if (now - looked < kPatience) continue;
        looked = now;
        look_for_dead(messages);
      }
      unlock(polling.watch, 0);
    }
    os::futex_wait(&nothing, 0, kAgain);
  }
  return nullptr;
}

// --- waiting ---

void enlist(ThreadMessage& message, const Worker& worker) {
  message.list = worker.number % kLists;
  List& list = message.messages->lists[message.list];
  lock(list.lock);
  message.before = nullptr;
  message.after = list.first;
  if (list.first) list.first->before = &message;
  list.first = &message;
  unlock(list.lock, 0);
}

void delist(ThreadMessage& message) {
  List& list = message.messages->lists[message.list];
  lock(list.lock);
  (message.before ? message.before->after : list.first) = message.after;
  if (message.after) message.after->before = message.before;
  unlock(list.lock, 0);
}

void after_wait(Worker&, Thread& left, void* argument) {
  ThreadMessage& message = *static_cast<ThreadMessage*>(argument);
  uintptr_t waits = kPending;
  // release: its registers; acquire: its message is there
  if (!message.waits.compare_exchange_strong(waits, reinterpret_cast<uintptr_t>(&left), std::memory_order_acq_rel,
                                             std::memory_order_acquire))
    make_runnable(left);
}

int wait_for(ThreadMessage& message, Worker& worker) {
  Polling& polling = worker.scheduler->polling;
  for (int round = 0; round < kRounds && !worker.runnable.maybe_any(); ++round) {
    if (is_done(message)) return message.transfer.error;
    if (!polling.ask()) cpu_pause();
  }
  if (is_done(message)) return message.transfer.error;
  enlist(message, worker);
  ask_now_and_then(worker);
  switch_away(worker, next_own(worker), after_wait, &message);
  delist(message);
  return message.transfer.error;
}

// 1: it is done; 0: not yet; negative: it has not begun.
int begin(smelt_messages& messages, ThreadMessage& message, const Worker* worker, bool is_send, unsigned peer, int key,
          const void* data, void* buffer, uint64_t bytes) {
  if (key < 0 || peer > INT_MAX) return -EINVAL;
  message.transfer.completed = woken;
  message.transfer.unpack = nullptr;
  message.transfer.pack = nullptr;
  message.transfer.holds = 0;
  message.waits.store(kPending, std::memory_order_relaxed);  // relaxed: nobody knows of it yet
  message.messages = &messages;
  message.peer = peer;
  message.vain = 0;
  begun_one(messages, worker);
  const int done =
      is_send ? smelt_endpoint_send(messages.endpoint, &message.transfer, peer, messages.context, key, data, bytes, 0)
              : smelt_endpoint_receive(messages.endpoint, &message.transfer, static_cast<int>(peer), messages.context,
                                       key, 0, buffer, bytes);
  if (done != 0) {
    ended_one(messages, worker);
    message.waits.store(kDone, std::memory_order_relaxed);  // relaxed: it is ours alone
  }
  return done;
}

bool is_good(const void* data, uint64_t bytes) { return data || bytes == 0; }

// The caller is a user-level thread.
int send_or_receive(smelt_messages* messages, bool is_send, unsigned peer, int key, const void* data, void* buffer,
                    uint64_t bytes, uint64_t* length) {
  if (!messages || !is_good(is_send ? data : buffer, bytes)) return -EINVAL;
  Worker* const worker = here(*messages);
  if (!worker || !worker->current) return -EPERM;
  ThreadMessage message;
  int error = begin(*messages, message, worker, is_send, peer, key, data, buffer, bytes);
  if (error < 0) return error;
  error = error == 1 ? message.transfer.error : wait_for(message, *worker);
  if (length && (error == 0 || error == -EMSGSIZE)) *length = message.transfer.length;
  return error;
}

}  // namespace

int smelt_messages_open(smelt_scheduler* scheduler, smelt_endpoint* endpoint, unsigned context,
                        smelt_messages** messages) {
  if (!scheduler || !endpoint || !messages || context > UINT16_MAX || scheduler->worker[0].forked) return -EINVAL;
  auto* const made = make_object<smelt_messages>(scheduler->workers * sizeof(Count) + kLineBytes);
  if (!made) return -ENOMEM;
  static_cast<Poller&>(*made) = {::poll, ::is_needed, ::look_for_dead};
  made->scheduler = scheduler;
  made->endpoint = endpoint;
  made->context = context;
  made->count = made->arena.make<Count>(scheduler->workers);
  if (!scheduler->polling.set(*made)) {
    free_object(made);
    return -EBUSY;
  }
  // Where nothing is polled, a sleeper sleeps until it is woken.
  full_fence();  // before the look for sleepers; pairs with the one in find_work()
  wake_all(*scheduler);
  made->has_server = usable_cpus() > scheduler->workers && pthread_create(&made->server, nullptr, serve, made) == 0;
  *messages = made;
  return 0;
}

void smelt_messages_close(smelt_messages* messages) {
  if (!messages || messages->scheduler->worker[0].forked) return;
  messages->stop.store(1, std::memory_order_release);
  if (messages->has_server) pthread_join(messages->server, nullptr);
  messages->scheduler->polling.clear();
  free_object(messages);
}

int smelt_messages_served(const smelt_messages* messages) { return messages && messages->has_server; }

int smelt_message_start_send(smelt_messages* messages, smelt_message* message, unsigned to, int key, const void* data,
                             uint64_t bytes) {
  if (!messages || !message || !is_good(data, bytes)) return -EINVAL;
  return std::min(0, begin(*messages, *message_of(message), here(*messages), true, to, key, data, nullptr, bytes));
}

int smelt_message_start_receive(smelt_messages* messages, smelt_message* message, unsigned from, int key, void* buffer,
                                uint64_t room) {
  if (!messages || !message || !is_good(buffer, room)) return -EINVAL;
  return std::min(0, begin(*messages, *message_of(message), here(*messages), false, from, key, nullptr, buffer, room));
}

int smelt_message_test(smelt_messages* messages, smelt_message* given) {
  if (!messages || !given) return -EINVAL;
  ThreadMessage& message = *message_of(given);
  if (is_done(message)) return 1;
  smelt_endpoint_progress(messages->endpoint);
  if (++message.vain % kVain == 0) end_if_lost(*messages, message);
  return is_done(message);
}

int smelt_message_wait(smelt_messages* messages, smelt_message* given) {
  if (!messages || !given) return -EINVAL;
  ThreadMessage& message = *message_of(given);
  if (is_done(message)) return message.transfer.error;
  Worker* const worker = here(*messages);
  return worker && worker->current ? wait_for(message, *worker) : -EPERM;
}

int smelt_message_send(smelt_messages* messages, unsigned to, int key, const void* data, uint64_t bytes) {
  return send_or_receive(messages, true, to, key, data, nullptr, bytes, nullptr);
}

int smelt_message_receive(smelt_messages* messages, unsigned from, int key, void* buffer, uint64_t room,
                          uint64_t* length) {
  return send_or_receive(messages, false, from, key, nullptr, buffer, room, length);
}
