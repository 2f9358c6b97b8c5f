// smelt/thread.h for C++20: objects that free themselves, any callable instead of a function and its argument. All of
// it is in this header, and calls the C functions, which say what each does and returns (0 or a negative errno);
// nothing here throws, but std::bad_alloc where there is no memory for a callable, and the exceptions of copying that.
//
//   smelt::Scheduler scheduler;
//   smelt::Thread thread;
//   if (smelt::Scheduler::create(scheduler) != 0 || scheduler.spawn([&] { work(); }, thread) != 0) ...
//   thread.join();
#ifndef SMELT_THREAD_HPP
#define SMELT_THREAD_HPP

#include <smelt/thread.h>

#include <cerrno>
#include <concepts>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace smelt {

// A thread that is joined by its owner, at the latest when the owner destroys this object.
class Thread {
 public:
  Thread() = default;
  explicit Thread(smelt_thread* thread) : thread_(thread) {}  // owns it from here on
  Thread(Thread&& other) noexcept : thread_(std::exchange(other.thread_, nullptr)) {}
  Thread& operator=(Thread&& other) noexcept {
    if (this != &other) {
      join();
      thread_ = std::exchange(other.thread_, nullptr);
    }
    return *this;
  }
  ~Thread() { join(); }

  smelt_thread* get() const { return thread_; }
  explicit operator bool() const { return thread_ != nullptr; }

  // 0 also where there is none any more.
  int join() {
    if (!thread_) return 0;
    const int error = smelt_thread_join(thread_, nullptr);
    if (error == 0) thread_ = nullptr;
    return error;
  }
  int signal() { return smelt_thread_signal(thread_); }

 private:
  smelt_thread* thread_ = nullptr;
};

namespace detail {

// The callable lives until it has been called; an exception of it ends the program, as in a std::thread.
template <typename Call>
void* call_and_free(void* argument) noexcept {
  const std::unique_ptr<Call> call(static_cast<Call*>(argument));
  (*call)();
  return nullptr;
}

template <std::invocable Call>
int spawn(smelt_scheduler* scheduler, Call&& call, smelt_thread** thread, int worker) {
  using Kept = std::decay_t<Call>;
  auto kept = std::make_unique<Kept>(std::forward<Call>(call));
  const int error = smelt_thread_spawn(scheduler, call_and_free<Kept>, kept.get(), worker, thread);
  if (error == 0) kept.release();
  return error;
}

}  // namespace detail

// In the caller's scheduler, which is a user-level thread.
template <std::invocable Call>
int spawn(Call&& call, Thread& thread, int worker = SMELT_ANY_WORKER) {
  smelt_thread* made = nullptr;
  const int error = detail::spawn(nullptr, std::forward<Call>(call), &made, worker);
  if (error == 0) thread = Thread(made);
  return error;
}
// ... that nobody joins.
template <std::invocable Call>
int spawn_detached(Call&& call, int worker = SMELT_ANY_WORKER) {
  return detail::spawn(nullptr, std::forward<Call>(call), nullptr, worker);
}

class Scheduler {
 public:
  Scheduler() = default;
  explicit Scheduler(smelt_scheduler* scheduler) : scheduler_(scheduler) {}  // owns it from here on

  // Workers as many as CPUs, or so many; worker i bound to cpus[i], if there are any.
  static int create(Scheduler& scheduler, unsigned workers = 0, size_t stack_bytes = 0, unsigned flags = 0) {
    return take(scheduler, workers, nullptr, stack_bytes, flags);
  }
  static int create(Scheduler& scheduler, std::span<const unsigned> cpus, size_t stack_bytes = 0, unsigned flags = 0) {
    if (cpus.empty()) return -EINVAL;
    return take(scheduler, static_cast<unsigned>(cpus.size()), cpus.data(), stack_bytes, flags);
  }

  smelt_scheduler* get() const { return scheduler_.get(); }
  explicit operator bool() const { return scheduler_ != nullptr; }
  unsigned workers() const { return smelt_scheduler_workers(get()); }
  smelt_scheduler_counts counts() const {
    smelt_scheduler_counts counts = {};
    smelt_scheduler_figures(get(), &counts);
    return counts;
  }

  template <std::invocable Call>
  int spawn(Call&& call, Thread& thread, int worker = SMELT_ANY_WORKER) {
    if (!scheduler_) return -EINVAL;
    smelt_thread* made = nullptr;
    const int error = detail::spawn(get(), std::forward<Call>(call), &made, worker);
    if (error == 0) thread = Thread(made);
    return error;
  }
  template <std::invocable Call>
  int spawn_detached(Call&& call, int worker = SMELT_ANY_WORKER) {
    return scheduler_ ? detail::spawn(get(), std::forward<Call>(call), nullptr, worker) : -EINVAL;
  }

 private:
  struct Free {
    void operator()(smelt_scheduler* scheduler) const { smelt_scheduler_free(scheduler); }
  };
  static int take(Scheduler& scheduler, unsigned workers, const unsigned* cpus, size_t stack_bytes, unsigned flags) {
    smelt_scheduler* made = nullptr;
    const int error = smelt_scheduler_create(workers, cpus, stack_bytes, flags, &made);
    if (error == 0) scheduler = Scheduler(made);
    return error;
  }

  std::unique_ptr<smelt_scheduler, Free> scheduler_;
};

}  // namespace smelt

#endif
