#include "openmp/callers.h"

#include <dlfcn.h>
#include <link.h>
#include <algorithm>
#include <cstring>

#include "openmp/behind.h"
#include "openmp/symbols.h"

namespace smelt::openmp {

bool smelt_openmp_several = false;
std::atomic<uint64_t> callers[kCallers];

namespace {

constexpr uint64_t kAddressBits = (uint64_t{1} << kAnswerShift) - 1;

// The function that each name stands for in some object that we do not serve. It never changes while an answer names
// it.
struct Meanings {
  void* of[kMostSlots];  // those beyond the shim's names are null
};
constexpr uint32_t kOthers = 128;  // 1 KiB each, untouched while unused; when all are taken, the oldest makes room
Meanings others[kOthers];
uint32_t next_other = 0;  // modulo kOthers: where the next new meanings go

struct Object {
  uintptr_t begin, end;  // of all its segments
  Answer answer;
};
// They are sorted by address. Large Python programs have 500 objects. An object that does not fit is taken for code in
// no object.
constexpr uint32_t kObjects = 4096;
Object objects[kObjects];
uint32_t object_count = 0;  // of `objects`

// The loader's counts when `objects` was filled, and how often it was emptied.
unsigned long long seen_adds = 0, seen_subs = 0;
uint64_t generation = 0;
bool all_judged = false;          // no object's answer is kUnknown, and global_answer is not either
Answer global_answer = kUnknown;  // to callers in no object

// All of the above, from `others` on, is read and written by callbacks of dl_iterate_phdr alone: its lock is theirs.
template <typename Work>
void under_lock(Work work) {
  dl_iterate_phdr(
      [](dl_phdr_info*, size_t, void* data) {
        (*static_cast<Work*>(data))();
        return 1;
      },
      &work);
}

void forget_callers() {
  for (auto& word : callers) word.store(0, std::memory_order_relaxed);
}

// Calls of dlclose under way. While there is one, no new word is written: the place may be another library's the moment
// after.
std::atomic<uint32_t> closing{0};
thread_local uint32_t closing_here = 0;  // of these, the calling thread's
std::atomic<bool> asked{false};          // there may be words

struct Closing {
  Closing() {
    // Sequentially consistent, as the load in find_out(): the count rises before the words go. The destructors of the
    // closed object run in this thread. A word that another thread is about to write belongs to an object that is
    // calling, so not to one that is being closed.
    closing.fetch_add(1);
    ++closing_here;
    if (asked.load(std::memory_order_relaxed)) forget_callers();
  }
  ~Closing() {
    --closing_here;
    closing.fetch_sub(1);
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
};

using Dlclose = int (*)(void*);
Dlclose real_dlclose() {
  static std::atomic<Dlclose> found{nullptr};
  return behind(found, "dlclose");
}

// Any object that looks like an OpenMP runtime and is not the one that we serve.
bool is_another_runtime(const char* path, const Object& object) {
  const char* const slash = path ? std::strrchr(path, '/') : nullptr;
  const char* const name = slash ? slash + 1 : path ? path : "";
  if (std::strncmp(name, "libgomp", 7) != 0 && std::strncmp(name, "libomp", 6) != 0 &&
      std::strncmp(name, "libiomp", 7) != 0)
    return false;
  const auto ours = reinterpret_cast<uintptr_t>(smelt_real[runtime.entry]);
  return ours < object.begin || ours >= object.end;
}

Object* object_at(uintptr_t address) {
  Object* const after = std::upper_bound(objects, objects + object_count, address,
                                         [](uintptr_t a, const Object& object) { return a < object.begin; });
  return after != objects && address < after[-1].end ? after - 1 : nullptr;
}

void add_object(const dl_phdr_info& info) {
  Object object{UINTPTR_MAX, 0, kUnknown};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    object.begin = std::min<uintptr_t>(object.begin, info.dlpi_addr + header.p_vaddr);
    object.end = std::max<uintptr_t>(object.end, info.dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  if (object.end == 0 || object_count == kObjects || object_at(object.begin)) return;
  if (is_another_runtime(info.dlpi_name, object)) {
    __atomic_store_n(&smelt_openmp_several, true, __ATOMIC_RELAXED);
    if (runtime.another) runtime.another();
  }
  Object* at = objects + object_count++;
  for (; at != objects && at[-1].begin > object.begin; --at) *at = at[-1];
  *at = object;
}

struct Question {
  uintptr_t address;
  bool begun = false;
  bool up_to_date = false;  // `objects` was what the loader has, and the rest is filled in
  bool in_object = false, all_judged = false;
  Answer answer = kUnknown, global = kUnknown;
};

// Called for every object of the process until it returns 1; the counts are the same in all calls of a round.
int look(dl_phdr_info* info, size_t, void* data) {
  auto& question = *static_cast<Question*>(data);
  if (!question.begun) {
    question.begun = true;
    if (info->dlpi_adds == seen_adds && info->dlpi_subs == seen_subs) {
      const Object* object = object_at(question.address);
      question.up_to_date = true;
      question.in_object = object != nullptr;
      if (object) question.answer = object->answer;
      question.all_judged = all_judged;
      question.global = global_answer;
      return 1;
    }
    if (info->dlpi_subs != seen_subs) {
      object_count = 0;
      ++generation;
    }
    seen_adds = info->dlpi_adds;
    seen_subs = info->dlpi_subs;
    all_judged = false;
  }
  add_object(*info);
  return 0;
}

// The object that holds an address, held in its place meanwhile. None for the main program and for generated code,
// which is in no object: both see the global scope only.
struct Held {
  void* handle = nullptr;
  explicit Held(uintptr_t address) {
    Dl_info where;
    if (dladdr(reinterpret_cast<void*>(address), &where) && where.dli_fname && where.dli_fname[0])
      handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  ~Held() {
    if (handle) real_dlclose()(handle);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void* find(const char* name) const { return handle ? dlsym(handle, name) : nullptr; }
};

// The number of these meanings among the others. The caller holds the lock.
Answer answer_for(const Meanings& meanings) {
  const uint32_t kept = std::min(next_other, kOthers);
  for (uint32_t i = 0; i < kept; ++i)
    if (std::memcmp(&others[i], &meanings, sizeof meanings) == 0) return kFirstOther + i;
  const uint32_t index = next_other++ % kOthers;
  if (next_other > kOthers) {
    // After so many libraries loaded and closed, the oldest's place is taken. No caller may be told of it any more.
    forget_callers();
    for (uint32_t i = 0; i < object_count; ++i)
      if (objects[i].answer == kFirstOther + index) objects[i].answer = kUnknown;
  }
  others[index] = meanings;
  return kFirstOther + index;
}

// Whether our runtime serves callers in this object. If not, `meanings` are the functions that the dynamic linker gives
// to them: first from the global scope, then from the object's own.
bool serves(const Held& object, Meanings* meanings) {
  const char* name = name_of(runtime.thread_num);
  void* bound = dlsym(RTLD_DEFAULT, name);
  if (!bound) bound = object.find(name);
  if (!bound || bound == smelt_real[runtime.thread_num]) return true;
  name = slot_names;
  for (uint32_t i = 0; i < runtime.slots; ++i) {
    void*& function = meanings->of[i];
    function = dlsym(RTLD_NEXT, name);
    if (!function) function = object.find(name);
    name += std::strlen(name) + 1;
  }
  return false;
}

// Judges all objects that are not judged yet.
void judge() {
  const Closing held_ones;  // Held may be the last to hold an object
  Meanings meanings{};
  uintptr_t begin = 0;  // of the object; 0: code in no object
  do {
    uint64_t of = 0;
    under_lock([&] { of = generation; });
    const bool ours = serves(Held{begin}, &meanings);
    under_lock([&] {
      if (of == generation) {
        const Answer answer = ours ? kOurs : answer_for(meanings);
        Object* const object = object_at(begin);
        (object ? object->answer : global_answer) = answer;
      }
      const Object* const next =
          std::find_if(objects, objects + object_count, [](const Object& o) { return o.answer == kUnknown; });
      begin = next == objects + object_count ? 0 : next->begin;
      all_judged = begin == 0;
    });
  } while (begin);
}

}  // namespace

Answer find_out(const void* address) {
  const auto bits = reinterpret_cast<uint64_t>(address);
  // Acquire: pairs with the release below, so that the meanings are there when the answer is.
  if (const uint64_t word = word_of(bits).load(std::memory_order_acquire);
      (word & kAddressBits) == bits && word != bits)
    return static_cast<Answer>(word >> kAnswerShift);
  resolve();
  asked.store(true, std::memory_order_relaxed);  // a dlclose that does not see it yet closes nothing that is calling
  for (;;) {
    Question question{bits};
    dl_iterate_phdr(look, &question);
    if (!question.up_to_date) continue;  // it is now
    Answer answer = kOurs;
    if (__atomic_load_n(&smelt_openmp_several, __ATOMIC_RELAXED)) {
      answer = question.in_object ? question.answer : question.all_judged ? question.global : kUnknown;
      if (answer == kUnknown) {
        judge();
        continue;
      }
    }
    if (question.in_object && closing.load() == 0)
      word_of(bits).store(bits | uint64_t{answer} << kAnswerShift, std::memory_order_release);
    return answer;
  }
}

void* find_meant(void*& slot, const void* address) {
  if (const Answer answer = find_out(address); answer >= kFirstOther)
    if (void* function = others[answer - kFirstOther].of[index_of(slot)]) return function;
  return resolved(slot);
}

void forget_closing() { closing.store(closing_here); }

}  // namespace smelt::openmp

// Tells the stubs where to jump.
extern "C" __attribute__((visibility("hidden"))) void* smelt_openmp_meant(void** slot, const void* address) {
  return smelt::openmp::meant(*slot, address);
}

extern "C" __attribute__((visibility("default"))) int dlclose(void* handle) noexcept {
  const smelt::openmp::Closing closing;
  return smelt::openmp::real_dlclose()(handle);
}
