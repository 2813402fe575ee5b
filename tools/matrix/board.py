"""Training steps on an emulated Cortex-M4: within a stated RAM, with the bits of Python."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from machines import STRICT, Machine, parts_of, test_of
from networks import NETWORKS

__all__ = ["MACHINE", "NAME", "run"]

NAME = "Cortex-M4"
FILES = Path(__file__).resolve().parent / "board_files"
EMULATOR = ("qemu-system-arm", "-M", "mps2-an386", "-cpu", "cortex-m4", "-nographic", "-monitor", "none", "-serial", "none",
            "-semihosting-config", "enable=on,target=native", "-icount", "shift=0", "-kernel")
CORE = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
OPTIMISED = "-O2"
PACKAGES = ("gcc-arm-none-eabi", "libnewlib-arm-none-eabi", "qemu-system-arm")
MACHINE = Machine(NAME, ("arm-none-eabi-gcc",), runner=EMULATOR, packages=PACKAGES)

FLASH, RAM, STACK = 256 * 1024, 64 * 1024, 4 * 1024
"""Bytes that the board has for a program: a link that needs more fails."""


def run(folder: Path) -> int:
    """Run the small networks in a folder on the board, and print what they need of it; return the number of failures."""
    if MACHINE.missing:
        print(f"NOT TESTED: {NAME}: {', '.join(MACHINE.missing)} not found", flush=True)
        return 0
    print(f"{NAME} with {RAM} bytes of RAM, {FLASH} of flash, {' '.join(CORE)} {OPTIMISED}:", flush=True)
    return sum(_ran(name, network.about, folder) for name, network in NETWORKS.items() if network.small)


def _ran(name: str, about: str, folder: Path) -> int:
    """Compile a network for the board, run its test, and print its sizes and what its calls take; return 1 if it failed."""
    script, program, calls = folder / "board.ld", folder / "program.elf", folder / "calls.h"
    script.write_text((FILES / "board.ld").read_text(encoding="utf-8").replace("@FLASH@", str(FLASH)).replace("@RAM@", str(RAM))
                      .replace("@STACK@", str(STACK)), encoding="utf-8")
    source = folder / name / f"{name}.c"
    header = source.with_suffix(".h").read_text(encoding="utf-8")
    functions = re.findall(rf"^int (\w+)\(\s*{name}_context \*context,", header, re.MULTILINE)
    measured = [f'#define {each}(...) (begin_call(), end_call("{each}", {each}(__VA_ARGS__)))' for each in functions]
    calls.write_text("\n".join([f'#include "{name}.h"', '#include "measure.h"', *measured, ""]), encoding="utf-8")
    compiler = ["arm-none-eabi-gcc", *CORE, OPTIMISED, "-ffunction-sections", "-fdata-sections"]
    parts = parts_of(source)
    made = [folder / f"{part.stem}_board.o" for part in parts]
    steps = [[*compiler, *STRICT, "-c", part, "-o", to] for part, to in zip(parts, made, strict=True)]
    linked = ["-w", "--specs=nano.specs", "-nostartfiles", f"-Wl,-T,{script},--gc-sections"]
    included = [f"-I{FILES}", f"-I{source.parent}", "-include", calls]
    steps.append([*compiler, *linked, *included, FILES / "startup.c", test_of(source), *made, "-o", program])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0 or (done.stderr and step is not steps[-1]):
            print(f"{NAME}, {name}: {done.stderr[:2000]}", flush=True)
            return 1
    code, *weights = (_bytes_of(each) for each in made)
    done = subprocess.run([*EMULATOR, program], capture_output=True, text=True, check=False, timeout=600)
    context = re.search(r"_CONTEXT_SIZE (\d+)", header)
    said = done.stdout + done.stderr  # the emulator writes what a program prints to its standard error
    lines = source.read_text(encoding="utf-8").count("\n")
    sizes = f"{code} bytes of code, {sum(weights)} of constants, {context[1] if context else 0} of context, {lines} lines of C"
    print(f"{NAME}, {name} ({about}): {sizes}", *(f"    {line}" for line in said.splitlines()), sep="\n", flush=True)
    return int(done.returncode != 0 or f"{name}: equal\n" not in said)


def _bytes_of(made: Path) -> int:
    """Return the bytes of code and constants of a compiled file."""
    done = subprocess.run(["arm-none-eabi-size", made], capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[1].split()[0])
