Feature: One actor per item of a list, until they are joined
  The contract of fan_out.yaml.

  Background:
    Given input {"id": "pages", "src": "fetch", "all_items": ["a", "b", "c"], "all_inputs": null, "join": "all", "quorum": 0, "concurrency": null, "on_restore": "restart", "tells": false, "begun": 0, "done": 0, "failed": 0, "ended": []}

  Scenario: Every item is started, and all are joined in their order
    Then state "running" is active
    And actor "0" is started
    And actor "2" is started
    When actor "1" is done with "B"
    And actor "2" is done with "C"
    Then state "running" is active
    When actor "0" is done with "A"
    Then state "joined" is active
    And the output contains {"output": ["A", "B", "C"]}

  Scenario: One failure is enough where all are wanted; the others are stopped
    When actor "1" fails with {"category": "tool_failure", "code": "full", "message": "no room"}
    Then state "failed" is active
    And the output contains {"error": {"category": "tool_failure", "code": "full", "message": "1 of 3 items failed: item 1: no room"}}

  Scenario: Without an input of its own, an item's actor gets the item
    Then the input of actor "1" contains "b"

