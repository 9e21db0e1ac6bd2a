Feature: Two sides argue in rounds, and a judge decides
  The contract of debate.yaml. No agent runs here: the scenarios say how each one ends. "arguments" is one actor for both sides,
  "verdict" is the judge.

  Background:
    Given input {"prompt": "Which store?", "seed": 3, "parameters": {"sides": [{"agent": "pro", "position": "SQLite"}, {"agent": "con", "position": "PostgreSQL"}], "rounds": 2, "judge_model": "m", "criteria": "Facts"}}

  # ---------------------------------------------------------------- the rounds

  Scenario: Both sides argue side by side, each for its position
    Then state "arguing" is active
    And actor "arguments" is started
    And the input of actor "arguments" contains {"join": "settled", "all_inputs": [{"agent": "pro", "template": "debate/argue", "values": {"question": "Which store?", "position": "SQLite", "own": "", "other": "", "round": 1, "rounds": 2}, "seed": 3}, {"agent": "con", "template": "debate/argue", "values": {"question": "Which store?", "position": "PostgreSQL", "own": "", "other": "", "round": 1, "rounds": 2}, "seed": 3}]}

  Scenario: In the next round each answers the other's last argument
    Given state "arguing" is active
    And context field "round" is 1
    When actor "arguments" is done with [{"index": 0, "item": {"agent": "pro", "position": "SQLite"}, "status": "done", "output": {"outcome": "success", "summary": "No server."}}, {"index": 1, "item": {"agent": "con", "position": "PostgreSQL"}, "status": "done", "output": {"outcome": "success", "summary": "Many writers."}}]
    Then state "weighing" is entered
    And state "arguing" is active
    And context field "arguments" equals [{"side": "pro", "round": 1, "text": "No server."}, {"side": "con", "round": 1, "text": "Many writers."}]
    And the input of actor "arguments" contains {"all_inputs": [{"agent": "pro", "template": "debate/argue", "values": {"question": "Which store?", "position": "SQLite", "own": "No server.", "other": "Many writers.", "round": 2, "rounds": 2}, "seed": 3}, {"agent": "con", "template": "debate/argue", "values": {"question": "Which store?", "position": "PostgreSQL", "own": "Many writers.", "other": "No server.", "round": 2, "rounds": 2}, "seed": 3}]}

  Scenario: After the last round the judge compares all that was said
    Given state "arguing" is active
    And context field "round" is 2
    And context field "arguments" is [{"side": "pro", "round": 1, "text": "No server."}, {"side": "con", "round": 1, "text": "Many writers."}]
    When actor "arguments" is done with [{"index": 0, "item": {"agent": "pro", "position": "SQLite"}, "status": "done", "output": {"outcome": "success", "summary": "One writer here."}}, {"index": 1, "item": {"agent": "con", "position": "PostgreSQL"}, "status": "done", "output": {"outcome": "success", "summary": "More soon."}}]
    Then state "judging" is active
    And the input of actor "verdict" contains {"task": "Which store?", "criteria": "Facts", "model": "m", "seed": 3, "candidates": [{"name": "pro", "text": "Position: SQLite\n\nRound 1:\nNo server.\n\nRound 2:\nOne writer here."}, {"name": "con", "text": "Position: PostgreSQL\n\nRound 1:\nMany writers.\n\nRound 2:\nMore soon."}]}

  Scenario: The verdict is told with its reasons
    Given state "judging" is active
    And context field "arguments" is [{"side": "pro", "round": 1, "text": "No server."}, {"side": "con", "round": 1, "text": "Many writers."}]
    When actor "verdict" is done with {"winner": "pro", "rule": "agreed", "is_agreed": true, "votes": ["pro", "pro"], "reasons": {"pro": ["shown"], "con": ["claimed"]}, "out": [], "error": null, "usage": {}}
    Then state "decided" is active
    And the output contains {"outcome": "success", "judged": {"winner": "pro", "rule": "agreed"}, "summary": "pro has argued better, for: SQLite\nThe judge was asked twice, in different orders, and agrees\n  pro: shown\n  con: claimed\n\nLast of pro: No server.\nLast of con: Many writers."}

  # ---------------------------------------------------------------- failures

  Scenario: A debate in which one side is silent is none
    Given state "arguing" is active
    And context field "round" is 1
    When actor "arguments" is done with [{"index": 0, "item": {"agent": "pro", "position": "SQLite"}, "status": "error", "error": {"category": "provider_error", "message": "overloaded"}}, {"index": 1, "item": {"agent": "con", "position": "PostgreSQL"}, "status": "done", "output": {"outcome": "success", "summary": " "}}]
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"category": "provider_error", "message": "not every side has argued in round 1: 'pro': overloaded; 'con': it has said nothing"}}

  Scenario: The sides cannot be begun
    Given state "arguing" is active
    When actor "arguments" fails with {"category": "validation_error", "message": "there is no agent 'pro'"}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"message": "there is no agent 'pro'"}}

  Scenario: Without a verdict the debate has failed, and its arguments are kept
    Given state "judging" is active
    And context field "arguments" is [{"side": "pro", "round": 1, "text": "No server."}]
    When actor "verdict" fails with {"category": "validation_error", "message": "no usable answer"}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"message": "no usable answer"}, "arguments": [{"side": "pro", "round": 1, "text": "No server."}]}

  # ---------------------------------------------------------------- cancellation by a person

  Scenario: Cancelled while both sides argue: both stop first
    Given state "arguing" is active
    When I send event CANCEL
    Then state "arguing" is active
    When actor "arguments" is done with [{"index": 0, "item": {"agent": "pro", "position": "SQLite"}, "status": "done", "output": {"outcome": "cancelled", "summary": null}}, {"index": 1, "item": {"agent": "con", "position": "PostgreSQL"}, "status": "done", "output": {"outcome": "success", "summary": "Many writers."}}]
    Then state "cancelled" is active
    And the output contains {"outcome": "cancelled"}

  Scenario: Cancelled while the judge compares
    Given state "judging" is active
    When I send event CANCEL
    Then state "cancelled" is active
    And the output contains {"outcome": "cancelled", "judged": null}
