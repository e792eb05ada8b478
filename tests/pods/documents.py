"""Prints the documents of a YAML text as a JSON list.

    documents.py < TEXT
"""

import json
import sys

import yaml

# The loader in C is many times faster than the one in Python.
loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
json.dump([document for document in yaml.load_all(sys.stdin, loader) if document], sys.stdout)
