"""Random command lines beside a real bash: whenever `rm` really ran, `deny bash(rm *)` has denied the line.

    python -m tests.tools.shell.shell_oracle --lines 25000 [--seed 0] [--show 20]

Lines are made of ways to spell `rm`, ways to run a command, ways to run a script, and noise. Each runs in a bash of its
own as the tool `bash` runs it, in bubblewrap, with a stand-in over every `rm` of the machine that notes its call.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall

STAND_IN = '#!/bin/sh\necho "$0 $*" >> /tmp/oracle/calls\nexit 0\n'
DRIVER = r"""
for line in /tmp/oracle/lines/*; do
  : > /tmp/oracle/calls
  rm_folder=/tmp/work/${line##*/}
  mkdir "$rm_folder" && cd "$rm_folder" && printf 'one\n' > f && printf 'rm x\n' > words && git init -q . 2>/dev/null
  timeout -k 1 10 bash --noprofile --norc -c \
    'IFS= builtin read -r -d "" REPLY; exec </dev/null; builtin eval "$REPLY"' bash < "$line" > /dev/null 2>&1
  [ -s /tmp/oracle/calls ] && echo ran > "/tmp/oracle/results/${line##*/}"
  cd /
done
exit 0
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One line, the ways of which it is made, and what came of it."""

    line: str
    ways: tuple[str, ...]


class Maker:
    """Makes lines; `ways` collects the names of what the current one is made of."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._ways: list[str] = []

    def case(self) -> Case:
        self._ways = []
        line = self._noise(self._random.choice((self._command_line, self._command_line, self._script_line))())
        return Case(line, tuple(self._ways))

    def _pick(self, table: dict[str, str]) -> str:
        name = self._random.choice(list(table))
        self._ways.append(name)
        return table[name]

    def _command_line(self) -> str:
        return self._wrapped(2)

    def _script_line(self) -> str:
        return self._scripted(self._command_line() if self._random.random() < 0.5 else self._command())

    def _command(self) -> str:
        """`rm x` in one of its spellings, as words of a command."""
        return self._pick(SPELLINGS)

    def _plain(self) -> str:
        """`rm x` as words that a program can run without a shell."""
        return self._random.choice(
            ("rm x", "/bin/rm x", "'r'm x", '"rm" "x"', "r\\m x", "rm -rf -- x", "/usr/bin/rm x")
        )

    def _wrapped(self, depth: int) -> str:
        kind = self._random.random()
        if depth and kind < 0.35:
            text = self._pick(PREFIXED).replace("CMD", self._plain())
        elif depth and kind < 0.75:
            text = self._scripted(self._wrapped(depth - 1))
        else:
            text = self._command()
        return self._pick(GROUPS).replace("CMD", text) if self._random.random() < 0.4 else text

    def _scripted(self, script: str) -> str:
        """A line that runs a script, which stands in quotes or in a here-document."""
        return self.fill(self._pick(SCRIPTED), script)

    @staticmethod
    def fill(way: str, script: str) -> str:
        """The way with the script in it, quoted as its place needs."""
        if "DOC" in way:
            return way.replace("DOC", script)
        if "DQ" in way:
            return way.replace("DQ", '"' + script.replace("\\", "\\\\").replace('"', '\\"') + '"')
        if "SUB" in way:
            # A subscript inside single quotes: the script stands in $( ) there.
            return way.replace("SUB", "$(" + script.replace("'", "'\\''") + ")")
        return way.replace("STR", shlex.quote(script))

    def _noise(self, line: str) -> str:
        before, after = self._random.choice(NOISE)
        if "<<" in line and ("\n" in line):
            after = ""
        return f"{before}{line}{after}"


