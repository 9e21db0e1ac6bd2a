Feature: The best of several candidates, by their checks and a model's answers
  The contract of judge.yaml. No model is asked here: the scenarios give the answer to each question.

  Background:
    Given input {"task": "Parse dates", "criteria": "Short", "seed": 7, "candidates": [{"name": "a", "run": "r__a", "summary": "Did it", "cost_usd": 0.5}, {"name": "b", "run": "r__b", "cost_usd": 0.1}, {"name": "c", "run": "r__c", "cost_usd": 0.9}]}

  # ---------------------------------------------------------------- questions

  Scenario: All candidates are shown in the first question
    Then state "asking" is active
    And actor "question" is started
    And the input of actor "question" contains {"task": "Parse dates", "criteria": "Short", "number": 0, "seed": 7, "model": null}

  Scenario: The model is asked twice
    Given state "asking" is active
    When actor "question" is done with {"best": "a", "reasons": {"a": "whole", "b": "half", "c": "wrong"}, "usage": {"input_tokens": 10, "output_tokens": 2}, "model": "m"}
    Then state "asking" is active
    And the input of actor "question" contains {"number": 1}

  Scenario: Two equal answers decide
    Given state "asking" is active
    And context field "answers" is [{"best": "a", "reasons": {"a": "whole", "b": "half", "c": "wrong"}}]
    When actor "question" is done with {"best": "a", "reasons": {"a": "all", "b": "part", "c": "none"}, "usage": {"input_tokens": 10, "output_tokens": 2}, "model": "m"}
    Then state "decided" is active
    And the output contains {"winner": "a", "rule": "agreed", "is_agreed": true, "votes": ["a", "a"], "reasons": {"a": ["whole", "all"], "b": ["half", "part"], "c": ["wrong", "none"]}, "out": []}

  Scenario: Where two answers differ, a third is asked for
    Given state "asking" is active
    And context field "answers" is [{"best": "a", "reasons": {"a": "1", "b": "1", "c": "1"}}]
    When actor "question" is done with {"best": "b", "reasons": {"a": "2", "b": "2", "c": "2"}, "usage": {}, "model": "m"}
    Then state "asking" is active
    And the input of actor "question" contains {"number": 2}
    When actor "question" is done with {"best": "b", "reasons": {"a": "3", "b": "3", "c": "3"}, "usage": {}, "model": "m"}
    Then state "decided" is active
    And the output contains {"winner": "b", "rule": "majority", "is_agreed": false, "votes": ["a", "b", "b"]}

  Scenario: Three different answers, and the cheapest wins
    Given state "asking" is active
    And context field "answers" is [{"best": "a", "reasons": {"a": "1", "b": "1", "c": "1"}}, {"best": "c", "reasons": {"a": "2", "b": "2", "c": "2"}}]
    When actor "question" is done with {"best": "b", "reasons": {"a": "3", "b": "3", "c": "3"}, "usage": {}, "model": "m"}
    Then state "decided" is active
    And the output contains {"winner": "b", "rule": "cheapest", "is_agreed": false}

  # ---------------------------------------------------------------- failures

  Scenario: A failure that may pass is waited for
    Given state "asking" is active
    When actor "question" fails with {"category": "provider_error", "code": "overloaded", "message": "busy"}
    Then state "backing_off" is active
    When I wait 60 seconds
    Then state "asking" is active
    And context field "retries" equals 1

  Scenario: A person does not wait any longer
    Given state "backing_off" is active
    When I send event RETRY
    Then state "asking" is active

  Scenario: A failure that stays ends without a verdict
    Given state "asking" is active
    When actor "question" fails with {"category": "validation_error", "message": "no usable answer", "usage": {"input_tokens": 5}}
    Then state "failed" is active
    And the output contains {"winner": null, "rule": null, "error": {"category": "validation_error", "message": "no usable answer"}, "usage": {"input_tokens": 5}}

  Scenario: Without a budget the judge waits, with the answers that it has
    Given state "asking" is active
    And context field "answers" is [{"best": "a", "reasons": {"a": "1", "b": "1", "c": "1"}}]
    When actor "question" fails with {"category": "timeout", "code": "budget", "message": "the budget is used up"}
    Then state "out_of_budget" is active
    When I send event RESUME
    Then state "asking" is active
    And the input of actor "question" contains {"number": 1}
