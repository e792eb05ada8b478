//! The Python client as a user gets it: a wheel that is built from this repository, in an empty environment.
//!
//! The test follows `docs/agents.md` word for word. Then it runs the client's own tests in that environment: the types, the
//! conformance cases, the tests with a fake and with a real server, and the programs in the documentation. The tests of
//! `docs/examples/hook` follow, because that example uses the client's messages.

use std::{
    fs,
    process::{Command, Stdio},
};

use airlock_mounts::ScratchDir;
use airlock_tests::{pages::blocks, source, tools};

/// The packages that test the client. Their versions are those of `scripts/lib.sh`.
const PACKAGES: &str = "grpcio-tools mypy pytest pytest-asyncio types-grpcio types-protobuf";

#[test]
fn the_page_for_agents_leads_to_a_client_that_passes_its_tests() {
    let home = ScratchDir::with_prefix("airlock-test-python-");
    let page = fs::read_to_string(source::root().join("docs/agents.md")).unwrap();
    let blocks = [blocks(&page, "Start a server", "bash"), blocks(&page, "Python", "bash")].concat();
    assert_eq!(blocks.len(), 2, "the server and the client");
    let script = format!(
        "trap 'kill -TERM $(jobs -p) 2>/dev/null; wait' EXIT
        {}
        export AIRLOCK_STATE=~/.local/state/airlock
        cd clients/python
        ~/agent/bin/pip install --quiet {PACKAGES}
        pytest() {{ ~/agent/bin/python -m pytest -q -p no:cacheprovider \"$@\"; }}
        others() {{
            ~/agent/bin/python generate.py --check
            ~/agent/bin/mypy --cache-dir ~/mypy
            pytest --ignore tests/test_conformance.py
            cd ../../docs/examples/hook
            ~/agent/bin/mypy --cache-dir ~/mypy
            pytest
        }}
        (set -e; others) > ~/others.log 2>&1 & others=$!
        pytest tests/test_conformance.py -k although > ~/cut.log 2>&1 & cut=$!
        pytest tests/test_conformance.py -k 'not although'
        wait $others || {{ cat ~/others.log; exit 1; }}
        wait $cut || {{ cat ~/cut.log; exit 1; }}
        cat ~/others.log ~/cut.log",
        blocks.concat()
    );
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(source::root())
        .env("HOME", home.path())
        .env("PATH", tools::path())
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", tools::client_wheels())
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("XDG_STATE_HOME")
        .env_remove("AIRLOCK_STATE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert_eq!(text.matches(" passed").count(), 4, "{text}");
    assert!(text.matches("Success: no issues found").count() == 2, "{text}");
}
