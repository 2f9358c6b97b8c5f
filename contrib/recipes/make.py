#!/usr/bin/env python3
"""Makes the recipes of Spack and conda and the Containerfile from facts.toml.

    make.py [--check]                            those that lie in contrib/, which are for a checkout of the source
    make.py --release FOLDER URL TARBALL         those of a release: they take TARBALL, which lies at URL and above FOLDER, and hold its checksum

--check writes nothing, and fails where a recipe is not what the facts make of it.
"""
import hashlib
import pathlib
import re
import sys
import tomllib

CONTRIB = pathlib.Path(__file__).resolve().parent.parent
MADE = 'Made by contrib/recipes/make.py from facts.toml: change those.'


def facts_of_release(url=None, tarball=None):
    facts = tomllib.loads((CONTRIB / 'recipes/facts.toml').read_text())
    facts['version'] = re.search(r"^  version: '(.*)',$", (CONTRIB.parent / 'meson.build').read_text(), re.MULTILINE)[1]
    facts['spack_version'] = facts['version'].split('+')[0]  # Spack takes no plus sign
    facts['description'] = facts['description'].strip()
    facts['url'] = url
    facts['tarball'] = tarball.name if tarball else None
    facts['sha256'] = hashlib.sha256(tarball.read_bytes()).hexdigest() if tarball else None
    return facts


def options(facts, where):
    """meson's, for the parts as this ecosystem has them."""
    given = [f"-D{part['option']}={'enabled' if part[where] else 'disabled'}" for part in facts['part'].values() if 'option' in part]
    return ' '.join(given + ['-Dtests=false', '-Dbench=false'])


def names(facts, where, kind, also=lambda need: True):
    return [need[where] for need in facts['needs'] if need['for'] in kind and where in need and also(need)]


def wrapped(text, width, indent):
    lines, line = [], ''
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f'{line} {word}'.strip()
    return ('\n' + indent).join(lines + [line])


def spack(facts):
    told = f'sha256="{facts["sha256"]}", url="{facts["url"]}"' if facts['sha256'] else ''
    version = f'"{facts["spack_version"]}"' + (f',\n        {told.replace(", url", "," + chr(10) + "        url")},\n    ' if told else '')
    variants = '\n'.join(f'    variant("{name}", default={part["spack"]}, description="{part["what"]}")'
                         for name, part in facts['part'].items())
    always = '\n'.join(f'    depends_on("{need["spack"]}", type="build")' for need in facts['needs']
                       if need['for'] == 'build' and 'spack' in need)
    by_part = '\n'.join(f'    depends_on("{need["spack"]}", when="+{need["part"]}")' for need in facts['needs']
                        if 'part' in need and 'spack' in need)
    chosen = '\n'.join(f'            "-D{part["option"]}=" + ("enabled" if "+{name}" in self.spec else "disabled"),'
                       for name, part in facts['part'].items() if 'option' in part)
    how = (f'spack install {facts["name"]}' if told else
           f'in the source,\n# spack dev-build {facts["name"]}@{facts["spack_version"]}; a release has a recipe with the checksum of its tarball')
    return f'''# Spack recipe (Spack 0.23 and later): spack repo add <the folder spack> && {how}.
# {MADE}
# Checked (tests/packages/contrib_test.sh): compiled, and run with Spack's names pretended. Not built by Spack.
try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:  # before Spack 1.0 it came with the names below
    pass

from spack.package import *


class {facts["name"].capitalize()}(MesonPackage):
    """{wrapped(facts["description"], 112, "    ")}"""

    license("{facts["licence"]}")

    version({version})

{variants}

{always}

    # The components are built with Open MPI's own headers, for the series that they are built with. Spack's recipe of
    # Open MPI does not install these: give it one that was configured --with-devel-headers, as an external.
{by_part}

    conflicts("platform=darwin", msg="Linux alone (futex, sysfs, ELF interposition)")
    conflicts("%gcc@:{facts["oldest_gcc"] - 1}", msg="C++20")

    def meson_args(self):
        return [
            "--libdir=lib",
{chosen}
            "-Dtests=false",
            "-Dbench=false",
        ]

    def setup_run_environment(self, env):
        # Open MPI finds the components where they lie, and uses them when asked: smelt run, or coll_smelt_priority.
        if "+mpi" in self.spec:
            components = join_path(self.prefix.lib, "smelt", "openmpi")
            env.set("OMPI_MCA_mca_base_component_path", components + ":SYSTEM_DEFAULT:USER_DEFAULT")
'''


