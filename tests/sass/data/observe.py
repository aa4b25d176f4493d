#!/usr/bin/env python3
"""Writes instructions.txt: words of many opcodes and forms, with nvdisasm's text.

usage: observe.py NVDISASM [MORE.cubin ...]

Compiles snippets.cu and sgemm.cu for each target with nvcc, disassembles, and keeps one instruction
for each opcode, form and set of modifiers, on each target that has it. A line is

    TARGETS LOW HIGH TEXT      80,86,89 0x... 0x... FFMA R3, R2, R4, R3

Further cubins (of the same targets) may be named; their instructions join in. The file checked in
was made with those of all examples, and of a few specs more, for every target.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
HERE = pathlib.Path(__file__).parent
FIRST = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s+/\* (0x[0-9a-f]{16}) \*/")
SECOND = re.compile(r"\s+/\* (0x[0-9a-f]{16}) \*/")


def compile_snippets(folder):
    for source in ("snippets", "sgemm"):
        for target in TARGETS:
            cubin = folder / f"{source}_{target}.cubin"
            subprocess.run(["nvcc", "-cubin", f"-arch={target}", HERE / f"{source}.cu", "-o", cubin],
                           check=True)
            yield cubin


def instructions(nvdisasm, cubin):
    """(machine, text, low, high) of each instruction; branches within the code left out."""
    text = subprocess.run([nvdisasm, "-c", "-hex", "-ndf", cubin], check=True, text=True,
                          capture_output=True).stdout
    machine = int(re.search(r"\.target\s+sm_(\d+)", text).group(1))
    lines = text.split("\n")
    for line, following in zip(lines, lines[1:]):
        first, second = FIRST.match(line), SECOND.match(following)
        if first and second and "`(" not in line:
            yield machine, " ".join(first.group(2).split()), first.group(3), second.group(1)


def main():
    nvdisasm, more = sys.argv[1], sys.argv[2:]
    # (opcode, modifiers, reuse) -> (low, high, text) -> targets
    seen = collections.defaultdict(lambda: collections.defaultdict(set))
    with tempfile.TemporaryDirectory() as folder:
        for cubin in [*compile_snippets(pathlib.Path(folder)), *more]:
            for machine, text, low, high in instructions(nvdisasm, cubin):
                mnemonic = re.sub(r"^@!?U?P\w+ ", "", text).split()[0]
                key = (int(low, 16) & 0xFFF, mnemonic, ".reuse" in text)
                seen[key][(low, high, text)].add(machine)
    with open(HERE / "instructions.txt", "w") as out:
        for key in sorted(seen):
            left = set().union(*seen[key].values())
            # Words that several targets share come first, so that few lines cover all targets.
            for word, machines in sorted(seen[key].items(), key=lambda row: (-len(row[1]), row[0])):
                if machines & left:
                    targets = ",".join(str(machine) for machine in sorted(machines))
                    print(targets, word[0], word[1], word[2], file=out)
                    left -= machines


main()
