// Random mixtures of what programs do with OpenMP, the same for the same seed: regions of all sizes, one in the other,
// worksharing, tasks of all sorts, settings changed outside and inside, target regions on the host, several threads
// that have regions and end, forks. Every answer is compared with a serial computation or with what the OpenMP rules
// say, and every setting with what the program has made it.
//   mixed SEED [PARTS [MOST_THREADS [SECONDS [KINDS]]]]
//   mixed kinds       names all kinds
// KINDS reduces a program that fails: "trees,region,inner" are these kinds alone, "-fork,-cancel" all but these.
// Without the kind "tasks", regions and loops make none either.
//
// Ends with 1 at the first wrong answer, with 2 when it is not done after SECONDS.
#include <signal.h>

#include "mixed_parts.h"

// ---- the kinds ----

struct Construct {
  const char* name;
  void (*run)(struct Team*, struct Scene*, unsigned);
  int off;
};
static struct Construct constructs[] = {
    {"barriers", do_barriers, 0},
    {"loops", do_loops, 0},
    {"ordered", do_ordered, 0},
    {"sections", do_sections, 0},
    {"singles", do_singles, 0},
    {"locks", do_locks, 0},
    {"reductions", do_reductions, 0},
    {"task_reductions", do_task_reductions, 0},
    {"tree", do_tree, 0},
    {"tasks", do_tasks, 0},
    {"task_loops", do_task_loops, 0},
    {"dependences", do_dependences, 0},
    {"detach", do_detach, 0},
    {"final_tasks", do_final_tasks, 0},
    {"task_regions", do_task_regions, 0},
    {"inner", do_inner, 0},
    {"inner", do_inner, 0},
    {"solos", do_solos, 0},
    {"inner_settings", do_settings, 0},
    {"inner_target", do_target, 0},
    {"cancel", do_cancel, 0},
    {"flags", do_flags, 0},
    {"inner_threads", do_threads, 0},
};
enum { kConstructs = sizeof constructs / sizeof *constructs };

struct Part {
  const char* name;
  void (*run)(struct Serial*, unsigned);
  int weight, off;
};
static struct Part parts[] = {
    {"region", part_region, 6, 0},     {"trees", part_trees, 2, 0},     {"sizes", part_sizes, 3, 0},
    {"settings", part_settings, 3, 0}, {"levels", part_levels, 1, 0},   {"threadprivate", part_threadprivate, 1, 0},
    {"target", part_target, 1, 0},     {"orphans", part_orphans, 1, 0},
#ifndef __clang__
    {"teams", part_teams, 1, 0},
#endif
    {"threads", part_threads, 2, 0},   {"fork", part_fork, 1, 0},       {"pause", part_pause, 1, 0},
    {"idle", part_idle, 1, 0},
};
enum { kParts = sizeof parts / sizeof *parts };

static int is_in(const char* name, const char* kinds, char sign) {
  const size_t length = strlen(name);
  for (const char* at = kinds; *at; at += strcspn(at, ","), at += *at == ',') {
    const char* word = sign ? at + 1 : at;
    if ((!sign || *at == sign) && strncmp(word, name, length) == 0 && (word[length] == ',' || !word[length])) return 1;
  }
  return 0;
}
static int is_off(const char* name, const char* kinds) {
  return *kinds == '-' ? is_in(name, kinds, '-') : *kinds && !is_in(name, kinds, 0);
}

// ---- regions ----

static void member(struct Team* t) {
  struct Team* const before_team = team;
  const struct Settings before_settings = mine;
  const char* const before_construct = construct;
  const int before_running = running, before_value = private_value, me = omp_get_thread_num();
  team = t, running = t->root, mine = t->settings;
  const int size = omp_get_num_threads(), other = __atomic_exchange_n(&t->size, size, __ATOMIC_RELAXED);
  EXPECT(other == 0 || other == size, "threads of a team disagree of its size");
  EXPECT(t->exact ? size == t->most : size >= 1 && size <= t->most, "a region of another size");
  EXPECT(me >= 0 && me < size, "a thread's number");
  once_more(&t->seen[me]);
  if (draw(t->common, 1, 2)) {
#pragma omp barrier
    for (int i = 0; i < size; ++i) EXPECT(t->seen[i] == 1, "a thread's number is another's, too");
  }
  expect_settings(mine, "a region has other settings than its opener");
  private_value = me + 100 * t->depth;
  for (int i = 0; i < t->steps; ++i) {
    const unsigned state = hash(t->common, (unsigned)(10 + i));
    const struct Construct* c = &constructs[draw(state, 99, kConstructs)];
    if (c->off) continue;
    construct = c->name;
    delay(hash(state, (unsigned)(1000 + me)));
    c->run(t, &t->scenes[i], state);
    EXPECT(private_value == me + 100 * t->depth, "a threadprivate value is lost");
  }
  expect_place();
  expect_settings(mine, "settings at the end of a region");
  private_value = before_value;
  team = before_team, running = before_running, mine = before_settings, construct = before_construct;
}

