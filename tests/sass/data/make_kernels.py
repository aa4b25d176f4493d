#!/usr/bin/env python3
"""Writes kernels.words: the instruction words of every example on four targets.

usage: make_kernels.py TILEC

A record is a line "MACHINES NAME COUNT" (86,89 12_best 2048) and COUNT words of 16 bytes, little
endian. Targets for which the assembler writes the same words share a record. The words checked in
come from the assembler of CUDA 13.0.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a"]
HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"


def code_of(cubin):
    """The bytes of the only .text section of an ELF file of 64 bits."""
    table, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    start = rows[names][4]
    found = [cubin[row[4]:row[4] + row[5]] for row in rows
             if cubin[start + row[0]:].startswith(b".text.")]
    assert len(found) == 1
    return found[0]


def kernels():
    """(name, file, arguments) of each kernel of each example."""
    for path in sorted(EXAMPLES.glob("*.tile")):
        names = [line.split()[1] for line in path.read_text().split("\n")
                 if line.startswith("kernel ")]
        for name in names or [None]:
            yield (f"{path.stem}_{name}" if name else path.stem, path,
                   ["--kernel", name] if name else [])


def main():
    tilec = sys.argv[1]
    with open(HERE / "kernels.words", "wb") as out, tempfile.TemporaryDirectory() as folder:
        for name, path, arguments in kernels():
            codes = {}
            for target in TARGETS:
                subprocess.run([tilec, "compile", path, *arguments, "--target", target, "--emit",
                                "cubin", "-o", folder], check=True, capture_output=True)
                made = sorted(pathlib.Path(folder).glob("*.cubin"))  # NAME.assembled.cubin first
                codes.setdefault(code_of(made[0].read_bytes()), []).append(target[3:5])
                for cubin in made:
                    cubin.unlink()
            for code, machines in codes.items():
                out.write(f"{','.join(machines)} {name} {len(code) // 16}\n".encode() + code)


main()
