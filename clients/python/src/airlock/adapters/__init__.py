"""Adapters that run the commands of agent frameworks in Airlock.

Each module needs the package of its framework, which the extra of the same name installs:
`pip install airlock-client[swerex]`. Nothing here is imported by `import airlock`.
"""
