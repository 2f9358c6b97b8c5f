#!/bin/sh
# Slurm task prologue (slurm.conf: TaskProlog=/etc/slurm/smelt-task-prolog.sh, run as the user): switches Smelt on for
# the tasks of jobs that ask for it, by sbatch --export=ALL,SMELT=on or export SMELT=on in the job. What is printed as
# "export NAME=VALUE" becomes part of the task's environment.
# Checked (tests/packages/contrib_test.sh): sh -n; run, and what it prints looked at. Run by Slurm 22.05, by hand.
#   SMELT_LIBDIR=/opt/smelt/lib/smelt    where the shims lie, if not in the system's library folder
[ "${SMELT-}" = on ] || exit 0
if [ -z "${SMELT_LIBDIR-}" ]; then
  for folder in /usr/lib/*-linux-gnu/smelt /usr/lib64/smelt /usr/local/lib/*-linux-gnu/smelt \
    /usr/local/lib64/smelt; do
    if [ -e "$folder/libsmelt_gomp.so" ]; then SMELT_LIBDIR=$folder; break; fi
  done
fi
[ -e "${SMELT_LIBDIR-}/libsmelt_gomp.so" ] || exit 0
shims=$SMELT_LIBDIR/libsmelt_gomp.so
[ ! -e "$SMELT_LIBDIR/libsmelt_kmp.so" ] || shims=$shims:$SMELT_LIBDIR/libsmelt_kmp.so
case ":${LD_PRELOAD-}:" in
  *"$SMELT_LIBDIR/libsmelt_gomp.so"*) ;;
  *) echo "export LD_PRELOAD=$shims${LD_PRELOAD:+:$LD_PRELOAD}" ;;
esac
if [ -d "$SMELT_LIBDIR/openmpi" ]; then
  case "${OMPI_MCA_mca_base_component_path-}" in
    *"$SMELT_LIBDIR/openmpi"*) ;;
    *)
      others=${OMPI_MCA_mca_base_component_path:-SYSTEM_DEFAULT:USER_DEFAULT}
      echo "export OMPI_MCA_mca_base_component_path=$SMELT_LIBDIR/openmpi:$others"
      ;;
  esac
  [ -n "${OMPI_MCA_coll_smelt_priority-}${SMELT_PRIORITY-}" ] || echo "export OMPI_MCA_coll_smelt_priority=90"
fi
exit 0
