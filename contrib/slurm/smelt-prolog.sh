#!/bin/sh
# Slurm prologue (slurm.conf: Prolog=/etc/slurm/prolog.d/*, run as root on each node before a job): says so, once per
# boot, when the node has no profile of the machine as it is now. Programs run all the same, with typical costs. Nothing
# is measured here: it takes milliseconds, and it never fails, as a failing prologue would drain the node.
# Checked (tests/packages/contrib_test.sh): sh -n; run with smelt, logger and scontrol pretended. Not run by Slurm.
#   SMELT=/opt/smelt/bin/smelt   where it is not in PATH
#   SMELT_DRAIN=yes              drain the node until somebody has calibrated it; by scontrol, which Slurm does not like to
#                                see in prologues, and which is called for nodes without a profile alone
smelt=${SMELT:-smelt}
command -v "$smelt" >/dev/null 2>&1 || exit 0
"$smelt" profile verify --system --quiet 2>/dev/null
[ $? -eq 1 ] || exit 0

reason="smelt: no profile of this node as it is now; run smelt calibrate --system"
said=/run/smelt-prolog
if [ ! -e "$said" ]; then
  : 2>/dev/null >"$said"
  logger -t smelt-prolog -- "$reason" 2>/dev/null
fi
if [ "${SMELT_DRAIN-}" = yes ] && [ -n "${SLURMD_NODENAME-}" ]; then
  scontrol update "NodeName=$SLURMD_NODENAME" State=DRAIN "Reason=$reason" 2>/dev/null
fi
exit 0
