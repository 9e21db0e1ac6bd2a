Feature: A walk over nodes, attempt by attempt
  The contract of node_engine.yaml. Ids in brackets are the requirements that a scenario shows.

  Background:
    Given input {"run_id": "r1", "seed": 7, "node_name": "launch"}

  # ---------------------------------------------------------------- success

  Scenario: Before the first attempt it is asked whether to stop, then the engine runs one attempt (NE-008, NE-009, C-62)
    Given state "idle" is active
    When I send event START
    Then state "checking" is active
    And actor "check_stop" is started
    And event RUN_STARTED is emitted
    When actor "check_stop" is done with {"stop": false, "reason": null}
    Then state "executing" is active
    And actor "run_once" is started
    And the input of actor "run_once" contains {"current_node": "launch", "seed": 7, "state": {"node_name": "launch", "step_ordinal": 1}}
    And event ATTEMPT_STARTED is emitted with node_name="launch", step_ordinal=1
    And the log contains "Attempt 1 of 'launch'"

  Scenario: A run without a seed fails before it does anything (C-67)
    Given state "idle" is active
    And context field "seed" is ""
    When I send event START
    Then state "failed" is active
    And actor "check_stop" is not started
    And the output contains {"outcome": "failed", "reason": "missing_input", "error": {"message": "the input lacks 'seed'; accepted: the name of a node, and an integer or a text as the seed"}}

  Scenario: An attempt is kept first, then told of (NE-006)
    Given state "executing" is active
    When actor "run_once" is done with {"outcome": "SUCCESS", "next_node": "perceive", "retry_delay_ms": null, "backtracked": false, "events": [{"type": "LAUNCHED"}], "data": {"pid": 7}, "tokens": 3, "is_retryable": true, "error": null}
    Then state "persisting" is active
    And actor "persist" is started
    And the input of actor "persist" contains {"node_name": "launch", "events": [{"type": "LAUNCHED"}], "state": {"data": {"pid": 7}, "tokens": 3}}
    And event ATTEMPT_DONE is emitted
    And actor "report_attempt" is not started
    When actor "persist" is done
    Then state "reporting" is active
    And actor "report_attempt" is started
    And the input of actor "report_attempt" contains {"result": {"outcome": "SUCCESS", "next_node": "perceive"}}
    When actor "report_attempt" is done
    Then state "transitioning" is entered
    And state "checking" is active
    And context field "node_name" equals "perceive"
    And context field "path" equals ["launch"]
    And event TRANSITIONED is emitted with from_node="launch", to_node="perceive", is_degraded=false

  Scenario: Only the attempt itself says that it is done (NE-008)
    Given state "executing" is active
    When I send event ATTEMPT_DONE with result={"outcome": "SUCCESS"}
    Then state "executing" is active
    And actor "persist" is not started

  Scenario: A callback that nobody waits for is not called
    Given state "executing" is active
    And context field "callbacks" is []
    When actor "run_once" is done with {"outcome": "SUCCESS", "next_node": "perceive", "retry_delay_ms": null, "backtracked": false, "events": [], "data": {}, "tokens": 0, "is_retryable": true, "error": null}
    Then state "persisting" is entered
    And state "reporting" is entered
    And state "checking" is active
    And actor "persist" is not started
    And actor "report_attempt" is not started
    And event ATTEMPT_DONE is emitted

  Scenario: Who is only told is told without anything being kept
    Given state "executing" is active
    And context field "callbacks" is ["on_attempt"]
    When actor "run_once" is done with {"outcome": "SUCCESS", "next_node": null, "retry_delay_ms": null, "backtracked": false, "events": [], "data": {}, "tokens": 0, "is_retryable": true, "error": null}
    Then state "reporting" is active
    And actor "persist" is not started
    And actor "report_attempt" is started

  Scenario: An attempt without a result is not kept where nobody keeps any
    Given state "executing" is active
    And context field "callbacks" is []
    When I send event STOP_REQUESTED
    Then state "stopped" is active
    And actor "run_once" is stopped
    And actor "persist_interrupted" is not started
    And event ATTEMPT_INTERRUPTED is emitted

  Scenario: A success that leads nowhere ends the run (NE-010)
    Given state "reporting" is active
    And context field "result" is {"outcome": "SUCCESS"}
    When actor "report_attempt" is done
    Then state "finished" is active
    And statechart is in a final configuration
    And the output contains {"run_id": "r1", "outcome": "finished", "reason": null, "error": null}
    And event RUN_ENDED is emitted with outcome="finished", reason=null

  # ---------------------------------------------------------------- retry

  Scenario: The engine's delay is waited before the same node is tried again (NE-005, NE-010)
    Given state "reporting" is active
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "retry_delay_ms": 700}
    When actor "report_attempt" is done
    Then state "waiting_retry" is active
    And context field "retries" equals 1
    And event RETRY_SCHEDULED is emitted with node_name="launch", retry=1, delay_ms=700
    When I wait 0.6 seconds
    Then state "waiting_retry" is active
    When I wait 0.1 seconds
    Then state "checking" is active
    And context field "node_name" equals "launch"

  Scenario: A delay of 0 is a retry at once, not none (C-63)
    Given state "reporting" is active
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "retry_delay_ms": 0}
    When actor "report_attempt" is done
    Then state "waiting_retry" is entered
    And state "checking" is active
    And context field "retries" equals 1
    And actor "watch_stop" is not started

  Scenario: A delay before another node is waited there (C-60)
    Given state "reporting" is active
    And context field "result" is {"outcome": "SUCCESS", "next_node": "perceive", "retry_delay_ms": 200}
    When actor "report_attempt" is done
    Then state "waiting_retry" is active
    And context field "node_name" equals "perceive"
    And context field "retries" equals 0
    When I wait 0.2 seconds
    Then state "checking" is active

  Scenario: During a wait it is asked again whether to stop (C-62)
    Given state "reporting" is active
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "retry_delay_ms": 5000}
    When actor "report_attempt" is done
    And I wait 1 second
    Then state "watching" is active
    And actor "watch_stop" is started
    When actor "watch_stop" is done with {"stop": false, "reason": null}
    Then state "resting" is active
    When I wait 1 second
    And actor "watch_stop" is done with {"stop": true, "reason": "cancelled by ann"}
    Then state "stopped" is active
    And the output contains {"outcome": "stopped", "reason": "cancelled by ann"}

  Scenario: Who cannot be asked during a wait cannot be trusted to say go on (C-62)
    Given state "watching" is active
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "retry_delay_ms": 5000}
    When actor "watch_stop" fails with {"message": "no route", "category": "unknown"}
    Then state "failed" is active
    And the output contains {"outcome": "failed", "reason": "check_failed", "error": {"message": "no route", "attempted": "should_stop"}}

  # ---------------------------------------------------------------- steps back and transitions after failures

  Scenario: The engine goes back (NE-010, C-61)
    Given state "reporting" is active
    And context field "node_name" is "perceive"
    And context field "path" is ["launch"]
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "backtracked": true}
    When actor "report_attempt" is done
    Then state "backtracking" is entered
    And state "checking" is active
    And context field "node_name" equals "launch"
    And context field "path" equals []
    And context field "backtracks" equals 1
    And context field "is_degraded" equals false
    And event BACKTRACKED is emitted with from_node="perceive", to_node="launch", backtracks=1

  Scenario: Going back for ever is capped, and named
    Given state "reporting" is active
    And context field "backtracks" is 10
    And context field "result" is {"outcome": "FAILURE", "next_node": "splash", "backtracked": true, "error": {"message": "dead end", "category": "tool_failure"}}
    When actor "report_attempt" is done
    Then state "failed" is active
    And state "backtracking" is not entered
    And the output contains {"reason": "backtrack_limit", "error": {"message": "the walk has gone back 10 times, at most 10 are allowed; last: dead end"}}

  Scenario: A failure for which the engine has chosen a next node goes on there, degraded (C-60)
    Given state "reporting" is active
    And context field "result" is {"outcome": "FAILURE", "next_node": "give_up"}
    When actor "report_attempt" is done
    Then state "transitioning" is entered
    And context field "node_name" equals "give_up"
    And context field "is_degraded" equals true
    And event TRANSITIONED is emitted with to_node="give_up", is_degraded=true

  # ---------------------------------------------------------------- ends of a run

  Scenario: A failure that leads nowhere ends the run (NE-010)
    Given state "reporting" is active
    And context field "result" is {"outcome": "FAILURE", "error": {"message": "no such program", "category": "tool_failure"}}
    When actor "report_attempt" is done
    Then state "failed" is active
    And the output contains {"outcome": "failed", "reason": "node_failed", "error": {"message": "no such program", "category": "tool_failure"}}

  Scenario: A result without an outcome is undecidable, and no machine is stuck on it (C-60)
    Given state "reporting" is active
    And context field "result" is {"outcome": null, "next_node": "perceive"}
    When actor "report_attempt" is done
    Then state "failed" is active
    And the output contains {"reason": "undecidable_result", "error": {"category": "validation_error"}}

  Scenario: An engine that fails leaves no attempt unrecorded (C-64)
    Given state "executing" is active
    When actor "run_once" fails with {"message": "the engine is broken", "category": "unknown"}
    Then state "closing" is active
    And event ATTEMPT_INTERRUPTED is emitted
    And the input of actor "persist_interrupted" contains {"node_name": "launch", "events": [{"type": "ATTEMPT_INTERRUPTED", "reason": "the engine is broken"}]}
    When actor "persist_interrupted" is done
    Then state "failed" is active
    And the output contains {"reason": "engine_error", "error": {"message": "the engine is broken", "attempted": "run_once"}}

  Scenario: A persist that fails ends the run, the attempt is not told of, and not lost (C-64)
    Given state "persisting" is active
    And context field "result" is {"outcome": "SUCCESS", "next_node": "perceive"}
    When actor "persist" fails with {"message": "disk full", "category": "unknown"}
    Then state "failed" is active
    And actor "report_attempt" is not started
    And the output contains {"reason": "persist_failed", "error": {"message": "disk full"}, "state": {"result": {"outcome": "SUCCESS", "next_node": "perceive"}}}

  Scenario: A persist that hangs is a persist that fails (C-64)
    Given state "executing" is active
    When actor "run_once" is done with {"outcome": "SUCCESS", "next_node": null, "retry_delay_ms": null, "backtracked": false, "events": [], "data": {}, "tokens": 0, "is_retryable": true, "error": null}
    And I wait 30 seconds
    Then state "failed" is active
    And actor "persist" is stopped
    And the output contains {"reason": "persist_failed", "error": {"category": "timeout", "message": "on_persist did not end in time"}}

  Scenario: Whoever is told of attempts must not fail
    Given state "reporting" is active
    And context field "result" is {"outcome": "SUCCESS"}
    When actor "report_attempt" fails with {"message": "nobody listens", "category": "unknown"}
    Then state "failed" is active
    And the output contains {"reason": "report_failed"}

  Scenario: Who cannot be asked whether to stop cannot be trusted to say go on (C-62)
    Given state "checking" is active
    When actor "check_stop" fails with {"message": "no route", "category": "unknown"}
    Then state "failed" is active
    And actor "run_once" is not started
    And the output contains {"reason": "check_failed"}

  # ---------------------------------------------------------------- stopping

  Scenario: should_stop ends the run before an attempt (NE-007, C-62)
    Given state "checking" is active
    When actor "check_stop" is done with {"stop": true, "reason": "lease_lost"}
    Then state "stopped" is active
    And actor "run_once" is not started
    And the output contains {"outcome": "stopped", "reason": "lease_lost", "error": null}

  Scenario: should_stop need not say why
    Given state "checking" is active
    When actor "check_stop" is done with {"stop": true, "reason": null}
    Then the output contains {"outcome": "stopped", "reason": "requested"}

  Scenario: A run that has not begun is stopped at once (C-62)
    Given state "idle" is active
    When I send event STOP_REQUESTED
    Then state "stopped" is active
    And the output contains {"outcome": "stopped", "reason": "requested"}

  Scenario: An attempt at work is stopped, and that is kept (C-62, C-64)
    Given state "executing" is active
    When I send event STOP_REQUESTED with reason="ann has had enough"
    Then actor "run_once" is stopped
    And state "closing" is active
    And the input of actor "persist_interrupted" contains {"events": [{"type": "ATTEMPT_INTERRUPTED", "reason": "ann has had enough"}]}
    When I send event STOP_REQUESTED with reason="again"
    Then state "closing" is active
    When actor "persist_interrupted" is done
    Then state "stopped" is active
    And the output contains {"outcome": "stopped", "reason": "ann has had enough"}

  Scenario: A run that is being stopped ends also where that cannot be kept (C-64)
    Given state "closing" is active
    And context field "stop_reason" is "ann has had enough"
    When actor "persist_interrupted" fails with {"message": "disk full", "category": "unknown"}
    Then state "stopped" is active
    And the log contains "on_persist failed: disk full"

  Scenario: What is being written is written before the run stops (C-62, C-64)
    Given state "persisting" is active
    And context field "result" is {"outcome": "SUCCESS", "next_node": "perceive"}
    When I send event STOP_REQUESTED with reason="enough"
    Then actor "persist" is not stopped
    When actor "persist" is done
    And I send event STOP_REQUESTED with reason="more than enough"
    And actor "report_attempt" is done
    Then state "checking" is entered
    And state "stopped" is active
    And actor "run_once" is not started
    And the output contains {"reason": "enough", "state": {"node_name": "perceive"}}

  Scenario: A run that finishes while it is asked to stop has finished
    Given state "reporting" is active
    And context field "result" is {"outcome": "SUCCESS"}
    When I send event STOP_REQUESTED
    And actor "report_attempt" is done
    Then state "finished" is active

  Scenario: A wait is cut short (C-62)
    Given state "reporting" is active
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "retry_delay_ms": 60000}
    When actor "report_attempt" is done
    And I send event STOP_REQUESTED with reason="enough"
    Then state "stopped" is active
    And the output contains {"outcome": "stopped", "reason": "enough"}

  Scenario: No wait begins in a run that is being stopped (C-62)
    Given state "reporting" is active
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "retry_delay_ms": 60000}
    And context field "stop_reason" is "enough"
    When actor "report_attempt" is done
    Then state "waiting_retry" is entered
    And state "stopped" is active

  # ---------------------------------------------------------------- budgets

  Scenario: Attempts are counted, and bounded (NE-007, NE-011)
    Given state "reporting" is active
    And context field "budgets" is {"attempts": 3}
    And context field "step_ordinal" is 3
    And context field "result" is {"outcome": "SUCCESS", "next_node": "perceive"}
    When actor "report_attempt" is done
    Then state "stopped" is active
    And actor "check_stop" is not started
    And the output contains {"outcome": "stopped", "reason": "attempts"}

  Scenario: Tokens are counted, and bounded (NE-011)
    Given state "reporting" is active
    And context field "budgets" is {"tokens": 100}
    And context field "tokens" is 120
    And context field "result" is {"outcome": "SUCCESS", "next_node": "perceive"}
    When actor "report_attempt" is done
    Then the output contains {"outcome": "stopped", "reason": "tokens"}

  Scenario: Time runs out during a wait (NE-011)
    Given state "reporting" is active
    And context field "budgets" is {"wall_ms": 1500}
    And context field "started_at_ms" is 0
    And context field "result" is {"outcome": "FAILURE", "next_node": "launch", "retry_delay_ms": 60000}
    When actor "report_attempt" is done
    And I wait 1 second
    And actor "watch_stop" is done with {"stop": false, "reason": null}
    And I wait 1 second
    Then state "stopped" is active
    And the output contains {"outcome": "stopped", "reason": "wall_time"}

  Scenario: Time runs out during an attempt (NE-011)
    Given state "checking" is active
    And context field "budgets" is {"wall_ms": 1500}
    And context field "started_at_ms" is 0
    When actor "check_stop" is done with {"stop": false, "reason": null}
    And I wait 1.5 seconds
    Then actor "run_once" is stopped
    And state "closing" is active
    When actor "persist_interrupted" is done
    Then state "stopped" is active
    And the output contains {"outcome": "stopped", "reason": "wall_time"}

  # ---------------------------------------------------------------- policy: chart (NE-020)

  Scenario: The chart tries again, after a delay of its own (NE-020, C-67)
    Given state "reporting" is active
    And context field "policy" is "chart"
    And context field "result" is {"outcome": "FAILURE"}
    When actor "report_attempt" is done
    Then state "waiting_retry" is active
    And context field "retries" equals 1
    When I wait 1 second
    And actor "check_stop" is done with {"stop": false, "reason": null}
    Then state "executing" is active

  Scenario: The chart does not wait less than what failed asks for (NE-020)
    Given state "reporting" is active
    And context field "policy" is "chart"
    And context field "result" is {"outcome": "FAILURE", "error": {"message": "busy", "category": "provider_error", "retry_after_ms": 9000}}
    When actor "report_attempt" is done
    Then event RETRY_SCHEDULED is emitted with retry=1, delay_ms=9000

  Scenario: The chart goes where the node's policy says (NE-020)
    Given state "reporting" is active
    And context field "policy" is "chart"
    And context field "policies" is {"nodes": {"launch": {"on_failure": "give_up", "retry": {"max_retries": 0}}}}
    And context field "result" is {"outcome": "FAILURE"}
    When actor "report_attempt" is done
    Then state "transitioning" is entered
    And context field "node_name" equals "give_up"
    And context field "is_degraded" equals true

  Scenario: The chart goes back where nothing else is left (NE-020)
    Given state "reporting" is active
    And context field "policy" is "chart"
    And context field "policies" is {"default": {"can_backtrack": true}}
    And context field "path" is ["splash"]
    And context field "result" is {"outcome": "FAILURE", "is_retryable": false}
    When actor "report_attempt" is done
    Then state "backtracking" is entered
    And context field "node_name" equals "splash"
    And context field "backtracks" equals 1

  Scenario: The chart's ways back are capped, too (NE-020)
    Given state "reporting" is active
    And context field "policy" is "chart"
    And context field "policies" is {"default": {"can_backtrack": true}, "max_backtracks": 2}
    And context field "path" is ["splash"]
    And context field "backtracks" is 2
    And context field "result" is {"outcome": "FAILURE", "is_retryable": false}
    When actor "report_attempt" is done
    Then state "failed" is active
    And the output contains {"reason": "backtrack_limit"}

  # ---------------------------------------------------------------- resuming

  Scenario: A run that goes on from a persisted attempt tells of it and decides on it first (NE-011)
    Given state "idle" is active
    And context field "result" is {"outcome": "SUCCESS", "next_node": "perceive"}
    And context field "step_ordinal" is 4
    When I send event START
    Then state "reporting" is active
    And actor "run_once" is not started
    When actor "report_attempt" is done
    And actor "check_stop" is done with {"stop": false, "reason": null}
    Then state "executing" is active
    And the input of actor "run_once" contains {"current_node": "perceive", "state": {"step_ordinal": 5}}
