"""Facts asked of the compiler under two include paths, and where the answers differ. Invariant: a
fact that does not compile is a difference, told with the compiler's words. Called by
headers_test.py."""
from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from typing import Iterable, Optional, Sequence

import declarations
from declarations import Fact

# What one includes to see all; other headers are read through these.
ENTRANCES = ("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cublas_v2.h", "cudnn.h", "nccl.h")

PRELUDE = "".join(f"#include <{name}>\n" for name in ENTRANCES) + r"""
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <utility>
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
struct probe;
template <class T> const char* type_name() { return __PRETTY_FUNCTION__; }
template <class Value> void tell_one(Value value) {
  if constexpr (std::is_convertible_v<Value, const char*>) std::printf(" %s", (const char*)value);
  else std::printf(" %lld", (long long)value);
}
template <class... Values> void tell(Values... values) { (tell_one(values), ...); }
template <class Value> void tell_bytes(const Value& value) {
  for (unsigned i = 0; i < sizeof value; ++i) tell_one(((const unsigned char*)&value)[i]);
}
"""


@dataclass(frozen=True)
class Side:
    """An include path, and options that change what is declared there."""

    folders: tuple[pathlib.Path, ...]
    options: tuple[str, ...] = ()

    def flags(self) -> list[str]:
        """For the compiler."""
        return [*self.options, *(f"-isystem{folder}" for folder in self.folders)]


@dataclass
class Answers:
    """By the fact's name."""

    values: dict[str, str] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)  # the compiler's words
    symbols: set[str] = field(default_factory=set)


def toolkit() -> Optional[tuple[pathlib.Path, ...]]:
    """Folders that together hold all entrances, as libraries may be packaged apart."""
    roots = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    folders = [pathlib.Path(root) / below for root in roots if root
               for below in ("include", "targets/x86_64-linux/include")]
    folders += [pathlib.Path("/usr/local/include"), pathlib.Path("/usr/include"),
                pathlib.Path("/usr/include/x86_64-linux-gnu")]
    found: list[pathlib.Path] = []
    for name in ENTRANCES:
        holders = [folder for folder in folders if (folder / name).is_file()]
        if not holders:
            return None
        found.append(holders[0])
    return tuple(dict.fromkeys(found))


def _compiler(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(["g++", "-std=c++20", "-w", "-xc++", *arguments], input=text,
                          capture_output=True, text=True, check=False)


def _unit(facts: Sequence[Fact], functions: Iterable[tuple[str, str]]) -> str:
    """An error's place is its fact, as each is a file of its own to the compiler."""
    lines = [PRELUDE]
    for index, fact in enumerate(facts):
        lines += [f'#line 1 "{fact.name}"', f"static void ask_{index}() {{ {fact.statement} }}"]
    lines.append("const void* addresses[] = {")
    lines += [f"(const void*)static_cast<{address}>(&{name})," for name, address in functions]
    lines += ["nullptr};", "int main() {"]
    lines += [f'std::printf("\\n%s\\t", "{fact.name}"); ask_{index}();'
              for index, fact in enumerate(facts)]
    return "\n".join([*lines, "}"])


def _answers(side: Side, header: declarations.Header) -> Answers:
    answers, facts, functions = Answers(), header.facts, header.functions
    with tempfile.TemporaryDirectory(prefix="annulus-headers-") as folder:
        part = f"{folder}/part.o"
        while True:
            unit = _unit(facts, functions)
            # Private fields have offsets too.
            made = _compiler("-fno-access-control", "-fno-PIC", *side.flags(), "-c", "-",
                             "-o", part, text=unit)
            if made.returncode == 0:
                break
            names = {fact.name for fact in facts}
            errors = re.findall(r"^(.*?):1:\d+: error: (.*)$", made.stderr, re.M)
            refused = {name: words for name, words in reversed(errors) if name in names}
            if not refused:
                raise RuntimeError(made.stderr)
            answers.refusals.update(refused)
            facts = [fact for fact in facts if fact.name not in refused]
            functions = [one for one in functions if f"function {one[0]}" not in refused]
        undefined = subprocess.run(["nm", "-u", part], check=True, capture_output=True, text=True)
        answers.symbols = set(re.findall(r"U ((?:cuda|cublas|cudnn|nccl)\w+)", undefined.stdout))
        program = f"{folder}/program"
        subprocess.run(["g++", "-no-pie", "-Wl,--unresolved-symbols=ignore-all", part,
                        "-o", program], check=True)
        told = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    for line in told.splitlines()[1:]:
        name, _, value = line.partition("\t")
        answers.values[name] = re.sub(r"const char\* type_name\(\) \[with T = (.*?)\]", r"\1",
                                      value).strip()
    return answers


@functools.cache
def _declared(side: Side) -> tuple[declarations.Header, list[str]]:
    all_of_them, not_understood = declarations.Header(), []
    for folder in side.folders:
        for header in sorted(folder.glob("*.h")):
            one = declarations.declared_in(header, side.flags())
            all_of_them.facts += one.facts
            all_of_them.functions += one.functions
            not_understood += [f"{header.name}: not understood: {text}" for text in one.unknown]
    return all_of_them, not_understood


@functools.cache
def _own_answers(side: Side) -> Answers:
    return _answers(side, _declared(side)[0])


@functools.cache
def _version(real: Side) -> str:
    asked = "#include <cuda_runtime_api.h>\nCUDART_VERSION"
    return _compiler("-E", "-P", *real.flags(), "-", text=asked).stdout.split()[-1]


def differences(ours: Side, real: Side) -> list[str]:
    """What ours declare and the real headers do not, in words; ours are read as those of the real
    headers' version."""
    ours = Side(ours.folders, (*ours.options, f"-DCUDART_VERSION={_version(real)}"))
    header, not_understood = _declared(ours)
    mine, theirs = _own_answers(ours), _answers(real, header)
    told = [*not_understood]
    told += [f"{name}: {words} (in ours)" for name, words in mine.refusals.items()]
    told += [f"{name}: {words}" for name, words in theirs.refusals.items()]
    told += [f"{name}: {value}, the real header's {theirs.values[name]}"
             for name, value in mine.values.items()
             if name in theirs.values and theirs.values[name] != value]
    refused = {name.partition(" ")[2] for name in theirs.refusals}
    told += [f"symbol {name}: the real header's is another"
             for name in sorted(mine.symbols - theirs.symbols - refused)]
    return told
