// This file says which thread the calling one is to libomp.
//
// libomp knows a thread by a number, its gtid. The calling thread's lies in libomp's thread-local storage (16 bytes in
// libomp 13 to 23, of which 4 are initialised: the number), and all else that libomp knows of a thread is found by it.
// The master of a hot team (hot_team.h) must be inside a region to libomp while it runs one, and in the serial part
// between two. So it has two numbers: its own, which is the region's, and that of a stand-in, a thread of ours that has
// registered itself with libomp as any thread in a serial part does, and sleeps. Between regions the master's
// thread-local storage holds a copy of the stand-in's. All that libomp finds by the calling thread (all omp_ functions,
// in whatever way a caller found them) is then answered as in a serial part, because it is one.
//
// Programs have the number, too: compilers ask for it at a function's beginning (__kmpc_global_thread_num) and hand it
// to all further calls. They are told the own one always; the entry points to which it would be the wrong one are taken
// (OF_THREAD in symbols.def), and go on with the stand-in's.
//
// These go by the own number in both parts: threadprivate values, simple locks and critical sections (a thread that
// holds one across a region's begin holds it inside), allocators' memory.
#pragma once

#include <pthread.h>
#include <atomic>
#include <cstdint>

#include "libomp.h"

namespace smelt::kmp {

// It says where a call of ours is in the program's source.
inline KmpIdent nowhere{0, kIdentKmpc, 0, 0, ";unknown;unknown;0;0;;"};

// The calling thread's two numbers while it is in the serial part beside its parked team; else -1.
struct Identity {
  KmpThread own = -1, serial = -1;
};

}  // namespace smelt::kmp

extern "C" constinit thread_local smelt::kmp::Identity smelt_kmp_identity
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

namespace smelt::kmp {

// The number to hand to libomp for the one that the program has.
inline KmpThread known_as(KmpThread gtid) {
  const Identity& identity = smelt_kmp_identity;
  return gtid == identity.own ? identity.serial : gtid;
}

// The next one goes the other way round.
inline KmpThread owner_of(KmpThread gtid) {
  const Identity& identity = smelt_kmp_identity;
  return gtid == identity.serial ? identity.own : gtid;
}

// libomp's thread-local storage of the calling thread.
class OwnBlock {
 public:
  struct Image {
    uint64_t word[2];
  };

  // False: it is not of the size that is known.
  bool find();
  Image image() const { return {{block_[0], block_[1]}}; }
  void wear(const Image& image) const {
    block_[0] = image.word[0];
    block_[1] = image.word[1];
  }
  bool is(const Image& image) const { return ((block_[0] ^ image.word[0]) | (block_[1] ^ image.word[1])) == 0; }

 private:
  // Another's memory: libomp's, written in calls that the compiler cannot see through.
  using Word [[gnu::may_alias]] = uint64_t;
  Word* block_ = nullptr;
};

// All settings that regions inherit.
struct Icvs : openmp::Icvs {
  void* allocator;
  bool operator==(const Icvs&) const = default;
};
Icvs icvs_now();                  // the calling thread's
void set_icvs(const Icvs& icvs);  // as far as they differ

// The stand-in; one per process.
class StandIn {
 public:
  // Makes it, if there is none. nullptr: it is there; else why not.
  const char* begin();
  // It ends, and libomp has no thread of ours any more.
  void retire();
  // In a child of fork it is gone.
  void forget();

  KmpThread gtid() const { return gtid_; }

  static bool exists() { return one_too_many.load(std::memory_order_relaxed) != 0; }
  // Has libomp more threads than CPUs because of it alone?
  static bool is_one_too_many();

  const OwnBlock::Image& image() const { return image_; }

  // libomp's thread-specific key has a destructor, which must not find the thread in a region. While its team is
  // parked, the master's value is taken away. False: it was not what is expected.
  bool hold_destructor(KmpThread own);
  void release_destructor(KmpThread own) const;

 private:
  static void* live(void* self);

  // As many threads as libomp has CPUs for, and the stand-in; 0: there is none. Relaxed: the number says all by itself.
  static std::atomic<int> one_too_many;

  pthread_t thread_ = 0;
  KmpThread gtid_ = -1;
  OwnBlock::Image image_{};
  pthread_key_t key_ = 0;
  bool knows_key_ = false;
  std::atomic<uint32_t> ready_{0};    // 1: it sleeps; 2: it has not found what it should
  std::atomic<uint32_t> retires_{0};  // 1: it is to end
};

}  // namespace smelt::kmp
