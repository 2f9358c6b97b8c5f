// Breadth-first search through a maze, level by level: irregular work, dynamic and guided schedules, atomics, a team
// that is not worth forking for a narrow level (`if`), and a number of regions and barriers that the data decide.
//
//   graph_search [SIDE] [SEARCHES]     the maze is SIDE x SIDE cells, three in ten of them walls
//
// Which thread finds a cell, and where in the frontier it lands, is not fixed, so neither is printed. Its distance is:
// any neighbour in the level before claims it for the same level. Printed are the distances' checksum and how many
// cells each level has.
#include <cstdio>
#include <vector>

#include "program.h"

namespace {

using Cells = std::vector<int>;

struct Maze {
  int side = 0;
  std::vector<char> open;

  // The open neighbours of a cell; returns their number.
  int neighbours(int cell, int out[4]) const {
    const int x = cell % side, y = cell / side;
    int count = 0;
    const auto step = [&](bool inside, int next) {
      if (inside && open[static_cast<size_t>(next)]) out[count++] = next;
    };
    step(y > 0, cell - side);
    step(x > 0, cell - 1);
    step(x + 1 < side, cell + 1);
    step(y + 1 < side, cell + side);
    return count;
  }
};

Maze make_maze(int side) {
  Maze maze{side, std::vector<char>(static_cast<size_t>(side) * static_cast<size_t>(side))};
  for (size_t i = 0; i < maze.open.size(); i++) maze.open[i] = random_number(i) % 10 >= 3;
  return maze;
}

// What a search has found so far.
struct Search {
  const Maze& maze;
  Cells distance, claims;

  explicit Search(const Maze& m) : maze(m), distance(m.open.size(), -1), claims(m.open.size(), 0) {}

  // Was this thread the first to come to the cell?
  bool claim(int cell) {
    int& claims_of_cell = claims[static_cast<size_t>(cell)];
    int before;
#pragma omp atomic read
    before = claims_of_cell;
    if (before > 0) return false;
#pragma omp atomic capture
    before = claims_of_cell++;
    return before == 0;
  }

  // Calls `found` for every cell that this one leads to and nobody had reached before.
  template <class Found>
  void expand(int cell, int level, Found found) {
    int next[4];
    const int count = maze.neighbours(cell, next);
    for (int i = 0; i < count; i++)
      if (claim(next[i])) {
        distance[static_cast<size_t>(next[i])] = level + 1;
        found(next[i]);
      }
  }

  void start(int source) {
    claims[static_cast<size_t>(source)] = 1;
    distance[static_cast<size_t>(source)] = 0;
  }
};

Cells search_in_serial(const Maze& maze, int source) {
  Search search(maze);
  search.start(source);
  Cells queue{source};
  for (size_t head = 0; head < queue.size(); head++) {
    const int cell = queue[head];
    search.expand(cell, search.distance[static_cast<size_t>(cell)], [&](int next) { queue.push_back(next); });
  }
  return search.distance;
}

// One region per level, serial where the level is narrow; the next frontier's places are drawn by an atomic counter.
Cells search_by_regions(const Maze& maze, int source) {
  constexpr int kWide = 24;
  Search search(maze);
  search.start(source);
  Cells frontier(maze.open.size()), next(maze.open.size());
  frontier[0] = source;
  int width = 1;
  for (int level = 0; width > 0; level++) {
    int found = 0;
    const auto keep = [&](int cell) {
      int place;
#pragma omp atomic capture
      place = found++;
      next[static_cast<size_t>(place)] = cell;
    };
    if (level % 2 == 0) {
#pragma omp parallel for schedule(dynamic, 4) if (width > kWide)
      for (int i = 0; i < width; i++) search.expand(frontier[static_cast<size_t>(i)], level, keep);
    } else {
#pragma omp parallel for schedule(guided) if (width > kWide)
      for (int i = 0; i < width; i++) search.expand(frontier[static_cast<size_t>(i)], level, keep);
    }
    frontier.swap(next);
    width = found;
  }
  return search.distance;
}

// One region around all levels; every thread collects its finds and adds them in a critical section.
Cells search_in_one_region(const Maze& maze, int source) {
  Search search(maze);
  search.start(source);
  Cells frontier{source}, next;
#pragma omp parallel
  {
    Cells mine;
    for (int level = 0; !frontier.empty(); level++) {
      mine.clear();
#pragma omp for schedule(nonmonotonic : dynamic, 2) nowait
      for (size_t i = 0; i < frontier.size(); i++)
        search.expand(frontier[i], level, [&](int cell) { mine.push_back(cell); });
#pragma omp critical
      next.insert(next.end(), mine.begin(), mine.end());
#pragma omp barrier
#pragma omp single
      {
        frontier.swap(next);
        next.clear();
      }
    }
  }
  return search.distance;
}

void report(int source, const Cells& distance) {
  std::vector<long> cells;  // of each level
  long reached = 0;
  for (const int d : distance) {
    if (d < 0) continue;
    reached++;
    if (cells.size() <= static_cast<size_t>(d)) cells.resize(static_cast<size_t>(d) + 1);
    cells[static_cast<size_t>(d)]++;
  }
  std::printf("from %d: %ld reached in %zu levels, distances %016llx, levels", source, reached, cells.size(),
              checksum(distance.data(), distance.size() * sizeof distance[0]));
  for (const long count : cells) std::printf(" %ld", count);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int side = static_cast<int>(size_argument(argc, argv, 1, 96, 1, 10000));
  const long searches = size_argument(argc, argv, 2, 3, 1, 1000);
  Maze maze = make_maze(side);
  for (long i = 0; i < searches; i++) {
    // A diagonal of sources, from a corner to the middle.
    const int at = static_cast<int>(i * side / (2 * searches)), source = at * side + at;
    maze.open[static_cast<size_t>(source)] = 1;
    const Cells expected = search_in_serial(maze, source);
    if (search_by_regions(maze, source) != expected) fail("other distances with a region per level");
    if (search_in_one_region(maze, source) != expected) fail("other distances with one region");
    report(source, expected);
  }
}
