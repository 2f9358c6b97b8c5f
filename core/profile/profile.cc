// This file says where profiles are looked for, and answers for a loaded one.
#include "profile/profile.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fingerprint.h"
#include "base/options.h"
#include "base/os/errno_keeper.h"
#include "base/os/os.h"
#include "smelt_config.h"

namespace smelt {
namespace {

int format_path(char* path, uint64_t bytes, const char* directory, const char* between) {
  const int length = std::snprintf(path, bytes, "%s%s/%016llx.profile", directory, between,
                                   static_cast<unsigned long long>(machine_fingerprint()));
  return length < 0 || static_cast<uint64_t>(length) >= bytes ? -ENAMETOOLONG : 0;
}

// The XDG base directory specification: relative values are to be ignored.
bool usable_directory(const char* directory) { return directory && directory[0] == '/'; }

// False: no profile can lie there. To name one takes the machine's fingerprint, a dozen files and as many CPUID
// instructions, which a hypervisor answers in microseconds each (measured: 120 µs of a first parallel region).
bool is_there(const char* directory, const char* below) {
  const os::ErrnoKeeper keeper;
  char path[sizeof Profile::path];
  const int length = std::snprintf(path, sizeof path, "%s%s", directory, below);
  return length < 0 || static_cast<size_t>(length) >= sizeof path || ::access(path, F_OK) == 0 ||
         (errno != ENOENT && errno != ENOTDIR);
}

struct Directory {
  const char* path;
  const char* below;
};

// nullptr: the environment names none.
Directory user_directory() {
  const char* cache = environment("XDG_CACHE_HOME");
  if (usable_directory(cache)) return {cache, "/smelt"};
  const char* home = environment("HOME");
  if (usable_directory(home)) return {home, "/.cache/smelt"};
  return {nullptr, nullptr};
}

bool has_user_directory() {
  const Directory user = user_directory();
  return user.path && is_there(user.path, user.below);
}
bool has_system_directory() { return is_there(SMELT_SYSTEM_PROFILE_DIR, ""); }

}  // namespace

int user_profile_path(char* path, uint64_t bytes) {
  const Directory directory = user_directory();
  return directory.path ? format_path(path, bytes, directory.path, directory.below) : -ENOENT;
}

int system_profile_path(char* path, uint64_t bytes) { return format_path(path, bytes, SMELT_SYSTEM_PROFILE_DIR, ""); }

bool profile_may_exist() {
  enum : int { kUnknown, kNowhere, kSomewhere };
  static std::atomic<int> known{kUnknown};
  // relaxed, both: threads that look together find the same, and nothing else hangs on it
  int now = known.load(std::memory_order_relaxed);
  if (now == kUnknown) {
    const bool may = options().profile[0] != '\0' || has_user_directory() || has_system_directory();
    known.store(now = may ? kSomewhere : kNowhere, std::memory_order_relaxed);
  }
  return now == kSomewhere;
}

int load_profile(Profile* out, Refusal* why) {
  why->text[0] = '\0';
  const char* named = options().profile;
  if (named[0] != '\0') {
    const int error = load_profile_file(named, machine_fingerprint(), out, why);
    if (error == 0) {
      out->source = ProfileSource::kSetting;
      return 0;
    }
    if (error == -ENOENT)  // a file that somebody asked for and that is not there is worth a line
      std::snprintf(why->text, sizeof why->text, "SMELT_PROFILE=%.400s: no such file; unset it to use this machine's",
                    named);
    else
      advise(why, "name another in SMELT_PROFILE, or unset it");
    return guess_profile(nullptr, out);
  }
  char path[sizeof out->path];
  if (has_user_directory() && user_profile_path(path, sizeof path) == 0) {
    const int error = load_own_profile_file(path, out, why);
    if (error == 0) {
      out->source = ProfileSource::kUser;
      return 0;
    }
    if (error != -ENOENT) return guess_profile(nullptr, out);
  }
  if (has_system_directory() && system_profile_path(path, sizeof path) == 0 &&
      load_own_profile_file(path, out, why) == 0) {
    out->source = ProfileSource::kSystem;
    return 0;
  }
  return guess_profile(nullptr, out);
}

void unload_profile(Profile* profile) {
  if (profile->mapping) os::unmap_pages(const_cast<void*>(profile->mapping), profile->mapped_bytes);
  *profile = Profile{};
}

uint16_t profile_index(const Profile& profile, uint32_t os_cpu) {
  uint32_t low = 0, high = profile.header.cpus;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (profile.os_cpu[middle] < os_cpu)
      low = middle + 1;
    else
      high = middle;
  }
  return low < profile.header.cpus && profile.os_cpu[low] == os_cpu ? static_cast<uint16_t>(low) : kNobody;
}

void conditions_text(uint32_t conditions, char* text, uint64_t bytes) {
  uint64_t used = 0;
  text[0] = '\0';
  for (uint32_t c = 0; c < kConditions; ++c)
    if (conditions >> c & 1 && used < bytes)
      used +=
          static_cast<uint64_t>(std::snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", kConditionNames[c]));
}

}  // namespace smelt
