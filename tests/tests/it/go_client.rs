//! The Go client as a user of Debian gets it: `docs/agents.md`, word for word, and Debian's packages.
//!
//! Then the client's own tests run: the conformance cases, the tests with a fake and with a real server, and the programs
//! in the documentation. The code must be formatted, pass `go vet`, and have current generated code.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    process::{Command, Stdio},
};

use airlock_mounts::ScratchDir;
use airlock_tests::{source, tools};

/// Returns the only block of a section in a language.
fn block<'a>(page: &'a str, section: &str, language: &str) -> &'a str {
    let section = page.split(&format!("\n## {section}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    let mut blocks = section.split(&fence).skip(1);
    let block = blocks.next().unwrap().split("```").next().unwrap();
    assert!(blocks.next().is_none(), "one block");
    block
}

#[test]
fn the_page_for_agents_leads_to_a_go_client_that_passes_its_tests() {
    let home = ScratchDir::with_prefix("airlock-test-go-");
    let page = fs::read_to_string(source::root().join("docs/agents.md")).unwrap();
    let script = format!(
        "trap 'kill -TERM $(jobs -p) 2>/dev/null; wait' EXIT
        {}
        {}
        export AIRLOCK_STATE=~/.local/state/airlock
        cd ~/agent-go/src/airlock.example/airlock
        unformatted=$(gofmt -l .)
        [ -z \"$unformatted\" ] || {{ echo \"not formatted: $unformatted\"; exit 1; }}
        ./generate.sh --check
        go vet ./...
        go test -count=1 -v ./... > ~/test.log || {{ cat ~/test.log; exit 1; }}
        grep -- '^--- PASS' ~/test.log",
        block(&page, "Start a server", "bash"),
        block(&page, "Go", "shell"),
    );
    let python = format!(
        "{}:{}",
        source::root().join("clients/python/src").display(),
        tools::python_packages("python").display()
    );
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(source::root())
        .env("HOME", home.path())
        .env("PATH", tools::path())
        // gRPC for Go is compiled once, and not in each run.
        .env("GOCACHE", tools::tools().join("go-cache"))
        .env("PYTHON", "/usr/bin/python3")
        .env("PYTHONPATH", python)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("XDG_STATE_HOME")
        .env_remove("AIRLOCK_STATE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    for test in
        ["TestConformance", "TestDocumentation", "ExampleSession_Run", "TestLiveALocalPortIsForwarded"]
    {
        assert!(text.contains(&format!("--- PASS: {test}")), "{test} did not run\n{text}");
    }
}
