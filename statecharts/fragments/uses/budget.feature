Feature: A state is left as soon as a budget is used up
  The contract of the fragment budget, beside the fragment deadline, in a chart that uses both.

  Background:
    Given guard "is_budget_spent" is false
    And guard "is_finished" is false

  Scenario: The turns go on while there is budget
    Given state "turn" is active
    When actor "take_turn" is done with {}
    Then action "count_cost" is called
    And state "turn" is active

  Scenario: The budget is used up
    Given guard "is_budget_spent" is true
    Then action "note_spent" is called
    And state "stopped" is active

  Scenario: The work ends within the budget
    Given guard "is_finished" is true
    And state "turn" is active
    When actor "take_turn" is done with {}
    Then state "finished" is active

  Scenario: The time is over before the budget
    Given state "turn" is active
    When I wait 100 seconds
    Then state "turn" is active
    When actor "take_turn" is done with {}
    And I wait 3500 seconds
    Then state "stopped" is active

  Scenario: A turn fails
    When actor "take_turn" fails with code "internal"
    Then state "stopped" is active

  Scenario: A person stops it
    When I send event "CANCEL"
    Then state "cancelled" is active
