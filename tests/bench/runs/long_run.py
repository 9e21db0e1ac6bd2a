"""What a step of an agent's run costs through the real SDK, early and late in the run, beside the bare SDK loop.

    python -m tests.bench.runs.long_run [--steps 420] [--rounds 3]

A step is one turn of the model and its tool: write, bash and read in turn. The model is a server on the loopback
interface that streams the Messages API; with each request it reads the CPU time that the client's process has used
so far (all its threads; what commands use is not part of it). `rawko run` keeps its journal and snapshots as always.
Both are run in turn, and of each figure the smallest of the rounds is shown: other load only adds. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from statistics import mean
from threading import Thread
from typing import Any

BARE = Path(__file__).parents[1] / "contenders" / "bare_sdk.py"
WINDOW = 30
"""Steps that are averaged: ten of each tool."""
PIECE = 60
"""Characters of a tool's input in one event of the stream."""
FILES = 20
AGENT = """\
name: developer
when_to_use: Always.
system_prompt: You are a developer.
limits: {turns: 100000, tool_steps: 100000}
"""


def cpu_s(pid: int) -> float:
    """CPU seconds of another process so far: clock_getcpuclockid(3), spelled out."""
    return time.clock_gettime((~pid << 3) | 2)


def call_of(step: int) -> tuple[str, dict[str, Any]]:
    """The tool that the model calls in a step, and its input; no two are alike."""
    path = f"notes/{step // 3 % FILES}.txt"
    if step % 3 == 0:
        lines = (f"Line {line} of the note that was written in step {step}." for line in range(12))
        return "write", {"file_path": path, "content": "\n".join(lines)}
    if step % 3 == 1:
        return "bash", {"command": f"echo 'step {step}'; head -c 300 {path}"}
    return "read", {"file_path": path}


def answer_of(step: int, steps: int) -> bytes:
    """One turn as the Messages API streams it; after the last step, the end of the task."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {"id": f"msg_{step}", "type": "message", "role": "assistant", "model": "claude-sonnet-5"}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for piece in (f"Step {step}: ", "I look at the notes, ", "and go on with the next one."):
        events.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    events.append({"type": "content_block_stop", "index": 0})
    name, arguments = call_of(step) if step < steps else ("complete", {"summary": "The notes are written."})
    block = {"type": "tool_use", "id": f"toolu_{step}", "name": name, "input": {}}
    events.append({"type": "content_block_start", "index": 1, "content_block": block})
    text = json.dumps(arguments)
    for start in range(0, len(text), PIECE):
        delta = {"type": "input_json_delta", "partial_json": text[start : start + PIECE]}
        events.append({"type": "content_block_delta", "index": 1, "delta": delta})
    events.append({"type": "content_block_stop", "index": 1})
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 40}})
    events.append({"type": "message_stop"})
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


@dataclass
class Model:
    """The server's side of one run.

    Attributes:
        used_s: CPU seconds of the client when each request had come.
    """

    steps: int
    pid: int = 0
    used_s: list[float] = field(default_factory=list)

    def answer(self) -> bytes:
        self.used_s.append(cpu_s(self.pid))
        return answer_of(len(self.used_s) - 1, self.steps)


@contextmanager
def served(model: Model) -> Iterator[str]:
    """The address of a server that answers as the model."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = model.answer()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True)
class Measured:
    """CPU of one run, in seconds: until the first request, of each step, and after the last request."""

    start_s: float
    steps_s: Sequence[float]
    end_s: float

    def step_ms(self, at: int) -> float:
        """Mean of the steps around the `at`-th."""
        first = max(at - WINDOW // 2, 0)
        return mean(self.steps_s[first : first + WINDOW]) * 1000


def bare(url: str, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    return [sys.executable, str(BARE), url], {}


def ours(url: str, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    agents = folder / ".rawko" / "agents"
    agents.mkdir(parents=True)
    (agents / "developer.yaml").write_text(AGENT, encoding="utf-8")
    words = ["run", "Write the notes", "--agent", "developer", "--yes", "--trust", "--max-iterations", "100000"]
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "RAWKO_STATE_DIR": f"{folder}-state"}
    return [sys.executable, "-m", "rawko", *words], env


Command = Callable[[str, Path], tuple[list[str], Mapping[str, str]]]
CONTENDERS: Mapping[str, Command] = {"bare SDK loop": bare, "rawko run": ours}


def measure(command: Command, steps: int) -> Measured:
    """One run to its end."""
    model = Model(steps)
    with tempfile.TemporaryDirectory() as base, served(model) as url:
        folder = Path(base) / "project"
        folder.mkdir()
        words, env = command(url, folder)
        environ = {"PATH": os.environ["PATH"], "HOME": base, "LANG": "C.UTF-8", **env}
        output = Path(base) / "output.txt"
        with output.open("wb") as out, subprocess.Popen(words, cwd=folder, env=environ, stdout=out, stderr=out) as run:
            model.pid = run.pid
            os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)  # its CPU time can be read until it is waited for
            whole_s = cpu_s(run.pid)
        used = model.used_s
        if run.returncode or len(used) <= steps:
            raise SystemExit(f"ended after {len(used)} of {steps} steps:\n{output.read_text('utf-8')[-2000:]}")
    return Measured(used[0], [after - before for before, after in pairwise(used)], whole_s - used[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.runs.long_run", description=__doc__)
    parser.add_argument("--steps", type=int, default=420)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at", type=int, nargs="*", default=[50, 200, 400])
    options = parser.parse_args(arguments)
    at = [one for one in options.at if one + WINDOW // 2 <= options.steps]
    found: dict[str, list[Measured]] = {name: [] for name in CONTENDERS}
    for _ in range(options.rounds):
        for name, command in CONTENDERS.items():
            found[name].append(measure(command, options.steps))
    columns = ["first request", *(f"step {one}" for one in at), "last request to exit"]
    print("| CPU, ms | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns), sep="\n")
    table = {
        name: [
            min(run.start_s for run in runs) * 1000,
            *(min(run.step_ms(one) for run in runs) for one in at),
            min(run.end_s for run in runs) * 1000,
        ]
        for name, runs in found.items()
    }
    for name, cells in table.items():
        print(f"| {name} | " + " | ".join(f"{cell:,.1f}" for cell in cells) + " |")
    first, second = table.values()
    print("| ratio | " + " | ".join(f"{b / a:.2f}" for a, b in zip(first, second, strict=True)) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
