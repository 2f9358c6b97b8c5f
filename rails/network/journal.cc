// smelt unfinished sampling 1
// <checksum of the rest> <key> | <size> <time> <spread> ...
#include "rails/network/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <sstream>

#include "base/fingerprint.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr const char* kHeader = "smelt unfinished sampling 1\n";
constexpr off_t kLargest = 1 << 20;  // bytes: more is no journal of ours
constexpr size_t kChecksum = 16;     // hexadecimal digits of 64 bits

std::string line_of(const std::string& key, const RailCurve& curve) {
  std::string text = key + " |";
  for (uint32_t i = 0; i < curve.count; ++i)
    text += fmt::format(" {} {:.9g} {:.4g}", curve.bytes[i], curve.us[i], curve.spread[i]);
  return fmt::format("{:016x} {}\n", fnv1a(text.data(), text.size()), text);
}

// False: line_of does not write that.
bool curve_from(const std::string& line, std::string* key, RailCurve* curve) {
  const size_t bar = line.find(" |");
  if (line.size() < kChecksum + 2 || line[kChecksum] != ' ' || bar == line.npos) return false;
  const std::string text = line.substr(kChecksum + 1);
  if (fmt::format("{:016x}", fnv1a(text.data(), text.size())) != line.substr(0, kChecksum)) return false;
  *key = line.substr(kChecksum + 1, bar - kChecksum - 1);
  *curve = {};
  std::istringstream numbers(line.substr(bar + 2));
  for (uint64_t bytes; curve->count < kRailSizes && numbers >> bytes;) {
    const uint32_t i = curve->count++;
    curve->bytes[i] = bytes;
    numbers >> curve->us[i] >> curve->spread[i];
    if (!numbers || bytes <= (i ? curve->bytes[i - 1] : 0) || bytes > kLongestRailSample || !(curve->us[i] > 0) ||
        (i > 0 && curve->us[i] < curve->us[i - 1]) || !(curve->spread[i] >= 0))
      return false;
  }
  return curve->count > 0;
}

}  // namespace

NetworkJournal::NetworkJournal(const std::string& path, bool fresh)
    : path_(path + ".partial"),
      fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600)) {
  if (fd_ < 0) throw UserError(fmt::format("{}: cannot be written ({})", path_, std::strerror(errno)));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd_);
    throw UserError(fmt::format("{}: another 'smelt network' is sampling; wait for it", path_));
  }
  struct stat status {};
  const bool ours = ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                    (status.st_mode & 022) == 0 && status.st_size <= kLargest;
  const std::time_t age = std::time(nullptr) - status.st_mtime;
  if (ours && !fresh && age >= -60 && age <= kNetworkJournalMinutes * 60) read();
  found_ = curves_.size();
  if (!curves_.empty()) return;
  const std::string header = kHeader;
  if (::ftruncate(fd_, 0) != 0 || ::write(fd_, header.data(), header.size()) != static_cast<ssize_t>(header.size())) {
    const std::string why = std::strerror(errno);
    ::close(fd_);
    throw UserError(fmt::format("{}: cannot be written ({})", path_, why));
  }
}

NetworkJournal::~NetworkJournal() {
  if (curves_.empty()) ::unlink(path_.c_str());  // before the lock goes: then it may be another's
  ::close(fd_);
}

void NetworkJournal::read() {
  std::string text(static_cast<size_t>(kLargest), '\0');
  const ssize_t got = ::pread(fd_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  if (!text.starts_with(kHeader)) return;
  size_t begin = std::strlen(kHeader);
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    std::string key;
    RailCurve curve;
    if (!curve_from(text.substr(begin, end - begin), &key, &curve)) break;
    curves_[key] = curve;
  }
  // From the first line on that is not whole, nothing counts: it would hide appended lines.
  if (::ftruncate(fd_, static_cast<off_t>(begin)) != 0) curves_.clear();
}

CurveStore NetworkJournal::store() {
  return {.find =
              [this](const std::string& key, RailCurve* curve) {
                const auto found = curves_.find(key);
                if (found == curves_.end()) return false;
                *curve = found->second;
                return true;
              },
          .keep =
              [this](const std::string& key, const RailCurve& curve) {
                const std::string line = line_of(key, curve);
                // A full disk ends the journal, silently: the profile itself will say it.
                if (::write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) curves_[key] = curve;
              }};
}

void NetworkJournal::remove() { curves_.clear(); }

}  // namespace smelt
