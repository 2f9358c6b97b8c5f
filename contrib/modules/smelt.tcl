#%Module1.0
# Environment module in Tcl, for Environment Modules and Lmod: module load smelt puts Smelt under every OpenMP and
# Open MPI program that is started afterwards, module unload smelt takes it away. meson install puts it into
# <prefix>/share/modulefiles with its own places; by hand, copy it to <modulepath>/smelt/0.2.0 and set prefix and libdir.
# Checked (tests/packages/contrib_test.sh): run by tclsh with the module command's functions pretended. Not run by
# either.
set prefix /usr
# meson's libdir; others have lib64 or lib
set libdir $prefix/lib/x86_64-linux-gnu
set shims $libdir/smelt

module-whatis "machine-aware barriers, broadcasts and reductions under OpenMP and Open MPI programs"
proc ModulesHelp {} {
  puts stderr "Loaded, OpenMP programs (GCC's libgomp, LLVM's libomp) and programs of Open MPI run with Smelt."
  puts stderr "smelt run -- ./app puts it under one program alone, without loading the module."
}

if {$prefix ne "/usr"} {
  prepend-path PATH $prefix/bin
  prepend-path MANPATH $prefix/share/man
  prepend-path LD_LIBRARY_PATH $libdir
  prepend-path PKG_CONFIG_PATH $libdir/pkgconfig
}
prepend-path LD_PRELOAD $shims/libsmelt_kmp.so
prepend-path LD_PRELOAD $shims/libsmelt_gomp.so
if {[file isdirectory $shims/openmpi]} {
  setenv OMPI_MCA_mca_base_component_path $shims/openmpi:SYSTEM_DEFAULT:USER_DEFAULT
  setenv OMPI_MCA_coll_smelt_priority 90
  # From Open MPI 5.0 on PMIx would take that path for its own, and warn.
  setenv PMIX_MCA_mca_base_component_path ":"
}
