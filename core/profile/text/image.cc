#include "profile/text/image.h"

#include <cstring>

namespace smelt {

bool ProfileImage::measured() const {
  // One CPU has no pairs: nothing was left to measure.
  return header.pairs_measured > 0 || (n() == 1 && header.created != 0);
}

Costs ProfileImage::costs() const {
  Costs costs;
  costs.n = n();
  costs.unit = static_cast<CostUnit>(header.unit);
  costs.hop = hop.data();
  costs.send_busy = send_busy.data();
  costs.recv_busy = recv_busy.data();
  costs.ready_read = ready_read.data();
  costs.poller = header.poller;
  costs.node = node.data();
  costs.llc = llc.data();
  return costs;
}

std::vector<uint32_t> ProfileImage::cpus_of(const Winner& winner) const {
  std::vector<uint32_t> cpus;
  for (uint32_t i = 0; i < winner.participants; ++i) cpus.push_back(os_cpu[winner_words[winner.first_word + i]]);
  return cpus;
}

void ProfileImage::add_winner(Winner winner, const std::vector<uint32_t>& words) {
  winner.first_word = static_cast<uint32_t>(winner_words.size());
  winner.words = static_cast<uint32_t>(words.size());
  winners.push_back(winner);
  winner_words.insert(winner_words.end(), words.begin(), words.end());
}

std::vector<std::byte> ProfileImage::pack() const {
  const auto length = [](const auto& values) { return static_cast<uint32_t>(values.size()); };
  PackedHeader complete = header;
  complete.cpus = n();
  complete.curve_sets = length(curves);
  complete.classes = length(classes);
  complete.fans = length(fans);
  complete.distances = length(distances);
  complete.winners = length(winners);
  complete.winner_words = length(winner_words);
  const PackedLayout at = packed_layout(counts_of(complete));
  std::vector<std::byte> bytes(at.bytes);
  std::memcpy(bytes.data(), &complete, sizeof complete);
  const auto put = [&bytes](uint64_t offset, const auto& values) {
    if (!values.empty()) std::memcpy(bytes.data() + offset, values.data(), values.size() * sizeof values[0]);
  };
  put(at.os_cpu, os_cpu);
  put(at.package, package);
  put(at.core, core);
  put(at.llc, llc);
  put(at.node, node);
  put(at.hop, hop);
  put(at.send_busy, send_busy);
  put(at.recv_busy, recv_busy);
  put(at.ready_read, ready_read);
  put(at.curves, curves);
  put(at.classes, classes);
  std::memcpy(bytes.data() + at.wait, &wait, sizeof wait);
  put(at.fans, fans);
  put(at.distances, distances);
  put(at.winners, winners);
  put(at.winner_words, winner_words);
  seal_packed(bytes.data(), bytes.size());
  return bytes;
}

ProfileImage make_image(uint32_t cpus) {
  ProfileImage image;
  image.header.cpus = cpus;
  image.os_cpu.resize(cpus);
  for (auto* ids : {&image.package, &image.core, &image.llc, &image.node}) ids->resize(cpus);
  for (auto* matrix : {&image.hop, &image.send_busy, &image.recv_busy, &image.ready_read})
    matrix->resize(size_t{cpus} * cpus);
  return image;
}

ProfileImage image_from_profile(const Profile& profile) {
  const uint32_t n = profile.header.cpus;
  const size_t pairs = size_t{n} * n;
  ProfileImage image;
  image.header = profile.header;
  image.os_cpu.assign(profile.os_cpu, profile.os_cpu + n);
  image.package.assign(profile.package, profile.package + n);
  image.core.assign(profile.core, profile.core + n);
  image.llc.assign(profile.costs.llc, profile.costs.llc + n);
  image.node.assign(profile.costs.node, profile.costs.node + n);
  image.hop.assign(profile.costs.hop, profile.costs.hop + pairs);
  image.send_busy.assign(profile.costs.send_busy, profile.costs.send_busy + pairs);
  image.recv_busy.assign(profile.costs.recv_busy, profile.costs.recv_busy + pairs);
  image.ready_read.assign(profile.costs.ready_read, profile.costs.ready_read + pairs);
  image.curves.assign(profile.curves, profile.curves + profile.curve_sets);
  image.classes.assign(profile.classes, profile.classes + profile.header.classes);
  image.wait = *profile.wait;
  image.fans.assign(profile.fans, profile.fans + profile.header.fans);
  image.distances.assign(profile.distances, profile.distances + profile.header.distances);
  image.winners.assign(profile.winners, profile.winners + profile.header.winners);
  image.winner_words.assign(profile.winner_words, profile.winner_words + profile.header.winner_words);
  return image;
}

void set_text(char* field, size_t bytes, std::string_view text) {
  size_t length = text.size() < bytes ? text.size() : bytes - 1;
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  std::memset(field, 0, bytes);
  std::memcpy(field, text.data(), length);
  // The loader refuses control characters; names from firmware may well contain a tab.
  for (size_t i = 0; i < length; ++i)
    if (static_cast<unsigned char>(field[i]) < 0x20 || field[i] == 0x7f) field[i] = ' ';
}

}  // namespace smelt
