"""Validates documents of the rendered chart against the Kubernetes schemas, which allow no unknown fields.

    validate.py VERSION... < RENDERINGS

Reads a JSON list of renderings, each a list of documents. Prints a JSON list with one object for each rendering:
`problems` contains the errors, each with its version, kind and name. A kind that is not Kubernetes' own is listed in
`foreign` and is not validated.
"""

import functools
import json
import sys

import kubernetes_validate
from kubernetes_validate import utils

FOREIGN = {"cert-manager.io"}

# The package reads the files of the schemas again for each document.
utils.schema_contents = functools.cache(utils.schema_contents)


def problems(document, version):
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        path = ".".join(str(part) for part in error.path)
        yield f"{version}: {document['kind']} {document['metadata']['name']}: {path}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        yield f"{version}: {document['kind']} {document['metadata']['name']}: {error}"


def checked(documents, versions):
    foreign = [one for one in documents if one["apiVersion"].split("/")[0] in FOREIGN]
    own = [one for one in documents if one not in foreign]
    found = [problem for one in own for version in versions for problem in problems(one, version)]
    names = [f"{one['kind']} {one['metadata']['name']}" for one in foreign]
    return {"problems": found, "foreign": names}


json.dump([checked(documents, sys.argv[1:]) for documents in json.load(sys.stdin)], sys.stdout)
