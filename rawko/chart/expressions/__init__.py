"""Guard expressions and action calls: text to `Guard` and `CallAction`, and back. Nothing here evaluates them.

    guard    = or
    or       = and ("or" and)*
    and      = not ("and" not)*
    not      = "not" not | primary
    primary  = "(" guard ")" | "true" | "false" | "in_state" "(" string ")" | call
    call     = name [ "(" [ name "=" argument ("," name "=" argument)* [","] ] ")" ]
    argument = literal | ("event" | "context") ("." field)*
    field    = name that does not start with "_"
    literal  = number | string | "true" | "false" | "null"
             | "[" [literal ("," literal)* [","]] "]" | "{" [string ":" literal ("," ...)* [","]] "}"

The caller decides whether a text is Python; an error only says whether the text looks like Python.
"""
