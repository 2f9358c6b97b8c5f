# Spack recipe (Spack 0.23 and later): spack repo add <the folder spack> && in the source,
# spack dev-build smelt@0.2.0; a release has a recipe with the checksum of its tarball.
# Made by contrib/recipes/make.py from facts.toml: change those.
# Checked (tests/packages/contrib_test.sh): compiled, and run with Spack's names pretended. Not built by Spack.
try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:  # before Spack 1.0 it came with the names below
    pass

from spack.package import *


class Smelt(MesonPackage):
    """Machine-aware barriers, broadcasts and reductions, under OpenMP and Open MPI programs that nobody has to
    recompile, and as a C library. Measures what a message between each pair of a machine's CPUs costs, and builds
    the communication pattern that is cheapest there."""

    license("MIT")

    version("0.2.0")

    variant("cli", default=True, description="Build the smelt program, which calibrates, shows and runs")
    variant("mpi", default=False, description="Build the components of Open MPI")
    variant("rails", default=False, description="Jobs on several nodes: collectives node by node, messages over several networks (libfabric)")
    variant("threads", default=True, description="User-level threads (Boost.Context, linked statically)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")

    # The components are built with Open MPI's own headers, for the series that they are built with. Spack's recipe of
    # Open MPI does not install these: give it one that was configured --with-devel-headers, as an external.
    depends_on("hwloc@2.5:", when="+cli")
    depends_on("fmt", when="+cli")
    depends_on("nlohmann-json", when="+cli")
    depends_on("cli11", when="+cli")
    depends_on("openmpi@4.1,5.0,6.0:6.1", when="+mpi")
    depends_on("libfabric", when="+rails")
    depends_on("boost +context +pic", when="+threads")

    conflicts("platform=darwin", msg="Linux alone (futex, sysfs, ELF interposition)")
    conflicts("%gcc@:10", msg="C++20")

    def meson_args(self):
        return [
            "--libdir=lib",
            "-Dcli=" + ("enabled" if "+cli" in self.spec else "disabled"),
            "-Dmpi=" + ("enabled" if "+mpi" in self.spec else "disabled"),
            "-Drails=" + ("enabled" if "+rails" in self.spec else "disabled"),
            "-Dtests=false",
            "-Dbench=false",
        ]

    def setup_run_environment(self, env):
        # Open MPI finds the components where they lie, and uses them when asked: smelt run, or coll_smelt_priority.
        if "+mpi" in self.spec:
            components = join_path(self.prefix.lib, "smelt", "openmpi")
            env.set("OMPI_MCA_mca_base_component_path", components + ":SYSTEM_DEFAULT:USER_DEFAULT")
