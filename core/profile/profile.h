// The machine profile: what was measured, when, how, on which machine.
//
// It exists twice. The JSON form is for people and for other programs; the packed form below is what a process maps
// in microseconds. Both carry the same numbers, and the packed form is complete in itself.
//
// Where profiles are looked for, first hit wins:
//   1. the file that the setting SMELT_PROFILE names
//   2. $XDG_CACHE_HOME/smelt/<fingerprint>.profile   ($HOME/.cache where XDG_CACHE_HOME is not set)
//   3. <localstatedir>/lib/smelt/<fingerprint>.profile   (the system's, for fleets)
//   4. none: a model is guessed from the kernel's topology under /sys, and said to be a guess
// A file that is truncated, of another version, byte order or machine, damaged, hostile (sizes or numbers out of
// range, not a regular file) or writable by anybody but its owner (root or the user) is refused with one line, and
// the guess is used. Whether the line is printed is for whoever loads: the shim prints it only if somebody asked for
// that file or for lines (a descriptor that could not be had is no news for a job's output).
//
// Packed layout, native byte order, all offsets from the start of the file, every array 8-byte aligned:
//   PackedHeader | uint32 os_cpu[n] | uint16 package[n] | core[n] | llc[n] | node[n] | float hop[n*n] |
//   send_busy[n*n] | recv_busy[n*n] | ready_read[n*n] | CurveSet curves[] | ClassFigures classes[] | WaitFigures wait |
//   FanCurves fans[] | DistanceCurves distances[] | Winner winners[] | uint32 winner_words[]
// The header counts the arrays. The winners' words follow each other in the pool, in their order and without gaps.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "model/cost_model.h"
#include "model/curves.h"
#include "profile/measured.h"

