// The words of two samplers (language.h).
#include "rails/network/language.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <charconv>

#include "base/fingerprint.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr uint32_t kProtocol = 3;
constexpr size_t kLongestNode = 255;  // bytes of a name

}  // namespace

void speaks_otherwise() { throw UserError("the peer speaks another language"); }

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    uint8_t value = 0;
    const auto [end, error] = std::from_chars(&text[i], &text[i] + 2, value, 16);
    if (error != std::errc{} || end != &text[i] + 2) speaks_otherwise();
    bytes += static_cast<char>(value);
  }
  return bytes;
}

uint32_t number_in(const std::string& text, uint32_t least, uint32_t most) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) speaks_otherwise();
  return value;
}

std::vector<std::string> expect(Control& control, const char* what, size_t count,
                                const std::function<void()>& meanwhile) {
  std::vector<std::string> words = control.hear(kPeerSilence, meanwhile);
  if (!words.empty() && words[0] == "failed") {
    words.erase(words.begin());
    throw UserError(fmt::format("the peer: {}", fmt::join(words, " ")));
  }
  if (words.empty() || words[0] != what || words.size() < count + 1) speaks_otherwise();
  words.erase(words.begin());
  return words;
}

std::string node_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name[0] ? name : "unnamed";
}

void greet(Control& control) {
  control.say(fmt::format("smelt-network {} {} {:016x}", kProtocol, node_name(), machine_fingerprint()));
}

Greeting meet(Control& control) {
  const std::vector<std::string> words = expect(control, "smelt-network", 1);
  if (words[0] != std::to_string(kProtocol))
    throw UserError(fmt::format("the peer samples by version {}, this smelt by {}: use the same on both nodes",
                                words[0], kProtocol));
  Greeting met{.node = words.size() > 1 ? words[1] : "", .machine = 0};
  const char* end = words.size() == 3 ? words[2].data() + words[2].size() : nullptr;
  if (!end || met.node.size() > kLongestNode || words[2].size() != 16 ||
      std::from_chars(words[2].data(), end, met.machine, 16).ptr != end)
    speaks_otherwise();
  return met;
}

}  // namespace smelt
