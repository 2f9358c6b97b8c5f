// The language of the two samplers of a network, on the connection by which they agree (control.h): lines of words.
// Each begins with a greeting; then the client asks, and the server answers.
//
//     client                               server
//     addresses                            addresses ADDRESS ...
//     rail ADDRESS                         name HEX            the name of the port that it has opened there
//     peer HEX                             ready
//       run METHOD BYTES ROUNDS            go                  and the rounds are played
//       close                              closed
//     piece HEX ... done, or done alone    kept                the profile that was made, or none
//     either, at any time: failed REASON
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rails/network/control.h"

namespace smelt {

// s; longer than the longest message takes on any rail worth sampling
inline constexpr double kPeerSilence = 60;

[[noreturn]] void speaks_otherwise();  // The peer has said what is none of these.

std::string hex_of(const std::string& bytes);
std::string from_hex(const std::string& text);
uint32_t number_in(const std::string& text, uint32_t least, uint32_t most);

// The words that follow `what`, at least so many; where the peer says that it failed, its reason is thrown.
std::vector<std::string> expect(Control& control, const char* what, size_t count,
                                const std::function<void()>& meanwhile = {});

struct Greeting {
  std::string node;
  uint64_t machine;  // machine_fingerprint() there
};
std::string node_name();  // ours
void greet(Control& control);
Greeting meet(Control& control);  // the other's

}  // namespace smelt