SPELLINGS = {
    "plain": "rm x",
    "path": "/bin/rm x",
    "backslash": "\\rm x",
    "single": "'r'm x",
    "double": 'r""m x',
    "ansi": "$'\\x72m' x",
    "octal": "$'r\\155' x",
    "locale": '$"rm" x',
    "glob": "/bin/r? x",
    "set": "/bin/[r]m x",
    "extglob": "shopt -s extglob\n/bin/@(rm) x",
    "braces": "{rm,x}",
    "brace-part": "r{m,} x",
    "substitution": "$(echo rm) x",
    "backquote": "`echo rm` x",
    "nested": "$(echo $(echo rm)) x",
    "variable": "a=rm; $a x",
    "variable-part": "a=r; ${a}m x",
    "default": "${nothing:-rm} x",
    "assign-default": ": ${a:=rm}; $a x",
    "indirect": "b=rm; a=b; ${!a} x",
    "array": 'a=(rm x); "${a[@]}"',
    "positional": 'set -- rm x; "$@"',
    "star": "set -- rm x; $*",
    "ifs": "IFS=,; a=rm,x; $a",
    "read": "read a <<< rm; $a x",
    "printf-v": "printf -v a rm; $a x",
    "printf-hex": "$(printf '\\x72\\x6d') x",
    "declare": "declare a=rm; $a x",
    "nameref": "b=rm; declare -n a=b; $a x",
    "case-change": "a=RM; ${a,,} x",
    "slice": "a=xrmx; ${a:1:2} x",
    "replace": "a=rXm; ${a/X/} x",
    "continuation": "r\\\nm x",
    "tab": "rm\tx",
    "redirect-first": ">o rm x",
    "redirect-word": "2>&1 rm x",
    "assignment-first": "A=1 B='2 3' rm x",
    "comment": "# no\nrm x # yes",
    "tilde": "HOME=/bin; ~/rm x",
    "tilde-alone": "HOME=/bin/rm; ~ x",
    "cd": "cd /bin; ./rm x",
    "path-variable": "PATH=/bin:$PATH; rm x",
    "hash": "hash -p /bin/rm q; q x",
    "bash-cmds": "BASH_CMDS[q]=/bin/rm; q x",
    "link": "ln -s /bin/rm ./q; ./q x",
    "copy": "cp /bin/rm ./q; ./q x",
    "alias": "shopt -s expand_aliases; alias q='rm x'\nq",
    "bash-aliases": "shopt -s expand_aliases; BASH_ALIASES[q]='rm x'\nq",
    "function": "q() { rm x; }; q",
    "function-word": 'function q { rm "$@"; }; q x',
    "function-subshell": "q() ( rm x ); q",
    "not-found": "command_not_found_handle() { rm x; }; zzz",
    "coproc": "coproc rm x; wait",
    "coproc-group": "coproc Q { rm x; }; wait",
    "history": "true; rm x; true",
    "time": "time rm x",
    "time-p": "time -p rm x",
    "not": "! rm x",
    "ld": "/lib64/ld-linux-x86-64.so.2 /bin/sh -c 'rm x'",
}

GROUPS = {
    "and": "true && CMD",
    "or": "false || CMD",
    "background": "CMD & wait",
    "pipe": "true | CMD",
    "pipe-err": "true |& CMD",
    "subshell": "(CMD)",
    "group": "{ CMD\n}",
    "if": "if true; then CMD\nfi",
    "elif": "if false; then :; elif true; then CMD\nfi",
    "else": "if false; then :; else CMD\nfi",
    "condition": "if CMD\nthen :; fi",
    "while": "while CMD\nfalse; do :; done",
    "until": "until CMD\ntrue; do :; done",
    "for": "for i in 1; do CMD\ndone",
    "c-for": "for ((i=0;i<1;i++)); do CMD\ndone",
    "select": "select i in 1; do CMD\nbreak; done <<< 1",
    "case": "case x in x) CMD\n;; esac",
    "case-pattern": "case $(CMD\n) in *) :;; esac",
    "substituted": "echo $(CMD\n)",
    "quoted-substitution": 'echo "a $(CMD\n) b"',
    "backquoted": "true `true`; CMD",
    "process": "cat <(CMD\n)",
    "process-out": "true > >(CMD\n); wait; sleep 0.2",
    "arithmetic": "echo $(( $(CMD\n) + 0 ))",
    "conditional": "[[ -z $(CMD\n) ]]",
    "double-paren": "(( $(CMD\n) 1 ))",
    "here-string": "cat <<< $(CMD\n)",
    "here-document": "cat <<E\n$(CMD\n)\nE\n",
    "after-here-document": "cat <<'E'\ntext $(no\nE\nCMD",
    "after-tabs": "cat <<-E\n\ttext\n\tE\nCMD",
    "assignment": "v=$(CMD\n)",
    "array-value": "v=( $(CMD\n) )",
    "array-index": "v[$(CMD\n)0]=1",
    "default-value": "echo ${nothing:-$(CMD\n)}",
    "redirect-target": 'true > "o$(CMD\n)"',
    "function-body": "q() { CMD\n}; q",
    "nested-quotes": 'echo "$(echo "$(CMD\n)")"',
    "set-e": "set -e; CMD",
    "nothing": "CMD",
}

