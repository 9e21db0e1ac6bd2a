Feature: A chart waits for a person's approval or rejection, for a limited time
  The contract of the fragment approval, in a chart that uses it.

  Scenario: A yes
    Given state "asking" is active
    When I send event "PUBLISH"
    Then state "published" is active

  Scenario: A no
    Given state "asking" is active
    When I send event "REJECT"
    Then state "withdrawn" is active

  Scenario: No answer in time
    Given state "asking" is active
    When I wait 7199 seconds
    Then state "asking" is active
    When I wait 1 seconds
    Then state "withdrawn" is active

  Scenario: A person stops it
    When I send event "CANCEL"
    Then state "cancelled" is active
