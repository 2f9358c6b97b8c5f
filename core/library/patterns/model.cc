#include "library/patterns/model.h"

#include <cerrno>

using namespace smelt;

int smelt_model_load(const char* path, smelt_model** model) {
  if (!model) return -EINVAL;
  auto* object = make_object<smelt_model>(0);
  if (!object) return -ENOMEM;
  Refusal why;
  const int error = path ? load_profile_file(path, 0, &object->profile, &why) : load_profile(&object->profile, &why);
  if (error) {
    free_object(object);
    return error;
  }
  if (path) object->profile.source = ProfileSource::kSetting;
  *model = object;
  return 0;
}

int smelt_model_create(unsigned n, const double* t_send, const double* t_receive, const unsigned* os_cpus,
                       const unsigned* node, smelt_model** model) {
  if (n < 1 || n > kMaxParticipants || !t_send || !t_receive || !model) return -EINVAL;
  const size_t pairs = size_t{n} * n;
  auto* object = make_object<smelt_model>(pairs * 10 * sizeof(float) + n * 32 + 4096);
  if (!object) return -ENOMEM;
  Arena& arena = object->arena;
  Profile& profile = object->profile;
  auto* send = arena.make<float>(pairs);
  auto* receive = arena.make<float>(pairs);
  auto* nodes = arena.make<uint16_t>(n);
  auto* cpus = arena.make<uint32_t>(n);
  auto* ids = arena.make<uint16_t>(n);
  int error = send && receive && nodes && cpus && ids ? 0 : -ENOMEM;
  for (unsigned i = 0; !error && i < n; ++i) {
    cpus[i] = os_cpus ? os_cpus[i] : i;
    ids[i] = static_cast<uint16_t>(i);
    if (i > 0 && cpus[i] <= cpus[i - 1]) error = -EINVAL;
    if (node && node[i] >= kNobody) error = -EINVAL;
    nodes[i] = node ? static_cast<uint16_t>(node[i]) : 0;
  }
  for (size_t i = 0; !error && i < pairs; ++i) {
    send[i] = static_cast<float>(t_send[i]);
    receive[i] = static_cast<float>(t_receive[i]);
  }
  Costs additive;
  if (!error) error = costs_from_send_receive(n, CostUnit::kNanoseconds, send, receive, nodes, arena, &additive);
  if (!error) error = overlap_costs_from_additive(additive, arena, &profile.costs);
  if (error) {
    free_object(object);
    return error;
  }
  profile.header.cpus = n;
  profile.os_cpu = cpus;
  profile.package = nodes;
  profile.core = ids;
  object->from_caller = true;
  *model = object;
  return 0;
}

void smelt_model_free(smelt_model* model) {
  if (!model) return;
  if (!model->from_caller) unload_profile(&model->profile);
  free_object(model);
}

unsigned smelt_model_cpus(const smelt_model* model) { return model->profile.header.cpus; }

int smelt_model_cpu(const smelt_model* model, unsigned i) {
  return i < model->profile.header.cpus ? static_cast<int>(model->profile.os_cpu[i]) : -EINVAL;
}

smelt_source smelt_model_source(const smelt_model* model) {
  if (model->from_caller) return SMELT_SOURCE_CALLER;
  switch (model->profile.source) {
    case ProfileSource::kSetting: return SMELT_SOURCE_SETTING;
    case ProfileSource::kUser: return SMELT_SOURCE_USER;
    case ProfileSource::kSystem: return SMELT_SOURCE_SYSTEM;
    case ProfileSource::kGuess: break;
  }
  return SMELT_SOURCE_GUESS;
}

const char* smelt_model_path(const smelt_model* model) { return model->profile.path; }
const char* smelt_model_machine(const smelt_model* model) { return model->profile.header.machine; }
const char* smelt_model_unit(const smelt_model* model) { return cost_unit_name(model->profile.costs.unit); }
int64_t smelt_model_created(const smelt_model* model) { return model->profile.header.created; }

int smelt_model_cost(const smelt_model* model, smelt_cost cost, unsigned sender, unsigned receiver, double* value) {
  const uint16_t from = profile_index(model->profile, sender), to = profile_index(model->profile, receiver);
  if (from == kNobody || to == kNobody || !value) return -EINVAL;
  const Costs& costs = model->profile.costs;
  switch (cost) {
    case SMELT_COST_HOP: *value = costs.hop[costs.at(from, to)]; return 0;
    case SMELT_COST_SEND_BUSY: *value = costs.send_busy[costs.at(from, to)]; return 0;
    case SMELT_COST_RECV_BUSY: *value = costs.recv_busy[costs.at(from, to)]; return 0;
    case SMELT_COST_READY_READ: *value = costs.ready_read[costs.at(from, to)]; return 0;
    case SMELT_COST_T_RECEIVE: *value = costs.t_receive(from, to); return 0;
  }
  return -EINVAL;
}

namespace smelt {

int costs_for_cpus(const smelt_model* model, unsigned n, const unsigned* cpus, Arena& arena, Costs* out) {
  if (!model || n < 1 || n > kMaxParticipants) return -EINVAL;
  if (!cpus && n > model->profile.header.cpus) return -EINVAL;
  auto* members = arena.make<uint16_t>(n);
  if (!members) return -ENOMEM;
  for (unsigned i = 0; i < n; ++i) {
    members[i] = cpus ? profile_index(model->profile, cpus[i]) : static_cast<uint16_t>(i);
    if (members[i] == kNobody) return -EINVAL;
  }
  return subset_costs(model->profile.costs, {members, n}, arena, out);
}

}  // namespace smelt
