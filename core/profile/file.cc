// Reading a packed profile, trusting nothing.
//
// The process that reads it may be somebody's production job, so a bad file must neither crash nor mislead it:
//   1. open      the directory first, then the file in it: no symbolic link, no FIFO that blocks, no device
//   2. owner     a regular file of the user's or root's that nobody else can write, in a directory nobody can plant in
//   3. copy      into memory of our own: a mapped file that somebody truncates later would kill us with SIGBUS
//   4. header    magic, byte order, version, sizes; then the checksum; then the machine
//   5. numbers   check.cc
#include "profile/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fingerprint.h"
#include "base/os/descriptor.h"
#include "base/os/no_cancellation.h"
#include "base/os/os.h"
#include "profile/check.h"

namespace smelt {
namespace {

constexpr char kMagic[8] = {'S', 'M', 'E', 'L', 'T', 'P', 'R', 'F'};
constexpr uint32_t kByteOrder = 0x01020304;

[[gnu::format(printf, 4, 5), gnu::nonnull(4)]] int refuse(Refusal* why, const char* path, int error, const char* format,
                                                          ...) {
  // The end of a long path says more than its beginning.
  const size_t length = std::strlen(path);
  constexpr size_t kShown = 300;
  int at = std::snprintf(why->text, sizeof why->text, "profile %s%s ", length > kShown ? "..." : "",
                         length > kShown ? path + (length - kShown) : path);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(why->text + at, sizeof why->text - static_cast<size_t>(at), format, arguments);
  va_end(arguments);
  why->advises = std::strchr(format, ';') != nullptr;
  return error;
}

// 1. The file, opened in a directory that is already open: so the file that is checked is the one that is read.
int open_profile(const char* path, struct stat* directory) {
  const char* slash = std::strrchr(path, '/');
  char parent[sizeof Profile::path] = ".";
  if (slash) {
    const size_t length = slash == path ? 1 : static_cast<size_t>(slash - path);
    if (length >= sizeof parent) return -ENAMETOOLONG;
    std::memcpy(parent, path, length);
    parent[length] = '\0';
  }
  const Descriptor in(::open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (in.get() < 0) return -errno;
  if (::fstat(in.get(), directory) != 0) return -errno;
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int fd = ::openat(in.get(), slash ? slash + 1 : path, kHow);
  return fd < 0 ? -errno : fd;
}

// 2.
int check_owner(const char* path, const struct stat& directory, const struct stat& file, Refusal* why) {
  if (!S_ISREG(file.st_mode)) return refuse(why, path, -EINVAL, "is not a regular file; name a .profile file");
  if (file.st_uid != ::geteuid() && file.st_uid != 0)
    return refuse(why, path, -EPERM, "belongs to user %u, not to you or root", static_cast<unsigned>(file.st_uid));
  if (file.st_mode & (S_IWGRP | S_IWOTH))
    return refuse(why, path, -EPERM, "can be written by others (mode %04o); chmod go-w it",
                  static_cast<unsigned>(file.st_mode & 07777));
  if ((directory.st_mode & S_IWOTH) && !(directory.st_mode & S_ISVTX))
    return refuse(why, path, -EPERM, "lies in a directory that everybody can write; chmod o-w the directory");
  return 0;
}

// 3. All bytes or an error.
int read_all(int fd, void* into, uint64_t bytes) {
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(fd, static_cast<char*>(into) + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) return -ENODATA;
    done += static_cast<uint64_t>(got);
  }
  return 0;
}

// By words and not by bytes: eight times faster, and a megabyte is read at the start of a process on a large machine.
// Every step is a bijection of the hash, so no single damaged word can go unnoticed.
uint64_t checksum_of(const void* image, uint64_t bytes) {
  constexpr uint64_t kField = offsetof(PackedHeader, checksum) / 8;
  const auto* words = static_cast<const uint64_t*>(image);  // both mmap and operator new align to more than 8
  uint64_t hash = kFnvStart;
  for (uint64_t i = 0; i < bytes / 8; ++i) hash = (hash ^ (i == kField ? 0 : words[i])) * 0x100000001b3ull;
  return hash;
}

// 4.
int check_header(const char* path, const PackedHeader& header, uint64_t bytes, Refusal* why) {
  const auto* first = reinterpret_cast<const char*>(&header);
  if (bytes > 0 && first[0] == '{')
    return refuse(why, path, -EINVAL, "is the JSON form, for people; name the .profile file beside it");
  if (bytes < sizeof kMagic || std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return refuse(why, path, -EINVAL, "is not a Smelt profile");
  // The version before the header's size, which is the version's.
  constexpr uint64_t kVersionEnd = offsetof(PackedHeader, version) + sizeof header.version;
  if (bytes < kVersionEnd) return refuse(why, path, -EINVAL, "is truncated");
  if (header.byte_order != kByteOrder) return refuse(why, path, -EINVAL, "is of a machine with another byte order");
  if (header.version != kProfileVersion)
    return refuse(why, path, -EINVAL, "has format version %u, this Smelt reads %u", header.version, kProfileVersion);
  if (bytes < sizeof(PackedHeader)) return refuse(why, path, -EINVAL, "is truncated");
  if (header.cpus < 1 || header.cpus > kMaxProfileCpus)
    return refuse(why, path, -EINVAL, "claims %u CPUs, 1 to %u are possible", header.cpus, kMaxProfileCpus);
  const struct {
    uint32_t count, most;
    const char* what;
  } parts[] = {
#define COUNT(name, most, what) {header.name, most, what},
#include "profile/fields.def"
  };
  for (const auto& part : parts)
    if (part.count > part.most)
      return refuse(why, path, -EINVAL, "claims %u %s, at most %u are possible", part.count, part.what, part.most);
  const uint64_t expected = packed_layout(counts_of(header)).bytes;
  if (header.bytes != expected || bytes != header.bytes)
    return refuse(why, path, -EINVAL, "is %s (%llu bytes of %llu)",
                  bytes < header.bytes ? "truncated" : "of the wrong size", static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(expected));
  return 0;
}

}  // namespace

void attach_image(const void* image, Profile* out) {
  const auto* base = static_cast<const char*>(image);
  std::memcpy(&out->header, base, sizeof out->header);
  const PackedCounts counts = counts_of(out->header);
  const PackedLayout at = packed_layout(counts);
  out->costs.n = out->header.cpus;
  out->costs.unit = static_cast<CostUnit>(out->header.unit);
  out->costs.poller = out->header.poller;
  std::copy_n(out->header.service, kDistances, out->costs.service);
  std::copy_n(out->header.crossing, kDistances, out->costs.crossing);
#define ARRAY(type, name, length, where) \
  out->where = (length) != 0 ? reinterpret_cast<const type*>(base + at.name) : nullptr;
#include "profile/fields.def"
  out->costs.core = out->core;
  out->costs.package = out->package;
}

void seal_packed(void* image, uint64_t bytes) {
  auto* header = static_cast<PackedHeader*>(image);
  std::memcpy(header->magic, kMagic, sizeof kMagic);
  header->byte_order = kByteOrder;
  header->version = kProfileVersion;
  header->bytes = bytes;
  header->checksum = checksum_of(image, bytes);
}

int load_profile_file(const char* path, uint64_t expected_fingerprint, Profile* out, Refusal* why) {
  const os::NoCancellation no_cancellation;
  why->text[0] = '\0';
  why->advises = false;
  *out = Profile{};
  if (std::strlen(path) >= sizeof out->path) return refuse(why, path, -ENAMETOOLONG, "has too long a name");

  struct stat directory {
  }, status{};
  const Descriptor file(open_profile(path, &directory));  // 1.
  // ENOTDIR: services often have HOME=/dev/null, which is as good as no home.
  if (file.get() == -ENOENT || file.get() == -ENOTDIR) return -ENOENT;
  if (file.get() == -ELOOP) return refuse(why, path, -ELOOP, "is a symbolic link; name the file itself");
  if (file.get() < 0) return refuse(why, path, file.get(), "cannot be opened (%s)", std::strerror(-file.get()));
  if (::fstat(file.get(), &status) != 0)
    return refuse(why, path, -errno, "cannot be examined (%s)", std::strerror(errno));
  if (const int error = check_owner(path, directory, status, why)) return error;  // 2.

  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes > packed_layout(kLargestCounts).bytes)
    return refuse(why, path, -EINVAL, "is too large for a profile (%llu bytes)",
                  static_cast<unsigned long long>(bytes));
  const uint64_t mapped = bytes < sizeof(PackedHeader) ? sizeof(PackedHeader) : bytes;
  void* image = os::map_pages(mapped);  // 3.
  if (!image) return refuse(why, path, -ENOMEM, "cannot be read: out of memory");
  int error = read_all(file.get(), image, bytes);
  if (error == -ENODATA)
    error = refuse(why, path, -EINVAL, "is truncated");
  else if (error)
    error = refuse(why, path, error, "cannot be read (%s)", std::strerror(-error));