static void open_region(unsigned state, int depth, int most, struct Settings now) {
  struct Team* t = calloc(1, sizeof *t);
  EXPECT(t, "memory");
#ifdef __clang__
  const int set_first = 0;
#else
  const int set_first = 3;
#endif
  const int drawn = without_tasks ? draw(state, 1, 5) : draw(state, 1, 7), form = drawn == 3 ? set_first : drawn,
            wanted = 1 + draw(state, 2, most), now_active = team ? team->active : 0;
  const int condition = form != 1 || draw(state, 3, 3) != 0,
            size = expected_size(now, condition ? wanted : 1, now_active);
  *t = (struct Team){.outer = team, .outer_number = omp_get_thread_num(), .depth = depth, .common = hash(state, 4)};
  t->others = is_other;
  t->level = (team ? team->level : 0) + 1, t->root = new_frame(running);
  t->exact = size > 0, t->most = size > 0 ? size : wanted;
  t->steps = depth == 0 ? draw(state, 5, kSteps + 1) : draw(state, 5, 4);
  // Of one thread or of more: before they are known to be, which it is cannot be said.
  t->active = now_active + (t->most > 1);
  t->settings = now;
  if (form == 3) omp_set_num_threads(t->settings.threads = wanted);
  if (t->level < listed) t->settings.threads = list[t->level];
  const int value = private_value;
  long members = 0;
#define MEMBER                                                           \
  do {                                                                   \
    if (!t->exact) t->active = now_active + (omp_get_num_threads() > 1); \
    member(t);                                                           \
  } while (0)
  switch (form) {
    case 0:
    case 1:
#pragma omp parallel num_threads(wanted) if (condition)
    {
      MEMBER;
      add(&members, 1);
    } break;
    case 2:
#pragma omp parallel num_threads(wanted) reduction(+ : members)
    {
      MEMBER;
      members += 1;
    } break;
    case 3:
#pragma omp parallel reduction(+ : members)
    {
      MEMBER;
      members += 1;
    }
      omp_set_num_threads(now.threads);
      break;
    case 4:
#pragma omp parallel num_threads(wanted) proc_bind(spread) copyin(private_value)
    {
      EXPECT(private_value == value, "copyin");
      MEMBER;
      add(&members, 1);
    } break;
    case 5:
#pragma omp parallel num_threads(wanted) reduction(task, + : members)
    {
      MEMBER;
#pragma omp task in_reduction(+ : members)
      members += 1;
    } break;
    default:
#pragma omp parallel num_threads(wanted) shared(members)
    {
      MEMBER;
#pragma omp task shared(members)
      add(&members, 1);
    }
  }
#undef MEMBER
  EXPECT(members == t->size, "a region was left before all of it was over");
  for (int i = 0; i < kThreads; ++i) EXPECT(t->seen[i] == (i < t->size), "a thread was not once in a region");
  EXPECT(private_value == value, "a threadprivate value of the opener is lost");
  expect_settings(now, "settings behind a region");
  expect_place();
  free(t);
}

// ---- serial parts ----

static void one_part(struct Serial* self, unsigned state) {
  int weights = 0;
  for (int i = 0; i < kParts; ++i) weights += parts[i].weight;
  int kind = 0;
  for (int at = draw(state, 1, weights); at >= parts[kind].weight; ++kind) at -= parts[kind].weight;
  if (parts[kind].off) return;
  if (!self->others) part_name = parts[kind].name, frames = 0;
  parts[kind].run(self, hash(state, 2));
  expect_place();
  expect_settings(self->now, "settings behind a serial part");
}

static int solos_first;

static void serial_parts(struct Serial* self, unsigned state, int count) {
  self->now = initial;
  if (solos_first && draw(state, 1, 3) == 0) {  // only regions of one thread before the first setting
    for (int i = draw(state, 2, 60); i > 0; --i) solos(self->now, draw(state, (unsigned)(100 + i), 2), state, 3);
  }
  if (draw(state, 3, 4) != 0) omp_set_max_active_levels(self->now.levels = 4);
  for (int i = 0; i < count; ++i) {
    if (!self->others) part = i;
    one_part(self, hash(state, (unsigned)(1000 + i)));
  }
}

static void hung(int signal_number) {
  (void)signal_number;
  static const char text[] = "hung, or slow: not done in time, in ";
  if (write(2, text, sizeof text - 1) >= 0 && write(2, part_name, strlen(part_name)) >= 0 && write(2, "\n", 1) >= 0)
    _Exit(2);
  _Exit(2);
}

int main(int count, char** argument) {
  if (count == 2 && strcmp(argument[1], "kinds") == 0) {
    for (int i = 0; i < kParts; ++i) puts(parts[i].name);
    for (int i = 0; i < kConstructs; ++i)
      if (i == 0 || constructs[i].run != constructs[i - 1].run) puts(constructs[i].name);
    puts("child_regions");
    return 0;
  }
  seed = count > 1 ? (unsigned)atoi(argument[1]) : 1;
  const int parts_count = count > 2 ? atoi(argument[2]) : 30;
  const int most = count > 3 ? atoi(argument[3]) : 4;
  CHECK(most >= 2 && most <= kThreads);
  signal(SIGALRM, hung);
  alarm(count > 4 ? (unsigned)atoi(argument[4]) : 100);
  const char* kinds = count > 5 ? argument[5] : "";
  for (int i = 0; i < kParts; ++i) parts[i].off = is_off(parts[i].name, kinds);
  for (int i = 0; i < kConstructs; ++i) constructs[i].off = is_off(constructs[i].name, kinds);
  without_tasks = is_off("tasks", kinds);
  solos_first = !is_off("solos", kinds);
  children_open_regions = !is_off("child_regions", kinds);
  omp_init_lock(&lock);
  omp_init_nest_lock(&nested_lock);
  initial = settings_now();
  limited = getenv("OMP_THREAD_LIMIT") != NULL;
#ifndef __clang__
  const char* threads = getenv("OMP_NUM_THREADS");
  for (; threads && (listed || strchr(threads, ',')) && *threads && listed < 8; threads += *threads == ',')
    list[listed++] = (int)strtol(threads, (char**)&threads, 10);
#endif
  struct Serial self = {.most = most};
  serial_parts(&self, seed, parts_count);
  puts("ok");
  return 0;
}
