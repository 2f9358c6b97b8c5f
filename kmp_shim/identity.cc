#include "identity.h"

#include <limits.h>
#include <link.h>
#include <signal.h>

#include "base/os/os.h"
#include "openmp/thread_block.h"
#include "real.h"

constinit thread_local smelt::kmp::Identity smelt_kmp_identity;

namespace smelt::kmp {
namespace {

constexpr size_t kStack = 256 << 10;  // libomp registers a thread on it, and looks at masks there

// All objects' thread-local variables. The C library takes them out of a thread's stack, but for those of libraries
// that were opened late.
size_t thread_local_bytes() {
  size_t sum = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* bytes) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type == PT_TLS) *static_cast<size_t*>(bytes) += header.p_memsz + header.p_align;
        }
        return 0;
      },
      &sum);
  return sum;
}

void* as_value(KmpThread gtid) { return reinterpret_cast<void*>(static_cast<intptr_t>(gtid) + 1); }

// The only key of the calling thread that has the value which libomp gives its own. False: there is none, or another.
bool find_key(KmpThread gtid, pthread_key_t* found) {
  uint32_t count = 0;
  // glibc answers nullptr for keys that nobody has made.
  for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key) {
    if (pthread_getspecific(key) != as_value(gtid)) continue;
    *found = key;
    ++count;
  }
  return count == 1;
}

}  // namespace

constinit std::atomic<int> StandIn::one_too_many{0};

bool StandIn::is_one_too_many() {
  const int threads = one_too_many.load(std::memory_order_relaxed);
  return threads != 0 && REAL(kmp_get_num_known_threads)() == threads;
}

bool OwnBlock::find() {
  const auto [block, bytes] = thread_block(smelt_real___kmpc_fork_call);
  if (!block || bytes != sizeof(Image) || reinterpret_cast<uintptr_t>(block) % alignof(uint64_t) != 0) return false;
  block_ = static_cast<Word*>(block);
  return true;
}

Icvs icvs_now() { return {openmp::icvs_now(), REAL(omp_get_default_allocator)()}; }

void set_icvs(const Icvs& icvs) {
  openmp::set_icvs(icvs);
  if (REAL(omp_get_default_allocator)() != icvs.allocator) REAL(omp_set_default_allocator)(icvs.allocator);
}

void* StandIn::live(void* self) {
  auto& stand_in = *static_cast<StandIn*>(self);
  stand_in.gtid_ = REAL(__kmpc_global_thread_num)(&nowhere);
  OwnBlock block;
  // libomp binds a thread to its place when it first does something: here, or it would be the master that it binds. (A
  // region of one is the most that is done in the stand-in's name.)
  icvs_now();
  REAL(__kmpc_serialized_parallel)(&nowhere, stand_in.gtid_);
  REAL(__kmpc_end_serialized_parallel)(&nowhere, stand_in.gtid_);
  const bool found = REAL(omp_get_level)() == 0 && block.find();
  if (found) stand_in.image_ = block.image();
  stand_in.knows_key_ = found && find_key(stand_in.gtid_, &stand_in.key_);
  stand_in.ready_.store(stand_in.knows_key_ ? 1 : 2, std::memory_order_release);  // with what has been found
  os::futex_wake_all(&stand_in.ready_);
  // Where something was not found, it ends, and libomp's count of threads is what it was. Relaxed: the word
  // says all by itself.
  while (stand_in.knows_key_ && !stand_in.retires_.load(std::memory_order_relaxed))
    os::futex_wait(&stand_in.retires_, 0);
  return nullptr;
}

const char* StandIn::begin() {
  constexpr const char* kUnknown = "this libomp keeps its threads' state in an unknown way";
  const uint32_t before = ready_.load(std::memory_order_relaxed);
  if (before != 0) return before == 1 ? nullptr : kUnknown;
  // The program's signals are for the program's threads.
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack + thread_local_bytes());
  const bool made = pthread_create(&thread_, &attributes, live, this) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (!made) return "no thread could be made";
  uint32_t ready;
  while ((ready = ready_.load(std::memory_order_acquire)) == 0) os::futex_wait(&ready_, 0);
  if (ready == 2) {
    pthread_join(thread_, nullptr);
    return kUnknown;
  }
  one_too_many.store(REAL(omp_get_num_procs)() + 1, std::memory_order_relaxed);
  return nullptr;
}

void StandIn::retire() {
  if (ready_.load(std::memory_order_relaxed) != 1) return;
  retires_.store(1, std::memory_order_relaxed);
  os::futex_wake_all(&retires_);
  pthread_join(thread_, nullptr);
  retires_.store(0, std::memory_order_relaxed);
  forget();
}

void StandIn::forget() {
  if (ready_.load(std::memory_order_relaxed) == 1) ready_.store(0, std::memory_order_relaxed);
  gtid_ = -1;
  one_too_many.store(0, std::memory_order_relaxed);
}

bool StandIn::hold_destructor(KmpThread own) {
  return pthread_getspecific(key_) == as_value(own) && pthread_setspecific(key_, nullptr) == 0;
}

void StandIn::release_destructor(KmpThread own) const { pthread_setspecific(key_, as_value(own)); }

}  // namespace smelt::kmp
