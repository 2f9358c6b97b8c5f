// DESIGN NOTE: four costs from one transfer.
// Two cores that compare-and-swap a line in turn each take it away from the other: one transaction per half round trip,
// as long as reading a line that somebody else wrote (ready_read). A hop is two: the store has to invalidate the copy
// of the polling receiver, and the receiver has to fetch the line again. Measured on a Zen 5 machine: ready_read 28,
// hop 57 ns in one last-level cache (model/distance.cc), where compare-and-swap takes 17 to 24 on the desktop part.
// Nobody publishes how much of a hop keeps its two sides busy; it is the share that cost_model.cc takes for matrix
// files.
#include "pictures/machines/class_file.h"

#include <algorithm>
#include <array>

namespace smelt {
namespace {

Machine machine_of(const std::string& shape, const JsonChecks& checks) {
  try {
    return machine_from_synthetic(shape);
  } catch (const UserError& error) {
    checks.fail("\"shape\": {}", error.what());
  }
}

std::array<bool, kDistances> distances_in(const Machine& machine) {
  std::array<bool, kDistances> out{};
  for (const Pu& a : machine.pus)
    for (const Pu& b : machine.pus)
      if (&a != &b) out[static_cast<size_t>(distance_between(a, b))] = true;
  return out;
}

}  // namespace

ClassFile class_file_from_json(const nlohmann::json& root, const JsonChecks& checks) {
  ClassFile file;
  file.title = checks.text(root, "title");
  file.shape = checks.text(root, "shape");
  if (root.contains("note")) file.note = checks.text(root, "note");
  file.machine = machine_of(file.shape, checks);

  const nlohmann::json& costs = checks.member(root, "costs");
  if (!costs.is_object()) checks.fail("\"costs\" is not a JSON object");
  const std::array<bool, kDistances> present = distances_in(file.machine);
  for (size_t d = 1; d < kDistances; ++d) {  // 0 is a CPU's distance to itself
    const auto distance = static_cast<Distance>(d);
    const char* const name = distance_name(distance);
    if (!present[d]) continue;
    const auto found = costs.find(name);
    if (found == costs.end()) checks.fail("\"costs\" lacks \"{}\", which the shape has", name);
    const double transfer = checks.number(*found, "transfer_ns");
    if (transfer <= 0) checks.fail("\"transfer_ns\" of \"{}\" is {}, not more than 0", name, transfer);
    const std::string source = checks.text(*found, "source");
    if (source.empty()) checks.fail("\"source\" of \"{}\" is empty", name);
    file.costs.push_back({distance, transfer, source});
  }
  for (const auto& [name, cost] : costs.items())
    if (std::none_of(file.costs.begin(), file.costs.end(),
                     [&key = name](const ClassCost& known) { return key == distance_name(known.distance); }))
      checks.fail("\"costs\" has \"{}\", which no two CPUs of the shape are", name);
  return file;
}

ProfileImage class_image(const ClassFile& file) {
  ProfileImage image = guess_image(file.machine);  // for everything but the costs
  set_text(image.header.machine, sizeof image.header.machine, file.title);
  set_text(image.header.method, sizeof image.header.method, "published latencies, one per class of distance");
  std::array<float, kDistances> hop{};
  for (const ClassCost& cost : file.costs)
    hop[static_cast<size_t>(cost.distance)] = static_cast<float>(2 * cost.transfer_ns);
  const uint32_t n = image.n();
  const std::vector<Pu>& pus = file.machine.pus;
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j)
      if (i != j) image.hop[size_t{i} * n + j] = hop[static_cast<size_t>(distance_between(pus[i], pus[j]))];

  const size_t pairs = size_t{n} * n;
  MappedArena arena(pairs * sizeof(float) * 4 + size_t{n} * 16 + 4096);
  Costs costs;
  if (!arena.ok() || overlap_costs_from_additive(image.costs(), arena, &costs) != 0)
    throw UserError(fmt::format("out of memory for the costs of {} CPUs", n));
#define MATRIX(name) image.name.assign(costs.name, costs.name + pairs);
#include "profile/fields.def"
  image.header.poller = costs.poller;
  std::copy_n(costs.service, kDistances, image.header.service);
  std::copy_n(costs.crossing, kDistances, image.header.crossing);
  return image;
}

}  // namespace smelt
