# Read in by the tests that start mpirun. pml/cm loads the libraries of networks, none of which is between the ranks of a node: libpsm2's
# constructor alone sleeps 800 times 125 us in each rank. A start of two takes 0.12 s without them in place of 0.32 s, on a busy machine 0.2 of 2.
export OMPI_MCA_pml=^cm,ucx OMPI_MCA_btl=^openib,ofi,usnic OMPI_MCA_osc=^ucx
# From 5.0 on more ranks than CPUs are asked for by another name, from 6 on by a third, and tcp may refuse the
# addresses of a machine that has no network, aloud. The first is what smelt run sets (core/cli/launch_environment.cc); PMIx before
# 4.2, under 4.1, would miss its own folders.
case $(mpirun --version) in
  'mpirun (Open MPI) 4.'*) ;;
  *)
    export PMIX_MCA_mca_base_component_path=: OMPI_MCA_btl_tcp_if_include=lo
    case $(mpirun --version) in
      'mpirun (Open MPI) 5.'*) export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe ;;
      *) export PRTE_MCA_mapby=:oversubscribe ;;
    esac
    ;;
esac
