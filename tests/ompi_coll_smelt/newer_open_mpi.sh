# Read in by the tests that start mpirun. What a start looks for in vain (libfabric's and UCX's networks, none of which is between the ranks
# of a node) takes one to two seconds, of a tenth that it would be without.
export OMPI_MCA_pml=^cm,ucx OMPI_MCA_btl=^openib,ofi,usnic OMPI_MCA_osc=^ucx
# From 5.0 on more ranks than CPUs are asked for by another name, and tcp may refuse the
# addresses of a machine that has no network, aloud. The first is what smelt run sets (core/cli/run_environment.cc); PMIx before
# 4.2, under 4.1, would miss its own folders.
case $(mpirun --version) in
  'mpirun (Open MPI) 4.'*) ;;
  *)
    export PMIX_MCA_mca_base_component_path= PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
      OMPI_MCA_btl_tcp_if_include=lo
    ;;
esac