PREFIXED = {
    "env": "env CMD",
    "env-i": 'env -i A=b PATH="$PATH" CMD',
    "env-u": "env -u A -- CMD",
    "env-S": "env -S 'CMD'",
    "nice": "nice CMD",
    "nice-n": "nice -n 3 CMD",
    "nice-5": "nice -5 CMD",
    "timeout": "timeout 5 CMD",
    "timeout-k": "timeout --kill-after=1 -s TERM 5 CMD",
    "nohup": "nohup CMD",
    "setsid": "setsid -w CMD",
    "stdbuf": "stdbuf -o0 -eL CMD",
    "command": "command CMD",
    "command-p": "command -p CMD",
    "builtin": "builtin command CMD",
    "exec": "exec CMD",
    "exec-a": "exec -a ls CMD",
    "ionice": "ionice -c 3 CMD",
    "chrt": "chrt -o 0 CMD",
    "taskset": "taskset 1 CMD",
    "flock": "flock f CMD",
    "flock-c": "flock f -c 'CMD'",
    "setarch": "setarch -R CMD",
    "linux64": "linux64 CMD",
    "unshare": "unshare -U CMD",
    "setpriv": "setpriv --no-new-privs CMD",
    "prlimit": "prlimit --nofile=99 CMD",
    "script": "script -qc 'CMD' /dev/null",
    "program-time": "/usr/bin/env time CMD; command time CMD",
    "strace": "strace -o o CMD",
    "watch": "timeout 1 watch -g CMD",
    "xargs": "echo y | xargs CMD",
    "xargs-n": "echo y z | xargs -n 1 -t CMD",
    "xargs-I": "echo rm | xargs -I{} {} x",
    "xargs-I-sh": "echo x | xargs -I% sh -c 'CMD %'",
    "xargs-bare": "echo rm x | xargs env",
    "xargs-a": "xargs -a words env",
    "xargs-d": "printf 'x' | xargs -d '\\n' CMD",
    "xargs-nice": "echo x | xargs nice CMD",
    "find": "find . -maxdepth 0 -exec CMD {} \\;",
    "find-plus": "find . -maxdepth 0 -exec CMD {} +",
    "find-execdir": "find f -execdir CMD ';'",
    "find-braces": "find /bin/rm -exec {} x \\;",
    "find-sh": "find f -exec sh -c 'CMD \"$1\"' _ {} \\;",
    "find-variable": "a='-exec rm x ;'; find f $a",
    "jobs-x": "jobs -x CMD",
    "ssh-agent": "ssh-agent CMD",
    "run-parts": "mkdir d; printf '#!/bin/sh\\nCMD\\n' > d/a; chmod +x d/a; run-parts --exit-on-error d; sh -c 'CMD'",
    "git-alias": "git -c alias.q='!CMD' q",
    "git-config": "git config alias.q '!CMD'; git q",
    "git-pager": "GIT_PAGER='CMD' git -p --version",
    "git-editor": "GIT_EDITOR='CMD' git commit --allow-empty",
    "git-bisect": "git bisect run CMD; git submodule foreach 'CMD'; sh -c 'CMD'",
    "git-ssh": "GIT_SSH_COMMAND='CMD;' git ls-remote ssh://h/x",
    "git-upload-pack": "git ls-remote --upload-pack='CMD;' .",
    "git-ext": "git -c protocol.ext.allow=always ls-remote 'ext::CMD'",
    "git-exec-path": "git --exec-path=/bin rm x",
    "git-rebase": "git -c user.name=a -c user.email=b commit -q --allow-empty -m a; git rebase --root -x 'CMD'",
    "git-grep": "git add f; git grep -O'CMD;' one",
    "git-diff": "git add f; echo 2 > f; GIT_EXTERNAL_DIFF='CMD' git diff",
    "git-fsmonitor": "git -c core.fsmonitor='CMD' status",
    "tar-checkpoint": "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='CMD' f",
    "tar-I": "tar cf o -I 'CMD' f",
    "tar-compress": "tar c --use-compress='CMD' -f o f",
    "tar-to-command": "tar cf o f; tar xf o --to-command='CMD'",
    "tar-options": "TAR_OPTIONS=\"--checkpoint=1 --checkpoint-action=exec='CMD'\" tar cf /dev/null f",
    "tar-glob": "touch -- --checkpoint=1 '--checkpoint-action=exec=rm x'; tar cf /dev/null *",
    "sed-e": "sed '1e CMD' f",
    "sed-s-e": "sed 's/one/CMD/e' f",
    "sed-E": "sed -n -e p -e '1e CMD' f",
    "sed-spaces": "sed ' 1 { p ; e CMD\n}' f",
    "sed-variable": "a='1e CMD'; sed \"$a\" f",
    "awk-system": "awk 'BEGIN { system(\"CMD\") }'",
    "awk-pipe": 'awk \'BEGIN { print "CMD" | "sh" }\'',
    "awk-getline": "awk 'BEGIN { \"CMD\" | getline }'",
    "awk-v": "awk -v a='CMD' 'BEGIN { system(a) }'",
    "perl-e": "perl -e 'system(\"CMD\")'",
    "perl-backtick": "perl -ne '`CMD`' f",
    "perl-exec": "perl -we 'exec qw(rm x)'",
    "perl-M": "perl '-Mwarnings;system(\"CMD\")' -e 1",
    "perl-option": "PERL5OPT='-Mwarnings;system(q(CMD))' perl /dev/null",
    "perl-open": "echo 'CMD |' | perl -e 'open F, <STDIN>'",
    "python-c": "python3 -c 'import os; os.system(\"CMD\")'",
    "python-joined": 'python3 -c \'import os; os.system("r"+"m x")\'',
    "python-subprocess": 'python3 -Ic \'import subprocess as s; s.run(["r\\x6d", "x"])\'',
    "python-here": "python3 - <<'E'\nimport os\nos.execlp('rm', 'rm', 'x')\nE\n",
    "python-stdin": "echo 'import os; os.system(\"CMD\")' | python3",
    "python-timeit": "python3 -m timeit -n 1 -r 1 'import os; os.system(\"CMD\")'",
    "node-e": 'node -e \'require("child_process").execSync("CMD")\'',
    "node-p": 'node -p \'require("child_process").execSync("CMD")+1\'',
    "tclsh": "echo 'exec rm x' | tclsh",
    "ex": "ex -sc '!CMD' -c q",
    "vim": "vim -es -c '!CMD' -c qa!",
    "ed": "printf '!CMD\\nq\\n' | ed -s f",
    "gdb": "gdb -batch -ex 'shell CMD'",
    "make-stdin": "printf 'q:\\n\\tCMD\\n' | make -f -",
    "make-eval": "make --eval='$(shell CMD)' q",
    "make-shell": "printf 'q:\\n\\ttrue >a\\n' > Makefile; make SHELL='/bin/rm'",
    "make-variable": "printf 'q:\\n\\t$(CC) x\\n' > Makefile; make CC='rm'",
    "makeflags": "MAKEFLAGS='--eval=$(shell$(null) CMD)' make",
    "sqlite": "sqlite3 :memory: '.shell CMD'",
    "sqlite-stdin": "echo '.system CMD' | sqlite3",
    "bc-none": "echo 1 | bc; CMD",
    "split": "split --filter='CMD' f",
    "sort": "seq 99999 | sort -S 1k --compress-program=/bin/rm",
    "zip": "zip o.zip f -T -TT 'CMD;'",
    "ssh-proxy": "ssh -o ProxyCommand='CMD' -o BatchMode=yes host",
    "gcc-wrapper": "echo 'int a;' > a.c; gcc -wrapper rm,x a.c",
    "man-pager": "man -P 'CMD' ls",
    "less-open": "LESSOPEN='|CMD' less f",
    "m4": "echo 'syscmd(CMD)' | m4",
    "dc": "echo '!CMD' | dc",
    "at": "echo 'CMD' | batch; CMD",
    "openssl": "true openssl; CMD",
}

