"""Generates `src/airlock/v1` from `proto/`: `generate.py [--check]`.

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
TARGET = HERE / "src/airlock/v1"


def main() -> int:
    """Generate the files, or compare them."""
    if version("grpcio-tools") != TOOLS:
        print(f"generate.py: grpcio-tools {TOOLS} is needed", file=sys.stderr)
        return 2
    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("airlock/v1/*.proto"))
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
        made = {path.name: path.read_bytes() for path in Path(scratch, "airlock/v1").iterdir()}
    if "--check" not in sys.argv:
        for name, content in made.items():
            (TARGET / name).write_bytes(content)
        return 0
    committed = {path.name: path.read_bytes() for path in TARGET.glob("*_pb2.py*")}
    different = sorted(name for name in made.keys() | committed.keys() if made.get(name) != committed.get(name))
    for name in different:
        print(f"src/airlock/v1/{name} differs from proto/; run generate.py", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
