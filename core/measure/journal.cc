// smelt unfinished calibration 1 <fingerprint>
// <checksum of the rest> a b drift, send_busy recv_busy ready_read there, the same back, hops ...
#include "measure/journal.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fingerprint.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr uint64_t kLargestJournal = 256u << 20;  // all pairs of 1,024 CPUs
constexpr size_t kMostHops = 1024;                // of a line of the file, which anybody may have damaged

std::string path_of(const std::string& packed_path) {
  return packed_path.substr(0, packed_path.rfind('.')) + ".partial";
}

std::string header_for(uint64_t fingerprint) {
  return fmt::format("smelt unfinished calibration 1 {:016x}", fingerprint);
}

std::string line_of(const MeasuredPair& pair) {
  const PairCost& c = pair.cost;
  // Hundredths of a ns, as in the profile.
  std::string text = fmt::format("{} {} {:.4f}", pair.os_cpu_a, pair.os_cpu_b, c.drift);
  for (const DirectionCost& d : {c.forth, c.back})
    text += fmt::format(" {:.2f} {:.2f} {:.2f}", d.send_busy, d.recv_busy, d.ready_read);
  for (const double hop : c.hops) text += fmt::format(" {:.2f}", hop);
  return fmt::format("{:016x} {}\n", fnv1a(text.data(), text.size()), text);
}

// false: line_of does not write that.
bool pair_from(const std::string& line, MeasuredPair* out) {
  if (line.size() < 18 || line[16] != ' ') return false;
  if (fmt::format("{:016x}", fnv1a(line.data() + 17, line.size() - 17)) != line.substr(0, 16)) return false;
  std::istringstream text(line.substr(17));
  PairCost& c = out->cost;
  text >> out->os_cpu_a >> out->os_cpu_b >> c.drift;
  for (DirectionCost* d : {&c.forth, &c.back}) text >> d->send_busy >> d->recv_busy >> d->ready_read;
  if (!text || out->os_cpu_a == out->os_cpu_b) return false;
  const auto is_cost = [](double value) { return value >= 0 && value < 1e9; };
  for (double hop; text >> hop && c.hops.size() < kMostHops;) c.hops.push_back(hop);
  bool good = text.eof() && !c.hops.empty() && is_cost(c.drift);
  for (const DirectionCost& d : {c.forth, c.back})
    good = good && is_cost(d.send_busy) && is_cost(d.recv_busy) && is_cost(d.ready_read);
  for (const double hop : c.hops) good = good && is_cost(hop);
  return good;
}

bool write_all(int fd, const std::string& text) {
  const ssize_t written = ::write(fd, text.data(), text.size());
  return written == static_cast<ssize_t>(text.size());
}

// The file, ours alone and locked. The lock is the process's: no child that outlives it can keep it.
int open_locked(const std::string& path) {
  const auto fail = [&path](int fd, const std::string& what) {
    if (fd >= 0) ::close(fd);
    throw UserError(fmt::format("{}: {}", path, what));
  };
  for (;;) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
      fail(fd, "not a regular file, and in the way of this calibration; remove it");
    if (fd < 0)
      fail(fd, fmt::format("cannot be written ({}); the profile there, if any, is unchanged", std::strerror(errno)));
    struct stat status {};
    if (::fstat(fd, &status) != 0) fail(fd, fmt::format("cannot be examined ({})", std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) fail(fd, "not a regular file, and in the way of this calibration; remove it");
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))
      fail(fd, "others can write what an unfinished calibration measured; remove it");
    struct flock lock {};
    lock.l_type = F_WRLCK;
    if (::fcntl(fd, F_SETLK, &lock) != 0) {
      const bool taken = errno == EACCES || errno == EAGAIN;
      fail(fd, taken ? "another 'smelt calibrate' is measuring, and two would disturb each other; wait for it"
                     : fmt::format("cannot be locked ({})", std::strerror(errno)));
    }
    // Its owner before us may have removed it in the meantime.
    if (::fstat(fd, &status) == 0 && status.st_nlink > 0) return fd;
    ::close(fd);
  }
}

}  // namespace

Journal::Journal(const std::string& packed_path, uint64_t fingerprint, bool fresh)
    : path_(path_of(packed_path)), fd_(open_locked(path_)) {
  if (!fresh && read(fingerprint)) return;
  known_.clear();
  pairs_ = 0;
  if (::ftruncate(fd_, 0) == 0 && write_all(fd_, header_for(fingerprint) + "\n")) return;
  const std::string why = std::strerror(errno);
  ::unlink(path_.c_str());
  ::close(fd_);
  throw UserError(fmt::format("{}: cannot be written ({}); the profile there, if any, is unchanged", path_, why));
}

Journal::~Journal() {
  if (pairs_ == 0) ::unlink(path_.c_str());
  ::close(fd_);
}

// False: nothing of it is of use.
bool Journal::read(uint64_t fingerprint) {
  struct stat status {};
  if (::fstat(fd_, &status) != 0 || status.st_size == 0) return false;
  const std::time_t age = std::time(nullptr) - status.st_mtime;
  if (age < -60 || age > kJournalMinutes * 60 || static_cast<uint64_t>(status.st_size) > kLargestJournal) return false;
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t got = ::pread(fd_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  size_t begin = text.find('\n');
  if (begin == text.npos || text.substr(0, begin++) != header_for(fingerprint)) return false;
  std::map<std::pair<uint32_t, uint32_t>, size_t> place;
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    MeasuredPair pair{};
    if (!pair_from(text.substr(begin, end - begin), &pair)) break;
    const auto [found, first] = place.try_emplace({pair.os_cpu_a, pair.os_cpu_b}, known_.size());
    if (first)
      known_.push_back(std::move(pair));
    else
      known_[found->second] = std::move(pair);  // measured again
  }
  // From the first line on that is not whole, nothing counts: it would hide appended lines.
  if (::ftruncate(fd_, static_cast<off_t>(begin)) != 0) return false;
  pairs_ = known_.size();
  return true;
}

void Journal::add(const MeasuredPair& pair) {
  if (full_) return;
  full_ = !write_all(fd_, line_of(pair));
  pairs_ += !full_;
}

void Journal::remove() {
  ::unlink(path_.c_str());
  pairs_ = 0;
}

}  // namespace smelt
