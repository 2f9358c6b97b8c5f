// Damage by chance, the same for the same seed: what disks, editors and enemies do to a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace smelt::test {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t count) { return count ? random_() % count : 0; }
  bool one_in(uint64_t count) { return below(count) == 0; }
  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  // One to four wounds: bits flipped, bytes set, cut off, cut out, doubled, or a piece of `other` put in.
  std::string damage(std::string bytes, const std::string& other) {
    for (uint64_t left = 1 + below(4); left > 0; --left) wound(bytes, other);
    return bytes;
  }

  // The same for text with a grammar: numbers become other numbers, names and punctuation change places.
  std::string damage_text(std::string text, const std::string& other, const std::vector<std::string>& words) {
    for (uint64_t left = 1 + below(3); left > 0; --left) {
      if (text.empty() || one_in(4)) {
        wound(text, other);
        continue;
      }
      size_t at = text.find_first_of("0123456789", below(text.size()));
      if (at == text.npos || one_in(3)) {
        at = below(text.size() + 1);
        text.insert(at, any(words));
      } else {
        text.replace(at, std::min(text.find_first_not_of("0123456789.e+-", at), text.size()) - at, any(words));
      }
    }
    return text;
  }

 private:
  void wound(std::string& bytes, const std::string& other) {
    const size_t at = below(bytes.size()), length = 1 + below(std::min<size_t>(bytes.size() - at + 1, 64));
    switch (below(7)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
        break;
      case 1:
        if (!bytes.empty())
          bytes[at] = static_cast<char>(any(std::vector<int>{0, 1, 0x7f, 0x80, 0xff, '"', '[', '{', '\n'}));
        break;
      case 2: bytes.resize(at); break;
      case 3: bytes.erase(at, length); break;
      case 4: bytes.insert(at, bytes.substr(at, length)); break;
      case 5: bytes.insert(at, other.substr(below(other.size()), length)); break;
      case 6: bytes = bytes.substr(0, at) + other.substr(below(other.size())); break;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace smelt::test
