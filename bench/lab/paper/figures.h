// The figures and tables, one function each. Each throws UserError.
#pragma once

#include <string>
#include <vector>

#include "bench/lab/paper/figure.h"

namespace smelt::paper {

struct FigureSettings {
  bool quick = false;
  std::string machines;  // folder of matrix files, "" for none
  std::string network;   // network profile, "" for this machine's
  std::string dt;        // NPB's DT for MPI, "" for none
  std::string build;     // where this build's other programs lie
};

// Kaestle et al., OSDI 2016
Figure osdi_figure_8(const FigureSettings& settings);
Figure osdi_figure_9(const FigureSettings& settings);
Figure osdi_figure_10(const FigureSettings& settings);
Figure osdi_figure_11(const FigureSettings& settings);
Figure osdi_figure_12(const FigureSettings& settings);
Figure osdi_figure_13(const FigureSettings& settings);
Figure osdi_table_2(const FigureSettings& settings);
Figure osdi_table_3(const FigureSettings& settings);
Figure osdi_table_4(const FigureSettings& settings);
// Nishtala and Yelick, HotPar 2009
Figure hotpar_figure_2(const FigureSettings& settings);
Figure hotpar_figure_3(const FigureSettings& settings);
Figure hotpar_figure_4(const FigureSettings& settings);
Figure hotpar_figure_5(const FigureSettings& settings);
Figure hotpar_figure_6(const FigureSettings& settings);
Figure hotpar_table_2(const FigureSettings& settings);
// Brunet, Trahay, Denis and Namyst, Cluster 2011
Figure cluster_limits(const FigureSettings& settings);
// Dang, Snir and Gropp, EuroMPI 2016
Figure euro_table_1(const FigureSettings& settings);
Figure euro_figure_5(const FigureSettings& settings);
Figure euro_figure_7(const FigureSettings& settings);
Figure euro_figure_8(const FigureSettings& settings);
Figure euro_figure_9(const FigureSettings& settings);

inline constexpr const char* kOsdi = "Kaestle et al., Machine-aware Atomic Broadcast Trees for Multicores, OSDI 2016";
inline constexpr const char* kHotPar =
    "Nishtala and Yelick, Optimizing Collective Communication on Multicores, HotPar 2009";
inline constexpr const char* kEuroMpi = "Dang, Snir and Gropp, Towards Millions of Communicating Threads, EuroMPI 2016";
inline constexpr const char* kOneCpu = "not measured: this process may use one CPU only";

}  // namespace smelt::paper
