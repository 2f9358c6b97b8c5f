// Running the programs with knowledge in the messages: a bit per participant that the sender has heard of.
//
// All messages of one signal step carry the same knowledge, so it is kept once per step: an all-to-all of 1024 is a
// million messages but a thousand steps.
#include "schedule/validate.h"

#include <cerrno>

#include "schedule/programs.h"

namespace smelt {

namespace {

struct Knowledge {
  uint32_t words;  // per participant
  uint64_t* of;    // [n * words]
  uint64_t* told;  // [steps * words] what each signal step carried

  void learn(uint16_t i, const uint64_t* news) {
    for (uint32_t w = 0; w < words; ++w) of[size_t{i} * words + w] |= news[w];
  }
  bool has(uint16_t i, uint16_t whom) const { return of[size_t{i} * words + whom / 64] >> (whom % 64) & 1; }
};

// Has everybody heard whom the operation promises?
Validation check_heard(const Schedule& schedule, const Knowledge& knowledge) {
  for (uint16_t i = 0; i < schedule.n; ++i) {
    if (schedule.op == Operation::kReduce && i != schedule.root) continue;
    for (uint16_t whom = 0; whom < schedule.n; ++whom) {
      if (schedule.op == Operation::kBroadcast && whom != schedule.root) continue;
      if (!knowledge.has(i, whom)) return {Flaw::kNotHeard, i, whom};
    }
  }
  return {};
}

Validation run(const Schedule& schedule, Programs& programs, Knowledge& knowledge) {
  const uint32_t words = knowledge.words;
  for (uint16_t i = 0; i < schedule.n; ++i) knowledge.of[size_t{i} * words + i / 64] |= uint64_t{1} << (i % 64);
  programs.run(
      [&](uint16_t i, uint32_t step) {
        std::memcpy(knowledge.told + size_t{step} * words, knowledge.of + size_t{i} * words, words * sizeof(uint64_t));
      },
      [&](uint16_t i, uint32_t step) {
        const Step& wait = schedule.steps[step];
        for (uint32_t slot = wait.first; slot < wait.first + wait.count; ++slot) {
          knowledge.learn(i, knowledge.told + size_t{programs.step[programs.partner[slot]]} * words);
        }
      });
  for (uint16_t i = 0; i < schedule.n; ++i) {
    if (programs.finished(i)) continue;
    const Step& wait = schedule.steps[programs.at[i]];
    uint32_t slot = wait.first;
    while (programs.sent[slot]) ++slot;
    return {Flaw::kDeadlock, i, schedule.peers[slot]};
  }
  for (uint16_t i = 0; i < schedule.n; ++i) {
    for (uint32_t s = schedule.begin[i]; s < schedule.begin[i + 1]; ++s) {
      const Step& step = schedule.steps[s];
      for (uint32_t slot = step.first; slot < step.first + step.count; ++slot) {
        if (programs.partner[slot] == kNoSlot) return {Flaw::kLeftover, i, schedule.peers[slot]};
      }
    }
  }
  return check_heard(schedule, knowledge);
}

}  // namespace

const char* flaw_text(Flaw flaw) {
  switch (flaw) {
    case Flaw::kNone: return "correct";
    case Flaw::kMalformed: return "malformed: a step or a peer is out of range";
    case Flaw::kDeadlock: return "deadlock: it waits for a message that never comes";
    case Flaw::kLeftover: return "left over: it sends a message that nobody waits for";
    case Flaw::kNotHeard: return "not heard: it finishes without having heard of a participant it must hear of";
  }
  return "?";
}

int validate(const Schedule& schedule, Arena& arena, Validation* out) {
  char* const scratch = arena.mark();
  Programs programs;
  uint16_t who = kNobody;
  int error = programs.match(schedule, arena, &who);
  if (error == -EINVAL) {
    *out = {Flaw::kMalformed, who, kNobody};
    error = 0;
  } else if (error == 0) {
    Knowledge knowledge{(schedule.n + 63) / 64, nullptr, nullptr};
    knowledge.of = arena.make<uint64_t>(size_t{schedule.n} * knowledge.words);
    knowledge.told = arena.make<uint64_t>(size_t{schedule.begin[schedule.n]} * knowledge.words);
    if (knowledge.of && knowledge.told) {
      *out = run(schedule, programs, knowledge);
    } else {
      error = -ENOMEM;
    }
  }
  arena.rewind(scratch);
  return error;
}

int check_schedule(const Schedule& schedule, Arena& arena) {
  Validation verdict;
  if (const int error = validate(schedule, arena, &verdict)) return error;
  return verdict.flaw == Flaw::kNone ? 0 : -EINVAL;
}

}  // namespace smelt
