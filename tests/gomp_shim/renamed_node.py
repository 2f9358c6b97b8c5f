#!/usr/bin/env python3
"""A copy of a shared library in which a version node has another name, one that its string table has anyway.

    renamed_node.py LIBRARY NODE NAME COPY
"""
import struct
import sys

_VERDEF = 0x6ffffffd  # the type of the section of version definitions


def main(library, node, name, copy):
    with open(library, 'rb') as file:
        data = bytearray(file.read())
    assert data[:6] == b'\x7fELF\x02\x01', 'only 64 bits, little-endian'
    at, size, count = struct.unpack_from('<Q', data, 40)[0], *struct.unpack_from('<HH', data, 58)
    sections = [struct.unpack_from('<IIQQQQIIQQ', data, at + i * size) for i in range(count)]
    definitions = next(section for section in sections if section[1] == _VERDEF)
    strings = sections[definitions[6]]
    table = bytes(data[strings[4]:strings[4] + strings[5]])
    wanted = table.index(b'\0' + name.encode() + b'\0') + 1
    where, renamed = definitions[4], 0
    for _ in range(definitions[7]):
        first, following = struct.unpack_from('<II', data, where + 12)
        offset, = struct.unpack_from('<I', data, where + first)
        if table[offset:table.index(b'\0', offset)] == node.encode():
            struct.pack_into('<I', data, where + first, wanted)
            renamed += 1
        where += following
    with open(copy, 'wb') as file:
        file.write(data)
    return 0 if renamed == 1 else 1


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
