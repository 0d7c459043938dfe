"""What a header of the CPU device declares, as a list of facts to be asked of a compiler.
Invariant: a declaration that is not understood is told, so no name is left out. Called by
asked.py."""
from __future__ import annotations

import pathlib
import re
import subprocess
from dataclasses import dataclass, field
from typing import Iterator, Sequence


@dataclass(frozen=True)
class Fact:
    """A C++ statement that prints what holds, or does not compile where it cannot hold."""

    name: str  # "function cudaMalloc"
    statement: str


@dataclass
class Header:
    """Facts, and the C functions among them, which must have the same symbols."""

    facts: list[Fact] = field(default_factory=list)
    functions: list[tuple[str, str]] = field(default_factory=list)  # name, type of its address
    unknown: list[str] = field(default_factory=list)  # what was not understood


def _told(kind: str, name: str, *values: str) -> Fact:
    return Fact(f"{kind} {name}", f"tell({', '.join(values)});")


def _split(text: str, separator: str) -> list[str]:
    """At separators outside of all brackets; no empty parts."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _statements(text: str) -> Iterator[str]:
    """Declarations with their bodies; extern "C" { } is looked into. The rest of the last one must
    be empty."""
    statement, depth, is_function = "", 0, False
    for token in re.findall(r'"[^"]*"|\w+|\s+|.', text):
        if depth == 0 and token == "{":
            if re.fullmatch(r'\s*extern\s+"C"\s*', statement):
                statement = ""
                continue
            is_function = bool(re.search(r"(\)|\bconst)\s*(:[^{}]*(\{\w*\}[^{}]*)*)?$", statement))
        if depth == 0 and token == "}":
            token = ""  # of extern "C"
        depth += (token == "{") - (token == "}")
        if depth == 0 and token == ";" or depth == 0 and token == "}" and is_function:
            whole = " ".join((statement + token.strip(";")).split())
            statement, is_function = "", False
            if whole:
                yield whole
        else:
            statement += token
    if statement.strip():
        raise ValueError(statement.strip())


def _parameters(text: str) -> tuple[list[str], int]:
    """Their types, without names, and how many have no default."""
    if text.strip() in ("", "void"):
        return [], 0
    parts = _split(text, ",")
    required = sum("=" not in part for part in parts)
    return [re.sub(r"(?<=[\s*&])\w+$", "", part.split("=")[0].strip()).strip()
            for part in parts], required


def _calls(types: Sequence[str], required: int) -> list[str]:
    """The arguments of the shortest and of the longest call."""
    values = [f"std::declval<{one}>()" for one in types]
    return [", ".join(values[:count]) for count in sorted({required, len(types)})]


def _record(name: str, body: str) -> Iterator[Fact]:
    yield _told("struct", name, f"sizeof({name})", f"alignof({name})",
                f"std::is_trivially_copyable_v<{name}>")
    for statement in _statements(re.sub(r"\b(public|private|protected)\s*:", "", body)):
        function = re.match(r"(?:constexpr )?(operator )?([\w *]+?) ?\((.*?)\)", statement)
        if not function:
            declarators = re.fullmatch(r"(?:enum |unsigned |const )*[\w:]+[ *]+(.+)", statement)
            if not declarators:
                raise ValueError(statement)
            for declarator in _split(declarators[1], ","):
                member = re.fullmatch(r"\**(\w+)(\[\w+\])*", declarator)
                if not member:
                    raise ValueError(statement)
                if member[1].startswith("unused_"):
                    continue  # the size, and those behind it, tell that its place is right
                yield _told("field", f"{name}::{member[1]}", f"offsetof({name}, {member[1]})",
                            f"type_name<decltype({name}::{member[1]})>()")
        elif function[1]:
            yield _told("conversion", f"{name} to {function[2]}",
                        f"std::is_convertible_v<const {name}, {function[2]}>")
        elif function[2] == name:
            for arguments in _calls(*_parameters(function[3])):
                yield _told("constructor", f"{name}({arguments})",
                            f"sizeof(decltype({name}({arguments})))")
        else:
            raise ValueError(statement)


def _enumerators(body: str) -> Iterator[Fact]:
    for enumerator in _split(body, ","):
        name = enumerator.split("=")[0].strip()
        yield _told("enumerator", name, name)


def _function(header: Header, match: re.Match[str]) -> None:
    name = match["name"]
    types, required = _parameters(match["parameters"])
    result = match["result"].strip()
    if match["template"]:  # asked with a type of nobody's
        parameter = match["template"]
        types = [re.sub(rf"\b{parameter}\b", "probe", one) for one in types]
    address = f"{result} (*)({', '.join(types)})"
    header.facts.append(_told("function", name,
                              f"type_name<decltype(static_cast<{address}>(&{name}))>()"))
    for arguments in _calls(types, required):
        header.facts.append(_told("call", f"{name}({arguments})",
                                  f"type_name<decltype({name}({arguments}))>()"))
    if not match["inline"] and not match["template"]:
        header.functions.append((name, address))


_FUNCTION = re.compile(r"(?:template <class (?P<template>\w+)> )?"
                       r"(?P<inline>(?:inline |constexpr )*)"
                       r"(?P<result>(?:const )?\w+[ *]+)(?P<name>\w+)"
                       r"\((?P<parameters>.*?)\)(?: ?\{.*\})?")


def _declaration(header: Header, statement: str) -> None:
    facts = header.facts
    if match := re.fullmatch(r"(typedef )?enum (\w+)? ?\{(.*)\} ?(\w+)?", statement):
        name = match[2] or match[4]
        facts.append(_told("enum", name, f"sizeof({name})", f"type_name<{name}>()",
                           f"type_name<std::underlying_type_t<{name}>>()"))
        facts += _enumerators(match[3])
    elif match := re.fullmatch(r"(typedef )?struct (?:alignas\(\d+\) )?(\w+)? ?\{(.*)\} ?(\w+)?",
                               statement):
        name = match[4] or match[2]
        facts.append(_told("type", name, f"type_name<{name}>()"))
        facts += _record(name, match[3])
    elif match := re.fullmatch(r"struct (\w+)", statement):
        facts.append(_told("type", match[1], f"type_name<{match[1]}*>()"))
    elif match := re.fullmatch(r"typedef .*?(\w+)(?:\)\(.*\))?", statement):
        facts.append(_told("type", match[1], f"type_name<{match[1]}>()"))
    elif match := _FUNCTION.fullmatch(statement):
        _function(header, match)
    else:
        raise ValueError(statement)


# Macros that are no constants: which type they initialise.
_INITIALIZERS = {"NCCL_CONFIG_INITIALIZER": "ncclConfig_t"}
# What tells a library's version is no fact of its interface.
_VERSIONS = re.compile(r"(CUDART|CUDNN|NCCL)_(VERSION(_CODE)?|MAJOR|MINOR|PATCH(LEVEL)?)")


def _macro(name: str, parameters: str, body: str) -> Iterator[Fact]:
    if not body or _VERSIONS.fullmatch(name) and not parameters:
        return
    if parameters:
        count = len(parameters.split(","))
        for first in (2, 9):
            arguments = ", ".join(str(first + step) for step in range(count))
            yield _told("macro", f"{name}({arguments})", f"{name}({arguments})")
    elif name in _INITIALIZERS:
        yield Fact(f"macro {name}", f"const {_INITIALIZERS[name]} made = {name}; tell_bytes(made);")
    elif re.fullmatch(r"[a-z]+[A-Z]\w+", body):  # another name of a function
        yield _told("macro", name, f"TEXT({name})")
    else:
        yield _told("macro", name, f"(long long)({name})")


def declared_in(header: pathlib.Path, options: Sequence[str]) -> Header:
    """The options tell the compiler, which takes comments and conditions away, where to look."""
    text = subprocess.run(["g++", "-std=c++20", "-xc++", "-E", "-dD", *options, str(header)],
                          check=True, capture_output=True, text=True).stdout
    found, own, mine = Header(), "", False
    for line in text.splitlines():
        if marker := re.match(r'# \d+ "(.*?)"', line):
            mine = marker[1] == str(header)
        elif mine and (macro := re.match(r"#define (\w+)(\(.*?\))? ?(.*)", line)):
            found.facts += _macro(macro[1], macro[2] or "", macro[3])
        elif mine and not line.startswith("#"):
            own += line + "\n"
    for statement in _statements(own):
        try:
            _declaration(found, statement)
        except ValueError:
            found.unknown.append(statement)
    return found
