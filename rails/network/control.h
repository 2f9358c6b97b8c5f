// The connection by which two samplers of a network agree on the next step: lines of text over TCP.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smelt {

class Control {
 public:
  explicit Control(int fd);  // a connected socket, now ours
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Throws UserError: the peer is gone, or reads nothing.
  void say(const std::string& line);
  // The next line, in words of printable characters. Throws UserError: the peer is gone, says nothing for so long, or
  // no line ends. `meanwhile` is called again and again while nothing comes.
  std::vector<std::string> hear(double seconds = 20, const std::function<void()>& meanwhile = {});
  // Throws when the peer is gone.
  void check_peer();

  std::string local_address() const;
  std::string peer_address() const;

 private:
  const int fd_;
  std::string rest_;
};

class Listener {
 public:
  Listener(const std::string& address, uint16_t port);  // 0: any port
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  uint16_t port() const;
  int accept() const;  // a connected socket, or -1: a signal came

 private:
  const int fd_;
};

int connect_to(const std::string& host, uint16_t port, double seconds);  // a socket; throws UserError

}  // namespace smelt
