// The JSON form of a machine profile: for people, plots and other programs. One line per CPU, matrix row and curve.
// What is measured beside the matrices: measured_json.cc.
#include <charconv>
#include <ctime>

#include "profile/check.h"
#include "profile/text/image.h"
#include "profile/text/json_checks.h"
#include "profile/text/measured_json.h"

namespace smelt {
namespace {

constexpr const char* kFormat = "smelt machine profile";

std::string iso_8601(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char text[40];
  return std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0 ? text : "1970-01-01T00:00:00Z";
}

int64_t seconds_from(const std::string& text, const JsonChecks& checks) {
  std::tm utc{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  if (!end || *end != '\0') checks.fail("\"created\" is not a date like 2026-01-31T12:00:00Z");
  return ::timegm(&utc);
}

// Firmware names need not be UTF-8; the bytes that are not become U+FFFD.
std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_matrix(std::string& out, const char* name, const std::vector<float>& values, uint32_t n) {
  out += fmt::format("  \"{}\": [\n", name);
  for (uint32_t i = 0; i < n; ++i) {
    // fmt prints the shortest decimal that reads back as the same float: both forms carry the same numbers.
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(size_t{i} * n);
    out += fmt::format("    [{}]{}\n", fmt::join(row, row + n, ", "), i + 1 < n ? "," : "");
  }
  out += "  ],\n";
}

}  // namespace

std::string profile_to_json(const ProfileImage& image) {
  const PackedHeader& header = image.header;
  const uint32_t n = image.n();
  std::string out = "{\n";
  out += fmt::format("  \"format\": \"{}\",\n  \"version\": {},\n", kFormat, kProfileVersion);
  out += fmt::format("  \"machine\": {},\n", quoted(header.machine));
  out += fmt::format("  \"fingerprint\": \"{:016x}\",\n", header.fingerprint);
  out += fmt::format("  \"created\": \"{}\",\n", iso_8601(header.created));
  out += fmt::format("  \"kind\": \"{}\",\n", image.measured() ? "measured" : "guessed");
  out += fmt::format("  \"method\": {},\n", quoted(header.method));
  out += fmt::format("  \"unit\": \"{}\",\n", header.unit == 0 ? "ns" : "cycles");
  out += fmt::format("  \"one_way_hop\": {},\n  \"spread\": {},\n", header.one_way_hop, header.spread);
  out += fmt::format("  \"pairs_measured\": {},\n  \"poller\": {},\n", header.pairs_measured, header.poller);
  out += "  \"cpus\": [\n";
  for (uint32_t i = 0; i < n; ++i)
    out += fmt::format(R"(    {{"os": {}, "package": {}, "core": {}, "llc": {}, "node": {}}}{})"
                       "\n",
                       image.os_cpu[i], image.package[i], image.core[i], image.llc[i], image.node[i],
                       i + 1 < n ? "," : "");
  out += "  ],\n  \"matrices\": \"row = sender, column = receiver, both as in cpus\",\n";
  append_matrix(out, "hop", image.hop, n);
  append_matrix(out, "send_busy", image.send_busy, n);
  append_matrix(out, "recv_busy", image.recv_busy, n);
  append_matrix(out, "ready_read", image.ready_read, n);
  append_measured(out, image);
  return out + "}\n";
}

ProfileImage profile_from_json(std::string_view text, const std::string& name) {
  const JsonChecks checks(name);
  const nlohmann::json root = checks.parse(text);
  if (checks.text(root, "format") != kFormat) checks.fail("\"format\" is not \"{}\"", kFormat);
  const uint32_t version = checks.whole(checks.member(root, "version"), "\"version\"", UINT32_MAX);
  if (version != kProfileVersion)
    checks.fail("format version {}, this Smelt reads {}; run 'smelt calibrate'", version, kProfileVersion);

  const nlohmann::json& cpus = checks.member(root, "cpus");
  if (!cpus.is_array() || cpus.empty() || cpus.size() > kMaxProfileCpus)
    checks.fail("\"cpus\" is not a list of 1 to {} CPUs", kMaxProfileCpus);
  const auto n = static_cast<uint32_t>(cpus.size());
  ProfileImage image = make_image(n);
  PackedHeader& header = image.header;
  for (uint32_t i = 0; i < n; ++i) {
    const auto field = [&](const char* key, uint32_t largest) {
      return checks.whole(checks.member(cpus[i], key), fmt::format("\"{}\" of CPU {}", key, i), largest);
    };
    image.os_cpu[i] = field("os", UINT32_MAX);
    image.package[i] = static_cast<uint16_t>(field("package", UINT16_MAX));
    image.core[i] = static_cast<uint16_t>(field("core", UINT16_MAX));
    image.llc[i] = static_cast<uint16_t>(field("llc", UINT16_MAX));
    image.node[i] = static_cast<uint16_t>(field("node", UINT16_MAX));
    if (i > 0 && image.os_cpu[i] <= image.os_cpu[i - 1]) checks.fail("the \"os\" numbers of \"cpus\" do not ascend");
  }

  set_text(header.machine, sizeof header.machine, checks.text(root, "machine"));
  set_text(header.method, sizeof header.method, checks.text(root, "method"));
  const std::string fingerprint = checks.text(root, "fingerprint");
  const char* end = fingerprint.data() + fingerprint.size();
  const auto [stop, error] = std::from_chars(fingerprint.data(), end, header.fingerprint, 16);
  if (error != std::errc{} || stop != end) checks.fail("\"fingerprint\" is not a hexadecimal number");
  header.created = seconds_from(checks.text(root, "created"), checks);
  const std::string unit = checks.text(root, "unit");
  if (unit != "ns" && unit != "cycles") checks.fail("\"unit\" is \"{}\", not \"ns\" or \"cycles\"", unit);
  header.unit = static_cast<uint32_t>(unit == "ns" ? CostUnit::kNanoseconds : CostUnit::kCycles);
  header.one_way_hop = static_cast<float>(checks.number(root, "one_way_hop"));
  header.spread = static_cast<float>(checks.number(root, "spread"));
  header.poller = static_cast<float>(checks.number(root, "poller"));
  header.pairs_measured = checks.whole(checks.member(root, "pairs_measured"), "\"pairs_measured\"", n * (n - 1));
  image.hop = checks.matrix(root, "hop", n);
  image.send_busy = checks.matrix(root, "send_busy", n);
  image.recv_busy = checks.matrix(root, "recv_busy", n);
  image.ready_read = checks.matrix(root, "ready_read", n);
  read_measured(root, checks, image);

  // Whatever is left that the packed form would be refused for.
  const std::vector<std::byte> packed = image.pack();
  Profile profile;
  attach_image(packed.data(), &profile);
  if (const char* nonsense = nonsense_in(profile)) checks.fail("not believable: {}", nonsense);
  return image;
}

}  // namespace smelt
