"""The messages of `airlock.hooks.v1`, generated from `proto/` by `generate.py`."""
