//! The TypeScript client as a user gets it: a tarball that npm builds from this repository, in an empty project.
//!
//! The test follows `docs/agents.md` word for word, in a copy of the repository. Then it runs the client's own tests with
//! the oldest version of Node.js: the generated code, the conformance cases, the tests with a fake and with a real server,
//! and the programs in the documentation.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use airlock_mounts::ScratchDir;
use airlock_tests::{pages::blocks, source, tools};
use serde_json::{Value, json};

/// The packages of the server with the older contract, which is written in Python.
const PYTHON: &str = "grpcio protobuf googleapis-common-protos";

/// Writes the lock of an empty project, so that npm installs the tarball's dependencies in the versions of the client's
/// own lock. Without it, npm would ask the registry for the newest versions.
fn write_lock(project: &Path) {
    let lock = fs::read_to_string(source::root().join("clients/typescript/package-lock.json")).unwrap();
    let mut lock: Value = serde_json::from_str(&lock).unwrap();
    let packages = lock["packages"].as_object_mut().unwrap();
    packages.retain(|name, package| !name.is_empty() && package.get("dev").is_none());
    assert!(!packages.is_empty(), "the client has dependencies");
    packages.insert(String::new(), json!({}));
    fs::create_dir_all(project).unwrap();
    fs::write(project.join("package-lock.json"), lock.to_string()).unwrap();
}

#[test]
fn the_page_for_agents_leads_to_a_client_that_passes_its_tests() {
    let home = ScratchDir::with_prefix("airlock-test-typescript-");
    let repository = home.path().join("airlock");
    source::copy(&["clients", "docs", "proto"], &repository);
    write_lock(&home.path().join("agent-ts"));
    let page = fs::read_to_string(source::root().join("docs/agents.md")).unwrap();
    let blocks = [blocks(&page, "Start a server", "bash"), blocks(&page, "TypeScript", "bash")].concat();
    assert_eq!(blocks.len(), 2, "the server and the client");
    let script = format!(
        "trap 'kill -TERM $(jobs -p) 2>/dev/null; wait' EXIT
        {}
        export AIRLOCK_STATE=~/.local/state/airlock AIRLOCK_TEST_PROJECT=~/agent-ts
        python3 -m pip install --quiet --no-compile --target ~/python {PYTHON}
        export PYTHONPATH=~/airlock/clients/python/src:~/python
        cd clients/typescript
        npm run --silent build:test
        tests() {{ node20 --test --test-reporter=spec \"$@\"; }}
        others() {{
            node24 generate.mjs --check
            tests $(ls build/test/*.test.js | grep -v -e conformance -e cuts)
        }}
        (set -e; others) > ~/others.log 2>&1 & others=$!
        tests build/test/cuts.test.js > ~/cut.log 2>&1 & cut=$!
        tests build/test/conformance.test.js
        wait $others || {{ cat ~/others.log; exit 1; }}
        wait $cut || {{ cat ~/cut.log; exit 1; }}
        cat ~/others.log ~/cut.log",
        blocks.concat()
    );
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(&repository)
        .env("HOME", home.path())
        .env("PATH", tools::path())
        .env("npm_config_cache", tools::client_npm())
        .env("npm_config_offline", "true")
        .env("npm_config_update_notifier", "false")
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", tools::client_wheels())
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("XDG_STATE_HOME")
        .env_remove("AIRLOCK_STATE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert_eq!(text.matches("\u{2139} fail 0").count(), 3, "{text}");
    assert_eq!(text.matches("\u{2139} skipped 0").count(), 3, "{text}");
}
