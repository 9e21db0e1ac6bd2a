Feature: An actor is called again after a pause, as long as a guard allows it
  The contract of the fragment retry_backoff, in a chart that uses it.

  Scenario: The first call is done
    Then state "fetching.trying" is active
    And actor "fetching.call" is started
    When actor "fetching.call" is done with {"text": "hello"}
    Then state "shown" is active

  Scenario: A failure is counted, and after the pause the actor is called again
    Given guard "has_tries_left" is true
    And state "fetching.trying" is active
    When actor "fetching.call" fails with code "rate_limited"
    Then action "count_try" is called
    And state "fetching.pausing" is active
    When I wait 5 seconds
    Then state "fetching.trying" is active
    And actor "fetching.call" is started

  Scenario: The last failure leads out
    Given guard "has_tries_left" is false
    And state "fetching.trying" is active
    When actor "fetching.call" fails with code "rate_limited"
    Then state "broken" is active

  Scenario: The chart's own transitions leave the fragment wherever it stands
    Given guard "has_tries_left" is true
    And state "fetching.pausing" is active
    When I send event "SKIP"
    Then state "shown" is active

  Scenario: A person stops it
    When I send event "CANCEL"
    Then state "cancelled" is active
