"""The messages of `airlock.v1`, generated from `proto/` by `generate.py`.

Most programs do not need them. They are the type of the `raw` attributes, which have every field.
"""
