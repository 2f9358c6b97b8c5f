// The machine profile: the figures measured, and when, how and on which machine.
//
// It exists twice. The JSON form is for people and for other programs; a process maps the packed form below in
// microseconds. Both carry the same numbers, and the packed form is complete in itself.
//
// Where profiles are looked for, first hit wins:
//   1. the file that the setting SMELT_PROFILE names
//   2. $XDG_CACHE_HOME/smelt/<fingerprint>.profile   ($HOME/.cache where XDG_CACHE_HOME is not set)
//   3. <localstatedir>/lib/smelt/<fingerprint>.profile   (the system's, for fleets)
//   4. none: a model is guessed from the kernel's topology under /sys, and said to be a guess
// A file that is truncated, of another version, byte order or machine, damaged, hostile (sizes or numbers out of
// range, not a regular file) or writable by anybody but its owner (root or the user) is refused with one line, and
// the guess is used. The loader decides whether the line is printed: the shim prints it only if somebody asked for that
// file or for lines (a descriptor that could not be had is no news for a job's output).
//
// Packed layout, native byte order, every array 8-byte aligned: PackedHeader, then the arrays of fields.def in their
// order. The header counts them.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "model/cost_model.h"
#include "model/curves.h"
#include "model/distance.h"
#include "profile/measured.h"

namespace smelt {

inline constexpr uint32_t kProfileVersion = 6;
inline constexpr uint32_t kMaxProfileCpus = 1024;

enum class ProfileSource : uint8_t { kSetting, kUser, kSystem, kGuess };

struct PackedHeader {
  char magic[8];        // "SMELTPRF"
  uint32_t byte_order;  // 0x01020304 as the writer stores it
  uint32_t version;     // kProfileVersion
  uint64_t bytes;       // of the whole file
  uint64_t checksum;    // FNV-1a over the file's 64-bit words, this one taken as 0
#define HEADER(place, type, name, array, rule) type name array;
#define COUNT(name, most, what) uint32_t name;  // of an array, 0 .. most
#define HEADER_TEXT(place, name, bytes) char name[bytes];
#include "profile/fields.def"
};

// How long the arrays are.
struct PackedCounts {
  uint32_t cpus;
#define COUNT(name, most, what) uint32_t name = 0;
#include "profile/fields.def"
};
constexpr PackedCounts counts_of(const PackedHeader& header) {
  PackedCounts counts{.cpus = header.cpus};
#define COUNT(name, most, what) counts.name = header.name;
#include "profile/fields.def"
  return counts;
}
inline constexpr PackedCounts kLargestCounts = {
    kMaxProfileCpus,
#define COUNT(name, most, what) most,
#include "profile/fields.def"
};

// The places where the arrays of a file begin, and its size.
struct PackedLayout {
#define ARRAY(type, name, length, where) uint64_t name;
#include "profile/fields.def"
  uint64_t bytes;
};
constexpr PackedLayout packed_layout(const PackedCounts& counts) {
  uint64_t end = sizeof(PackedHeader);
  const auto place = [&end](uint64_t count, uint64_t each) {
    const uint64_t begin = end;
    end += (count * each + 7) & ~uint64_t{7};
    return begin;
  };
  PackedLayout at{};
#define ARRAY(type, name, length, where) at.name = place(length, sizeof(type));
#include "profile/fields.def"
  at.bytes = end;
  return at;
}

// A profile as the process sees it. The arrays point into `mapping`, a private copy of the file or the guess.
struct Profile {
  PackedHeader header{};
  ProfileSource source = ProfileSource::kGuess;
  char path[512] = "";  // of the file, empty for a guess
  Costs costs;          // over all n CPUs
  // nullptr where the header counts none; `wait` only in an empty Profile
#define COSTS_ID(type, name, json)
#define MATRIX(name)
#define ARRAY(type, name, length, where) const type* name = nullptr;
#include "profile/fields.def"
  const void* mapping = nullptr;  // unload_profile gives it back
  uint64_t mapped_bytes = 0;
};

// Why a file was refused; `text` is the one line for the user (what is wrong and what to do), without prefix.
struct Refusal {
  char text[640] = "";
  bool advises = false;  // the text says what to do
};

// Adds what to do to the text of a refusal that does not say so itself.
void advise(Refusal* why, const char* what_to_do);

// Reads and checks one file. 0, or a negative errno with *why filled (-ENOENT: no such file, not a refusal).
// expected_fingerprint 0 accepts any machine's.
int load_profile_file(const char* path, uint64_t expected_fingerprint, Profile* out, Refusal* why);
// The same for a file that nobody has named and that 'smelt calibrate' writes: the refusal says to run it.
int load_own_profile_file(const char* path, Profile* out, Refusal* why);

// The search order above. Always succeeds unless memory is out (-ENOMEM): the last resort is the guess. A file that was
// refused on the way is told in *why (empty text: none was).
int load_profile(Profile* out, Refusal* why);
// False: load_profile would find no file: none is named in SMELT_PROFILE, and no directory is there in which one could
// lie. Looked for once in a process, as settings are.
bool profile_may_exist();
void unload_profile(Profile* profile);

// The guess: /sys/devices/system/{cpu,node} under `sys_root` (nullptr: "/sys"), a typical cost per class of distance
// (same core, same last-level cache, same package, same node, other). 0 or -ENOMEM, -ENODEV.
int guess_profile(const char* sys_root, Profile* out);
// A guess that looks at nothing: so many CPUs (from 1 on), numbered from 0 on, that share a last-level cache. 0 or
// -ENOMEM.
int assume_profile(uint32_t cpus, Profile* out);

inline Location location_in(const Profile& profile, uint32_t i) {
  return {profile.core[i], profile.costs.llc[i], profile.costs.node[i], profile.package[i]};
}

// Index of the kernel's CPU in the profile, or kNobody.
uint16_t profile_index(const Profile& profile, uint32_t os_cpu);

// Directory and file of the user's profile for this machine: $XDG_CACHE_HOME/smelt/<16 hex digits>.profile.
// 0, -ENOENT when neither XDG_CACHE_HOME nor HOME is usable, -ENAMETOOLONG.
int user_profile_path(char* path, uint64_t bytes);
int system_profile_path(char* path, uint64_t bytes);

// Was anything measured, or has one CPU no pairs and nothing was left to measure? false: guessed from the topology.
inline bool is_measured(const PackedHeader& header) {
  return header.pairs_measured > 0 || (header.cpus == 1 && header.created != 0);
}

// Fills in a finished image: magic, byte order, version, size, checksum. `image` (8-byte aligned) holds
// header and arrays already.
void seal_packed(void* image, uint64_t bytes);

// Points a profile's arrays into an image whose header says how long they are.
void attach_image(const void* image, Profile* out);

}  // namespace smelt