SCRIPTED = {
    "sh-c": "sh -c STR",
    "bash-c": "bash -c STR",
    "bash-lc": "bash -ec STR",
    "bash-dq": "bash -c DQ",
    "bash-o": "bash -o pipefail -c STR name",
    "bash-args": "bash -c '\"$@\"' _ rm x; sh -c STR",
    "eval": "eval STR",
    "eval-dq": "eval DQ",
    "pipe-sh": "echo STR | sh",
    "pipe-bash-s": "printf '%s' STR | bash -s a b",
    "pipe-env-sh": "echo STR | env sh",
    "pipe-group": "echo STR | { sh; }",
    "pipe-while": 'echo STR | while read -r l; do eval "$l"; done',
    "pipe-xargs-sh": "echo STR | xargs -0 sh -c",
    "pipe-tee-sh": "echo STR | tee o | bash",
    "here-string": "bash <<< STR",
    "here-string-stdin": "sh /dev/stdin <<< STR",
    "here-document": "sh <<E\nDOC\nE\n",
    "here-document-quoted": "bash <<'E'\nDOC\nE\n",
    "here-document-dash": "bash <<-\\E\nDOC\nE\n",
    "source": "source <(echo STR)",
    "dot": ". /dev/stdin <<< STR",
    "process": "bash <(echo STR)",
    "bash-env": "BASH_ENV=<(echo STR) bash -c :",
    "exec-stdin": "exec 0< <(echo STR); sh",
    "exec-fd": "exec 5<<< STR; sh /dev/fd/5",
    "proc-fd": "exec 5<<< STR; bash /proc/self/fd/5",
    "trap-exit": "trap STR EXIT",
    "trap-debug": "trap -- STR DEBUG; true",
    "trap-err": "trap STR ERR; false",
    "trap-signal": "trap STR USR1; kill -USR1 $$; true",
    "mapfile-C": "mapfile -C STR -c 1 v < f",
    "readarray-C": "readarray -c1 -C STR v < f",
    "compgen-C": "compgen -C STR",
    "compgen-W": "compgen -W '$(rm x)'; eval STR",
    "ps4": "PS4='SUB'; set -x; true",
    "ps4-inline": "PS4='SUB' bash -xc true",
    "prompt-command": "PROMPT_COMMAND=STR bash -i <<< 'true'",
    "prompt-at-P": "v='SUB'; echo ${v@P}",
    "test-v": "test -v 'v[SUB]'",
    "bracket-v": "[ -v 'v[SUB]' ]",
    "conditional-v": "[[ -v v[SUB] ]]",
    "conditional-eq": "[[ 'v[SUB]' -eq 1 ]]",
    "let": "let 'v[SUB]=1'",
    "declare": "declare 'v[SUB]=1'",
    "declare-i": "declare -i v='w[SUB]'",
    "typeset": "typeset -a 'v[SUB]=1'",
    "export": "declare -n v='w[SUB]'; v=1",
    "read": "read 'v[SUB]' <<< 1",
    "read-a": "read -r a 'v[SUB]' <<< '1 2'",
    "printf-v": "printf -v 'v[SUB]' x",
    "unset": "v=(1); unset 'v[SUB]'",
    "arithmetic-variable": "v='w[SUB]'; echo $((v))",
    "double-paren-variable": "v='w[SUB]'; ((v++))",
    "old-arithmetic": "v='w[SUB]'; echo $[v]",
    "indirect": "v='w[SUB]'; echo ${!v}",
    "slice": "v='w[SUB]'; a=abc; echo ${a:v}",
    "index": "v='w[SUB]'; a[v]=1",
    "test-unquoted": "v='w[SUB]'; test -v $v",
    "test-hidden": 'o=-v; v=\'w[SUB]\'; [ "$o" "$v" ]',
    "conditional-variable": "v='w[SUB]'; [[ $v -gt 0 ]]",
    "for-arithmetic": "v='w[SUB]'; for ((i=v;i<1;i++)); do :; done",
    "for-value": "for v in 'w[SUB]'; do echo $((v)); done",
    "read-arithmetic": "read -r v <<< 'w[SUB]'; echo $((v + 1))",
    "wait-p": "true & wait -n -p 'v[SUB]'",
    "getopts": "getopts a 'v[SUB]' -a",
    "mapfile-name": "mapfile -O 0 v < f; printf -v 'v[SUB]' x",
    "substring-positional": "set -- 'w[SUB]'; echo $(($1))",
    "history-s": "set -o history; history -s STR; fc -s",
    "enable": "enable -n echo; eval STR",
    "sudo-none": "sudo -n true; eval STR",
    "base64": "base64 -d <<< cm0geAo= | sh; eval STR",
    "base64-arithmetic": "v=$(base64 -d <<< d1skKHJtIHgpXQ==); echo $((v)); eval STR",
    "rev": "rev <<< 'x mr' | bash; eval STR",
    "script-file": "eval STR",
    "printf-eval": "eval \"$(printf '%s' STR)\"",
    "backquote-eval": "eval `echo STR`",
}

