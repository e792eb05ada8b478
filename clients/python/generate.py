"""Generates `src/airlock/v1` and `src/airlock/hooks/v1` from `proto/`: `generate.py [--check]`.

It needs grpcio-tools 1.76.0. A newer version generates code that requires a newer protobuf of every user. With
`--check` it changes nothing, and fails if the committed files differ.
"""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from grpc_tools import protoc

TOOLS = "1.76.0"
HERE = Path(__file__).parent.resolve()
PROTO = HERE.parents[1] / "proto/proto"
SOURCE = HERE / "src"
# The packages of the contract that clients and hooks use.
PACKAGES = ("airlock/v1", "airlock/hooks/v1")


def main() -> int:
    """Generate the files, or compare them."""
    if version("grpcio-tools") != TOOLS:
        print(f"generate.py: grpcio-tools {TOOLS} is needed", file=sys.stderr)
        return 2
    sources = sorted(str(path.relative_to(PROTO)) for package in PACKAGES for path in (PROTO / package).glob("*.proto"))
    with tempfile.TemporaryDirectory() as scratch:
        arguments = [
            "protoc",
            f"-I{PROTO}",
            f"-I{Path(protoc.__file__).parent / '_proto'}",
            f"--python_out={scratch}",
            f"--pyi_out={scratch}",
            *sources,
        ]
        if protoc.main(arguments) != 0:
            return 1
        made = generated(Path(scratch))
    if "--check" not in sys.argv:
        for name, content in made.items():
            (SOURCE / name).write_bytes(content)
        return 0
    committed = generated(SOURCE)
    different = sorted(name for name in made.keys() | committed.keys() if made.get(name) != committed.get(name))
    for name in different:
        print(f"src/{name} differs from proto/; run generate.py", file=sys.stderr)
    return 1 if different else 0


def generated(root: Path) -> dict[str, bytes]:
    """Return the generated files below a directory, by their relative paths."""
    paths = (path for package in PACKAGES for path in (root / package).glob("*_pb2.py*"))
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


if __name__ == "__main__":
    sys.exit(main())
