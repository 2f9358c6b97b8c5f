#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kBatches = 33, kTrips = 64, kLine = 128, kPatience = 20000 };
#define DEADLINE_NS 100e6
#define GIVEN_UP UINT32_MAX

struct line {
  _Alignas(kLine) _Atomic uint32_t value;
};

struct board {
  struct line ping, pong, gate;
  struct line slots[]; /* one per rank */
};

double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void give_up(const char* what, const char* name) {
  fprintf(stderr, "mpi_sweep: shared memory %s: %s: %s\n", name, what, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rank 0 makes the memory, the others open it by its name, and the name is gone before anything else happens. */
static void map_board(struct node* node) {
  char name[64] = "";
  int file = -1;
  if (node->rank == 0) {
    snprintf(name, sizeof name, "/smelt-mpi-sweep-%ld", (long)getpid());
    file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0) give_up("cannot be made", name);
    if ((errno = posix_fallocate(file, 0, (off_t)node->bytes)) != 0) give_up("no room", name);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, node->comm);
  if (node->rank != 0) file = shm_open(name, O_RDWR, 0);
  if (file < 0) give_up("cannot be opened", name);
  void* start = mmap(NULL, node->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (start == MAP_FAILED) give_up("cannot be mapped", name);
  close(file);
  MPI_Barrier(node->comm);
  if (node->rank == 0) shm_unlink(name);
  node->board = start;
}

void node_open(struct node* node) {
  int world_ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node->comm);
  MPI_Comm_rank(node->comm, &node->rank);
  MPI_Comm_size(node->comm, &node->ranks);
  node->whole_world = node->ranks == world_ranks;
  node->passed = 0;
  node->bytes = sizeof(struct board) + (size_t)node->ranks * sizeof(struct line);
  map_board(node);
  if (node->rank == 0) {
    atomic_store(&node->board->ping.value, 0);
    atomic_store(&node->board->pong.value, 0);
    atomic_store(&node->board->gate.value, 0);
    for (int i = 0; i < node->ranks; i++) atomic_store(&node->board->slots[i].value, 0);
  }
  MPI_Barrier(node->comm);
}

void node_close(struct node* node) {
  munmap(node->board, node->bytes);
  MPI_Comm_free(&node->comm);
}

/* Waits until `line` holds `wanted` or GIVEN_UP; gives the CPU away after a while, as both may be on the same one. */
static uint32_t await(struct line* line, uint32_t wanted) {
  for (int polls = 0;; polls++) {
    const uint32_t seen = atomic_load_explicit(&line->value, memory_order_acquire);
    if (seen == wanted || seen == GIVEN_UP) return seen;
    if (polls > kPatience) sched_yield();
  }
}

static double serve(struct board* board) {
  double hop[kBatches];
  uint32_t ball = 0;
  const double begin = now_ns();
  for (int batch = -1; batch < kBatches; batch++) { /* batch -1 only warms up */
    const double start = now_ns();
    for (int trip = 0; trip < kTrips; trip++) {
      atomic_store_explicit(&board->ping.value, ++ball, memory_order_release);
      await(&board->pong, ball);
    }
    if (batch >= 0) hop[batch] = (now_ns() - start) / (2.0 * kTrips);
    if (now_ns() - begin > DEADLINE_NS) {
      atomic_store_explicit(&board->ping.value, GIVEN_UP, memory_order_release);
      return -1;
    }
  }
  qsort(hop, kBatches, sizeof hop[0], by_value);
  return hop[kBatches / 2];
}

static void answer(struct board* board) {
  for (uint32_t ball = 1; ball <= (kBatches + 1) * kTrips; ball++) {
    if (await(&board->ping, ball) == GIVEN_UP) return;
    atomic_store_explicit(&board->pong.value, ball, memory_order_release);
  }
}

double node_hop_ns(struct node* node) {
  double hop = -1;
  if (node->ranks < 2) return hop;
  if (node->rank == 0) {
    atomic_store(&node->board->ping.value, 0);
    atomic_store(&node->board->pong.value, 0);
  }
  MPI_Barrier(node->comm);
  if (node->rank == 0) hop = serve(node->board);
  if (node->rank == 1) answer(node->board);
  MPI_Barrier(node->comm); /* the board is not reset before all have left */
  return hop;
}

void node_gate(struct node* node) {
  const uint32_t all = ++node->passed * (uint32_t)node->ranks; /* may wrap; equal is equal */
  _Atomic uint32_t* gate = &node->board->gate.value;
  atomic_fetch_add(gate, 1);
  for (int polls = 0; (int32_t)(atomic_load_explicit(gate, memory_order_acquire) - all) < 0; polls++)
    if (polls > kPatience) sched_yield();
}

void node_arrive(struct node* node, uint32_t turn) { atomic_store(&node->board->slots[node->rank].value, turn); }

int node_latecomer(const struct node* node, uint32_t turn) {
  for (int i = 0; i < node->ranks; i++)
    if ((int32_t)(atomic_load(&node->board->slots[i].value) - turn) < 0) return i;
  return -1;
}