NOISE = (
    ("", ""), ("", ""), ("", ""), ("  ", "  "), ("\n\n", "\n"), ("echo hi; ", ""), ("cd . && ", ""), ("# note\n", ""),
    ("true\n", "\ntrue"), ("set -u; ", ""), ("", " # done"), ("x=1\n", ""), ("\t", ""), ("ls >/dev/null 2>&1\n", ""),
)  # fmt: skip


def single_cases() -> list[Case]:
    """Every way by itself."""
    cases = [Case(line, (name,)) for name, line in SPELLINGS.items()]
    for script in ("rm x", 'r""m x', "$(echo rm) x"):
        for name, way in SCRIPTED.items():
            maker = Maker(0)
            cases.append(Case(maker.fill(way, script), (name, script)))
        cases += [Case(way.replace("CMD", script), (name, script)) for name, way in GROUPS.items()]
    for command in ("rm x", "/bin/rm x", "r\\m x"):
        cases += [Case(way.replace("CMD", command), (name, command)) for name, way in PREFIXED.items()]
    return cases


def run_lines(lines: Sequence[str], bwrap: str) -> list[bool]:
    """Whether `rm` ran, for each line."""
    with tempfile.TemporaryDirectory() as made:
        oracle = Path(made)
        (oracle / "lines").mkdir()
        (oracle / "results").mkdir()
        (oracle / "rm").write_text(STAND_IN)
        (oracle / "rm").chmod(0o755)
        (oracle / "driver").write_text(DRIVER)
        for number, line in enumerate(lines):
            (oracle / "lines" / f"{number:05}").write_text(line)
        covered = [word for rm in _every_rm() for word in ("--ro-bind", str(oracle / "rm"), rm)]
        command = [
            *(bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"),
            *("--bind", made, "/tmp/oracle", *covered, "--unshare-pid", "--unshare-net"),
            *("--unshare-ipc", "--die-with-parent", "--new-session", "--dir", "/tmp/work"),
            *("--chdir", "/tmp/work", "--setenv", "PATH"),
            *("/usr/bin:/bin", "--setenv", "HOME", "/tmp/work", "--setenv", "TERM", "dumb", "--unsetenv", "BASH_ENV"),
            *("--", "bash", "/tmp/oracle/driver"),
        ]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60 * len(lines))
        done = {path.name for path in (oracle / "results").iterdir()}
        return [f"{number:05}" in done for number in range(len(lines))]


