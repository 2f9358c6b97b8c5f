-- Environment module for Lmod: module load smelt puts Smelt under every OpenMP and Open MPI program that is started
-- afterwards, module unload smelt takes it away. meson install puts it into <prefix>/share/modulefiles with its own places; by hand, copy
-- it to <modulepath>/smelt/0.2.0.lua and set `prefix` and `libdir`.
-- Checked (tests/packages/contrib_test.sh): luac -p; run with Lmod's functions pretended. Not run by Lmod.
local prefix = "/usr"
local libdir = pathJoin(prefix, "lib/x86_64-linux-gnu") -- meson's libdir; others have lib64 or lib

whatis("Name: Smelt")
whatis("Version: 0.2.0")
whatis("Description: machine-aware barriers, broadcasts and reductions under OpenMP and Open MPI programs")
help([[
Loaded, OpenMP programs (GCC's libgomp, LLVM's libomp) and programs of Open MPI run with Smelt. Unloaded, they do not.
  smelt info        what is known of this machine
  smelt run -- ./a  one program alone, without loading the module
For one program: SMELT_OPENMP=off ./app runs on the stock OpenMP runtimes,
mpirun --mca coll_smelt_priority 0 ./app on Open MPI's own components.
]])

local shims = pathJoin(libdir, "smelt")
if prefix ~= "/usr" then
  prepend_path("PATH", pathJoin(prefix, "bin"))
  prepend_path("MANPATH", pathJoin(prefix, "share/man"))
  prepend_path("LD_LIBRARY_PATH", libdir)
  prepend_path("PKG_CONFIG_PATH", pathJoin(libdir, "pkgconfig"))
end
prepend_path("LD_PRELOAD", pathJoin(shims, "libsmelt_kmp.so"), ":")
prepend_path("LD_PRELOAD", pathJoin(shims, "libsmelt_gomp.so"), ":")
if isDir(pathJoin(shims, "openmpi")) then
  setenv("OMPI_MCA_mca_base_component_path", pathJoin(shims, "openmpi") .. ":SYSTEM_DEFAULT:USER_DEFAULT")
  setenv("OMPI_MCA_coll_smelt_priority", "90")
  -- From Open MPI 5.0 on PMIx would take that path for its own, and warn.
  setenv("PMIX_MCA_mca_base_component_path", ":")
end