  const auto* header = static_cast<const PackedHeader*>(image);
  if (!error) error = check_header(path, *header, bytes, why);  // 4.
  if (!error && header->checksum != checksum_of(image, bytes))
    error = refuse(why, path, -EINVAL, "is damaged (wrong checksum)");
  if (!error && expected_fingerprint != 0 && header->fingerprint != expected_fingerprint)
    error = refuse(why, path, -ESTALE, "is of another machine or kernel (%016llx, this is %016llx)",
                   static_cast<unsigned long long>(header->fingerprint),
                   static_cast<unsigned long long>(expected_fingerprint));
  if (!error) {
    attach_image(image, out);
    if (const char* nonsense = nonsense_in(*out))  // 5.
      error = refuse(why, path, -EINVAL, "is not believable: %s", nonsense);
  }
  if (error) {
    os::unmap_pages(image, mapped);
    *out = Profile{};
    return error;
  }
  std::snprintf(out->path, sizeof out->path, "%s", path);
  out->mapping = image;
  out->mapped_bytes = mapped;
  return 0;
}

int load_own_profile_file(const char* path, Profile* out, Refusal* why) {
  const int error = load_profile_file(path, machine_fingerprint(), out, why);
  advise(why, "run 'smelt calibrate'");
  return error;
}

void advise(Refusal* why, const char* what_to_do) {
  const size_t length = std::strlen(why->text);
  if (length == 0 || why->advises) return;
  std::snprintf(why->text + length, sizeof why->text - length, "; %s", what_to_do);
  why->advises = true;
}

}  // namespace smelt
