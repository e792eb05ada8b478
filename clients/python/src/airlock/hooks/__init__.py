"""The contract of hooks: services of the user that a server calls before and after executions.

A hook does not connect to Airlock; Airlock connects to it. `docs/hooks.md` describes hooks.
"""
