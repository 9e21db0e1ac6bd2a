Feature: Steps of a plan, side by side where they do not need each other
  The contract of parallel_plan.yaml. No agent and no lane runs here: the scenarios say how each one ends. "lanes" is one actor
  for all lanes of a wave.

  Background:
    Given input {"prompt": "Port it", "parameters": {"steps": [{"id": "a", "task": "Do a"}, {"id": "b", "task": "Do b", "agent": "tester"}, {"id": "c", "task": "Do c", "needs": ["a", "b"]}], "check": "make test", "at_a_time": 2}}

  # ---------------------------------------------------------------- the plan

  Scenario: Of a plan that is given, all steps that need nothing begin at once
    Then state "running_wave" is active
    And actor "planner" is not started
    And the input of actor "lanes" contains {"src": "run_lane", "join": "settled", "concurrency": 2, "all_items": [{"id": "a", "tries": 1}, {"id": "b", "tries": 1}]}
    And context field "waves" equals 1

  Scenario: Without a plan the planner writes one
    Given state "planning" is active
    Then the input of actor "planner" contains {"agent": "planner", "template": "parallel_plan/plan", "values": {"task": "Port it"}}
    When actor "planner" is done with {"outcome": "success", "summary": "Planned.", "plan_updates": {"steps": [{"description": "Do a"}, {"description": "Do b", "needs": [1]}]}}
    Then state "running_wave" is active
    And the input of actor "lanes" contains {"all_items": [{"id": "step-1", "tries": 1}]}

  Scenario: A planner without a plan ends it
    Given state "planning" is active
    When actor "planner" is done with {"outcome": "success", "summary": "Easy.", "plan_updates": null}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"message": "the planner has written no plan: it must call update_plan with steps"}}

  Scenario: A planner at its limit ends it
    Given state "planning" is active
    When actor "planner" is done with {"outcome": "limit", "summary": "Too long.", "plan_updates": null}
    Then state "failed" is active
    And the output contains {"error": {"message": "the planner has ended with 'limit': Too long."}}

  Scenario: A planner that is cancelled ends it as cancelled
    Given state "planning" is active
    When actor "planner" is done with {"outcome": "cancelled", "summary": "Cancelled.", "plan_updates": null}
    Then state "cancelled" is active

  Scenario: A planner that fails ends it
    Given state "planning" is active
    When actor "planner" fails with {"message": "no money", "category": "provider_error"}
    Then state "failed" is active
    And the output contains {"error": {"message": "no money"}}

  # ---------------------------------------------------------------- adoption

  Scenario: What a lane has made is adopted, checked, and then the next lane's
    Then state "running_wave" is active
    When actor "lanes" is done with [{"index": 0, "item": {"id": "a", "tries": 1}, "status": "done", "output": {"run": "r__a", "outcome": "success", "summary": "Did a.", "files_changed": ["a.py"], "cost_usd": 0.5}}, {"index": 1, "item": {"id": "b", "tries": 1}, "status": "done", "output": {"run": "r__b", "outcome": "success", "summary": "Did b.", "files_changed": ["b.py"], "cost_usd": 0.5}}]
    Then state "looking" is active
    And the input of actor "capture_files" contains {"label": "before a"}
    When actor "capture_files" is done with {"snapshot": {"tree": "t0", "commit": "c0"}}
    Then state "merging" is active
    And the input of actor "adopt_lane" contains {"run": "r__a"}
    When actor "adopt_lane" is done with {"is_adopted": true, "changes": ["a.py"], "conflicts": [], "diff": "+a", "snapshot": {"tree": "t1", "commit": "c1"}}
    Then state "checking" is active
    And the input of actor "check_files" contains {"demands": [{"check": "make test"}], "snapshot": {"tree": "t1", "commit": "c1"}}
    When actor "check_files" is done with {"evidence": [{"held": true, "found": "passed"}]}
    Then state "looking" is active
    And the input of actor "capture_files" contains {"label": "before b"}

  Scenario: Once all that it needs is complete, a step begins
    Given state "merging" is active
    And context field "parameters" is {"planner": "planner", "worker": "developer", "steps": [], "check": null, "tries": 2, "at_a_time": null}
    And context field "queue" is [{"step": "b", "run": "r__b"}]
    And context field "steps" is [{"id": "a", "task": "Do a", "agent": null, "needs": [], "status": "complete", "tries": 1, "run": "r__a", "summary": "Did a.", "files": ["a.py"], "why": "", "diff": "", "cost_usd": null}, {"id": "b", "task": "Do b", "agent": null, "needs": [], "status": "pending", "tries": 1, "run": "r__b", "summary": "Did b.", "files": ["b.py"], "why": "", "diff": "", "cost_usd": null}, {"id": "c", "task": "Do c", "agent": null, "needs": ["a", "b"], "status": "pending", "tries": 0, "run": "", "summary": "", "files": [], "why": "", "diff": "", "cost_usd": null}]
    When actor "adopt_lane" is done with {"is_adopted": true, "changes": ["b.py"], "conflicts": [], "diff": "+b", "snapshot": {"tree": "t2", "commit": "c2"}}
    Then state "running_wave" is active
    And the input of actor "lanes" contains {"all_items": [{"id": "c", "tries": 1}]}

  Scenario: When all steps are complete, it is done
    Given state "merging" is active
    And context field "parameters" is {"planner": "planner", "worker": "developer", "steps": [], "check": null, "tries": 2, "at_a_time": null}
    And context field "queue" is [{"step": "a", "run": "r__a"}]
    And context field "steps" is [{"id": "a", "task": "Do a", "agent": null, "needs": [], "status": "pending", "tries": 1, "run": "r__a", "summary": "Did a.", "files": ["a.py"], "why": "", "diff": "", "cost_usd": null}]
    When actor "adopt_lane" is done with {"is_adopted": true, "changes": ["a.py"], "conflicts": [], "diff": "+a", "snapshot": {"tree": "t1", "commit": "c1"}}
    Then state "done" is active
    And the output contains {"outcome": "success", "summary": "1 of 1 steps are complete\n✓ a: Did a.", "files_changed": ["a.py"]}

  # ---------------------------------------------------------------- rejected lanes

  Scenario: A conflict leaves the files as they are, and the step is done again once
    Given state "merging" is active
    And context field "queue" is [{"step": "a", "run": "r__a"}]
    And context field "steps" is [{"id": "a", "task": "Do a", "agent": null, "needs": [], "status": "pending", "tries": 1, "run": "r__a", "summary": "Did a.", "files": ["a.py"], "why": "", "diff": "", "cost_usd": null}]
    When actor "adopt_lane" is done with {"is_adopted": false, "changes": [], "conflicts": ["a.py"], "diff": "+a", "snapshot": {"tree": "t0", "commit": "c0"}}
    Then state "running_wave" is active
    And the input of actor "lanes" contains {"all_items": [{"id": "a", "tries": 2}]}
    And action "refuse_conflict" is called

  Scenario: A failing check takes the lane's changes back
    Given state "checking" is active
    And context field "queue" is [{"step": "a", "run": "r__a"}]
    And context field "steps" is [{"id": "a", "task": "Do a", "agent": null, "needs": [], "status": "pending", "tries": 1, "run": "r__a", "summary": "Did a.", "files": ["a.py"], "why": "", "diff": "", "cost_usd": null}]
    And context field "before" is {"tree": "t0", "commit": "c0", "label": "", "skipped": []}
    And context field "after" is {"tree": "t1", "commit": "c1", "label": "", "skipped": []}
    When actor "check_files" is done with {"evidence": [{"held": false, "found": "'make test' failed with exit code 2", "output": "boom"}]}
    Then state "taking_back" is active
    And the input of actor "take_back" contains {"before": {"tree": "t0", "commit": "c0"}, "after": {"tree": "t1", "commit": "c1"}}
    When actor "take_back" is done with {"snapshot": {"tree": "t0", "commit": "c3"}}
    Then state "running_wave" is active
    And context field "before" equals null

  Scenario: A lane that fails is not adopted, and what needs it is not begun
    Then state "running_wave" is active
    When actor "lanes" is done with [{"index": 0, "item": {"id": "a", "tries": 1}, "status": "error", "error": {"message": "lane 'a': it hangs", "run": "r__a"}}, {"index": 1, "item": {"id": "b", "tries": 1}, "status": "error", "error": {"message": "lane 'b': it hangs"}}]
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"message": "2 of 3 steps failed: a: lane 'a': it hangs; b: lane 'b': it hangs"}, "steps": [{"id": "a", "status": "failed"}, {"id": "b", "status": "failed"}, {"id": "c", "status": "skipped", "why": "it needs a, b"}]}

  Scenario: The list of lanes cannot be begun
    Given state "running_wave" is active
    When actor "lanes" fails with {"category": "validation_error", "message": "there is no agent 'x'"}
    Then state "failed" is active

  Scenario: A person cancels it
    Given state "running_wave" is active
    When I send event CANCEL
    Then state "cancelled" is active
    And actor "lanes" is stopped
    And the output contains {"outcome": "cancelled"}
