#include "cli/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstring>

#include "base/options.h"

namespace smelt {
namespace {

constexpr size_t kNarrowest = 20;  // narrower terminals do their own

// Columns that a text takes: not of the escapes that colour it, and one of each character in UTF-8.
size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\033')
      at = std::min(text.find('m', at), text.size() - 1);
    else
      columns += (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
  }
  return columns;
}

// The column of the rest of a line: below its last one, which begins behind two blanks, and behind "why:" there.
size_t hanging_column(std::string_view line, size_t width) {
  size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return 0;
  for (size_t at = begin; (at = line.find("  ", at)) != std::string_view::npos;) {
    at = line.find_first_not_of(' ', at);
    if (at == std::string_view::npos || columns_of(line.substr(0, at)) > width / 2) break;
    begin = at;
  }
  const std::string_view word = line.substr(begin, std::min(line.find(' ', begin), line.size()) - begin);
  size_t column = columns_of(line.substr(0, begin));
  if (word.ends_with(':') && column + word.size() < width / 2)
    column = columns_of(line.substr(0, std::min(line.find_first_not_of(' ', begin + word.size()), line.size())));
  return column;
}

void wrap_line(std::string_view line, size_t width, std::string& out) {
  const size_t column = hanging_column(line, width);
  size_t used = 0;
  bool first_word = true;
  for (size_t at = 0; at < line.size();) {
    const size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const size_t end = std::min(line.find(' ', word), line.size());
    const std::string_view gap = line.substr(at, word - at), text = line.substr(word, end - word);
    const size_t columns = columns_of(text);
    if (!first_word && columns > 0 && used + gap.size() + columns > width) {
      // A path that is too long for the column need not stand in it.
      const size_t indent = column + columns > width ? std::min<size_t>(column, 2) : column;
      out += '\n' + std::string(indent, ' ');
      used = indent;
    } else {
      out += gap;
      used += gap.size();
    }
    out += text;
    used += columns;
    first_word &= columns == 0;
    at = end;
  }
}

}  // namespace

bool takes_colours() {
  const char* const refused = environment("NO_COLOR");
  const char* const terminal = environment("TERM");
  return ::isatty(STDOUT_FILENO) && !(refused && *refused) && terminal && *terminal &&
         std::string_view(terminal) != "dumb";
}

std::string inked(Ink ink, std::string_view text) {
  if (!takes_colours()) return std::string(text);
  const char* const codes[] = {"32", "36", "1;33", "1"};
  return std::string("\033[") + codes[static_cast<size_t>(ink)] + "m" + std::string(text) + "\033[m";
}

std::string fact(std::string_view about, std::string_view text) {
  return std::string(about) + std::string(std::max<size_t>(12 - std::min<size_t>(12, about.size()), 1), ' ') +
         std::string(text) + '\n';
}

std::string wrapped(std::string_view text, uint32_t width) {
  if (width < kNarrowest) return std::string(text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (columns_of(line) <= width)
      out += line;
    else
      wrap_line(line, width, out);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

bool terminal_takes_utf8() { return std::setlocale(LC_CTYPE, "") && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

uint32_t terminal_width() {
  winsize size{};
  return ::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace smelt