def _every_rm() -> Iterable[str]:
    found = {os.path.realpath(place) for place in ("/bin/rm", "/usr/bin/rm") if os.path.exists(place)}  # noqa: PTH110
    return sorted(found)


def is_denied_by_gate(rules: Sequence[str]) -> Callable[[str], bool]:
    """A gate with these rules and nobody to ask."""
    with tempfile.TemporaryDirectory() as made:
        toolbox = build_toolbox(
            made, state_dir=Path(made, "state"), agents={"a": ToolAccess()}, rules=rules, assume_yes=True
        )

    def verdict(line: str) -> bool:
        call = ToolCall(id="c", name="bash", input={"command": line})
        return toolbox.check("a", call).decision == "deny"

    return verdict


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of a run."""

    lines: int
    ran: int
    denied: int
    missed: tuple[Case, ...]


def measure(count: int, seed: int, bwrap: str, *, jobs: int = 2) -> Figures:
    """Make lines, run each, and ask the gate about each."""
    maker = Maker(seed)
    cases = [maker.case() for _ in range(count)]
    singles = single_cases()
    if count > 2 * len(singles):
        cases[: len(singles)] = singles
    is_denied = is_denied_by_gate(["deny bash(rm *)"])
    verdicts = [is_denied(case.line) for case in cases]
    chunks = [[case.line for case in cases[at : at + 50]] for at in range(0, count, 50)]
    with ThreadPoolExecutor(jobs) as pool:
        ran = [one for chunk in pool.map(lambda lines: run_lines(lines, bwrap), chunks) for one in chunk]
    missed = [case for case, did, denied in zip(cases, ran, verdicts, strict=True) if did and not denied]
    return Figures(count, sum(ran), sum(verdicts), tuple(missed))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--lines", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        print("bubblewrap (bwrap) is needed to run the lines", file=sys.stderr)
        return 2
    figures = measure(asked.lines, asked.seed, bwrap, jobs=asked.jobs)
    print(f"{figures.lines} lines; rm ran in {figures.ran}; denied {figures.denied}; missed {len(figures.missed)}")
    for case in figures.missed[: asked.show]:
        print(f"  {case.ways}: {case.line!r}")
    for way, times in Counter(way for case in figures.missed for way in case.ways).most_common(20):
        print(f"  {times:>5} {way}")
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
