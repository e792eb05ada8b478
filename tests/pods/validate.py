"""Validates every document of the rendered chart against the Kubernetes schemas, which allow no unknown fields.

    validate.py VERSION... < RENDERED

Prints, as JSON, the documents, and in `problems` the errors, each with its kind and name. A kind that is not
Kubernetes' own is listed in `foreign` and is not validated.
"""

import json
import sys

import kubernetes_validate
import yaml

FOREIGN = {"cert-manager.io"}


def problems(document, version):
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        path = ".".join(str(part) for part in error.path)
        yield f"{version}: {document['kind']} {document['metadata']['name']}: {path}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        yield f"{version}: {document['kind']} {document['metadata']['name']}: {error}"


def main(versions):
    documents = [document for document in yaml.safe_load_all(sys.stdin) if document]
    foreign = [one for one in documents if one["apiVersion"].split("/")[0] in FOREIGN]
    own = [one for one in documents if one not in foreign]
    found = [problem for one in own for version in versions for problem in problems(one, version)]
    names = [f"{one['kind']} {one['metadata']['name']}" for one in foreign]
    json.dump({"documents": documents, "problems": found, "foreign": names}, sys.stdout)


main(sys.argv[1:])