namespace smelt {

inline constexpr uint32_t kProfileVersion = 3;
inline constexpr uint32_t kMaxProfileCpus = 1024;

enum class ProfileSource : uint8_t { kSetting, kUser, kSystem, kGuess };

struct PackedHeader {
  char magic[8];            // "SMELTPRF"
  uint32_t byte_order;      // 0x01020304 as the writer stores it
  uint32_t version;         // kProfileVersion
  uint64_t bytes;           // of the whole file
  uint64_t checksum;        // FNV-1a over the file's 64-bit words, this one taken as 0
  uint64_t fingerprint;     // of the machine, base/fingerprint.h
  int64_t created;          // seconds since 1970, UTC
  uint32_t cpus;            // n
  uint32_t unit;            // CostUnit
  float poller;             // per further poller of a shared release line
  float one_way_hop;        // ping-pong paired with the measurement, median over the measured pairs
  float spread;             // relative inter-quartile range of that ping-pong: how noisy the machine was
  uint32_t pairs_measured;  // ordered pairs with figures of their own; the others have their class's
  uint32_t curve_sets;      // 0 .. kMaxCurveSets
  uint32_t classes;         // 0 .. kMaxClasses
  uint32_t fans;            // 0 .. kMaxFanCurves
  uint32_t distances;       // 0 .. kMaxDistanceCurves
  uint32_t winners;         // 0 .. kMaxWinners
  uint32_t winner_words;    // 0 .. kMaxWinnerWords
  char method[64];          // "8x16 round trips, median", NUL-terminated
  char machine[128];        // CPU model name and shape, NUL-terminated
};
static_assert(sizeof(PackedHeader) == 7 * 8 + 10 * 4 + 64 + 128, "the file format has no hidden padding");

// How long the arrays are.
struct PackedCounts {
  uint32_t cpus, curve_sets = 0, classes = 0, fans = 0, distances = 0, winners = 0, winner_words = 0;
};
constexpr PackedCounts counts_of(const PackedHeader& h) {
  return {h.cpus, h.curve_sets, h.classes, h.fans, h.distances, h.winners, h.winner_words};
}
inline constexpr PackedCounts kLargestCounts = {kMaxProfileCpus,    kMaxCurveSets, kMaxClasses,    kMaxFanCurves,
                                                kMaxDistanceCurves, kMaxWinners,   kMaxWinnerWords};

// Where the arrays of a file begin, and its size.
struct PackedLayout {
  uint64_t os_cpu, package, core, llc, node, hop, send_busy, recv_busy, ready_read;
  uint64_t curves, classes, wait, fans, distances, winners, winner_words, bytes;
};
constexpr PackedLayout packed_layout(const PackedCounts& counts) {
  uint64_t end = sizeof(PackedHeader);
  const auto place = [&end](uint64_t count, uint64_t each) {
    const uint64_t begin = end;
    end += (count * each + 7) & ~uint64_t{7};
    return begin;
  };
  const uint64_t n = counts.cpus;
  PackedLayout at{};
  at.os_cpu = place(n, sizeof(uint32_t));
  for (uint64_t* ids : {&at.package, &at.core, &at.llc, &at.node}) *ids = place(n, sizeof(uint16_t));
  for (uint64_t* matrix : {&at.hop, &at.send_busy, &at.recv_busy, &at.ready_read})
    *matrix = place(n * n, sizeof(float));
  at.curves = place(counts.curve_sets, sizeof(CurveSet));
  at.classes = place(counts.classes, sizeof(ClassFigures));
  at.wait = place(1, sizeof(WaitFigures));
  at.fans = place(counts.fans, sizeof(FanCurves));
  at.distances = place(counts.distances, sizeof(DistanceCurves));
  at.winners = place(counts.winners, sizeof(Winner));
  at.winner_words = place(counts.winner_words, sizeof(uint32_t));
  at.bytes = end;
  return at;
}

// A profile as the process sees it. The arrays point into `mapping`, a private copy of the file or the guess.
struct Profile {
  PackedHeader header{};
  ProfileSource source = ProfileSource::kGuess;
  char path[512] = "";                // of the file, empty for a guess
  const uint32_t* os_cpu = nullptr;   // [n] the kernel's number of CPU i, ascending
  const uint16_t* package = nullptr;  // [n]
  const uint16_t* core = nullptr;     // [n] equal = SMT siblings
  Costs costs;                        // over all n CPUs; llc and node are in here
  const CurveSet* curves = nullptr;   // [curve_sets] of the methods of groups, model/curves.h
  uint32_t curve_sets = 0;            // 0: not measured; the guess has none
  // profile/measured.h; nullptr where the header counts none, `wait` only in an empty Profile
  const ClassFigures* classes = nullptr;  // [header.classes]
  const WaitFigures* wait = nullptr;
  const FanCurves* fans = nullptr;            // [header.fans]
  const DistanceCurves* distances = nullptr;  // [header.distances]
  const Winner* winners = nullptr;            // [header.winners]
  const uint32_t* winner_words = nullptr;     // [header.winner_words]
  const void* mapping = nullptr;              // what unload_profile gives back
  uint64_t mapped_bytes = 0;
};

// Why a file was refused; `text` is the one line for the user (what is wrong and what to do), without prefix.
struct Refusal {
  char text[640] = "";
};

// Reads and checks one file. 0, or a negative errno with *why filled (-ENOENT: no such file, not a refusal).
// expected_fingerprint 0 accepts any machine's.
int load_profile_file(const char* path, uint64_t expected_fingerprint, Profile* out, Refusal* why);

// The search order above. Always succeeds unless memory is out (-ENOMEM): the last resort is the guess. A file that was
// refused on the way is told in *why (empty text: none was).
int load_profile(Profile* out, Refusal* why);
void unload_profile(Profile* profile);

// The guess: /sys/devices/system/{cpu,node} under `sys_root` (nullptr: "/sys"), a typical cost per class of distance
// (same core, same last-level cache, same package, same node, other). 0 or -ENOMEM, -ENODEV.
int guess_profile(const char* sys_root, Profile* out);

// Index of the kernel's CPU in the profile, or kNobody.
uint16_t profile_index(const Profile& profile, uint32_t os_cpu);

// Directory and file of the user's profile for this machine: $XDG_CACHE_HOME/smelt/<16 hex digits>.profile.
// 0, -ENOENT when neither XDG_CACHE_HOME nor HOME is usable, -ENAMETOOLONG.
int user_profile_path(char* path, uint64_t bytes);
int system_profile_path(char* path, uint64_t bytes);

// Fills in a finished image: magic, byte order, version, size, checksum. `image` (8-byte aligned) holds
// header and arrays already.
void seal_packed(void* image, uint64_t bytes);

// Points a profile's arrays into an image whose header says how long they are.
void attach_image(const void* image, Profile* out);

}  // namespace smelt
