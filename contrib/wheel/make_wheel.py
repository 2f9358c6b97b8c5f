#!/usr/bin/env python3
"""Makes a Python wheel of an installed Smelt: the program with the libraries that it needs, the OpenMP shims, the manual pages and the
completions. pip puts the program into the environment's bin and the shims beside it, where it looks for them; no Python code is in it.

    make_wheel.py TREE VERSION SOURCE_ROOT FOLDER      prints the wheel's name

TREE holds bin/smelt, lib/smelt and share. lib/smelt/smelt-main must look for its libraries in lib/smelt/bundled (an RPATH, which those
libraries obey, too). The platform tag says which C library is old enough: the youngest symbol that any of the files asks of it.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
import stat
import subprocess
import sys
import zipfile

# What PEP 600 lets a wheel take from the system, as far as it is met here.
FROM_THE_SYSTEM = re.compile(r'^(libc|libm|libdl|libpthread|librt)\.so\.\d+$|^ld-linux')
TAKEN = ['bin/smelt', 'lib/smelt/smelt-main', 'lib/smelt/smelt-pictures', 'lib/smelt/libsmelt_gomp.so', 'lib/smelt/libsmelt_kmp.so',
         'share/man/man1/smelt.1', 'share/man/man1/smelt-pictures.1',
         'share/bash-completion/completions/smelt', 'share/zsh/site-functions/_smelt', 'share/fish/vendor_completions.d/smelt.fish']
PICTURES = [f'lib/smelt/pictures/{name}' for name in
            ('draw.py', 'charts.py', 'page.css', 'page.html', 'page.js', 'page.py', 'text.py')]
RPATH = '$ORIGIN/bundled'


def told(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(file):
    return re.findall(r'\(NEEDED\).*\[(.*)\]', told('readelf', '-dW', str(file)))


def libraries_of(program):
    """The libraries to bring along, {name: path}: what the program needs, and what these need."""
    known = dict(re.findall(r'^\s*(\S+) \(.*\) => (\S+)$', told('/sbin/ldconfig', '-p'), re.MULTILINE))
    found, wanted = {}, needed(program)
    while wanted:
        name = wanted.pop()
        if name not in found and not FROM_THE_SYSTEM.match(name):
            found[name] = pathlib.Path(known[name]).resolve()
            wanted += needed(found[name])
    return found


def youngest_symbol(files):
    versions = [tuple(map(int, version.split('.'))) for file in files
                for version in re.findall(r'Name: GLIBC_([0-9.]+)', told('readelf', '-VW', str(file)))]
    return max(versions)[:2]


def licence_of(library):
    # dpkg knows a library by the place that its package gave it, below / or below /usr.
    known = subprocess.run(['dpkg', '-S', str(library), str(library).removeprefix('/usr')], capture_output=True, text=True).stdout
    package = known.split(':')[0]
    return package, pathlib.Path(f'/usr/share/doc/{package}/copyright').read_bytes()


class Wheel:
    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same files make the same wheel
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (stat.S_IFREG | mode) << 16
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
        self.record.append(f'{name},sha256={digest},{len(content)}')

    def close(self, record):
        self.archive.writestr(zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)), '\n'.join(self.record + [f'{record},,']) + '\n')
        self.archive.close()


def main():
    tree, version, source, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    program = tree / 'lib/smelt/smelt-main'
    if f'Library rpath: [{RPATH}]' not in told('readelf', '-dW', str(program)):
        sys.exit(f'make_wheel.py: {program} is not linked with -Wl,--disable-new-dtags,-rpath,{RPATH}')
    libraries = libraries_of(program)
    binaries = [tree / name for name in TAKEN if name.startswith(('bin/', 'lib/'))] + list(libraries.values())
    major, minor = youngest_symbol(binaries)
    tag = f'py3-none-manylinux_{major}_{minor}_{platform.machine()}'
    path = folder / f'smelt-{version}-{tag}.whl'
    data, info = f'smelt-{version}.data', f'smelt-{version}.dist-info'
    wheel = Wheel(path)
    for name in TAKEN + PICTURES:
        content = (tree / name).read_bytes()
        if name.startswith('bin/'):
            wheel.add(f'{data}/scripts/{os.path.basename(name)}', content, 0o755)
        else:
            wheel.add(f'{data}/data/{name}', content, 0o755 if name.startswith('lib/') else 0o644)
    for name, library in sorted(libraries.items()):
        wheel.add(f'{data}/data/lib/smelt/bundled/{name}', library.read_bytes(), 0o755)
        package, licence = licence_of(library)
        wheel.add(f'{info}/licenses/{package}', licence)
    wheel.add(f'{info}/licenses/LICENSE', (source / 'LICENSE').read_bytes())
    wheel.add(f'{info}/METADATA', (
        'Metadata-Version: 2.1\n'
        'Name: smelt\n'
        f'Version: {version}\n'
        'Summary: machine-aware barriers, broadcasts and reductions under OpenMP programs\n'
        'License: MIT\n'
        'Description-Content-Type: text/markdown\n\n'
        'smelt run -- python3 program.py runs a program with Smelt under the OpenMP of its libraries (numpy, scikit-learn);\n'
        'smelt try -- python3 program.py says whether it is faster.\n').encode())
    wheel.add(f'{info}/WHEEL', f'Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n'.encode())
    wheel.close(f'{info}/RECORD')
    print(path.name)


if __name__ == '__main__':
    main()
