// The numbers that can be read in the papers' text, and where they stand there. Plots have no numbers.
#pragma once

#include <cstdint>

namespace smelt::paper {

struct WithError {
  double value, error;
};

// OSDI'16, Table 3: cycles, median of 100 calls, standard error.
struct PaperBarrier {
  const char* machine;
  uint32_t threads;
  WithError parlib, dissemination, smelt;
};
inline constexpr PaperBarrier kPaperTable3[] = {
    {"I SB 4x8x2", 32, {16718, 495}, {6699, 63}, {4725, 6}},
    {"I SB 4x8x2", 64, {38494, 755}, {19762, 22}, {6348, 10}},
    {"I NL 4x8x2", 32, {13836, 348}, {5777, 239}, {4035, 22}},
    {"I NL 4x8x2", 64, {15604, 1366}, {6333, 185}, {5755, 26}},
    {"A IL 4x4x2", 16, {4288, 7}, {4596, 92}, {4792, 9}},
    {"A IL 4x4x2", 32, {5989, 23}, {5220, 12}, {7016, 35}},
};

// OSDI'16, Table 2: EPCC, average in microseconds, standard error. The constructs in the paper's order.
inline constexpr const char* kEpccConstructs[] = {"PARALLEL", "FOR",       "BARRIER", "SINGLE",
                                                  "COPYPRIV", "COPY (IN)", "PRIVATE"};
struct PaperEpcc {
  const char* machine;
  const char* library;
  WithError of[7];
};
inline constexpr PaperEpcc kPaperTable2[] = {
    {"A IL 4x4x2",
     "GOMP",
     {{21.81, 112.16}, {6.93, 0.15}, {6.92, 0.15}, {11.31, 1.41}, {287.84, 122.97}, {101.40, 1.22}, {52.20, 301.56}}},
    {"A IL 4x4x2",
     "Smelt",
     {{13.93, 0.15}, {4.15, 0.07}, {4.13, 0.07}, {7.83, 0.08}, {120.10, 24.52}, {104.66, 0.94}, {13.84, 0.28}}},
    {"I SB 4x8x2",
     "GOMP",
     {{55.41, 333.78}, {9.50, 3.22}, {9.51, 3.23}, {14.85, 2.26}, {319.44, 7.29}, {135.16, 1.13}, {46.69, 140.40}}},
    {"I SB 4x8x2",
     "Smelt",
     {{38.31, 0.17}, {5.64, 0.02}, {5.63, 0.02}, {10.27, 0.98}, {141.95, 1.81}, {128.48, 1.04}, {37.20, 0.44}}},
};

// OSDI'16, section 5.3, on Figure 11: how many times as fast Smelt is; "-": the text does not say.
struct PaperAgainst {
  const char* operation;
  const char* mpi;
  const char* openmp;
};
inline constexpr PaperAgainst kPaperFigure11[] = {
    {"broadcast", "1.6 to 2.6", "-"}, {"reduction", "1.6 to 2.6", "-"}, {"barrier", "1.19 to 1.41", "1.5 to 3.8"}};

// OSDI'16, Table 4: Streamcluster, seconds; with Shoal memory is placed where it is used.
struct PaperStream {
  const char* machine;
  const char* memory;
  double pthread, parsec, smelt, parlib;
};
inline constexpr PaperStream kPaperTable4[] = {
    {"A IL 4x4x2", "no Shoal", 215.619, 207.929, 181.405, 202.801},
    {"A IL 4x4x2", "Shoal", 51.816, 52.075, 41.116, 41.061},
    {"I SB 4x8x2", "no Shoal", 236.476, 235.394, 124.492, 125.184},
    {"I SB 4x8x2", "Shoal", 66.421, 68.079, 28.283, 28.779},
};

// HotPar'09, Table 2: reductions of 1,024 doubles, microseconds.
struct PaperRadix {
  uint32_t radix;
  double barcelona_loose, barcelona_strict, niagara_loose, niagara_strict;
};
inline constexpr PaperRadix kPaperRadices[] = {
    {1, 46.4, 306, 576, 3103},  {2, 52.9, 110, 621, 2115},  {4, 60.1, 119, 710, 1774},
    {8, 73.8, 130, 1316, 2471}, {16, 110, 213, 2240, 3998},
};

}  // namespace smelt::paper
