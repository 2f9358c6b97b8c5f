#include "rails/verbs/start_peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <vector>

#include "cli/child.h"
#include "cli/launch_environment.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr const char* kListening = "listening on port ";  // as smelt network listen says it
constexpr size_t kMostOutput = 4096;

// The same program there as here: nodes of a cluster have it at the same place.
std::string own_path() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "smelt";
}

uint16_t port_in(const std::string& text) {
  const size_t at = text.find(kListening);
  uint16_t port = 0;
  if (at == text.npos || text.find('\n', at) == text.npos) return 0;
  const char* begin = text.data() + at + std::strlen(kListening);
  std::from_chars(begin, text.data() + text.size(), port);
  return port;
}

}  // namespace

StartedPeer::StartedPeer(const std::string& agent, const std::string& host, double seconds) {
  std::vector<std::string> words;
  std::istringstream parts(agent);
  for (std::string word; parts >> word;) words.push_back(word);
  if (words.empty()) throw UserError("--start: which program starts one on the peer? For instance ssh");
  if (host.starts_with('-')) throw UserError(fmt::format("'{}' is no host", host));
  words.push_back(host);
  words.push_back(shell_word(own_path()) + " network listen --port 0");
  const std::vector<char*> pointers = argument_pointers(words);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw UserError(fmt::format("no pipe ({})", std::strerror(errno)));
  pid_ = ::fork();
  if (pid_ == 0) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, 0), ::dup2(ends[1], 1);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::string said;
  while (pid_ > 0 && (port_ = port_in(said)) == 0 && said.size() < kMostOutput) {
    const auto left = std::chrono::duration<double, std::milli>(until - std::chrono::steady_clock::now()).count();
    pollfd ready{output_, POLLIN, 0};
    const int count = left > 0 ? ::poll(&ready, 1, static_cast<int>(left) + 1) : 0;
    if (count < 0 && errno == EINTR) continue;
    char piece[256];
    const ssize_t got = count > 0 ? ::read(output_, piece, sizeof piece) : 0;
    if (got <= 0) break;
    said.append(piece, static_cast<size_t>(got));
  }
  if (port_ != 0) return;
  if (pid_ > 0) ::kill(pid_, SIGTERM);
  int status = 0;
  if (pid_ > 0) ::waitpid(pid_, &status, 0);
  ::close(output_);
  throw UserError(WIFEXITED(status) && WEXITSTATUS(status) == 127
                      ? fmt::format("{} or what it should start on {} is not there", words[0], host)
                      : fmt::format("'{} {} ...' did not start smelt on the peer", agent, host));
}

StartedPeer::~StartedPeer() {
  // It ends when it has kept what was sampled, or when its connection ends: a moment, then it is told.
  constexpr int kTurns = 250;
  bool ended = false;
  for (int turn = 0; turn < kTurns && !ended; ++turn) {
    ended = ::waitpid(pid_, nullptr, WNOHANG) != 0;
    if (!ended) ::usleep(20'000);
  }
  if (!ended) ::kill(pid_, SIGTERM), ::waitpid(pid_, nullptr, 0);
  ::close(output_);
}

}  // namespace smelt
