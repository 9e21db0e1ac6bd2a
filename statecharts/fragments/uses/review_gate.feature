Feature: One actor works and another reviews
  The contract of the fragment review_gate, in a chart that uses it.

  Scenario: The review accepts
    Given guard "is_clean" is true
    When actor "building.work" is done with {}
    Then state "building.reviewing" is active
    And actor "building.review" is started
    When actor "building.review" is done with {"verdict": "clean"}
    Then state "merged" is active

  Scenario: What is not accepted goes back
    Given guard "is_clean" is false
    And guard "has_rounds_left" is true
    And state "building.reviewing" is active
    When actor "building.review" is done with {"verdict": "unclear"}
    Then action "count_round" is called
    And state "building.working" is active

  Scenario: The last review that does not accept leads out
    Given guard "is_clean" is false
    And guard "has_rounds_left" is false
    And state "building.reviewing" is active
    When actor "building.review" is done with {"verdict": "unclear"}
    Then state "stopped" is active

  Scenario: The author fails
    When actor "building.work" fails with code "internal"
    Then state "stopped" is active

  Scenario: The reviewer fails
    Given state "building.reviewing" is active
    When actor "building.review" fails with code "internal"
    Then state "stopped" is active

  Scenario: A person stops it
    When I send event "CANCEL"
    Then state "cancelled" is active
