#include "rails/network/control.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/os/os.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr size_t kLongestLine = 4096;  // bytes: more is no line of ours (docs/security.md)
constexpr const char* kGone = "the peer is gone";
constexpr timeval kSayPatience = {20, 0};  // a peer that reads nothing fills the socket's buffers

double now_s() { return static_cast<double>(os::now_ns()) * 1e-9; }

int rest_ms(double until) { return static_cast<int>(std::ceil(std::max(until - now_s(), 0.0) * 1000)); }

std::string text_of(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

}  // namespace

Control::Control(int fd) : fd_(fd) {
  const int yes = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kSayPatience, sizeof kSayPatience);
}

Control::~Control() { ::close(fd_); }

void Control::say(const std::string& line) {
  const std::string text = line + "\n";
  if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) throw UserError(kGone);
}

std::vector<std::string> Control::hear(double seconds, const std::function<void()>& meanwhile) {
  const double until = now_s() + seconds;
  uint32_t turn = 0;
  size_t end;
  while ((end = rest_.find('\n')) == rest_.npos) {
    if (rest_.size() > kLongestLine) throw UserError("the peer speaks another language");
    pollfd ready{fd_, POLLIN, 0};
    // At first without a pause: the peer may be waiting for what `meanwhile` does.
    constexpr uint32_t kTurnsAtOnce = 1000;
    const int patience = !meanwhile ? rest_ms(until) : turn++ < kTurnsAtOnce ? 0 : 1;
    const int count = ::poll(&ready, 1, patience);
    if (count == 0 && meanwhile && now_s() < until) {
      meanwhile();
      ::sched_yield();
      continue;
    }
    if (count == 0) throw UserError(fmt::format("the peer has not answered for {:.0f} s", seconds));
    if (count < 0 && errno == EINTR) continue;
    char text[1024];
    const ssize_t got = ::recv(fd_, text, sizeof text, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw UserError(kGone);
    rest_.append(text, static_cast<size_t>(got));
  }
  std::string said = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  // Some of it comes to a terminal.
  std::replace_if(
      said.begin(), said.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  std::istringstream line(said);
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

void Control::check_peer() {
  char one;
  const ssize_t got = ::recv(fd_, &one, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) throw UserError(kGone);
}

std::string Control::local_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  return text_of(address);
}

std::string Control::peer_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getpeername(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  return text_of(address);
}

Listener::Listener(const std::string& address, uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  const int yes = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1 ||
      ::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(fd_, 1) != 0) {
    const int error = errno;
    ::close(fd_);
    throw UserError(fmt::format("cannot listen at {}, port {} ({})", address, port, std::strerror(error)));
  }
}

Listener::~Listener() { ::close(fd_); }

uint16_t Listener::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

int Listener::accept() const {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0 && errno != EINTR) throw UserError(fmt::format("nobody can connect ({})", std::strerror(errno)));
  return fd;
}

int connect_to(const std::string& host, uint16_t port, double seconds) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &hints, &found);
  if (error != 0) throw UserError(fmt::format("{}: {}", host, ::gai_strerror(error)));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int why = ::connect(fd, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  ::freeaddrinfo(found);
  if (why == EINPROGRESS) {
    const double until = now_s() + seconds;
    pollfd ready{fd, POLLOUT, 0};
    int count;
    while ((count = ::poll(&ready, 1, rest_ms(until))) < 0 && errno == EINTR) {
    }
    socklen_t size = sizeof why;
    if (count == 0)
      why = ETIMEDOUT;
    else
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size);
  }
  if (why != 0) {
    ::close(fd);
    throw UserError(
        fmt::format("{}, port {}: {}; does 'smelt network listen' run there?", host, port, std::strerror(why)));
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace smelt
