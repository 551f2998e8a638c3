# SPDX-License-Identifier: Apache-2.0
"""The public functions that C++ headers declare, by name.

A scanner and no compiler: it follows namespaces, classes and access, and takes every declaration
that has a parameter list for a function. Left out are destructors, functions that are defaulted or
deleted, constructors that copy or move, definitions outside their class, and everything in a namespace
`detail`.

A function is named `Class::function`. Where several share a name, each is followed by the types of its
parameters without namespaces, template arguments and call sites: `Stream::wait(Timeline, uint64_t)`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

TOKEN = re.compile(
    r"""[A-Za-z_]\w*|\d[\w.']*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|<=>|\.\.\.|::|->|\[\[|\]\]|&&|\|\||<<|[<>=!+\-*/|&^%]=|\S"""
)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
PAIRS = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
CLASSES = {"class", "struct", "union"}
CALL_SITES = {"source_location", "Site"}


class ScanError(Exception):
    """The header has something that the scanner does not follow."""


@dataclass(frozen=True)
class Function:
    name: str  # Qualified, without the library's own namespace.
    types: tuple[str, ...]  # Of the parameters.


def tokens_of(text: str) -> list[str]:
    text = COMMENT.sub(lambda match: match.group(1) or " ", text)
    return TOKEN.findall(DIRECTIVE.sub("", text))


