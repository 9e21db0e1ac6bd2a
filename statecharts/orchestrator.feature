Feature: The orchestrator: an arbiter chooses agents until the task is done
  The contract of orchestrator.yaml. Ids in brackets are the requirements that a scenario shows.

  Background:
    Given context field "agents" is {"planner": {"name": "planner", "display_name": "Planning Agent", "when_to_use": "to plan"}, "developer": {"name": "developer", "display_name": "Development Agent", "when_to_use": "to write code"}}

  # ---------------------------------------------------------------- success

  Scenario: A task begins with a selection (S3-030, A3-011)
    Given state "idle" is active
    When I send event START_TASK with task="Implement user authentication"
    Then state "selecting" is active
    And actor "select_agent" is started
    And the input of actor "select_agent" contains {"task": "Implement user authentication", "plan": null, "history": [], "constraints": {"current_iteration": 1, "iterations_remaining": 49}}
    And context field "task" equals "Implement user authentication"
    And context field "started_at" is not null
    And the log contains "[rawko] Starting task: Implement user authentication"

  Scenario: A task without words is not begun
    Given state "idle" is active
    When I send event START_TASK with task="  "
    Then state "idle" is active
    And actor "select_agent" is not started

  Scenario: A new task resets what an earlier one left (C-37)
    Given state "idle" is active
    And context field "total_failures" is 7
    And context field "last_error" is {"message": "old", "category": "unknown"}
    And context field "iteration_count" is 9
    When I send event START_TASK with task="New"
    Then context field "total_failures" equals 0
    And context field "last_error" equals null
    And context field "iteration_count" equals 0

  Scenario: The selected agent works (S3-031, S3-032, S6-090, C-19)
    Given state "selecting" is active
    And context field "task" is "Do it"
    When actor "select_agent" is done with {"type": "SELECT_MODE", "mode": "developer", "reason": "code is needed"}
    Then state "executing" is active
    And context field "current_mode" equals "developer"
    And context field "iteration_count" equals 1
    And context field "current_started_at" is not null
    And actor "execute_agent" is started
    And the input of actor "execute_agent" contains {"agent": {"name": "developer"}, "task": "Do it", "start": "fresh", "messages": []}
    And event AGENT_SELECTED is emitted with agent="developer"
    And the log contains "[rawko] Agent 'developer' starting (iteration 1)"

  Scenario: A run that succeeds is recorded and judged (S3-033, C-31, C-34)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    And context field "iteration_count" is 1
    And context field "consecutive_failures" is 2
    And context field "last_error" is {"message": "old", "category": "tool_failure"}
    When actor "execute_agent" is done with
      """
      {"outcome": "success", "summary": "did it", "files_changed": ["a.py"],
       "usage": {"input_tokens": 2100, "output_tokens": 1230, "cache_read_tokens": 0, "cache_write_tokens": 0, "calls": 3}}
      """
    Then state "evaluating" is active
    And actor "evaluate_progress" is started
    And the input of actor "evaluate_progress" contains {"last_execution": {"agent": "developer", "status": "success", "output": {"summary": "did it", "full": "did it", "files_modified": ["a.py"]}, "tokens": {"total": 3330}}}
    And context field "consecutive_failures" equals 0
    And context field "last_error" equals null
    And event AGENT_COMPLETE is emitted
    And action "record_execution" is called
    And the log contains "[rawko] Agent 'developer' completed"

  Scenario: The arbiter ends a task with success (S3-036, S3-040)
    Given state "evaluating" is active
    When actor "evaluate_progress" is done with {"type": "COMPLETE", "summary": "all done"}
    Then state "complete" is active
    And statechart is in a final configuration
    And the output contains {"outcome": "success", "summary": "all done"}
    And the log contains "[rawko] Task completed in 0 iterations"
    And event SESSION_CLEANUP is emitted

  # ---------------------------------------------------------------- decisions of the arbiter

  Scenario: CONTINUE keeps the agent and asks nobody (C-01, S6-092)
    Given state "evaluating" is active
    And context field "current_mode" is "developer"
    When actor "evaluate_progress" is done with {"type": "CONTINUE", "reason": "going well"}
    Then state "executing" is active
    And actor "execute_agent" is started
    And actor "select_agent" is not started
    And context field "current_mode" equals "developer"

  Scenario: A judgement may hand over to another agent (C-01)
    Given state "evaluating" is active
    And context field "current_mode" is "developer"
    When actor "evaluate_progress" is done with {"type": "SELECT_MODE", "mode": "planner", "reason": "replan"}
    Then state "executing" is active
    And context field "current_mode" equals "planner"

  Scenario: A judgement that names an agent that is not there leads to a selection (C-01)
    Given state "evaluating" is active
    When actor "evaluate_progress" is done with {"type": "SELECT_MODE", "mode": "ghost", "reason": "?"}
    Then state "selecting" is active
    And actor "select_agent" is started

  Scenario: RETRY asks the arbiter again, with the agent before as a hint (C-02)
    Given state "evaluating" is active
    And context field "current_mode" is "developer"
    When actor "evaluate_progress" is done with {"type": "RETRY", "reason": "once more"}
    Then state "selecting" is active
    And the input of actor "select_agent" contains {"previous_agent": "developer"}

  Scenario: RETRY while selecting means the same agent again (C-02, S6-091)
    Given state "selecting" is active
    And context field "current_mode" is "developer"
    When actor "select_agent" is done with {"type": "RETRY", "reason": "let developer retry"}
    Then state "executing" is active
    And context field "current_mode" equals "developer"

  Scenario: CONTINUE while selecting means the same agent again (C-02)
    Given state "selecting" is active
    And context field "current_mode" is "developer"
    When actor "select_agent" is done with {"type": "CONTINUE", "reason": "go on"}
    Then state "executing" is active

  Scenario: RETRY while selecting is an error where nobody has worked (C-02)
    Given state "selecting" is active
    When actor "select_agent" is done with {"type": "RETRY", "reason": "?"}
    Then state "backing_off" is active
    And context field "consecutive_failures" equals 1
    And event ARBITER_ERROR is emitted

  # ---------------------------------------------------------------- evidence for COMPLETE

  Scenario: COMPLETE ends a task that demands evidence only when it is found
    Given state "evaluating" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    When actor "evaluate_progress" is done with {"type": "COMPLETE", "summary": "all done"}
    Then state "capturing_delivery" is active
    When actor "capture_delivery" is done with {"snapshot": {"tree": "t1", "commit": "c1", "label": "", "skipped": []}}
    Then state "checking_evidence" is active
    And the input of actor "check_evidence" contains {"demands": [{"check": "make test"}], "snapshot": {"tree": "t1"}}
    When actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": true, "found": "passed", "tree": "t1", "exit_code": 0, "duration_ms": 5, "output": "", "changed": []}]}
    Then state "complete" is active
    And the output contains {"outcome": "success", "summary": "all done", "evidence": [{"held": true}]}

  Scenario: COMPLETE without evidence goes back to the arbiter, with what is missing
    Given state "selecting" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    When actor "select_agent" is done with {"type": "COMPLETE", "summary": "all done"}
    And actor "capture_delivery" is done with {"snapshot": {"tree": "t1", "commit": "c1", "label": "", "skipped": []}}
    And actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": false, "found": "'make test' failed with exit code 2", "tree": "t1", "exit_code": 2, "duration_ms": 5, "output": "1 failed", "changed": []}]}
    Then state "selecting" is active
    And context field "refusals" equals 1
    And context field "consecutive_failures" equals 0
    And the log contains "Completion refused"

  Scenario: COMPLETE that is refused too often ends the task at its limit
    Given state "evaluating" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    And context field "max_refusals" is 0
    When actor "evaluate_progress" is done with {"type": "COMPLETE", "summary": "all done"}
    And actor "capture_delivery" is done with {"snapshot": {"tree": "t1", "commit": "c1", "label": "", "skipped": []}}
    And actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": false, "found": "'make test' failed with exit code 2", "tree": "t1", "exit_code": 2, "duration_ms": 5, "output": "1 failed", "changed": []}]}
    Then state "complete" is active
    And the output contains {"outcome": "limit"}

  Scenario: Evidence that cannot be looked for is an error, and may be looked for again
    Given state "evaluating" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    When actor "evaluate_progress" is done with {"type": "COMPLETE", "summary": "all done"}
    And actor "capture_delivery" fails with {"message": "disk full", "category": "unknown"}
    Then state "backing_off" is active

  Scenario: A person may choose an agent while evidence is looked for
    Given state "evaluating" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    When actor "evaluate_progress" is done with {"type": "COMPLETE", "summary": "all done"}
    And I send event FORCE_AGENT with agent_name="developer"
    Then state "working" is active

  Scenario: COMPLETE while selecting ends the task (C-02)
    Given state "selecting" is active
    When actor "select_agent" is done with {"type": "COMPLETE", "summary": "nothing to do"}
    Then state "complete" is active
    And the output contains {"outcome": "success"}

  Scenario: An unknown agent is an error of the arbiter (S3-060)
    Given state "selecting" is active
    When actor "select_agent" is done with {"type": "SELECT_MODE", "mode": "ghost", "reason": "?"}
    Then state "backing_off" is active
    And the log contains "Arbiter selected unknown agent: ghost"

  Scenario: SKIP leaves out the step at work (C-28)
    Given state "evaluating" is active
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}, {"index": 2, "description": "b"}]}
    When actor "evaluate_progress" is done with {"type": "SKIP", "reason": "not needed"}
    Then state "selecting" is active
    And the input of actor "select_agent" contains {"plan": {"current_step_index": 1, "steps": [{"index": 1, "status": "skipped"}, {"index": 2, "status": "pending"}]}}

  Scenario: SKIP while selecting leaves out the step and selects anew (C-28)
    Given state "selecting" is active
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}, {"index": 2, "description": "b"}]}
    When actor "select_agent" is done with {"type": "SKIP", "reason": "not needed"}
    Then state "selecting" is active
    And the input of actor "select_agent" contains {"plan": {"current_step_index": 1}}

  Scenario: A judgement that is none is a timeout in the end (C-39)
    Given state "evaluating" is active
    When actor "evaluate_progress" is done with {"type": "DANCE"}
    Then state "evaluating" is active
    When I wait 600 seconds
    Then state "backing_off" is active
    And context field "consecutive_failures" equals 1

  Scenario: An arbiter that does not answer is a timeout
    Given state "evaluating" is active
    When I wait 120 seconds
    Then state "backing_off" is active
    And actor "evaluate_progress" is stopped

  Scenario: ABORT fails the task (C-28)
    Given state "evaluating" is active
    When actor "evaluate_progress" is done with {"type": "ABORT", "reason": "it cannot be done"}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "summary": "it cannot be done"}

  # ---------------------------------------------------------------- the limit of iterations

  Scenario: RETRY does not get past the cap (C-03)
    Given state "evaluating" is active
    And context field "max_iterations" is 3
    And context field "iteration_count" is 3
    When actor "evaluate_progress" is done with {"type": "RETRY", "reason": "once more"}
    Then state "complete" is active
    And actor "select_agent" is not started

  Scenario: CONTINUE does not get past the cap (C-03)
    Given state "evaluating" is active
    And guard max_iterations_reached is true
    When actor "evaluate_progress" is done with {"type": "CONTINUE", "reason": "go on"}
    Then state "complete" is active
    And actor "execute_agent" is not started

  Scenario: A selection does not get past the cap (C-03)
    Given state "selecting" is active
    And context field "max_iterations" is 3
    And context field "iteration_count" is 3
    When actor "select_agent" is done with {"type": "SELECT_MODE", "mode": "developer", "reason": "r"}
    Then state "complete" is active
    And the output contains {"outcome": "limit"}

  Scenario: The cap is no success (C-04)
    Given state "evaluating" is active
    And context field "max_iterations" is 3
    And context field "iteration_count" is 3
    When actor "evaluate_progress" is done with {"type": "CONTINUE", "reason": "go on"}
    Then state "complete" is active
    And the output contains {"outcome": "limit", "summary": "Max iterations reached", "iterations": 3}
    And the log contains "[rawko] Max iterations (3) reached"
    And the log contains "[rawko] Task stopped at its limit of 3 iterations"

  Scenario: Success at the cap is success (C-03, C-04)
    Given state "evaluating" is active
    And guard max_iterations_reached is true
    When actor "evaluate_progress" is done with {"type": "COMPLETE", "summary": "all done"}
    Then the output contains {"outcome": "success"}

  # ---------------------------------------------------------------- the agent's machine

  Scenario: The agent's own chart is chosen when it is invoked (C-09)
    Given state "selecting" is active
    And context field "agents" is {"prover": {"name": "prover", "display_name": "Prover", "when_to_use": "to prove", "chart": "proof_loop"}}
    When actor "select_agent" is done with {"type": "SELECT_MODE", "mode": "prover", "reason": "r"}
    Then the input of actor "execute_agent" contains {"agent": {"name": "prover", "chart": "proof_loop"}}

  Scenario: What the agent says and does reaches observers at once (C-25)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When actor "execute_agent" yields event AGENT_MESSAGE with message={"role": "assistant", "content": "hello"}
    Then state "executing" is active
    And event AGENT_MESSAGE is emitted with agent="developer"
    When actor "execute_agent" yields event AGENT_TOOL_CALL with tool_call={"id": "1", "name": "bash", "input": {}}
    Then event AGENT_TOOL_CALL is emitted
    And the log contains "[rawko] Tool call: bash"

  Scenario: Only data is kept of what an agent answers (C-26)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When actor "execute_agent" fails with {"message": "boom", "category": "tool_failure", "tool": "bash"}
    Then context field "last_error" is not null
    When I wait 1 second
    Then the input of actor "select_agent" contains {"last_error": {"agent": "developer", "tool": "bash", "message": "boom", "category": "tool_failure"}}

  Scenario: While a person is needed the orchestrator stays in executing
    Given state "executing" is active
    When actor "execute_agent" yields event AGENT_WAITING with text="Which database?"
    Then state "waiting" is active
    And state "executing" is active
    When actor "execute_agent" yields event AGENT_RESUMED with text=""
    Then state "working" is active
    And state "executing" is active

  Scenario: A limit is neither success nor failure (C-33)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    And context field "consecutive_failures" is 1
    When actor "execute_agent" is done with {"outcome": "limit", "summary": "half way"}
    Then state "evaluating" is active
    And context field "consecutive_failures" equals 1
    And the input of actor "evaluate_progress" contains {"last_execution": {"status": "limit"}}

  Scenario: Plan updates without a plan and without steps are an error (C-36)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When actor "execute_agent" is done with {"outcome": "success", "summary": "s", "plan_updates": {"current_step_index": 1}}
    Then state "backing_off" is active
    And context field "plan" equals null
    And context field "total_failures" equals 1
    And action "record_failure" is called

  Scenario: A run that says itself that it failed has failed (C-13)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When actor "execute_agent" is done with {"outcome": "failure", "error": {"message": "stuck", "category": "tool_failure"}}
    Then state "backing_off" is active
    And context field "consecutive_failures" equals 1
    And action "record_failure" is called

  Scenario: An agent that somebody else has stopped ends the task (C-32)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When actor "execute_agent" is done with {"outcome": "cancelled", "summary": "stopped"}
    Then state "cancelled" is active
    And the output contains {"history": [{"agent": "developer", "result": "cancelled"}]}

  # ---------------------------------------------------------------- errors

  Scenario: A tool error is survived (C-13)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When actor "execute_agent" fails with {"message": "exit code 1", "category": "tool_failure"}
    Then state "backing_off" is active
    And context field "consecutive_failures" equals 1
    And the log contains "[rawko] Agent 'developer' error: exit code 1"
    And the log contains "[rawko] Recovering from error: exit code 1"

  Scenario: A missing permission leads straight to another selection (C-13)
    Given state "executing" is active
    When actor "execute_agent" fails with {"message": "denied", "category": "permission_error"}
    Then state "selecting" is active
    And the input of actor "select_agent" contains {"last_error": {"category": "permission_error", "recovery_options": [{"action": "fallback"}]}}

  Scenario: An error that no retry can mend fails the task (C-13)
    Given state "executing" is active
    When actor "execute_agent" fails with {"message": "no credit", "code": "billing"}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "summary": "no credit", "error": {"category": "provider_error", "code": "billing"}}

  Scenario: An unknown error is survived once (C-13)
    Given state "selecting" is active
    When actor "select_agent" fails with {"message": "?"}
    Then state "backing_off" is active
    When I send event RETRY
    Then state "selecting" is active
    When actor "select_agent" fails with {"message": "?"}
    Then state "failed" is active

  Scenario: Three failures in a row are too many (S3-037, C-13)
    Given state "executing" is active
    And context field "consecutive_failures" is 2
    And context field "total_failures" is 4
    When actor "execute_agent" fails with {"message": "exit code 1", "category": "tool_failure"}
    Then state "failed" is active
    And the log contains "[rawko] Max consecutive failures (3) reached"
    And the log contains "[rawko] Task failed after 5 failures"

  Scenario: For a timeout abort comes first and a fallback second (C-13)
    Given state "executing" is active
    When actor "execute_agent" fails with {"message": "too slow", "category": "timeout"}
    And I send event RETRY
    Then the input of actor "select_agent" contains {"last_error": {"recovery_options": [{"action": "abort"}, {"action": "fallback"}]}}

  Scenario: The options after a rate limit come from its code, not from words (C-40)
    Given state "selecting" is active
    When actor "select_agent" fails with {"message": "slow down", "code": "rate_limited"}
    And I send event RETRY
    Then the input of actor "select_agent" contains {"last_error": {"category": "provider_error", "recovery_options": [{"action": "retry", "description": "Wait and retry (rate limit should clear)"}, {"action": "fallback"}]}}

  Scenario: A rate limit backs off and returns to the arbiter (C-24)
    Given state "executing" is active
    When actor "execute_agent" fails with code "rate_limited"
    Then state "backing_off" is active
    When I wait 60 seconds
    Then state "selecting" is active
    And actor "select_agent" is started

  Scenario: A rate-limited arbiter is not asked for ever (C-24)
    Given state "selecting" is active
    When actor "select_agent" fails with code "rate_limited"
    Then state "backing_off" is active
    And context field "consecutive_failures" equals 1
    And context field "total_failures" equals 1
    When I wait 60 seconds
    Then state "selecting" is active
    When actor "select_agent" fails with code "rate_limited"
    Then state "backing_off" is active
    When I wait 60 seconds
    And actor "select_agent" fails with code "rate_limited"
    Then state "failed" is active
    And context field "consecutive_failures" equals 3

  Scenario: The arbiter, too, asks another model where its own cannot be had
    Given context field "fallback" is {"model": "b", "provider": "openai", "when": ["overloaded"], "after": 1}
    And state "selecting" is active
    When actor "select_agent" fails with {"message": "busy", "category": "provider_error", "code": "overloaded", "model": "a"}
    Then state "backing_off" is active
    When I wait 60 seconds
    And actor "select_agent" fails with {"message": "busy", "category": "provider_error", "code": "overloaded", "model": "a"}
    Then state "selecting" is active
    And action "fall_back" is called
    And event MODEL_FALLBACK is emitted
    And context field "consecutive_failures" equals 0
    And context field "total_failures" equals 2
    And the input of actor "select_agent" contains {"instead": {"model": "b", "provider": "openai"}}

  Scenario: A judge that falls back judges the same work; the failure that would end the task is not waited out
    Given state "evaluating" is active
    And context field "history" is [{"agent": "developer", "iteration": 1, "started_at": 0, "completed_at": 1, "result": "success"}]
    And context field "fallback" is {"model": "b", "after": 9}
    And context field "consecutive_failures" is 2
    When actor "evaluate_progress" fails with code "overloaded"
    Then state "evaluating" is active
    And the input of actor "evaluate_progress" contains {"instead": {"model": "b"}}

  Scenario: A judge's error counts too, but is no execution (C-24)
    Given state "evaluating" is active
    When actor "evaluate_progress" fails with code "overloaded"
    Then state "backing_off" is active
    And context field "consecutive_failures" equals 1
    And action "count_failure" is called
    And action "record_failure" is not called

  Scenario: What the provider asks for is waited (C-24)
    Given state "selecting" is active
    When actor "select_agent" fails with {"message": "slow down", "code": "rate_limited", "retry_after_ms": 30000}
    And I wait 29 seconds
    Then state "backing_off" is active
    When I wait 1 second
    Then state "selecting" is active

  # ---------------------------------------------------------------- people

  Scenario: CANCEL while idle (C-29)
    Given state "idle" is active
    When I send event CANCEL
    Then state "cancelled" is active

  Scenario: CANCEL while selecting (C-29)
    Given state "selecting" is active
    When I send event CANCEL
    Then state "cancelled" is active
    And actor "select_agent" is stopped
    And the output contains {"outcome": "cancelled"}

  Scenario: CANCEL while evaluating (C-29)
    Given state "evaluating" is active
    When I send event CANCEL
    Then state "cancelled" is active
    And actor "evaluate_progress" is stopped

  Scenario: CANCEL while backing off (C-29)
    Given state "selecting" is active
    When actor "select_agent" fails with code "overloaded"
    And I send event CANCEL
    Then state "cancelled" is active
    And the log contains "[rawko] Task cancelled"

  Scenario: CANCEL while executing stops the agent first and records its run (C-29, C-32)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When I send event CANCEL
    Then state "cancelling" is active
    And event CANCEL is sent
    When actor "execute_agent" is done with {"outcome": "cancelled", "summary": "stopped"}
    Then state "cancelled" is active
    And the output contains {"outcome": "cancelled", "history": [{"agent": "developer", "result": "cancelled", "output": "stopped"}]}

  Scenario: CANCEL waits for the agent for ten seconds (C-29)
    Given state "executing" is active
    When I send event CANCEL
    And I wait 9 seconds
    Then state "cancelling" is active
    When I wait 1 second
    Then state "cancelled" is active
    And actor "execute_agent" is stopped
    And the output contains {"history": [{"result": "cancelled"}]}

  Scenario: CANCEL reaches an agent that waits for a person (C-29)
    Given state "executing" is active
    When actor "execute_agent" yields event AGENT_WAITING with text="Which?"
    And I send event CANCEL
    Then state "cancelling" is active

  Scenario: A forced agent works at once where no agent works (C-28)
    Given state "selecting" is active
    When I send event FORCE_AGENT with agent_name="planner"
    Then state "executing" is active
    And context field "current_mode" equals "planner"
    And actor "select_agent" is stopped

  Scenario: An unknown agent cannot be forced (C-28)
    Given state "selecting" is active
    When I send event FORCE_AGENT with agent_name="ghost"
    Then state "selecting" is active
    And context field "current_mode" equals ""

  Scenario: A forced agent waits until the other has stopped (C-28)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When I send event FORCE_AGENT with agent_name="planner"
    Then state "stopping" is active
    And event CANCEL is sent
    When actor "execute_agent" is done with {"outcome": "cancelled"}
    Then state "working" is active
    And context field "current_mode" equals "planner"
    And action "record_cancelled" is called

  Scenario: A forced agent does not wait for ever for the other to stop (C-28)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When I send event FORCE_AGENT with agent_name="planner"
    And I wait 10 seconds
    Then state "working" is active
    And context field "current_mode" equals "planner"
    And action "record_cancelled" is called

  Scenario: A forced agent works at once while another's work is judged (C-28)
    Given state "evaluating" is active
    When I send event FORCE_AGENT with agent_name="planner"
    Then state "executing" is active
    And actor "evaluate_progress" is stopped

  Scenario: A forced agent does not wait for the end of the backing off (C-28)
    Given state "backing_off" is active
    When I send event FORCE_AGENT with agent_name="planner"
    Then state "executing" is active

  Scenario: Nobody can be forced past the cap (C-03)
    Given state "backing_off" is active
    And context field "max_iterations" is 3
    And context field "iteration_count" is 3
    When I send event FORCE_AGENT with agent_name="planner"
    Then state "backing_off" is active

  Scenario: A step is skipped while its work is judged (C-28)
    Given state "evaluating" is active
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}]}
    When I send event SKIP_STEP
    Then state "selecting" is active

  Scenario: A step is skipped while the machine waits (C-28)
    Given state "backing_off" is active
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}]}
    When I send event SKIP_STEP
    Then state "backing_off" is active
    And action "skip_step" is called

  Scenario: The agent is stopped before its step is skipped (C-28)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}]}
    When I send event SKIP_STEP
    Then state "stopping" is active
    And event CANCEL is sent
    When actor "execute_agent" is done with {"outcome": "cancelled"}
    Then state "selecting" is active
    And action "record_cancelled" is called

  Scenario: A step is skipped even where the agent does not stop (C-28)
    Given state "executing" is active
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}]}
    When I send event SKIP_STEP
    And I wait 10 seconds
    Then state "selecting" is active

  Scenario: A step is skipped by a person (C-28)
    Given state "selecting" is active
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}, {"index": 2, "description": "b"}]}
    When I send event SKIP_STEP
    Then state "selecting" is active
    And the input of actor "select_agent" contains {"plan": {"current_step_index": 1}}

  Scenario: Without a plan there is nothing to skip (C-28)
    Given state "selecting" is active
    When I send event SKIP_STEP
    Then action "skip_step" is not called

  Scenario: RETRY cuts the wait short (C-28)
    Given state "selecting" is active
    When actor "select_agent" fails with code "overloaded"
    Then state "backing_off" is active
    When I send event RETRY
    Then state "selecting" is active

  Scenario: What a person says is in the arbiter's next question (S3-024)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    And context field "iteration_count" is 1
    When I send event USER_MESSAGE with content="Leave the tests alone", who="ada"
    Then state "working" is active
    And event USER_MESSAGE is emitted with text="Leave the tests alone", who="ada"
    When actor "execute_agent" is done with {"outcome": "success", "summary": "did it"}
    Then the input of actor "evaluate_progress" contains {"user_messages": [{"text": "Leave the tests alone", "iteration": 1}]}

  Scenario: An arbiter that is choosing is asked again with what a person says (S3-024)
    Given state "selecting" is active
    When I send event USER_MESSAGE with content="Begin with a plan"
    Then state "selecting" is active
    And actor "select_agent" is stopped
    And actor "select_agent" is started
    And the input of actor "select_agent" contains {"user_messages": [{"text": "Begin with a plan", "iteration": 0}]}

  Scenario: An arbiter that is judging is asked again with what a person says (S3-024)
    Given state "evaluating" is active
    And context field "history" is [{"agent": "developer", "iteration": 1, "started_at": 0, "completed_at": 1, "result": "success"}]
    When I send event USER_MESSAGE with content="That is enough"
    Then state "evaluating" is active
    And the input of actor "evaluate_progress" contains {"user_messages": [{"text": "That is enough"}]}

  Scenario: What a person says does not shorten a wait (S3-024)
    Given state "backing_off" is active
    When I send event USER_MESSAGE with content="No hurry"
    Then state "backing_off" is active
    And action "record_user_message" is called

  Scenario: A message without words is not taken (S3-024)
    Given state "selecting" is active
    When I send event USER_MESSAGE with content="  "
    Then action "record_user_message" is not called

  Scenario: A finished step says who worked on it (S3-012)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}, {"index": 2, "description": "b"}]}
    When actor "execute_agent" is done with {"outcome": "success", "summary": "did a", "plan_updates": {"step_updates": [{"index": 1, "status": "complete"}]}}
    Then the input of actor "evaluate_progress" contains {"plan": {"steps": [{"index": 1, "status": "complete", "agent_used": "developer"}, {"index": 2, "agent_used": null}]}}

  Scenario: A step on which an agent failed says who worked on it (S3-012)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    And context field "plan" is {"steps": [{"index": 1, "description": "a"}, {"index": 2, "description": "b"}]}
    When actor "execute_agent" fails with {"message": "it broke", "category": "permission_error"}
    Then state "selecting" is active
    And the input of actor "select_agent" contains {"plan": {"steps": [{"index": 1, "agent_used": "developer"}, {"index": 2, "agent_used": null}]}}

  Scenario: The session is cleaned up whatever the verdict (C-30)
    Given state "selecting" is active
    And context field "session_id" is "s1"
    When actor "select_agent" is done with {"type": "ABORT", "reason": "no"}
    Then state "failed" is active
    And action "cleanup_session" is called
    And event SESSION_CLEANUP is emitted with session_id="s1"

  # ---------------------------------------------------------------- budgets and follow-ups

  Scenario: An arbiter for which there is no budget is no failure; a larger one lets it be asked
    Given state "selecting" is active
    When actor "select_agent" fails with code "budget"
    Then state "out_of_budget" is active
    And context field "total_failures" equals 0
    And event OUT_OF_BUDGET is emitted
    When I send event RESUME
    Then state "selecting" is active
    And actor "select_agent" is started

  Scenario: A wait for which there is no time left is not waited; with a larger budget the arbiter is asked
    Given state "backing_off" is active
    Then actor "check_wait" is started
    When actor "check_wait" fails with code "budget"
    Then state "out_of_budget" is active
    And event OUT_OF_BUDGET is emitted
    When I send event RESUME
    Then state "selecting" is active
    And actor "select_agent" is started

  Scenario: A wait that cannot be judged is not waited; the arbiter is asked at once
    Given state "backing_off" is active
    When actor "check_wait" fails with code "timeout"
    Then state "selecting" is active
    And actor "select_agent" is started

  Scenario: A wait for which there is time left is waited
    Given state "backing_off" is active
    When actor "check_wait" is done with {}
    Then state "backing_off" is active

  Scenario: A judgement for which there is no budget is made up for
    Given state "evaluating" is active
    And context field "history" is [{"agent": "developer", "iteration": 1, "started_at": 0, "result": "success"}]
    When actor "evaluate_progress" fails with code "budget"
    Then state "out_of_budget" is active
    When I send event RESUME
    Then state "evaluating" is active
    And actor "evaluate_progress" is started

  Scenario: CANCEL while the budget is used up (C-29)
    Given state "out_of_budget" is active
    When I send event CANCEL
    Then state "cancelled" is active

  Scenario: A forced agent may try while the budget is used up (C-28)
    Given state "out_of_budget" is active
    And context field "agents" is {"developer": {"name": "developer", "display_name": "", "when_to_use": ""}}
    When I send event FORCE_AGENT with agent_name="developer"
    Then state "executing" is active

  Scenario: A step is skipped while the budget is used up (C-28)
    Given state "out_of_budget" is active
    And context field "plan" is {"steps": [{"index": 1, "description": "a", "status": "pending"}, {"index": 2, "description": "b", "status": "pending"}], "current_step_index": 0, "is_complete": false}
    When I send event SKIP_STEP
    Then state "out_of_budget" is active
    And context field "plan" contains {"current_step_index": 1}

  Scenario: A task goes on where another run ended
    Given state "idle" is active
    When I send event FOLLOW_UP
      """
      {"task": "Now write its tests", "run": "r1", "earlier_task": "Write fizzbuzz", "outcome": "success", "summary": "Written.",
       "agent": "developer", "history": [], "plan": null, "changes": {"modified": ["fizz.py"]},
       "messages": [{"agent": "developer", "iteration": 0, "message": {"role": "user", "content": [{"type": "text", "text": "Write fizzbuzz"}]}}]}
      """
    Then state "selecting" is active
    And context field "task" equals "Now write its tests"
    And context field "carried_agent" equals "developer"
    And context field "earlier" equals {"run": "r1", "task": "Write fizzbuzz", "outcome": "success", "summary": "Written.", "changes": {"added": [], "modified": ["fizz.py"], "deleted": [], "more": 0}}
    And context field "messages" contains [{"agent": "developer"}]
    And event RUN_CONTINUED is emitted

  Scenario: A follow-up without a task is none
    Given state "idle" is active
    When I send event FOLLOW_UP with task=" ", run="r1"
    Then state "idle" is active

  Scenario: A question that nobody is there to answer ends the task, since no other agent could get an answer
    Given state "executing" is active
    When actor "execute_agent" fails with {"message": "nobody is there", "category": "unknown", "code": "unattended"}
    Then state "failed" is active

  Scenario: A call that waits for the rate limit of the run is told, and nothing else changes (AL-070)
    Given state "selecting" is active
    When I send event RATE_WAIT with what="call", limit=60, wait_ms=900
    Then state "selecting" is active
    And event RATE_WAIT is emitted

  Scenario: An agent that is being cancelled is not cancelled twice
    Given state "cancelling" is active
    When I send event CANCEL
    Then state "cancelling" is active

  Scenario Outline: A message without words changes nothing
    Given state "<state>" is active
    When I send event USER_MESSAGE with content=" "
    Then state "<state>" is active
    And action "record_user_message" is not called

    Examples:
      | state      |
      | evaluating |
      | executing  |

  Scenario: Only an agent that there is can be forced
    Given state "executing" is active
    When I send event FORCE_AGENT with agent_name="nobody"
    Then state "working" is active

  Scenario: Without a plan there is no step to skip
    Given state "executing" is active
    When I send event SKIP_STEP
    Then state "working" is active

  Scenario: An agent that fails while it is being stopped is stopped
    Given state "stopping" is active
    When actor "execute_agent" fails with code "cancelled"
    Then state "selecting" is active

  Scenario: An agent that fails while it makes way for a forced one is stopped (C-28)
    Given state "executing" is active
    And context field "current_mode" is "developer"
    When I send event FORCE_AGENT with agent_name="planner"
    And actor "execute_agent" fails with code "cancelled"
    Then state "working" is active
    And context field "current_mode" equals "planner"

  Scenario: A look for evidence that fails for good ends the task
    Given state "checking_evidence" is active
    When actor "check_evidence" fails with code "unknown"
    Then state "failed" is active
    And action "count_failure" is called
