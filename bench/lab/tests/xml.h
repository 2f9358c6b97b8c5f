// A strict little reader of XML, as far as SVG needs it: elements, attributes, text, the five entities. What it takes,
// every XML parser takes.
#pragma once

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::test {

// "" when `text` is one well-formed document, else what is wrong and where. All character data goes into *words.
inline std::string xml_flaw(const std::string& text, std::string* words) {
  std::vector<std::string> open;
  size_t at = 0, roots = 0;
  const auto flaw = [&](const char* what) {
    return std::string(what) + " at " + std::to_string(at) + ": " + text.substr(at, 60);
  };
  const auto plain = [&](std::string_view part) {  // no raw &, < or control character
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '<' || (static_cast<unsigned char>(part[i]) < 0x20 && part[i] != '\n')) return false;
      if (part[i] != '&') continue;
      bool known = false;
      for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})
        known = known || part.substr(i).starts_with(entity);
      if (!known) return false;
    }
    return true;
  };
  if (text.starts_with("<?xml")) at = text.find("?>") + 2;
  while (at < text.size()) {
    if (text[at] != '<') {
      const size_t end = std::min(text.find('<', at), text.size());
      const std::string part = text.substr(at, end - at);
      if (!plain(part)) return flaw("bad character data");
      if (open.empty() && part.find_first_not_of("\n ") != part.npos) return flaw("text outside the root");
      if (words) *words += part + "\n";
      at = end;
      continue;
    }
    const size_t end = text.find('>', at);
    if (end == text.npos) return flaw("unclosed tag");
    if (text[at + 1] == '/') {
      if (open.empty() || text.substr(at + 2, end - at - 2) != open.back()) return flaw("wrong end tag");
      open.pop_back();
      at = end + 1;
      continue;
    }
    if (open.empty() && roots++ > 0) return flaw("second root");
    size_t i = at + 1;
    while (i < end && std::isalnum(static_cast<unsigned char>(text[i]))) ++i;
    const std::string name = text.substr(at + 1, i - at - 1);
    if (name.empty()) return flaw("no name");
    std::set<std::string> seen;
    bool empty_element = false;
    while (i < end) {
      if (text[i] == '/') {
        if (i + 1 != end) return flaw("stray /");
        empty_element = true;
        break;
      }
      if (text[i] != ' ') return flaw("no space before an attribute");
      const size_t equals = text.find("=\"", i);
      if (equals == text.npos || equals > end) return flaw("attribute without value");
      const std::string key = text.substr(i + 1, equals - i - 1);
      if (key.empty() || key.find_first_of(" \"<>/") != key.npos) return flaw("bad attribute name");
      if (!seen.insert(key).second) return flaw("attribute twice");
      const size_t close = text.find('"', equals + 2);
      if (close == text.npos || close > end || !plain(text.substr(equals + 2, close - equals - 2)))
        return flaw("bad attribute value");
      i = close + 1;
    }
    if (!empty_element) open.push_back(name);
    at = end + 1;
  }
  if (!open.empty()) return "not closed: " + open.back();
  return roots == 1 ? "" : "no root";
}

}  // namespace smelt::test
