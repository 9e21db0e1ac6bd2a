"""Which simple commands a bash command line would run, read with caution: what cannot be read for sure is said.

For the gate's patterns, not for running. Follows lists, pipes, subshells, groups, loops, if, command and process
substitutions, quotes, redirections and here-documents; `case`, functions, arrays, backquotes and what else may hide a
command is a doubt. A program that runs other programs (make, a script, python) is beyond any such reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quote removal. `is_literal`: what is written is what the command gets."""

    text: str
    is_literal: bool = True


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command. `is_plain`: literal words only, no assignment before it, no file written by redirection."""

    words: tuple[Word, ...]
    is_plain: bool

    @property
    def text(self) -> str:
        """The words joined by single spaces."""
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Script:
    """All commands found, and why there may be more ("" where there cannot)."""

    commands: tuple[SimpleCommand, ...]
    doubt: str = ""


def read_script(text: str) -> Script:
    """The simple commands of a command line, in order of appearance."""
    reader = _Reader(text)
    try:
        reader.read_list("")
    except RecursionError:
        reader.doubt("it is nested too deeply")
    commands = tuple(
        SimpleCommand(command.words, command.is_plain and not reader.has_assignments) for command in reader.found
    )
    return Script(commands, reader.first_doubt)


_BLANK = " \t"
_WORD_ENDS = " \t\n;&|<>()"
_PREFIXES = frozenset({"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}"})
_OPAQUE = frozenset({"case", "esac", "function", "select", "coproc", "[["})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=", re.ASCII)
_HEREDOC = re.compile(r"[ \t]*(?:'([\w.-]+)'|\"([\w.-]+)\"|\\([\w.-]+)|([\w.-]+))(?=[ \t\n;&|<>)]|\Z)", re.ASCII)
_REDIRECT = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||<|>")
_PARAMETER = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])", re.ASCII)
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


@dataclass(slots=True)
class _Draft:
    words: list[Word] = field(default_factory=list)
    is_plain: bool = True
    is_header: bool = False
    is_begun: bool = False


@dataclass(frozen=True, slots=True)
class _HereDocument:
    end: str
    is_indented: bool
    is_quoted: bool


class _Reader:
    """Left to right, once. Nested lists (substitutions, subshells) have a draft of their own."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._draft = _Draft()
        self._documents: list[_HereDocument] = []
        self.found: list[SimpleCommand] = []
        self.first_doubt = ""
        self.has_assignments = False

    def doubt(self, why: str) -> None:
        self.first_doubt = self.first_doubt or why

    # ---------------------------------------------------------------- lists

    def read_list(self, closer: str) -> None:
        """Commands up to the closing parenthesis, or the end."""
        outer, self._draft = self._draft, _Draft()
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == ")" and closer:
                self._at += 1
                break
            self._step(character)
        else:
            if closer:
                self.doubt("a parenthesis is not closed")
        self._flush()
        self._draft = outer

    def _step(self, character: str) -> None:
        if character in _BLANK:
            self._at += 1
        elif character == "\n":
            self._flush()
            self._at += 1
            self._skip_documents()
        elif self._text.startswith("\\\n", self._at):
            self._at += 2
        elif character == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        elif character in "()":
            self._parenthesis(character)
        elif _REDIRECT.match(self._text, self._at) and not self._is_process_substitution():
            self._redirect()
        elif character in ";&|":
            self._operator()
        else:
            self._read_word()

    def _operator(self) -> None:
        self._flush()
        if self._text.startswith(";;", self._at):
            self.doubt("it holds ';;'")
        self._at += 1

    def _parenthesis(self, character: str) -> None:
        self._at += 1
        if character == ")":
            self.doubt("a parenthesis is closed that was not opened")
            return
        if self._draft.words or self.has_assignments:
            self.doubt("it defines a function or an array, or uses an extended pattern")
        self.read_list(")")

    def _flush(self) -> None:
        draft, self._draft = self._draft, _Draft()
        if draft.words and not draft.is_header:
            self.found.append(SimpleCommand(tuple(draft.words), draft.is_plain))

    # ---------------------------------------------------------------- words

    def _read_word(self) -> None:
        start = self._at
        word = self._word()
        raw = self._text[start : self._at].replace("\\\n", "")
        is_descriptor = (
            raw.isascii()
            and raw.isdigit()
            and self._text[self._at : self._at + 1] in ("<", ">")
            and self._at < len(self._text)
        )
        if is_descriptor:
            return
        if not self._draft.words and self._is_syntax(raw):
            return
        self._draft.words.append(word)
        self._draft.is_plain = self._draft.is_plain and word.is_literal

    def _is_syntax(self, raw: str) -> bool:
        """A word at a command's beginning that is none of its words."""
        if _ASSIGNMENT.match(raw):
            self._draft.is_begun = self.has_assignments = True
            return True
        if self._draft.is_begun:
            # Behind an assignment or a redirection no word is reserved.
            return False
        if raw in _OPAQUE:
            self.doubt(f"it holds {raw!r}")
        if raw == "for":
            # The loop's variable is an assignment; the header itself runs nothing but its substitutions.
            self._draft.is_header = self.has_assignments = True
        return raw in _PREFIXES

    def _word(self) -> Word:
        parts: list[str] = []
        is_literal = True
        start = self._at
        while self._at < len(self._text) and self._is_in_word():
            character = self._text[self._at]
            if character == "'":
                parts.append(self._single_quoted())
            elif character == '"':
                text, is_known = self._double_quoted()
                parts.append(text)
                is_literal = is_literal and is_known
            elif character == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                if not following:
                    self.doubt("it ends with a backslash")
                parts.append(following.replace("\n", ""))
                self._at += 2
            elif character in "$`<>":
                text, is_known = self._expansion()
                parts.append(text)
                is_literal = is_literal and is_known
            else:
                parts.append(character)
                # What is a pattern or a brace expansion becomes other words, or several.
                is_literal = is_literal and character not in "*?[{"
                self._at += 1
        self._at = min(self._at, len(self._text))
        return Word("".join(parts), is_literal or self._text[start : self._at] in ("{", "{}", "["))

    def _is_in_word(self) -> bool:
        return self._text[self._at] not in _WORD_ENDS or self._is_process_substitution()

    def _is_process_substitution(self) -> bool:
        return self._text.startswith(("<(", ">("), self._at)

    def _single_quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            self.doubt("a quote is not closed")
            end = len(self._text)
        text = self._text[self._at + 1 : end]
        self._note_quoted_newline(text)
        self._at = end + 1
        return text

    def _double_quoted(self) -> tuple[str, bool]:
        parts: list[str] = []
        is_literal = True
        self._at += 1
        while self._at < len(self._text) and self._text[self._at] != '"':
            character = self._text[self._at]
            if character == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                parts.append({"\n": ""}.get(following, following if following in '$`"\\' else "\\" + following))
                self._at += 2
            elif character in "$`":
                text, is_known = self._expansion()
                parts.append(text)
                is_literal = is_literal and is_known
            else:
                parts.append(character)
                self._at += 1
        if self._at >= len(self._text):
            self.doubt("a quote is not closed")
        self._at += 1
        text = "".join(parts)
        self._note_quoted_newline(text)
        return text, is_literal

    def _note_quoted_newline(self, text: str) -> None:
        if self._documents and "\n" in text:
            self.doubt("a quoted line break follows a here-document")

    # ---------------------------------------------------------------- expansions

    def _expansion(self) -> tuple[str, bool]:
        """(what stands for it, whether that is literal); substitutions are read for commands of their own."""
        if self._text[self._at] == "`":
            self.doubt("it holds backquotes; $(...) can be read")
            end = self._text.find("`", self._at + 1)
            self._at = len(self._text) if end < 0 else end + 1
            return "", False
        following = self._text[self._at + 1 : self._at + 2]
        if following == "(":
            self._at += 2
            self._substituted_list()
            return "", False
        if following == "{":
            self._braced_parameter()
            return "", False
        if following == "'":
            self._ansi_quoted()
            return "", False
        if following == '"':
            self._at += 1
            return "", False
        parameter = _PARAMETER.match(self._text, self._at)
        self._at = parameter.end() if parameter else self._at + 1
        return ("", False) if parameter else ("$", True)

    def _substituted_list(self) -> None:
        before = len(self.found)
        self.read_list(")")
        if len(self.found) == before:
            self.doubt("it holds an empty substitution")

    def _braced_parameter(self) -> None:
        end = self._text.find("}", self._at)
        inside = self._text[self._at + 2 : len(self._text) if end < 0 else end]
        if end < 0 or not re.fullmatch(r"[#!]?\w+(?:[:#%/^,+=?-][^$`{}()'\"\\@]*)?", inside):
            self.doubt("it holds a ${...} that may hide a command")
        self._at = len(self._text) if end < 0 else end + 1

    def _ansi_quoted(self) -> None:
        match = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL).match(self._text, self._at)
        if match is None:
            self.doubt("a quote is not closed")
        self._at = match.end() if match else len(self._text)

    # ---------------------------------------------------------------- redirections

    def _redirect(self) -> None:
        match = _REDIRECT.match(self._text, self._at)
        assert match is not None
        operator = match.group()
        self._draft.is_begun = True
        self._at = match.end()
        if operator in ("<<", "<<-"):
            self._here_document(operator)
            return
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        target = self._word()
        is_copy = operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", target.text) is not None
        if not is_copy and ">" in operator and not (target.is_literal and target.text in _HARMLESS_TARGETS):
            self._draft.is_plain = False

    def _here_document(self, operator: str) -> None:
        match = _HEREDOC.match(self._text, self._at)
        if match is None:
            self.doubt("it holds a here-document whose end cannot be read")
            return
        self._at = match.end()
        end = next(group for group in match.groups() if group is not None)
        self._documents.append(_HereDocument(end, operator == "<<-", match.group(4) is None))

    def _skip_documents(self) -> None:
        documents, self._documents = self._documents, []
        for document in documents:
            body: list[str] = []
            while self._at < len(self._text):
                line, _, _ = self._text[self._at :].partition("\n")
                self._at = min(self._at + len(line) + 1, len(self._text))
                if (line.lstrip("\t") if document.is_indented else line) == document.end:
                    break
                body.append(line)
            if not document.is_quoted and re.search(r"\$\(|\$\{|`|\\$", "\n".join(body), re.MULTILINE):
                self.doubt("a here-document holds a substitution; quote its end ('EOF') if it should hold none")
