"""The tools that agents can use in each state of a chart: does untrusted content reach one that writes outside?"""
