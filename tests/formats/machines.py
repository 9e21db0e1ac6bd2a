"""Machines as people write them for XState 5, in JSON, with every way to say things."""

from __future__ import annotations

from typing import Any

FETCH: dict[str, Any] = {
    "id": "fetch",
    "version": "1.2.0",
    "description": "Loads a page",
    "initial": "idle",
    "context": {"retries": 0, "pages": []},
    "entry": ["note"],
    "states": {
        "idle": {"on": {"FETCH": "loading"}, "tags": "calm"},
        "loading": {
            "tags": ["busy", "network"],
            "meta": {"colour": "blue"},
            "description": "Waits for the server",
            "entry": [{"type": "track", "params": {"what": "load", "n": 1}}, "spin"],
            "exit": "unspin",
            "invoke": {
                "id": "fetchPage",
                "src": "fetchPage",
                "input": {"url": "/"},
                "onDone": {"target": "success", "actions": "keep"},
                "onError": [
                    {"guard": {"type": "canRetry", "params": {"most": 3}}, "target": "waiting", "actions": ["count"]},
                    {"target": "failure"},
                ],
            },
            "on": {"CANCEL": {"target": "idle", "description": "By the user"}},
        },
        "waiting": {"after": {"1000": {"target": "loading", "guard": "online"}, "giveUp": "failure"}},
        "success": {"type": "final", "output": {"ok": True}},
        "failure": {"on": {"RETRY": "loading", "RESET": {"target": "idle", "reenter": True}}},
    },
    "output": {"done": True},
}

PLAYER: dict[str, Any] = {
    "id": "player",
    "type": "parallel",
    "on": {"RESET": [".video.off", "#sound"], "SWAP": {"target": ["#sound", ".video.on.paused"]}},
    "states": {
        "video": {
            "initial": "off",
            "states": {
                "off": {"on": {"POWER": "on.hist", "PLAY": "#player.video.on.playing"}},
                "on": {
                    "initial": "paused",
                    "entry": "lightUp",
                    "exit": "lightDown",
                    "on": {
                        "POWER": "off",
                        "NEXT": {"target": "on", "actions": "next"},
                        "AGAIN": {"target": "on", "reenter": True},
                        "JUMP": ".playing",
                        "LEAP": {"target": ".playing", "reenter": True},
                        "job.*": {"actions": "partial"},
                        "*": {"actions": "any"},
                        "job.part.*": {"guard": "g0", "actions": "longer"},
                        "job.part.one": {"guard": "g1", "actions": "exact"},
                    },
                    "states": {
                        "paused": {"on": {"PLAY": "playing", "JUMP": {}}},
                        "playing": {
                            "on": {"PLAY": "paused"},
                            "always": {"guard": "g2", "target": "ended"},
                            "initial": "slow",
                            "states": {"slow": {"on": {"FASTER": "fast"}}, "fast": {"entry": "whirr"}},
                        },
                        "ended": {"type": "final"},
                        "hist": {"type": "history", "history": "deep"},
                        "last": {"history": "shallow", "target": "playing"},
                    },
                    "onDone": {"target": "off", "actions": "rewind"},
                },
            },
        },
        "audio": {
            "initial": "on",
            "states": {
                "on": {"id": "sound", "on": {"MUTE": {"target": "off", "guard": "g3"}, "job.*": {"actions": "hum"}}},
                "off": {"on": {"MUTE": "on", "POWER": "#player.video.on.last"}},
            },
        },
    },
}

NUMBERS: dict[str, Any] = {
    "initial": "b",
    "states": {
        "b": {"on": {"GO": "2", "ALL": "p"}},
        "2": {"on": {"GO": "10"}},
        "10": {"on": {"GO": "b", "a.b": "with\\.point"}},
        "with.point": {"on": {"GO": "#(machine).b"}},
        "p": {
            "type": "parallel",
            "states": {
                "7": {"entry": "seven", "initial": "x", "states": {"x": {"on": {"GO": "y"}}, "y": {"type": "final"}}},
                "z": {"entry": "last", "initial": "x", "states": {"x": {"on": {"GO": "y"}}, "y": {"type": "final"}}},
                "1": {"entry": "one", "initial": "x", "states": {"x": {"on": {"GO": "y"}}, "y": {"type": "final"}}},
            },
            "onDone": "b",
        },
    },
}

DOUBLE: dict[str, Any] = {
    "id": "double",
    "initial": "first",
    "states": {
        "first": {
            "invoke": [
                {"src": "work", "onDone": "second"},
                {"id": "other", "src": "work", "onError": {"actions": "tell"}},
            ],
            "on": {"xstate.done.actor.other": {"actions": "noted"}},
        },
        "second": {
            "initial": {"target": "in", "actions": ["prepare"]},
            "invoke": {"id": "other", "src": "work", "onDone": {"target": ".in", "actions": "again"}},
            "states": {
                "in": {"on": {"GO": "out"}},
                "out": {"type": "final", "entry": "bye"},
            },
            "on": {"xstate.done.state.double.second": {"target": "first", "actions": "all"}},
        },
    },
}

MACHINES = {"fetch": FETCH, "player": PLAYER, "numbers": NUMBERS, "double": DOUBLE}
