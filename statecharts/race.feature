Feature: Several lanes on one task, of which one wins
  The contract of race.yaml. No lane runs here: the scenarios say how each one ends. "first" and "all" are one actor for all
  lanes.

  Background:
    Given input {"prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a", "agent": "developer"}, {"lane": "b", "agent": "tester", "model": "m"}], "check": "make test", "adopt": "never"}}

  Scenario: Every lane gets the task, the check and a model of its own
    Then state "to_the_first" is active
    And actor "first" is started
    And the input of actor "first" contains {"src": "run_lane", "join": "any", "concurrency": null, "all_inputs": [{"lane": "a", "agent": "developer", "task": "Parse dates", "model": null, "prompt": null, "check": "make test", "must_succeed": true}, {"lane": "b", "agent": "tester", "task": "Parse dates", "model": "m", "prompt": null, "check": "make test", "must_succeed": true}]}

  Scenario: The first lane that succeeds wins
    Given state "to_the_first" is active
    When actor "first" is done with {"index": 1, "item": {"lane": "b", "agent": "tester", "model": "m"}, "output": {"lane": "b", "run": "r__b", "outcome": "success", "summary": "Parsed.", "files_changed": ["d.py"], "cost_usd": 0.5, "usage": {"input_tokens": 10, "output_tokens": 5}}}
    Then state "won" is active
    And the output contains {"outcome": "success", "winner": {"lane": "b", "run": "r__b"}}

  Scenario: How each lane ends is kept as it ends
    Given state "to_the_first" is active
    When I send event each.invoke.first with index=0, item={"lane": "a", "agent": "developer", "model": null}, status="error", error={"message": "its check failed", "run": "r__a", "outcome": "limit", "usage": null, "cost_usd": null}
    Then state "to_the_first" is active
    And context field "results" equals [{"lane": "a", "agent": "developer", "model": null, "run": "r__a", "outcome": "limit", "summary": null, "files_changed": null, "cost_usd": null, "usage": null, "message": "its check failed"}]

  Scenario: No lane succeeds
    Given state "to_the_first" is active
    When actor "first" fails with {"category": "unknown", "message": "2 of 2 items failed: item 0: lane 'a': its check failed"}
    Then state "lost" is active
    And the output contains {"outcome": "failure", "winner": null}

  # ---------------------------------------------------------------- races in which all lanes run to their end

  Scenario: Of all that succeed the cheapest wins
    Given state "to_the_end" is active
    When actor "all" is done with [{"index": 0, "item": {"lane": "a", "agent": "developer", "model": null}, "status": "done", "output": {"run": "r__a", "outcome": "success", "cost_usd": 0.9, "usage": null}}, {"index": 1, "item": {"lane": "b", "agent": "tester", "model": "m"}, "status": "done", "output": {"run": "r__b", "outcome": "success", "cost_usd": 0.2, "usage": null}}]
    Then state "won" is active
    And the output contains {"winner": {"lane": "b", "cost_usd": 0.2}}

  Scenario: All come to their end, and none succeeds
    Given state "to_the_end" is active
    When actor "all" is done with [{"index": 0, "item": {"lane": "a", "agent": "developer", "model": null}, "status": "error", "error": {"category": "unknown", "message": "lane 'a': it hangs"}}]
    Then state "lost" is active
    And the output contains {"outcome": "failure", "error": {"message": "no lane has succeeded: lane 'a': it hangs"}}

  Scenario: Of several that succeed the judge finds the best
    Given input {"prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a"}, {"lane": "b"}, {"lane": "c"}], "judge": true, "judge_model": "m", "criteria": "Short", "adopt": "never"}}
    And state "to_the_end" is active
    When actor "all" is done with [{"index": 0, "item": {"lane": "a", "agent": "developer", "model": null}, "status": "done", "output": {"run": "r__a", "outcome": "success", "summary": "By a.", "cost_usd": 0.9, "usage": {"input_tokens": 7, "output_tokens": 1}}}, {"index": 1, "item": {"lane": "b", "agent": "developer", "model": null}, "status": "done", "output": {"run": "r__b", "outcome": "success", "cost_usd": 0.2, "usage": null}}, {"index": 2, "item": {"lane": "c", "agent": "developer", "model": null}, "status": "error", "error": {"message": "it hangs", "outcome": "limit"}}]
    Then state "judging" is active
    And the input of actor "verdict" contains {"task": "Parse dates", "criteria": "Short", "model": "m", "candidates": [{"name": "a", "run": "r__a", "summary": "By a.", "passed": null, "cost_usd": 0.9, "tokens": 8}, {"name": "b", "run": "r__b", "summary": "", "passed": null, "cost_usd": 0.2, "tokens": 0}]}
    When actor "verdict" is done with {"winner": "a", "rule": "agreed", "is_agreed": true, "votes": ["a", "a"], "reasons": {"a": ["whole"], "b": ["half"]}, "out": [], "error": null, "usage": {}}
    Then state "won" is active
    And the output contains {"winner": {"lane": "a"}, "judged": {"winner": "a", "rule": "agreed", "is_agreed": true, "votes": ["a", "a"], "reasons": {"a": ["whole"], "b": ["half"]}, "error": null}}

  Scenario: Without a verdict the cheapest wins, and why there is none is told
    Given input {"prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a"}, {"lane": "b"}], "judge": true, "adopt": "never"}}
    And state "judging" is active
    And context field "results" is [{"lane": "a", "agent": "developer", "model": null, "run": "r__a", "outcome": "success", "summary": null, "files_changed": null, "cost_usd": 0.9, "usage": null, "message": null}, {"lane": "b", "agent": "developer", "model": null, "run": "r__b", "outcome": "success", "summary": null, "files_changed": null, "cost_usd": 0.2, "usage": null, "message": null}]
    When actor "verdict" fails with {"category": "validation_error", "message": "no usable answer", "winner": null, "votes": [], "reasons": {}}
    Then state "won" is active
    And the output contains {"winner": {"lane": "b"}, "judged": {"error": "no usable answer", "winner": null}}

  Scenario: The list of lanes cannot be begun
    Given state "to_the_end" is active
    When actor "all" fails with {"category": "validation_error", "message": "there is no agent 'x'"}
    Then state "lost" is active

  Scenario: A person cancels the race
    Given state "to_the_first" is active
    When I send event CANCEL
    Then state "cancelled" is active
    And the output contains {"outcome": "cancelled", "winner": null}

  # ---------------------------------------------------------------- adoption of the winner

  Scenario: A person sees the changes and says yes; the check runs again
    Given input {"agent": "race", "prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a"}], "check": "make test"}}
    And state "planning" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    When actor "plan" is done with {"changes": [{"path": "d.py", "kind": "added"}], "changed": 1, "conflicts": [], "conflicting": 0, "is_refused": false, "safety": {"tree": "t0", "commit": "c0"}, "now": null, "shown": "added d.py"}
    Then state "waiting" is active
    And the input of actor "ask_person" contains {"kind": "approval", "agent": "race", "call": {"name": "adopt", "input": {"name": "a", "run": "r__a", "changes": "added d.py"}}}
    When actor "ask_person" is done with {"text": "once", "who": "ada"}
    Then state "adopting" is active
    And the input of actor "adoption" contains {"run": "r__a"}
    When actor "adoption" is done with {"changes": [{"path": "d.py", "kind": "added"}], "changed": 1, "conflicts": [], "conflicting": 0, "is_refused": false, "safety": {"tree": "t0", "commit": "c0"}, "now": {"tree": "t1", "commit": "c1"}}
    Then state "checking" is active
    And the input of actor "check" contains {"demands": [{"check": "make test"}], "snapshot": {"tree": "t1", "commit": "c1"}}
    When actor "check" is done with {"evidence": [{"held": true, "found": "'make test' passed"}]}
    Then state "won" is active
    And the output contains {"outcome": "success", "files_changed": ["d.py"], "adoption": {"state": "adopted", "told": "'make test' passed"}}

  Scenario: Merged files that do not pass the check are set back
    Given input {"prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a"}], "check": "make test"}}
    And state "checking" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    And context field "adoption" is {"state": "adopted", "files": ["d.py"], "safety": {"tree": "t0", "commit": "c0"}, "now": {"tree": "t1", "commit": "c1"}}
    When actor "check" is done with {"evidence": [{"held": false, "found": "'make test' failed with exit code 2"}]}
    Then state "undoing" is active
    And the input of actor "undo" contains {"run": "r__a", "back": {"base": {"tree": "t1", "commit": "c1"}, "theirs": {"tree": "t0", "commit": "c0"}}}
    When actor "undo" is done with {"changes": [], "changed": 0, "conflicts": [], "conflicting": 0, "is_refused": false, "safety": {"tree": "t1", "commit": "c1"}, "now": {"tree": "t0", "commit": "c2"}}
    Then state "won" is active
    And the output contains {"outcome": "success", "files_changed": [], "adoption": {"state": "check_failed"}}

  Scenario: A check that cannot be run again is no check that passed
    Given input {"prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a"}], "check": "make test"}}
    And state "checking" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    And context field "adoption" is {"state": "adopted", "files": ["d.py"], "safety": {"tree": "t0", "commit": "c0"}, "now": {"tree": "t1", "commit": "c1"}}
    When actor "check" fails with {"category": "unknown", "message": "no sandbox"}
    Then state "undoing" is active
    When actor "undo" fails with {"category": "unknown", "message": "disk full"}
    Then state "won" is active
    And the output contains {"files_changed": ["d.py"], "adoption": {"state": "adopted", "told": "no sandbox; disk full"}}

  Scenario: A no leaves the files as they are
    Given state "waiting" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    And context field "adoption" is {"state": "planned", "files": ["d.py"]}
    When I send event DENY
    Then state "won" is active
    And actor "adoption" is not started
    And the output contains {"outcome": "success", "files_changed": [], "adoption": {"state": "denied"}}

  Scenario: Where no person is there, nothing is taken over
    Given state "waiting" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    And context field "adoption" is {"state": "planned", "files": ["d.py"]}
    When actor "ask_person" is done with null
    Then state "won" is active
    And the output contains {"outcome": "success", "files_changed": [], "adoption": {"state": "planned"}}

  Scenario: A default answer of the settings is no yes
    Given state "waiting" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    And context field "adoption" is {"state": "planned", "files": ["d.py"]}
    When actor "ask_person" is done with {"text": "always", "who": "default answer"}
    Then state "won" is active
    And the output contains {"files_changed": []}

  Scenario: Where questions fail the run, the race is won all the same
    Given state "waiting" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    And context field "adoption" is {"state": "planned", "files": ["d.py"]}
    When actor "ask_person" fails with {"category": "unknown", "code": "unattended", "message": "no person"}
    Then state "won" is active

  Scenario: Conflicts are listed before anything is written
    Given input {"prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a"}], "adopt": "always"}}
    And state "planning" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    When actor "plan" is done with {"changes": [], "changed": 0, "conflicting": 1, "conflicts": [{"path": "d.py", "here": "modified", "there": "deleted"}], "is_refused": true, "safety": {"tree": "t0", "commit": "c0"}, "now": null, "shown": ""}
    Then state "won" is active
    And actor "adoption" is not started
    And the output contains {"adoption": {"state": "conflict", "conflicts": [{"path": "d.py", "here": "modified", "there": "deleted"}]}}

  Scenario: The policy says yes beforehand
    Given input {"prompt": "Parse dates", "parameters": {"lanes": [{"lane": "a"}], "adopt": "always"}}
    And state "planning" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    When actor "plan" is done with {"changes": [{"path": "d.py", "kind": "added"}], "changed": 1, "conflicts": [], "conflicting": 0, "is_refused": false, "safety": {"tree": "t0", "commit": "c0"}, "now": null, "shown": "added d.py"}
    Then state "adopting" is active
    And actor "ask_person" is not started
    When actor "adoption" fails with {"category": "unknown", "message": "disk full"}
    Then state "won" is active
    And the output contains {"adoption": {"state": "failed", "told": "disk full"}}

  Scenario: The winner's files cannot be read
    Given state "planning" is active
    And context field "winner" is {"lane": "a", "run": "r__a", "summary": "Did it."}
    When actor "plan" fails with {"category": "unknown", "message": "a snapshot is not whole"}
    Then state "won" is active
    And the output contains {"outcome": "success", "adoption": {"state": "failed", "told": "a snapshot is not whole"}}