def conda(facts):
    has = lambda need: 'part' not in need or facts['part'][need['part']]['conda']
    listed = lambda kind: '\n'.join(f'    - {name}' for name in names(facts, 'conda', kind, has))
    source = f'  url: {facts["url"]}\n  sha256: {facts["sha256"]}' if facts['sha256'] else '  path: ../..'
    return f'''# conda recipe (conda-build 3 and later, packages of conda-forge): conda build -c conda-forge <the folder conda>
# {MADE}
# Checked (tests/packages/contrib_test.sh): read as YAML; its script run with Debian's packages in place of conda-forge's. Not built by conda.
# Left out: what the packages of conda-forge cannot have (facts.toml says why).
package:
  name: {facts["name"]}
  version: "{facts["version"]}"

source:
{source}

build:
  number: 0
  skip: true  # [not linux]
  script:
    - meson setup build --prefix=$PREFIX --libdir=lib --buildtype=release {options(facts, "conda")}
    - ninja -C build
    - meson install -C build --no-rebuild

requirements:
  build:
{listed(["build"])}
  host:
{listed(["host"])}
  run:
    - {{{{ pin_compatible('libhwloc', max_pin='x') }}}}

test:
  commands:
    - smelt --version
    - smelt info
    - smelt run --dry-run -- true | grep "$PREFIX/lib/smelt/libsmelt_gomp.so"

about:
  license: {facts["licence"]}
  license_file: LICENSE
  summary: {facts["summary"]}
'''


def container(facts):
    has = lambda need: 'part' not in need or facts['part'][need['part']]['container']
    built = wrapped(' '.join(names(facts, 'debian', ['build', 'host'], has)), 110, '  ').replace('\n', ' \\\n')
    run = ' '.join(need['run'] for need in facts['needs'] if 'run' in need and has(need))
    copied = f'ADD {facts["tarball"]} /' if facts['tarball'] else 'COPY . /smelt'
    place = f'/{facts["name"]}-{facts["version"]}' if facts['tarball'] else '/smelt'
    where = 'the folder of the tarball' if facts['tarball'] else 'the source'
    file = 'recipes/Containerfile' if facts['tarball'] else 'contrib/container/Containerfile'
    return f'''# An image with Smelt on Debian 13. In {where}: podman build -f {file} -t smelt .
# {MADE}
# Checked (tests/packages/container_test.sh): built by buildah and run, on a Debian 13 made of packages in place of the registry's.
# A program's own image takes it over: FROM smelt, or COPY --from=smelt /usr/local /usr/local with the two libraries below.
FROM docker.io/library/debian:13 AS build
RUN apt-get update && apt-get install -y --no-install-recommends \\
  {built}
{copied}
RUN meson setup /build {place} --prefix=/usr/local --libdir=lib --localstatedir=/var \\
  {options(facts, "container")} && \\
  ninja -C /build && meson install -C /build --no-rebuild --strip --destdir /installed

FROM docker.io/library/debian:13
RUN apt-get update && apt-get install -y --no-install-recommends {run} && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/ /
RUN ldconfig
# As many threads as the container's quota pays for.
ENTRYPOINT ["smelt", "run", "--fit", "--"]
'''


RECIPES = {'spack/packages/smelt/package.py': spack, 'conda/meta.yaml': conda, 'container/Containerfile': container}


def main():
    if sys.argv[1:2] == ['--release']:
        folder, url, tarball = pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
        facts = facts_of_release(url, tarball)
        for name, recipe in RECIPES.items():
            path = folder / name.replace('container/', '')
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(recipe(facts))
        (folder / 'spack/repo.yaml').write_text((CONTRIB / 'spack/repo.yaml').read_text())
        return 0
    stale = [name for name, recipe in RECIPES.items()
             if not (CONTRIB / name).exists() or (CONTRIB / name).read_text() != recipe(facts_of_release())]
    if sys.argv[1:2] == ['--check']:
        for name in stale:
            print(f'contrib/{name} is not what contrib/recipes/make.py makes')
        return 1 if stale else 0
    for name in stale:
        (CONTRIB / name).write_text(RECIPES[name](facts_of_release()))
        print(f'contrib/{name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
