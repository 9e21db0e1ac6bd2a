Feature: An author works, reviewers look, the author repairs
  The contract of gauntlet.yaml. The agents do not run here: the scenarios say how each one ends. "reviews" is one actor for
  all reviewers: its output is a list with each reviewer's result.

  Background:
    Given input {"prompt": "Parse dates", "parameters": {"author": "developer", "reviewers": ["correct", "secure"], "rounds": 2}}

  # ---------------------------------------------------------------- the rounds

  Scenario: The author begins with the task as it was given
    Then state "authoring" is active
    And actor "author" is started
    And the input of actor "author" contains {"agent": "developer", "prompt": "Parse dates"}

  Scenario: All reviewers look at what the author has done
    Given state "authoring" is active
    When actor "author" is done with {"outcome": "success", "summary": "Parsed.", "messages": [], "is_compacted": false, "files_changed": ["dates.py"]}
    Then state "reviewing" is active
    And actor "reviews" is started
    And the input of actor "reviews" contains {"all_items": ["correct", "secure"], "join": "settled", "concurrency": 4}
    And context field "files" equals ["dates.py"]

  Scenario: Nothing that blocks is found
    Given state "reviewing" is active
    And context field "round" is 1
    When actor "reviews" is done with [{"index": 0, "item": "correct", "status": "done", "output": {"outcome": "success", "summary": "NO FINDINGS"}}, {"index": 1, "item": "secure", "status": "done", "output": {"outcome": "success", "summary": "FINDING minor dates.py a word is missing"}}]
    Then state "passed" is active
    And the output contains {"outcome": "success", "findings": [{"severity": "minor", "path": "dates.py", "text": "a word is missing", "reviewers": ["secure"]}]}

  Scenario: What blocks goes back to the author, while rounds are left
    Given state "reviewing" is active
    And context field "round" is 1
    When actor "reviews" is done with [{"index": 0, "item": "correct", "status": "done", "output": {"outcome": "success", "summary": "FINDING blocking dates.py:3 February has no 30th"}}, {"index": 1, "item": "secure", "status": "done", "output": {"outcome": "success", "summary": "NO FINDINGS"}}]
    Then state "weighing" is entered
    And state "authoring" is active
    And the input of actor "author" contains {"agent": "developer", "template": "gauntlet/repair", "values": {"findings": [{"severity": "blocking", "path": "dates.py", "line": 3, "text": "February has no 30th", "reviewers": ["correct"]}], "round": 2}}

  Scenario: What blocks after the last round is told, and is no success
    Given state "reviewing" is active
    And context field "round" is 2
    When actor "reviews" is done with [{"index": 0, "item": "correct", "status": "done", "output": {"outcome": "success", "summary": "It is wrong."}}, {"index": 1, "item": "secure", "status": "done", "output": {"outcome": "success", "summary": "NO FINDINGS"}}]
    Then state "stopped" is active
    And the output contains {"outcome": "limit", "reason": "After 2 rounds the reviewers still have 1 finding that blocks"}

  # ---------------------------------------------------------------- failures

  Scenario: A review that was not done is no review that found nothing
    Given state "reviewing" is active
    When actor "reviews" is done with [{"index": 0, "item": "correct", "status": "error", "error": {"category": "provider_error", "message": "overloaded"}}, {"index": 1, "item": "secure", "status": "done", "output": {"outcome": "success", "summary": "NO FINDINGS"}}]
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"category": "provider_error", "message": "not every review was done: 'correct': overloaded"}}

  Scenario: A reviewer that has reached its limit has not reviewed
    Given state "reviewing" is active
    When actor "reviews" is done with [{"index": 0, "item": "correct", "status": "done", "output": {"outcome": "limit", "summary": "I was still"}}, {"index": 1, "item": "secure", "status": "done", "output": {"outcome": "success", "summary": "NO FINDINGS"}}]
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"message": "not every review was done: 'correct': it has ended with 'limit'"}}

  Scenario: The author has reached a limit of its own
    Given state "authoring" is active
    When actor "author" is done with {"outcome": "limit", "summary": "Half of it.", "messages": [], "is_compacted": false, "files_changed": []}
    Then state "stopped" is active
    And actor "reviews" is not started
    And the output contains {"outcome": "limit", "reason": "The author 'developer' has reached a limit of its own", "summary": "The author 'developer' has reached a limit of its own\n\nHalf of it."}

  Scenario: The author fails
    Given state "authoring" is active
    When actor "author" fails with {"category": "provider_error", "message": "no connection", "files_changed": ["dates.py"]}
    Then state "failed" is active
    And the output contains {"outcome": "failure", "error": {"message": "no connection"}, "files_changed": ["dates.py"]}

  # ---------------------------------------------------------------- cancellation by a person

  Scenario: Cancelled while the author works: the author stops first
    Given state "authoring" is active
    When I send event CANCEL
    Then state "authoring" is active
    When actor "author" is done with {"outcome": "cancelled", "summary": null, "messages": [], "is_compacted": false, "files_changed": []}
    Then state "cancelled" is active
    And the output contains {"outcome": "cancelled"}

  Scenario: Cancelled while reviewers look: all of them stop
    Given state "reviewing" is active
    When I send event CANCEL
    Then state "reviewing" is active
    When actor "reviews" is done with [{"index": 0, "item": "correct", "status": "done", "output": {"outcome": "cancelled", "summary": null}}, {"index": 1, "item": "secure", "status": "done", "output": {"outcome": "success", "summary": "NO FINDINGS"}}]
    Then state "cancelled" is active
