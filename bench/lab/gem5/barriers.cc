// What a message costs between the cores of a simulated machine, and what barriers take there: no Smelt in it, one
// thread a core. `lab.py` writes its plan, which comes by standard input, one command a line:
//
//   pairs STRIDE   of every STRIDE-th pair: PAIR i j hop send_ij send_ji receive_ij receive_ji read_ij read_ji, as
//                  docs/model.md defines them
//   fan            further pollers of one line: FAN near|far|both HOW-MANY, and when the last one has seen a store
//   counter REPS   the barrier of libgomp: a counter and a generation, no futexes
//   schedule NAME REPS   then a line for each core: S k q1..qk signals each, L k q1..qk signals all by one line that
//                  they poll, W k p1..pk waits. It answers BARRIER NAME in-a-loop alone, as counter does.
//   loop NAME REPS   the same, but in a loop only: LOOP NAME in-a-loop
//
// All times are cycles of clock.h, which the simulator's cores share, so those of two cores may be compared. On a real
// machine only hops and barriers in a loop hold. A thread without work sleeps, which costs the simulator nothing.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "clock.h"

namespace {

using std::vector;
using Word = std::atomic<uint64_t>;
using Bell = std::atomic<int>;

int cores, nodes;

uint64_t now() {
  finish_loads();
  const uint64_t time = cycles();
  finish_loads();
  return time;
}

void wait_until(uint64_t time) {
  while (cycles() < time) relax();
}

// Acquire: what the sender wrote before its store is seen after this.
void wait_for(const Word* word, uint64_t value) {
  while (word->load(std::memory_order_acquire) < value) relax();
}

// Release: pairs with the acquire of wait_for.
void tell(Word* word, uint64_t value) { word->store(value, std::memory_order_release); }

double median(vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Lines of the owner's lie anywhere in pages whose home is its node (machine.py: page p belongs to node p % nodes).
constexpr uint64_t kPool = 0x7000000000, kPoolBytes = 64 << 20, kPage = 4096, kLine = 64;

uint64_t next_random() {
  static uint64_t state = 88172645463325252;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

Word* line_of(int owner) {
  static vector<vector<char*>> spare(cores);
  static vector<uint64_t> pages(nodes);
  vector<char*>& mine = spare[owner];
  if (mine.empty()) {
    const int node = owner * nodes / cores;
    const uint64_t offset = (pages[node]++ * nodes + node) * kPage;
    if (offset + kPage > kPoolBytes) {
      std::puts("the pool is used up");
      std::exit(2);
    }
    for (uint64_t i = 0; i < kPage / kLine; i++) mine.push_back(reinterpret_cast<char*>(kPool + offset + i * kLine));
    for (size_t i = mine.size() - 1; i > 0; i--) std::swap(mine[i], mine[next_random() % (i + 1)]);
  }
  char* line = mine.back();
  mine.pop_back();
  return new (line) Word(0);
}

// Runs a function on some cores, this one (0) among them or not.
class Crew {
 public:
  using Work = std::function<void(int)>;

  Crew() {
    for (int t = 0; t < cores; t++) bells_.push_back(new (line_of(t)) Bell(0));
    for (int t = 1; t < cores; t++) std::thread([this, t] { serve(t); }).detach();
  }

  void run(const vector<int>& who, const Work& work) {
    work_ = &work;
    *done_ = 0;
    for (int t : who) {
      ++*bells_[t];
      wake(bells_[t]);
    }
    const bool mine = std::find(who.begin(), who.end(), 0) != who.end();
    if (mine) work(0);
    const int others = static_cast<int>(who.size()) - (mine ? 1 : 0);
    for (int done; (done = *done_) != others;) sleep(done_, done);
  }

 private:
  // Not by atomic::wait, which ends the program where a simulated call says what no kernel would.
  static void sleep(Bell* bell, int value) { syscall(SYS_futex, bell, FUTEX_WAIT, value, nullptr, nullptr, 0); }
  static void wake(Bell* bell) { syscall(SYS_futex, bell, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

  void serve(int me) {
    for (int seen = 0;; seen++) {
      while (*bells_[me] == seen) sleep(bells_[me], seen);
      (*work_)(me);
      ++*done_;
      wake(done_);
    }
  }

  const Work* work_ = nullptr;
  vector<Bell*> bells_;
  Bell* done_ = new (line_of(0)) Bell(0);
};

// Both sides of a pair come here alike: one tells, the other hears.
struct Turns {
  Word *mine, *other;
  uint64_t turn = 0;
  void next(bool tells) {
    turn++;
    if (tells)
      tell(mine, turn);
    else
      wait_for(other, turn);
  }
};

constexpr uint64_t kSettled = 1500;  // cycles after which nothing of what went before is under way
constexpr int kTrips = 8, kTimes = 3, kMany = 8;

struct Busy {
  double one = 0, each_more = 0;
};

// One line and kMany lines: what the first costs, and each further one.
template <class Round>
Busy one_and_more(Round round) {
  double time[2];
  for (const int count : {1, kMany}) {
    vector<double> times;
    for (int k = 0; k < kTimes; k++) times.push_back(round(count));
    time[count > 1] = median(times);
  }
  return {time[0], (time[1] - time[0]) / (kMany - 1)};
}

// The sender stores into lines that the receiver polls.
double send(Turns& turns, bool sends, const vector<Word*>& lines, int count, uint64_t value) {
  double time = 0;
  const auto polled = [&] {
    return std::count_if(lines.begin(), lines.begin() + count,
                         [&](Word* line) { return line->load(std::memory_order_acquire) >= value; });
  };
  if (!sends) polled();
  turns.next(!sends);
  if (sends) {
    wait_until(cycles() + kSettled);
    const uint64_t start = now();
    for (int i = 0; i < count; i++) tell(lines[i], value);
    finish_stores();
    time = static_cast<double>(now() - start);
  } else {
    while (polled() < count) relax();
  }
  turns.next(!sends);
  return time;
}

// The receiver reads lines that the sender wrote a while ago.
double receive(Turns& turns, bool sends, const vector<Word*>& lines, int count, uint64_t value) {
  double time = 0;
  if (sends) {
    for (int i = 0; i < count; i++) tell(lines[i], value);
    finish_stores();
  }
  turns.next(sends);
  if (!sends) {
    wait_until(cycles() + kSettled);
    const uint64_t start = now();
    uint64_t sum = 0;
    for (int i = 0; i < count; i++) sum += lines[i]->load(std::memory_order_relaxed);  // Independent of each other.
    asm volatile("" ::"r"(sum) : "memory");
    time = static_cast<double>(now() - start);
  }
  turns.next(!sends);
  return time;
}

void time_pairs(Crew& crew, int stride) {
  vector<vector<Word*>> lines(cores);
  for (int t = 0; t < cores; t++) {
    for (int i = 0; i <= kMany; i++) lines[t].push_back(line_of(t));
  }
  int number = 0;
  for (int a = 0; a < cores; a++) {
    for (int b = a + 1; b < cores; b++) {
      if (number++ % stride != 0) continue;
      for (const int t : {a, b})
        for (Word* line : lines[t]) line->store(0);
      double hop = 0, sends[2], receives[2], reads[2];
      crew.run({a, b}, [&](int me) {
        const bool first = me == a;
        Turns turns{lines[me][kMany], lines[first ? b : a][kMany]};
        uint64_t start = 0;
        for (int trip = -kTrips / 2; trip < kTrips; trip++) {
          if (trip == 0) start = now();
          turns.next(first);
          turns.next(!first);
        }
        if (first) hop = static_cast<double>(now() - start) / (2 * kTrips);
        uint64_t value = 0;
        for (const int from : {a, b}) {
          const int way = from == b;
          const Busy sent = one_and_more([&](int n) { return send(turns, me == from, lines[from], n, ++value); });
          const Busy got = one_and_more([&](int n) { return receive(turns, me == from, lines[from], n, ++value); });
          if (me == from) {
            sends[way] = sent.each_more;
          } else {
            const uint64_t nothing = now();
            reads[way] = got.one - static_cast<double>(now() - nothing);
            receives[way] = got.each_more;
          }
        }
      });
      std::printf("PAIR %d %d %.1f %.1f %.1f %.1f %.1f %.1f %.1f\n", a, b, hop, sends[0], sends[1], receives[0],
                  receives[1], reads[0], reads[1]);
    }
  }
}

void time_fan(Crew& crew, const char* kind, const vector<int>& readers) {
  constexpr int kWarm = 2, kStores = 8;
  Word* flag = line_of(0);
  vector<Word*> ready;
  for (int t = 0; t < cores; t++) ready.push_back(line_of(t));
  vector<vector<double>> late(kStores, vector<double>(cores));
  vector<int> who = readers;
  who.push_back(0);
  crew.run(who, [&](int me) {
    uint64_t seen = 0;
    for (int k = 0; k < kStores; k++) {
      if (me == 0) {
        for (const int t : readers) wait_for(ready[t], k + 1);
        wait_until(cycles() + kSettled);
        tell(flag, now());
      } else {
        tell(ready[me], k + 1);
        wait_for(flag, seen + 1);
        seen = flag->load(std::memory_order_relaxed);  // Ours alone: the next store waits for us.
        late[k][me] = static_cast<double>(now() - seen);
      }
    }
  });
  vector<double> last;
  for (int k = kWarm; k < kStores; k++) last.push_back(*std::max_element(late[k].begin(), late[k].end()));
  std::printf("FAN %s %zu %.0f\n", kind, readers.size(), median(last));
}

void time_fans(Crew& crew) {
  const int node = cores / nodes;
  for (int k = 1; k < node; k *= 2) {
    vector<int> near(k), far(k);
    std::iota(near.begin(), near.end(), 1);
    time_fan(crew, "near", near);
    if (nodes == 1) continue;
    std::iota(far.begin(), far.end(), node);
    time_fan(crew, "far", far);
    near.insert(near.end(), far.begin(), far.end());
    time_fan(crew, "both", near);
  }
}

// The next word of a line, nothing at its end. Streams would take more of a simulated core's time than the barriers.
std::string word() {
  std::string out;
  int next;
  while ((next = getchar_unlocked()) == ' ') continue;
  for (; next > ' '; next = getchar_unlocked()) out += static_cast<char>(next);
  if (next == '\n' && !out.empty()) std::ungetc(next, stdin);
  return out;
}

int number() { return std::atoi(word().c_str()); }

// libgomp's: the last to arrive sets the counter anew and the generation on.
struct Counter {
  Word *generation = line_of(0), *awaited = line_of(0);
  Counter() { *awaited = cores; }
  void meet(int, uint64_t epoch) {
    // Acquire and release: the last one has seen what all wrote, and hands it on with the generation.
    if (awaited->fetch_sub(1, std::memory_order_acq_rel) == 1) {
      awaited->store(cores, std::memory_order_relaxed);  // The store of the generation publishes it.
      tell(generation, epoch);
    } else {
      wait_for(generation, epoch);
    }
  }
};

// A core's steps lie one behind the other, because an in-order core pays for each instruction between two of them.
struct Schedule {
  struct Step {
    Word* at;
    bool waits;
  };
  vector<vector<Step>> steps;

  void meet(int me, uint64_t epoch) {
    for (const Step& step : steps[me]) {
      if (step.waits)
        wait_for(step.at, epoch);
      else
        tell(step.at, epoch);
    }
  }
};

Schedule read_schedule() {
  struct Raw {
    char kind;
    vector<int> peers;
    vector<Word*> lines;
  };
  vector<vector<Raw>> raw(cores);
  // The k-th wait of q for p is for the k-th signal of p to q.
  vector<vector<vector<Word*>>> sent(cores, vector<vector<Word*>>(cores));
  vector<vector<size_t>> taken(cores, vector<size_t>(cores));
  for (int me = 0; me < cores; me++) {
    Raw step;
    for (std::string kind; !(kind = word()).empty();) {
      step.kind = kind[0];
      step.peers.resize(number());
      for (int& peer : step.peers) peer = number();
      step.lines.clear();
      if (step.kind == 'L') step.lines.push_back(line_of(me));
      for (const int peer : step.kind == 'W' ? vector<int>{} : step.peers) {
        if (step.kind == 'S') step.lines.push_back(line_of(me));
        sent[me][peer].push_back(step.lines.back());
      }
      raw[me].push_back(step);
    }
  }
  Schedule schedule{vector<vector<Schedule::Step>>(cores)};
  for (int me = 0; me < cores; me++) {
    for (const Raw& step : raw[me]) {
      for (Word* line : step.lines) schedule.steps[me].push_back({line, false});
      for (const int peer : step.kind == 'W' ? step.peers : vector<int>{})
        schedule.steps[me].push_back({sent[peer][me].at(taken[peer][me]++), true});
    }
  }
  return schedule;
}

// In a loop, and, unless that is all, alone: all begin at one time, until the last one leaves.
template <class Barrier>
void time_barrier(Crew& crew, const std::string& name, int repetitions, Barrier& barrier, bool loop_only = false) {
  vector<int> everybody(cores);
  std::iota(everybody.begin(), everybody.end(), 0);
  vector<uint64_t> epoch(cores);
  const auto run = [&](int times, uint64_t gap) {  // the last one's times of leaving; a gap: everybody waits for it
    vector<vector<uint64_t>> left(times, vector<uint64_t>(cores));
    Word *arrived = line_of(0), *start = line_of(0);
    crew.run(everybody, [&](int me) {
      // Acquire and release: the last one's store of the start comes after all have arrived.
      if (arrived->fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint64_t>(cores))
        tell(start, now() + 3000);
      wait_for(start, 1);
      uint64_t time = start->load(std::memory_order_relaxed), mine = epoch[me];  // It is set once.
      vector<uint64_t> mine_left(times);  // No line of another's is stored to while time counts.
      wait_until(time);
      for (int k = 0; k < times; k++) {
        if (gap > 0) wait_until(time += gap);
        barrier.meet(me, ++mine);
        mine_left[k] = cycles() - (gap > 0 ? time : 0);
      }
      for (int k = 0; k < times; k++) left[k][me] = mine_left[k];
      epoch[me] = mine;
    });
    vector<double> last;
    for (const auto& all : left) last.push_back(static_cast<double>(*std::max_element(all.begin(), all.end())));
    return last;
  };
  const vector<double> loop = run(repetitions, 0);
  const int warm = repetitions / 5;
  const double each = (loop.back() - loop[warm]) / (repetitions - 1 - warm);
  if (loop_only) {
    std::printf("LOOP %s %.0f\n", name.c_str(), each);
    return;
  }
  vector<double> alone = run(std::max(6, repetitions / 2), static_cast<uint64_t>(each * 1.6) + 800);
  alone.erase(alone.begin(), alone.begin() + 2);
  std::printf("BARRIER %s %.0f %.0f\n", name.c_str(), each, median(alone));
}

}  // namespace

int main(int count, char** words) {
  cores = count > 2 ? std::atoi(words[1]) : 0;
  nodes = count > 2 ? std::atoi(words[2]) : 0;
  if (cores < 2 || nodes < 1 || cores % nodes != 0) {
    std::fputs("usage: barriers CORES NODES [pool] <PLAN\n", stderr);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // The simulator has mapped the pool (`pool`): its pages' places are known.
  if (count < 4 && mmap(reinterpret_cast<void*>(kPool), kPoolBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED) {
    std::perror("barriers: the pool");
    return 2;
  }
  Crew crew;
  while (!std::feof(stdin)) {
    const std::string command = word();
    if (command == "pairs") {
      time_pairs(crew, number());
    } else if (command == "fan") {
      time_fans(crew);
    } else if (command == "counter") {
      Counter counter;
      time_barrier(crew, command, number(), counter);
    } else if (command == "schedule" || command == "loop") {
      const std::string name = word();
      const int repetitions = number();
      word();
      Schedule schedule = read_schedule();
      time_barrier(crew, name, repetitions, schedule, command == "loop");
    } else if (!command.empty()) {
      std::printf("unknown: %s\n", command.c_str());
      return 2;
    }
  }
  _exit(0);
}
