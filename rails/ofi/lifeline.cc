#include "rails/ofi/lifeline.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace smelt::rail_ofi {
namespace {

constexpr int64_t kLookNs = 20'000'000;      // two looks are so far apart: each is a call of the kernel
constexpr int64_t kAnswerNs = 3000'000'000;  // TCP asks again after 1 s, and after 2 more
constexpr int64_t kAgainNs = 500'000'000;    // a connection that was lost is tried again after that
constexpr int kKeepalive[][2] = {{TCP_KEEPIDLE, 1}, {TCP_KEEPINTVL, 1}, {TCP_KEEPCNT, 4}};  // seconds, seconds, times

sockaddr_in at(uint32_t host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  return address;
}

// -1: none can be had, which says nothing of the peer.
int open_socket(uint32_t from) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  for (const auto& [option, value] : kKeepalive) ::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value);
  const sockaddr_in local = at(from, 0);
  (void)::bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local);  // else by whichever way there is
  return fd;
}

}  // namespace

void Lifeline::close() {
  if (fd_ >= 0) ::close(fd_);
  *this = {};
}

Lifeline::Word Lifeline::lose(int64_t now) {
  close();
  next_ = now + kAgainNs;
  return last_ = Word::kGone;
}

Lifeline::Word Lifeline::look(uint32_t from, uint32_t host, uint16_t port, int64_t now) {
  if (now < next_) return last_;
  next_ = now + kLookNs;
  if (fd_ < 0) {
    fd_ = open_socket(from);
    if (fd_ < 0) return last_ = Word::kUnknown;
    asked_ = now;
    const sockaddr_in peer = at(host, port);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0 && errno != EINPROGRESS)
      return lose(now);
    return last_ = Word::kUnknown;
  }
  if (there_) {
    char byte;
    const ssize_t got = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return last_ = Word::kThere;
    close();  // by a process that ended, or by one that lives and does not know us
    return Word::kUnknown;
  }
  pollfd ready{fd_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return now - asked_ > kAnswerNs ? lose(now) : last_ = Word::kUnknown;
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0) return lose(now);
  there_ = true;
  return last_ = Word::kThere;
}

}  // namespace smelt::rail_ofi
