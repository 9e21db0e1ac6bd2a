Feature: A state is left when its time is over, whatever is active in it
  The contract of the fragment deadline, in a chart that uses it.

  Scenario: The work ends in time
    When actor "prepare" is done with {}
    And actor "build" is done with {}
    Then state "finished" is active

  Scenario: The time runs over all that is inside, not from each step
    When I wait 240 seconds
    And actor "prepare" is done with {}
    Then state "second" is active
    When I wait 360 seconds
    Then action "note_late" is called
    And state "stopped" is active

  Scenario: A step fails
    When actor "prepare" fails with code "internal"
    Then state "stopped" is active

  Scenario: The second step fails
    Given state "second" is active
    When actor "build" fails with code "internal"
    Then state "stopped" is active

  Scenario: A person stops it
    When I send event "CANCEL"
    Then state "cancelled" is active
