// Passes frames between two interfaces, each a while later: a network that is far away (netem is not everywhere).
//   delay_relay INTERFACE INTERFACE MICROSECONDS
// Says "ready" when it listens; ends when its standard input does. Needs a network namespace of its own, and root.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <vector>

namespace {

struct Frame {
  int64_t due;
  int to;
  std::vector<char> bytes;  // with the header that says how its checksum and segments are meant
};

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int open_interface(const char* name) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(::if_nametoindex(name));
  const int yes = 1, room = 8 << 20;
  // Packets that leave here are not to come back. veth hands over packets that are neither checksummed nor cut into
  // segments yet.
  if (fd < 0 || at.sll_ifindex == 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
      ::setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0 ||
      ::setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0) {
    std::perror(name);
    std::exit(1);
  }
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int fd[2] = {open_interface(argv[1]), open_interface(argv[2])};
  const int64_t delay = std::atoll(argv[3]) * 1000;
  std::deque<Frame> frames;
  std::vector<char> room(70'000);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) {
    timespec wait{};
    if (!frames.empty() && frames.front().due > now_ns()) {
      const int64_t left = frames.front().due - now_ns();
      wait.tv_nsec = left > 0 && left < 1'000'000'000 ? left : 0;
    }
    pollfd ready[3] = {{fd[0], POLLIN, 0}, {fd[1], POLLIN, 0}, {0, POLLIN, 0}};
    ::ppoll(ready, 3, frames.empty() ? nullptr : &wait, nullptr);
    char word;
    if ((ready[2].revents & (POLLIN | POLLHUP)) && ::read(0, &word, 1) <= 0) return 0;
    for (int from = 0; from < 2; ++from)
      for (ssize_t got; (got = ::read(fd[from], room.data(), room.size())) > 0;)
        frames.push_back({now_ns() + delay, 1 - from, {room.data(), room.data() + got}});
    for (; !frames.empty() && frames.front().due <= now_ns(); frames.pop_front()) {
      const Frame& frame = frames.front();
      if (::write(fd[frame.to], frame.bytes.data(), frame.bytes.size()) < 0 && errno == EAGAIN) break;
    }
  }
}
