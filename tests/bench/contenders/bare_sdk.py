"""The loop that people write around the SDK: stream a turn, run its tools, send everything again. Nothing is kept.

    python bare_sdk.py BASE_URL

Its tools do in the current folder what ours do: write and read a file, run a command.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "name": "write",
        "description": "Write a file.",
        "input_schema": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["file_path", "content"],
        },
    },
    {
        "name": "read",
        "description": "Read a file.",
        "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    },
    {
        "name": "bash",
        "description": "Run a command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
]


def run_tool(name: str, arguments: dict[str, Any]) -> str:
    """What the model is told of a call."""
    if name == "write":
        path = Path(arguments["file_path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(arguments["content"], encoding="utf-8")
        return f"wrote {path}"
    if name == "read":
        return Path(arguments["file_path"]).read_text(encoding="utf-8")
    done = subprocess.run(["bash", "-c", arguments["command"]], capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}\n[exit code {done.returncode}]"


async def loop(base_url: str) -> None:
    """Turn by turn until the model calls `complete`."""
    from anthropic import AsyncAnthropic

    messages: list[Any] = [{"role": "user", "content": "Write the notes"}]
    async with AsyncAnthropic(base_url=base_url, api_key="k", max_retries=0) as client:
        while True:
            async with client.messages.stream(
                model="claude-sonnet-5",
                max_tokens=8192,
                system="You are a developer.",
                tools=TOOLS,  # type: ignore[arg-type]
                messages=messages,
            ) as stream:
                message = await stream.get_final_message()
            messages.append({"role": "assistant", "content": message.content})
            calls = [block for block in message.content if block.type == "tool_use"]
            if calls[0].name == "complete":
                return
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": run_tool(call.name, dict(call.input))}
                for call in calls
            ]
            messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    asyncio.run(loop(sys.argv[1]))
