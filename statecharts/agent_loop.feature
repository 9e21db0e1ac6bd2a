Feature: The loop of one agent, tool call by tool call
  The contract of agent_loop.yaml. Ids in brackets are the requirements that a scenario shows.

  # ---------------------------------------------------------------- start

  Scenario: Entry 0 is captured before the first turn, so that the first change can be undone (C-52, C-53)
    Given state "starting" is active
    And context field "prompt" is "Write fizzbuzz"
    Then actor "capture_first" is started
    And actor "stream_agent" is not started
    When actor "capture_first" is done with {"snapshot": {"tree": "t0", "commit": "c0", "label": "start"}, "written": []}
    Then state "thinking" is active
    And actor "stream_agent" is started
    And the input of actor "stream_agent" contains {"messages": [{"role": "user", "content": [{"type": "text", "text": "Write fizzbuzz"}]}]}
    And context field "snapshot_history" equals [{"tree": "t0", "commit": "c0", "label": "start", "skipped": [], "call_id": null}]

  Scenario: Without a prompt it waits for the user (AL-003)
    Given state "starting" is active
    When actor "capture_first" is done with {"snapshot": {"tree": "t0", "commit": "c0", "label": "start"}, "written": []}
    Then state "idle" is active
    When I send event USER_MESSAGE with content="Hello"
    Then state "thinking" is active
    And context field "messages" equals [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]

  Scenario: A workspace that cannot be captured ends the run (C-52)
    Given state "starting" is active
    When actor "capture_first" fails with {"message": "disk full", "category": "unknown"}
    Then state "failed" is active
    And statechart is in a final configuration
    And the output contains {"outcome": "failure", "turns": 0, "error": {"category": "unknown"}}

  # ---------------------------------------------------------------- the model's turn

  Scenario: Text is told to the observers as it arrives, and the whole message to the parent (C-25)
    Given state "thinking" is active
    When actor "stream_agent" yields event TEXT_DELTA with text="Hel"
    Then state "thinking" is active
    And context field "current_response" equals ["Hel"]
    And event TEXT_DELTA is emitted
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}, {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}]},
       "stop_reason": "tool_use", "usage": {"input_tokens": 10, "output_tokens": 2}, "model": "m"}
      """
    Then event AGENT_MESSAGE is sent
    And event AGENT_TOOL_CALL is sent
    And state "checking_gate" is active

  Scenario: All calls of a turn are collected, run in order, and answered in one message (C-55)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [
         {"type": "tool_use", "id": "c1", "name": "read", "input": {"file_path": "a"}},
         {"type": "tool_use", "id": "c2", "name": "read", "input": {"file_path": "b"}}]},
       "stop_reason": "tool_use", "usage": {"input_tokens": 10, "output_tokens": 2}, "model": "m"}
      """
    Then the input of actor "check_gate" contains {"call": {"id": "c1"}}
    When actor "check_gate" is done with {"decision": "allow", "rule": "default", "reason": ""}
    Then state "running_tool" is active
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then the input of actor "check_gate" contains {"call": {"id": "c2"}}
    When actor "check_gate" is done with {"decision": "allow", "rule": "default", "reason": ""}
    And actor "execute_tool" is done with {"content": "B", "is_error": false, "is_read_only": true, "touched": []}
    Then state "thinking" is active
    And action "answer_turn" is called
    And context field "turn_results" equals []
    And context field "tool_steps" equals 2

  Scenario: Usage is summed over all messages (C-34)
    Given state "thinking" is active
    And context field "usage" is {"input_tokens": 5, "output_tokens": 1, "cache_read_tokens": 3, "cache_write_tokens": 0, "calls": 1}
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Done"}}]},
       "stop_reason": "tool_use", "usage": {"input_tokens": 10, "output_tokens": 2, "cache_read_tokens": 4, "calls": 1}, "model": "m"}
      """
    Then state "done" is active
    And the output contains {"outcome": "success", "summary": "Done", "usage": {"input_tokens": 15, "output_tokens": 3, "cache_read_tokens": 7, "cache_write_tokens": 0, "calls": 2}}

  Scenario: A rate limit waits as long as the provider asks, then tries the turn again (C-24)
    Given state "thinking" is active
    When actor "stream_agent" fails with {"message": "slow down", "category": "provider_error", "code": "rate_limited", "retry_after_ms": 30000}
    Then state "backing_off" is active
    And context field "retries" equals 1
    When I wait 29 seconds
    Then state "backing_off" is active
    When I wait 2 seconds
    Then state "thinking" is active
    And actor "stream_agent" is started

  Scenario: Another model is asked where the agent's own cannot be had, to the end of the run
    Given context field "fallback" is {"model": "b", "provider": "openai", "when": ["overloaded", "billing"], "after": 1}
    And state "thinking" is active
    When actor "stream_agent" fails with {"message": "busy", "category": "provider_error", "code": "overloaded", "model": "a"}
    Then state "backing_off" is active
    When I wait 60 seconds
    And actor "stream_agent" fails with {"message": "busy", "category": "provider_error", "code": "overloaded", "model": "a"}
    Then state "thinking" is active
    And action "fall_back" is called
    And event MODEL_FALLBACK is emitted
    And context field "retries" equals 0
    And the input of actor "stream_agent" contains {"instead": {"model": "b", "provider": "openai"}}
    When actor "stream_agent" fails with code "billing"
    Then state "failed" is active

  Scenario: What does not pass is not waited out before another model is asked
    Given context field "fallback" is {"model": "b", "when": ["billing"], "after": 2}
    And state "thinking" is active
    When actor "stream_agent" fails with code "billing"
    Then state "thinking" is active
    And context field "is_fallen_back" equals true

  Scenario: A wait for which the run has no time is not a used up budget where another model can be asked
    Given context field "fallback" is {"model": "b", "after": 9}
    And state "thinking" is active
    When actor "stream_agent" fails with {"message": "no time", "code": "budget", "refused_wait": "rate_limited"}
    Then state "thinking" is active
    And context field "is_fallen_back" equals true
    When actor "stream_agent" fails with {"message": "no time", "code": "budget", "refused_wait": "rate_limited"}
    Then state "out_of_budget" is active

  Scenario: A summary, too, is asked of the other model
    Given context field "fallback" is {"model": "b", "after": 0}
    And state "compacting" is active
    And context field "is_compacting" is true
    When actor "summarise" fails with code "overloaded"
    Then state "compacting" is active
    And the input of actor "summarise" contains {"instead": {"model": "b"}}

  Scenario: A person may cut the wait short
    Given state "backing_off" is active
    When I send event RETRY
    Then state "thinking" is active
    And actor "stream_agent" is started

  Scenario: The retries of a turn are bounded (C-24)
    Given state "thinking" is active
    And context field "retries" is 4
    When actor "stream_agent" fails with code "overloaded"
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"code": "overloaded"}}

  Scenario: An error that will not pass is not tried again (C-24)
    Given state "thinking" is active
    When actor "stream_agent" fails with code "authentication"
    Then state "failed" is active

  Scenario: A refusal is a provider error (C-38)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "No."}]},
       "stop_reason": "refusal", "usage": {}, "model": "m"}
      """
    Then state "failed" is active
    And the output contains {"error": {"category": "provider_error", "code": "refusal"}}

  Scenario: A turn that the server has paused goes on as it is (C-38)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "searching"}]},
       "stop_reason": "pause_turn", "usage": {}, "model": "m"}
      """
    Then state "thinking" is active
    And context field "messages" equals [{"role": "assistant", "content": [{"type": "text", "text": "searching"}]}]
    And action "nudge" is not called

  Scenario: An answer that was cut off is continued with a notice (C-38)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "long"}]},
       "stop_reason": "max_tokens", "usage": {}, "model": "m"}
      """
    Then state "thinking" is active
    And action "continue_cut_off" is called
    And context field "continuations" equals 1

  Scenario: An answer is continued at most twice (C-38)
    Given state "thinking" is active
    And context field "continuations" is 2
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "long"}]},
       "stop_reason": "max_tokens", "usage": {}, "model": "m"}
      """
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "max_tokens", "error": null}

  # ---------------------------------------------------------------- compaction: the conversation no longer fits (C-35)

  Scenario: A full context window is a limit where nothing can be left out (C-35, C-38)
    Given state "thinking" is active
    When actor "stream_agent" fails with {"message": "prompt is too long", "category": "provider_error", "code": "context_window"}
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "context_window"}

  Scenario: Old tool results become pointers first, and the turn is tried again (C-35)
    Given state "thinking" is active
    And guard can_shorten is true
    When actor "stream_agent" fails with {"message": "prompt is too long", "category": "provider_error", "code": "context_window"}
    Then state "thinking" is active
    And actor "stream_agent" is started
    And action "shorten_results" is called
    And context field "compactions_in_a_row" equals 1
    And event CONVERSATION_COMPACTED is emitted

  Scenario: Then the older part is summarised; the task, the plan and the last turns stay (C-35)
    Given state "thinking" is active
    And context field "compactions_in_a_row" is 1
    And context field "prompt" is "Write fizzbuzz"
    And context field "messages" is [{"role": "user", "content": [{"type": "text", "text": "Write fizzbuzz"}]}, {"role": "assistant", "content": [{"type": "text", "text": "I look around at length."}]}, {"role": "user", "content": [{"type": "text", "text": "Good."}]}]
    When actor "stream_agent" fails with {"message": "prompt is too long", "category": "provider_error", "code": "context_window"}
    Then state "compacting" is active
    And actor "summarise" is started
    And the input of actor "summarise" contains {"task": "Write fizzbuzz", "prompt": "Write fizzbuzz", "plan": null, "kept_from": 3}
    When actor "summarise" is done with {"head": "Task: fizzbuzz. So far: nothing.", "kept_from": 3, "usage": {"input_tokens": 9, "output_tokens": 3, "calls": 1}}
    Then state "thinking" is active
    And the input of actor "stream_agent" contains {"messages": [{"role": "user", "content": [{"type": "text", "text": "Task: fizzbuzz. So far: nothing."}]}]}
    And context field "usage" contains {"input_tokens": 9, "calls": 1}
    And context field "messages" contains [{"role": "user"}, {"role": "assistant"}, {"role": "user"}]
    And event CONVERSATION_COMPACTED is emitted

  Scenario: A window that is full again after that is a limit (C-35)
    Given state "thinking" is active
    And guard can_shorten is false
    And context field "compactions_in_a_row" is 2
    And context field "messages" is [{"role": "user", "content": [{"type": "text", "text": "Go"}]}, {"role": "assistant", "content": [{"type": "text", "text": "Well"}]}, {"role": "user", "content": [{"type": "text", "text": "On"}]}]
    When actor "stream_agent" fails with {"message": "prompt is too long", "category": "provider_error", "code": "context_window"}
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "context_window"}

  Scenario: A turn that comes back whole begins the count anew (C-35)
    Given state "thinking" is active
    And context field "compactions_in_a_row" is 2
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}]},
       "stop_reason": "tool_use", "usage": {"input_tokens": 100, "cache_read_tokens": 900, "output_tokens": 20}, "model": "m", "context_window": 4000}
      """
    Then context field "compactions_in_a_row" equals 0
    And context field "context_tokens" equals 1020
    And context field "context_window" equals 4000

  Scenario: A window that is nearly full is emptied before it overflows (C-35)
    Given state "running_tool" is active
    And guard is_nearly_full is true
    And guard can_shorten is true
    And context field "open_call" is {"call": {"id": "c1", "name": "read", "input": {}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then state "thinking" is active
    And action "answer_turn" is called
    And action "shorten_results" is called

  Scenario: A window that is nearly full is emptied by a summary where pointers do not help (C-35)
    Given state "running_tool" is active
    And guard is_nearly_full is true
    And guard can_shorten is false
    And guard can_compact is true
    And context field "open_call" is {"call": {"id": "c1", "name": "read", "input": {}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then state "compacting" is active
    And action "answer_turn" is called

  Scenario: An answer that the window cuts off goes on after old results are left out (C-35, C-38)
    Given state "thinking" is active
    And guard can_shorten is true
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "and so"}]},
       "stop_reason": "model_context_window_exceeded", "usage": {}, "model": "m"}
      """
    Then state "thinking" is active
    And action "resume_cut_off" is called
    And action "shorten_results" is called

  Scenario: An answer that the window cuts off goes on after a summary (C-35, C-38)
    Given state "thinking" is active
    And guard can_shorten is false
    And guard can_compact is true
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "and so"}]},
       "stop_reason": "model_context_window_exceeded", "usage": {}, "model": "m"}
      """
    Then state "compacting" is active
    And action "resume_cut_off" is called

  Scenario: A summary that a rate limit keeps back is asked for again (C-24, C-35)
    Given state "compacting" is active
    And context field "is_compacting" is true
    When actor "summarise" fails with code "rate_limited"
    Then state "backing_off" is active
    When I wait 60 seconds
    Then state "compacting" is active
    When actor "summarise" fails with code "rate_limited"
    Then state "backing_off" is active
    When I send event RETRY
    Then state "compacting" is active

  Scenario: A summary that cannot be had is a limit (C-35)
    Given state "compacting" is active
    When actor "summarise" fails with code "refusal"
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "context_window"}

  Scenario: An answer that fills the context window is a limit where nothing helps any more (C-35, C-38)
    Given state "thinking" is active
    And guard can_shorten is false
    And guard can_compact is false
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "and so"}]},
       "stop_reason": "model_context_window_exceeded", "usage": {}, "model": "m"}
      """
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "context_window"}

  Scenario: A silent stop is nudged (C-57)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "hm"}]},
       "stop_reason": "end_turn", "usage": {}, "model": "m"}
      """
    Then state "thinking" is active
    And action "nudge" is called
    And event AGENT_STOPPED is emitted
    And context field "nudges" equals 1

  Scenario: After two nudges a silent stop pauses (C-57)
    Given state "thinking" is active
    And context field "nudges" is 2
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "hm"}]},
       "stop_reason": "end_turn", "usage": {}, "model": "m"}
      """
    Then state "paused" is active
    And context field "reason" equals "silent_stop"

  # ---------------------------------------------------------------- tools and snapshots

  Scenario: What does not declare itself read-only is followed by a capture, bash too (C-53)
    Given state "running_tool" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "touch a"}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "", "is_error": false, "is_read_only": false, "touched": null}
    Then state "capturing_snapshot" is active
    And the input of actor "capture_snapshot" contains {"label": "bash", "touched": null}

  Scenario: A read-only tool is not followed by a capture (C-53)
    Given state "running_tool" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "read", "input": {"file_path": "a"}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then state "thinking" is active
    And actor "capture_snapshot" is not started

  Scenario: An entry is added only where the tree differs (C-53, C-54)
    Given state "capturing_snapshot" is active
    And context field "snapshot_history" is [{"tree": "t0", "commit": "c0", "label": "start", "skipped": [], "call_id": null}]
    And context field "current_snapshot" is {"tree": "t0", "commit": "c0", "label": "start", "skipped": []}
    And context field "tool_history" is [{"call": {"id": "c1", "name": "bash", "input": {}}, "result": {"call_id": "c1", "content": "ok", "is_error": false}, "is_broken": false, "is_denied": false, "exit_code": 0}]
    And context field "turn_results" is [{"call_id": "c1", "content": "ok", "is_error": false}]
    And context field "tool_steps" is 1
    When actor "capture_snapshot" is done with {"snapshot": {"tree": "t0", "commit": "c0", "label": "bash"}, "written": []}
    Then state "thinking" is active
    And context field "snapshot_history" equals [{"tree": "t0", "commit": "c0", "label": "start", "skipped": [], "call_id": null}]

  Scenario: A change that cannot be captured ends the run, because it could not be undone (C-52)
    Given state "capturing_snapshot" is active
    When actor "capture_snapshot" fails with {"message": "disk full", "category": "unknown"}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"category": "unknown"}}

  Scenario: Three equal failing calls are a failure (C-13)
    Given state "capturing_snapshot" is active
    And guard repeats_failure is true
    And context field "current_snapshot" is {"tree": "t0", "commit": "c0", "label": "start", "skipped": []}
    And context field "tool_history" is [{"call": {"id": "c1", "name": "bash", "input": {"command": "x"}}, "result": {"call_id": "c1", "content": "boom", "is_error": true}, "is_broken": false, "is_denied": false, "exit_code": 1}]
    And context field "turn_results" is [{"call_id": "c1", "content": "boom", "is_error": true}]
    And context field "tool_steps" is 1
    When actor "capture_snapshot" is done with {"snapshot": {"tree": "t0", "commit": "c0", "label": "bash"}, "written": []}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"category": "tool_failure", "tool": "bash"}}

  Scenario: The same call on the same files, again and again, pauses the run and says what it is
    Given state "running_tool" is active
    And context field "limits" is {"turns": 10, "tool_steps": 100, "repeats": 2}
    And context field "recent_calls" is ["c24657c1a1341189", "other"]
    And context field "current_snapshot" is {"tree": "t0", "commit": "c0"}
    And context field "open_call" is {"call": {"id": "c2", "name": "read", "input": {"file_path": "a"}}, "is_truncated": false}
    And context field "pending_calls" is [{"call": {"id": "c3", "name": "read", "input": {"file_path": "b"}}, "is_truncated": false}]
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then state "paused" is active
    And context field "repeated" contains {"kind": "call", "times": 2, "tree": "t0", "call": "read {\"file_path\": \"a\"}"}
    And context field "reason" equals "repetition"
    And context field "pending_calls" equals []
    And event AGENT_PAUSED is emitted
    When actor "ask_person" is done with null
    Then event NEEDS_PERSON is emitted
    When I send event USER_MESSAGE with content="Read b instead"
    Then state "thinking" is active
    And context field "repeated" equals null
    And context field "recent_calls" equals []

  Scenario: The same error, again and again, pauses the run, whatever the calls were
    Given state "capturing_snapshot" is active
    And context field "repeated" is {"kind": "error", "call": "bash make", "times": 3, "tree": "t0", "message": "boom"}
    And context field "current_snapshot" is {"tree": "t0", "commit": "c0"}
    When actor "capture_snapshot" is done with {"snapshot": {"tree": "t0", "commit": "c0", "label": "bash"}, "written": []}
    Then state "paused" is active
    And context field "question" contains {"kind": "pause"}

  Scenario: A tool that is itself broken is a failure (C-13)
    Given state "running_tool" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "crashed", "is_error": true, "is_broken": true, "touched": []}
    Then state "capturing_snapshot" is active
    When actor "capture_snapshot" is done with {"snapshot": {"tree": "t0", "commit": "c0", "label": "bash"}, "written": []}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"category": "tool_failure", "tool": "bash"}}

  Scenario: A tool whose actor fails is broken, and what it left behind is captured (C-13, C-53)
    Given state "running_tool" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "execute_tool" fails with {"message": "lost", "category": "unknown"}
    Then state "capturing_snapshot" is active
    And action "record_crash" is called

  Scenario: Stopping with the last tool result an error is a failure (C-13)
    Given state "thinking" is active
    And context field "tool_history" is [{"call": {"id": "c1", "name": "bash", "input": {"command": "x"}}, "result": {"call_id": "c1", "content": "boom", "is_error": true}, "is_broken": false, "is_denied": false, "exit_code": 1}]
    And context field "tool_steps" is 1
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "pause", "input": {"reason": "stuck"}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"category": "tool_failure", "context": {"command_executed": "x"}}}

  # ---------------------------------------------------------------- limits

  Scenario: The turn limit of a child is a limit, not a success (C-21, C-33, C-58)
    Given state "running_tool" is active
    And context field "turns" is 10
    And context field "open_call" is {"call": {"id": "c1", "name": "read", "input": {}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "turns", "turns": 10, "error": null}

  Scenario: A limit with the last tool result an error is a failure (C-13, C-58)
    Given state "running_tool" is active
    And context field "turns" is 10
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "boom", "is_error": true, "is_read_only": true, "touched": []}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "reason": null, "error": {"category": "tool_failure"}}

  Scenario: The tool limit stops before the next call, which is answered all the same (C-21, C-58)
    Given state "thinking" is active
    And context field "limits" is {"turns": 10, "tool_steps": 1}
    And context field "tool_steps" is 1
    And context field "tool_history" is [{"call": {"id": "c0", "name": "read", "input": {}}, "result": {"call_id": "c0", "content": "A", "is_error": false}, "is_broken": false, "is_denied": false, "exit_code": null}]
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "limit" is active
    And actor "execute_tool" is not started
    And the output contains {"outcome": "limit", "reason": "tool_steps", "tool_steps": 1}

  Scenario: With somebody to ask, a limit pauses (C-58)
    Given state "thinking" is active
    And context field "is_interactive" is true
    And context field "continuations" is 2
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "text", "text": "long"}]},
       "stop_reason": "max_tokens", "usage": {}, "model": "m"}
      """
    Then state "paused" is active
    When I send event RESUME
    Then state "thinking" is active

  # ---------------------------------------------------------------- evidence for `complete`

  Scenario: The agent's word alone does not complete a run that demands evidence
    Given state "thinking" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "checking_evidence" is active
    And the input of actor "check_evidence" contains {"demands": [{"check": "make test"}], "known": []}
    When actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": true, "found": "passed", "tree": "t1", "exit_code": 0, "duration_ms": 5, "output": "", "changed": []}]}
    Then state "done" is active
    And event EVIDENCE is emitted
    And the output contains {"outcome": "success", "summary": "Wrote it.", "evidence": [{"held": true, "tree": "t1"}]}

  Scenario: A claim without evidence is answered with what is missing, and the agent goes on
    Given state "thinking" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    And actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": false, "found": "'make test' failed with exit code 2", "tree": "t1", "exit_code": 2, "duration_ms": 5, "output": "1 failed", "changed": []}]}
    Then state "thinking" is active
    And context field "refusals" equals 1
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "checking_evidence" is active
    And the input of actor "check_evidence" contains {"known": [{"held": false}]}

  Scenario: A claim that is refused too often stops the run at its limit
    Given state "thinking" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    And context field "max_refusals" is 0
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    And actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": false, "found": "'make test' failed with exit code 2", "tree": "t1", "exit_code": 2, "duration_ms": 5, "output": "1 failed", "changed": []}]}
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "evidence"}

  Scenario: In a conversation a claim that is refused too often waits for the person
    Given state "thinking" is active
    And context field "is_interactive" is true
    And context field "evidence_demands" is [{"check": "make test"}]
    And context field "max_refusals" is 0
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    And actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": false, "found": "'make test' failed with exit code 2", "tree": "t1", "exit_code": 2, "duration_ms": 5, "output": "1 failed", "changed": []}]}
    Then state "paused" is active
    When I send event USER_MESSAGE with content="Try again"
    Then state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    And actor "check_evidence" is done with {"evidence": [{"demand": {"name": "", "check": "make test", "timeout_ms": 600000, "exists": null, "no_match": null, "files": "**", "monitor": null}, "held": true, "found": "passed", "tree": "t1", "exit_code": 0, "duration_ms": 5, "output": "", "changed": []}]}
    Then state "idle" is active
    And context field "refusals" equals 0

  Scenario: Evidence that cannot be looked for ends the run
    Given state "thinking" is active
    And context field "evidence_demands" is [{"check": "make test"}]
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    And actor "check_evidence" fails with {"message": "disk full", "category": "unknown"}
    Then state "failed" is active

  # ---------------------------------------------------------------- control tools

  Scenario: A child that completes is done, with its summary (C-20)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "done" is active
    And statechart is in a final configuration
    And the output contains {"outcome": "success", "summary": "Wrote it.", "error": null}

  Scenario: A conversation that completes returns to idle (C-20)
    Given state "thinking" is active
    And context field "is_interactive" is true
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "complete", "input": {"summary": "Wrote it."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "idle" is active
    And statechart is not in a final configuration
    And event AGENT_DONE is emitted

  Scenario: The next message goes on with the same conversation (AL-003, C-20)
    Given state "idle" is active
    And context field "is_interactive" is true
    And context field "messages" is [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}, {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}]
    When I send event USER_MESSAGE with content="Write it", who="ada"
    Then state "thinking" is active
    And the input of actor "stream_agent" contains {"messages": [{"role": "user"}, {"role": "assistant"}, {"role": "user", "content": [{"type": "text", "text": "Write it"}]}]}

  Scenario: A conversation that is over is done (C-20)
    Given state "idle" is active
    And context field "is_interactive" is true
    When I send event END
    Then state "done" is active
    And the output contains {"outcome": "success"}

  Scenario: Only a conversation can be over (C-20)
    Given state "idle" is active
    When I send event END
    Then state "idle" is active

  Scenario: A turn of a conversation is stopped, and the user goes on (C-20, C-29)
    Given state "running_tool" is active
    And context field "is_interactive" is true
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "sleep 99"}}, "is_truncated": false}
    When I send event STOP_TURN with who="ada"
    Then actor "execute_tool" is stopped
    And state "stopping" is active
    And event TURN_STOPPED is emitted with who="ada"
    And the input of actor "capture_stopped" contains {"label": "cancelled", "touched": null}
    When actor "capture_stopped" is done with {"snapshot": {"tree": "t1", "commit": "c1", "label": "cancelled", "skipped": []}}
    Then state "idle" is active
    And statechart is not in a final configuration

  Scenario: A turn is stopped even where the workspace cannot be captured (C-20)
    Given state "thinking" is active
    And context field "is_interactive" is true
    When I send event STOP_TURN
    Then actor "stream_agent" is stopped
    When actor "capture_stopped" fails with {"message": "the disk is full", "category": "unknown"}
    Then state "idle" is active

  Scenario: A capture that hangs does not keep the user waiting (C-20)
    Given state "thinking" is active
    And context field "is_interactive" is true
    When I send event STOP_TURN
    And I wait 8 seconds
    Then state "idle" is active

  Scenario: A run that nobody talks with is cancelled, not stopped (C-20)
    Given state "thinking" is active
    When I send event STOP_TURN
    Then state "thinking" is active

  Scenario: The plan is made by a tool call that the machine answers (C-36)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "update_plan", "input": {"steps": [{"description": "write"}]}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "thinking" is active
    And actor "execute_tool" is not started
    And event PLAN_UPDATED is emitted
    And context field "plan" equals {"steps": [{"index": 1, "description": "write", "status": "pending", "agent_used": null}], "current_step_index": 0, "is_complete": false}

  Scenario: A patch of a plan that is not there is told to the model as an error (C-36)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "update_plan", "input": {"is_complete": false}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "thinking" is active
    And context field "plan" equals null

  # ---------------------------------------------------------------- people

  Scenario: A question waits for its answer, which is the result of the call
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "clarify", "input": {"question": "Tabs?"}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "awaiting_clarification" is active
    And the input of actor "ask_person" contains {"kind": "clarify", "text": "Tabs?"}
    When actor "ask_person" is done with null
    Then state "awaiting_clarification" is active
    And event NEEDS_PERSON is emitted
    And event AGENT_WAITING is sent
    And context field "is_unattended" equals true
    When I send event USER_MESSAGE with content="Spaces"
    Then state "thinking" is active
    And event AGENT_RESUMED is sent
    And context field "is_unattended" equals false

  Scenario: An agent that is stuck pauses until it is told to go on (AL-040)
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pause", "input": {"reason": "Please look."}}]},
       "stop_reason": "tool_use", "usage": {}, "model": "m"}
      """
    Then state "paused" is active
    And event AGENT_PAUSED is emitted
    And the input of actor "ask_person" contains {"kind": "pause", "text": "Please look."}
    When I send event RESUME with content="Go on"
    Then state "thinking" is active

  Scenario: Whoever is asked answers as if from outside
    Given state "awaiting_approval" is active
    And context field "question" is {"kind": "approval", "text": "May it?"}
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "ask_person" is done with {"text": "once", "who": "user"}
    Then state "running_tool" is active
    And the input of actor "execute_tool" contains {"approval": "once"}

  Scenario: A terminal that is gone is nobody there
    Given state "paused" is active
    And context field "question" is {"kind": "pause", "text": "Look."}
    When actor "ask_person" fails with {"message": "the terminal is gone", "category": "unknown"}
    Then state "paused" is active
    And context field "is_unattended" equals true
    When I send event USER_MESSAGE with content="Back again"
    Then state "thinking" is active

  Scenario: Who answers is told with the answer
    Given state "awaiting_clarification" is active
    And context field "question" is {"kind": "clarify", "text": "Tabs?"}
    When actor "ask_person" is done with {"text": "Spaces", "who": "ada"}
    Then state "thinking" is active
    And event QUESTION_ANSWERED is emitted

  Scenario: In a run that is not to wait, a question that nobody can answer is a failure
    Given state "awaiting_clarification" is active
    And context field "question" is {"kind": "clarify", "text": "Tabs?"}
    When actor "ask_person" fails with {"message": "nobody is there", "category": "unknown", "code": "unattended"}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"code": "unattended"}}

  # ---------------------------------------------------------------- budgets

  Scenario: A turn for which there is no budget waits for a larger one, and nothing is lost
    Given state "thinking" is active
    When actor "stream_agent" fails with {"message": "The budget is used up: $1.0010 of $1.", "category": "provider_error", "code": "budget"}
    Then state "out_of_budget" is active
    And event OUT_OF_BUDGET is emitted
    And event AGENT_WAITING is sent
    When I send event RESUME
    Then state "thinking" is active
    And actor "stream_agent" is started
    And event AGENT_RESUMED is sent

  Scenario: A summary for which there is no budget waits for a larger one
    Given state "compacting" is active
    And context field "is_compacting" is true
    When actor "summarise" fails with code "budget"
    Then state "out_of_budget" is active
    When I send event RESUME
    Then state "compacting" is active

  Scenario: A tool is not begun after the time is used up; it runs when there is more
    Given state "checking_gate" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "check_gate" fails with code "budget"
    Then state "out_of_budget" is active
    When I send event RESUME
    Then state "checking_gate" is active
    And actor "check_gate" is started

  Scenario: A run without a budget can be cancelled (C-29)
    Given state "out_of_budget" is active
    When I send event CANCEL with who="ada"
    Then state "cancelling" is active

  # ---------------------------------------------------------------- follow-up runs

  Scenario: A new task goes on with the conversation of a run that has ended
    Given state "idle" is active
    When I send event FOLLOW_UP
      """
      {"run": "r1", "content": "Now write its tests", "plan": null, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Write fizzbuzz"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]}]}
      """
    Then state "thinking" is active
    And context field "new_messages_from" equals 2
    And context field "messages" contains [{"role": "user"}, {"role": "assistant"}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}, {"type": "text", "text": "Now write its tests"}]}]
    And event RUN_CONTINUED is emitted

  Scenario: A conversation that has begun takes over no other
    Given state "idle" is active
    And context field "messages" is [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}, {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}]
    When I send event FOLLOW_UP with run="r1", content="Next", plan=null, messages=[]
    Then state "idle" is active

  # ---------------------------------------------------------------- approval

  Scenario: The gate may want a person's yes, for this call or from now on (AL-070)
    Given state "checking_gate" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "check_gate" is done with {"decision": "ask", "rule": "ask bash", "reason": ""}
    Then state "awaiting_approval" is active
    And actor "execute_tool" is not started
    And the input of actor "ask_person" contains {"kind": "approval", "call": {"id": "c1"}}
    When I send event APPROVE with scope="tool"
    Then state "running_tool" is active
    And the input of actor "execute_tool" contains {"call": {"id": "c1"}, "approval": "tool"}

  Scenario: A no is told to the model and nothing runs (AL-070)
    Given state "checking_gate" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "check_gate" is done with {"decision": "ask", "rule": "ask bash", "reason": ""}
    And I send event DENY with reason="not now"
    Then state "thinking" is active
    And actor "execute_tool" is not started
    And action "deny_call" is called

  Scenario: What a rule denies is not run (AL-070)
    Given state "checking_gate" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "check_gate" is done with {"decision": "deny", "rule": "deny bash", "reason": "never"}
    Then state "thinking" is active
    And actor "execute_tool" is not started
    And action "refuse_call" is called

  Scenario: A gate that cannot be asked lets nothing run (AL-070)
    Given state "checking_gate" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    When actor "check_gate" fails with {"message": "a rule is broken", "category": "unknown"}
    Then state "failed" is active
    And actor "execute_tool" is not started

  # ---------------------------------------------------------------- cancel

  Scenario: Cancelling in the middle of a tool stops it, answers its call, captures the tree (C-29)
    Given state "running_tool" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "sleep 99"}}, "is_truncated": false}
    When I send event CANCEL
    Then actor "execute_tool" is stopped
    And state "cancelling" is active
    And context field "messages" equals [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Cancelled: the run was stopped before this call was finished.", "is_error": true}]}]
    And the input of actor "capture_last" contains {"label": "cancelled", "touched": null}
    When actor "capture_last" is done with {"snapshot": {"tree": "t9", "commit": "c9", "label": "cancelled"}, "written": []}
    Then state "cancelled" is active
    And the output contains {"outcome": "cancelled", "tree_after": "t9"}

  Scenario: Cancelling stops the model's stream (C-29)
    Given state "thinking" is active
    When I send event CANCEL
    Then actor "stream_agent" is stopped
    And state "cancelling" is active

  Scenario: A capture that fails is logged and the run is cancelled all the same (C-29)
    Given state "cancelling" is active
    When actor "capture_last" fails with {"message": "disk full", "category": "unknown"}
    Then state "cancelled" is active
    And the log contains "disk full"

  Scenario: A capture that hangs does not keep a cancelled run alive (C-29)
    Given state "cancelling" is active
    When I wait 8 seconds
    Then state "cancelled" is active
    And statechart is in a final configuration

  Scenario: Cancelling while a person is awaited (C-29)
    Given state "awaiting_approval" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "bash", "input": {"command": "make"}}, "is_truncated": false}
    And context field "question" is {"kind": "approval", "text": "May it?"}
    When I send event CANCEL
    Then actor "ask_person" is stopped
    And state "cancelling" is active

  Scenario: A call that waits for the rate limit of the run is told, and nothing else changes (AL-070)
    Given state "thinking" is active
    When I send event RATE_WAIT with what="call", limit=60, wait_ms=900
    Then state "thinking" is active
    And event RATE_WAIT is emitted

  # ---------------------------------------------------------------- called agents

  Scenario: A call of another agent runs it as a machine of its own; its report is the result
    Given state "thinking" is active
    When actor "stream_agent" is done with
      """
      {"message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "task", "input": {"agent": "tester", "task": "Test it", "context": "x is 1"}}]},
       "stop_reason": "tool_use", "usage": {"input_tokens": 10, "output_tokens": 2}, "model": "m"}
      """
    And actor "check_gate" is done with {"decision": "allow", "rule": "default", "reason": ""}
    And actor "execute_tool" is done with {"content": "", "is_error": false, "is_read_only": true, "touched": [], "begins_agent": "tester"}
    Then state "running_agent" is active
    And the input of actor "call_agent" contains {"called_by": ["agent"], "agent": "tester", "task": "Test it", "context": "x is 1"}
    When actor "call_agent" is done with {"outcome": "success", "summary": "Two tests fail", "error": "", "files": ["t.py"], "file_count": 1, "usage": {"input_tokens": 5, "output_tokens": 1}, "cost_usd": 0.5}
    Then state "capturing_snapshot" is active
    And action "record_agent" is called
    And context field "cost_usd" equals 0.5
    And context field "tool_steps" equals 1
    When actor "capture_snapshot" is done with {"snapshot": {"tree": "t1", "commit": "c1", "label": "task"}, "written": []}
    Then state "thinking" is active

  Scenario: An agent that could not be run is an error of the call
    Given state "running_agent" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "task", "input": {"agent": "tester", "task": "Test it"}}, "is_truncated": false}
    When actor "call_agent" fails with {"message": "there is no agent 'tester'", "category": "validation_error"}
    Then state "capturing_snapshot" is active
    And action "record_agent_failure" is called

  Scenario: CANCEL ends the called agent (C-29)
    Given state "running_agent" is active
    And context field "open_call" is {"call": {"id": "c1", "name": "task", "input": {"agent": "tester", "task": "Test it"}}, "is_truncated": false}
    When I send event CANCEL
    Then state "cancelling" is active
    And actor "call_agent" is stopped

  Scenario: The tokens of one run may have a limit, those of called agents included (C-21, C-33)
    Given state "running_tool" is active
    And context field "limits" is {"turns": 10, "tool_steps": 100, "repeats": 3, "tokens": 10}
    And context field "usage" is {"input_tokens": 9, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0, "calls": 1}
    And context field "open_call" is {"call": {"id": "c1", "name": "read", "input": {}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "tokens", "summary": "Stopped at the limit of 10 tokens."}

  Scenario: The cost of one run may have a limit (C-21, C-33)
    Given state "running_tool" is active
    And context field "limits" is {"turns": 10, "tool_steps": 100, "repeats": 3, "cost_usd": 0.25}
    And context field "cost_usd" is 0.25
    And context field "open_call" is {"call": {"id": "c1", "name": "read", "input": {}}, "is_truncated": false}
    When actor "execute_tool" is done with {"content": "A", "is_error": false, "is_read_only": true, "touched": []}
    Then state "limit" is active
    And the output contains {"outcome": "limit", "reason": "cost", "summary": "Stopped at the limit of $0.25."}

  Scenario: In a conversation a message grants the tokens and the cost anew (C-20, C-58)
    Given state "paused" is active
    And context field "is_interactive" is true
    And context field "limits" is {"turns": 10, "tool_steps": 100, "repeats": 3, "tokens": 10, "cost_usd": 0.25}
    And context field "usage" is {"input_tokens": 9, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0, "calls": 1}
    And context field "cost_usd" is 0.25
    When I send event USER_MESSAGE with content="Go on"
    Then state "thinking" is active
    And context field "tokens_from" equals 10
    And context field "cost_from" equals 0.25

  Scenario: A run that is being cancelled is not cancelled twice
    Given state "cancelling" is active
    When I send event CANCEL
    Then state "cancelling" is active
