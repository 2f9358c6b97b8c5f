#include "bench/mpi/sweep_output.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "epcc/program.h"

namespace smelt::bench {
namespace {

using Json = nlohmann::json;
using epcc::BadInput;

// "Open MPI v4.1.4, package: ..." -> "Open MPI v4.1.4"; "MPICH Version: 4.0.2" -> "MPICH 4.0.2"
std::string short_name(std::string library) {
  library = library.substr(0, library.find(','));
  if (const size_t word = library.find(" Version:"); word != library.npos) library.erase(word, 9);
  std::string result;
  for (const char c : library)
    if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
  return result;
}

SweepLine line_of(const Json& json) {
  SweepLine line{json.at("kernel"), json.at("size"), {}};
  Reading& reading = line.reading;
  reading.us = json.at("median_us");
  reading.min_us = json.at("min_us");
  reading.max_us = json.at("max_us");
  reading.calls = json.at("calls");
  reading.verified = json.at("verified");
  reading.hop_ns = json.at("hop_ns").get<std::vector<double>>();
  return line;
}

void take(std::string_view text, SweepOutput& output) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return;
  try {
    if (json.contains("library")) {
      output.library = short_name(json.at("library"));
      output.ranks = json.at("ranks");
    } else {
      SweepLine line = line_of(json);
      if (line.reading.us > 0) output.lines.push_back(std::move(line));
    }
  } catch (const Json::exception&) {  // somebody else's JSON
  }
}

constexpr long kLargest = 1L << 30;

long parse_size(const std::string& text) {
  long size = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, size);
  const char unit = stop != end ? *stop++ : ' ';
  const long factor = unit == 'K' ? 1024 : unit == 'M' ? 1 << 20 : unit == ' ' ? 1 : 0;
  if (error != std::errc{} || stop != end || factor == 0 || size < 1 || size > kLargest / factor)
    throw BadInput{fmt::format("--sizes: \"{}\" is not a size; write 64, 8K or 16M, at most 1024M", text)};
  size *= factor;
  if (size > 8 && size % 8 != 0)
    throw BadInput{fmt::format("--sizes: {} is not a multiple of 8 (messages of 8 bytes or more are doubles)", size)};
  return size;
}

}  // namespace

SweepOutput parse_sweep(std::string_view text) {
  SweepOutput output;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    take(text.substr(start, end - start), output);
    start = end + 1;
  }
  return output;
}

std::vector<long> parse_sizes(const std::string& text) {
  std::vector<long> sizes;
  if (const size_t colon = text.find(':'); colon != text.npos) {
    const long most = parse_size(text.substr(colon + 1));
    for (long size = parse_size(text.substr(0, colon)); size <= most; size *= 2) sizes.push_back(size);
    if (sizes.empty()) throw BadInput{fmt::format("--sizes: \"{}\" holds no size", text)};
    return sizes;
  }
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    sizes.push_back(parse_size(text.substr(start, end - start)));
    start = end + 1;
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() > 64) throw BadInput{"--sizes: at most 64 sizes"};
  return sizes;
}

std::string size_name(long bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{}M", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{}K", bytes >> 10);
  return std::to_string(bytes);
}

}  // namespace smelt::bench