class Scanner:
    def __init__(self, text: str) -> None:
        self.tokens = tokens_of(text)
        self.at = 0
        self.found: list[Function] = []

    def past_pair(self, at: int) -> int:
        """Past the bracket that closes the one at `at`."""
        close = PAIRS[self.tokens[at]]
        at += 1
        while at < len(self.tokens):
            token = self.tokens[at]
            if token == close:
                return at + 1
            if token == "]]" and close == "]":  # `a[b[i]]`: two closing brackets.
                self.tokens[at : at + 1] = ["]", "]"]
                continue
            at = self.past_pair(at) if token in PAIRS else at + 1
        raise ScanError(f"a `{close}` is missing")

    def past_angles(self, at: int) -> int:
        """Past the `>` that closes the `<` at `at`."""
        depth = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            if token in PAIRS:
                at = self.past_pair(at)
                continue
            depth += {"<": 1, ">": -1}.get(token, 0)
            at += 1
            if depth == 0:
                return at
        raise ScanError("a `>` is missing")

    def scan(self) -> list[Function]:
        self.scope([], "", public=True)
        if self.at != len(self.tokens):
            raise ScanError("a `}` too many")
        return self.found

    def scope(self, path: list[str], class_name: str, public: bool) -> None:
        """What stands between braces, or the whole file. `class_name` is empty in a namespace."""
        while self.at < len(self.tokens) and self.tokens[self.at] != "}":
            token = self.tokens[self.at]
            if class_name and token in ("public", "private", "protected"):
                public = token == "public"
                self.at += 2
            else:
                self.declaration(path, class_name, public)

    def declaration(self, path: list[str], class_name: str, public: bool) -> None:
        tokens = self.tokens
        head: list[str] = []  # What is outside all brackets.
        parameters: tuple[int, int] | None = None
        initializers = False
        while self.at < len(tokens):
            token = tokens[self.at]
            last = head[-1] if head else ""
            if token == ";":
                self.at += 1
                break
            if token == "{":
                scoped = parameters is None and self.opens_scope(head)
                if scoped:
                    self.block(path, head, public)
                    if "namespace" in head:
                        return
                    head.append("{}")
                    continue
                before = tokens[self.at - 1]
                self.at = self.past_pair(self.at)
                if parameters is not None and (not initializers or before in (")", "}")):
                    break
                continue
            if token == "(" and last == "operator":
                head[-1] = "operator()"
                self.at += 2
                continue
            if token == "(":
                end = self.past_pair(self.at)
                if tokens[self.at + 1] == "*":  # `void (*pointer)(int)`.
                    head.append("*")
                elif parameters is None and self.names_function(head):
                    parameters = (self.at + 1, end - 1)
                    head.append("()")
                self.at = end
                continue
            if token in ("[", "[["):
                if last == "operator":
                    head[-1] = "operator[]"
                    self.at += 2
                else:
                    self.at = self.past_pair(self.at)
                continue
            if token == "<" and not last.startswith("operator"):
                self.at = self.past_angles(self.at)
                continue
            if last == "operator" and not token[0].isalpha():
                head[-1] += token
            else:
                initializers = initializers or (parameters is not None and token == ":")
                head.append(token)
            self.at += 1
        if parameters is not None and public:
            self.add(path, class_name, head, parameters)

    @staticmethod
    def opens_scope(head: list[str]) -> bool:
        return "enum" not in head and (
            "namespace" in head or any(word in CLASSES for word in head) or head == ["extern"]
        )

    @staticmethod
    def names_function(head: list[str]) -> bool:
        if not head or "=" in head or head[0] in ("using", "typedef", "static_assert", "concept"):
            return False
        return head[-1].startswith("operator") or (
            (head[-1][0].isalpha() or head[-1][0] == "_" or "operator" in head)
            and head[-1] not in ("requires", "noexcept", "decltype", "alignas", "explicit")
        )

    def block(self, path: list[str], head: list[str], public: bool) -> None:
        """A namespace or a class, from its brace to behind the closing one."""
        self.at += 1
        kind = next((i for i, word in enumerate(head) if word in CLASSES), None)
        if "namespace" in head:
            names = [word for word in head[head.index("namespace") + 1 :] if word != "::"]
            inner, class_name, open_to_all = path + names, "", True
        else:
            assert kind is not None
            names = []
            for word in head[kind + 1 :]:
                if word in (":", "final"):
                    break
                names.append(word)
            class_name = names[-1] if names else "{}"
            inner, open_to_all = [*path, class_name], public and head[kind] != "class"
            if not public:
                inner = [*path, "detail"]
        start = len(self.found)
        # A class begins with its own access; members of one that is private stay so.
        self.scope(inner, class_name, open_to_all)
        if "detail" in inner or "{}" in inner:
            del self.found[start:]
        if self.at == len(self.tokens):
            raise ScanError("a `}` is missing")
        self.at += 1

    def add(
        self, path: list[str], class_name: str, head: list[str], parameters: tuple[int, int]
    ) -> None:
        place = head.index("()")
        behind = head[place + 1 :]
        if "=" in behind and behind[behind.index("=") + 1] in ("default", "delete"):
            return
        if "operator" in head[:place]:  # A conversion.
            target = [word for word in head[head.index("operator") + 1 : place] if word != "const"]
            name = "operator " + target[-1]
        else:
            name = head[place - 1]
        # A destructor, or a definition whose declaration stands in its class.
        if head[place - 2 : place - 1] in (["~"], ["::"]):
            return
        types = self.types(*parameters)
        if name == class_name and types == (class_name,):
            return
        qualifiers = [] if "friend" in head and not class_name else path
        names = [part for part in qualifiers if part != "thalweg"]
        self.found.append(Function("::".join([*names, name]), types))

    def types(self, first: int, last: int) -> tuple[str, ...]:
        found: list[str] = []
        at = first
        while at < last:
            words: list[str] = []
            default = False
            while at < last and self.tokens[at] != ",":
                token = self.tokens[at]
                if token in PAIRS:
                    at = self.past_pair(at)
                elif token == "<" and not default:
                    at = self.past_angles(at)
                else:
                    default = default or token == "="
                    if not default:
                        words.append(token)
                    at += 1
            at += 1
            type_name = head_of_type(words)
            if type_name not in CALL_SITES:
                found.append(type_name)
        return tuple(found)


def head_of_type(words: list[str]) -> str:
    """`std::uint64_t` of `const std::uint64_t& count`, without its namespace."""
    name = ""
    qualified = False
    for word in words:
        if word == "::":
            qualified = True
        elif word in ("const", "volatile", "typename", "unsigned", "signed"):
            continue
        elif word[0].isalpha() or word[0] == "_":
            if name and not qualified:
                break
            name, qualified = word, False
        elif name:
            break
    return name


def public_functions(headers: list[Path]) -> dict[str, Path]:
    """The name of each public function, and the header that declares it."""
    overloads: dict[str, list[tuple[Function, Path]]] = defaultdict(list)
    for header in headers:
        try:
            functions = Scanner(header.read_text()).scan()
        except ScanError as error:
            raise ScanError(f"{header}: {error}") from error
        for function in functions:
            overloads[function.name].append((function, header))
    names: dict[str, Path] = {}
    for name, same in overloads.items():
        for function, header in same:
            full = name if len(same) == 1 else f"{name}({', '.join(function.types)})"
            names[full] = header
    return names
