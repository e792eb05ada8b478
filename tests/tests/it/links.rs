//! End-to-end tests of common operations in directories with links: those that run, and those that are refused
//! because the name leads elsewhere.

#![expect(clippy::unwrap_used, reason = "a test")]

use airlock_client::{
    Client,
    v1::{self, cause::Detail},
};
use airlock_tests::{
    reader::run,
    site::{Extras, Site},
};

/// Common rules for programs by name.
const PROFILE: &str = "name = \"work\"\nextends = \"sandboxed\"\n[policy]\n\
    allow = [\"Bash(python3:*)\", \"Bash(env:*)\", \"Bash(git:*)\"]\n";

/// Creates a workspace as package managers leave it.
const SETUP: &[&str] = &[
    "git init -q",
    "python3 -c 'import os; [os.makedirs(p) for p in \"src node_modules/.bin node_modules/tool venv/bin packages/app\".split()]; \
     open(\"src/x.py\", \"w\").write(\"print(1)\"); open(\"src/file\", \"w\").write(\"a\"); \
     open(\"node_modules/tool/cli\", \"w\").write(\"#!/bin/sh\"); os.chmod(\"node_modules/tool/cli\", 0o755)'",
    "python3 -c 'import os; [os.symlink(*p.split(\">\")) for p in \"../tool/cli>node_modules/.bin/tool \
     /usr/bin/python3>venv/bin/python3 ../packages/app>node_modules/app src>linked src/file>link src/file>doomed \
     .git/hooks>hooks /tmp>out src>moved /home/agent>house nowhere>dangling\".split()]'",
];

const RUNS: &[&str] = &[
    "touch src/new",
    "mkdir -p src/a/b",
    "sed -i s/a/b/ src/file",
    "echo x > src/log",
    "rm doomed",
    "mv moved renamed",
    "cp linked/file copied",
    "cp node_modules/.bin/tool copied-tool",
    "cp -r venv/bin/python3 copied-python",
    "cp node_modules/app/../../src/file copied-too",
    "cat link linked/x.py node_modules/.bin/tool",
    "ls -l node_modules/.bin venv/bin linked",
    "python3 src/x.py",
    "python3 linked/x.py",
    "venv/bin/python3 src/x.py",
    "./node_modules/.bin/tool",
    "env X=1 python3 src/x.py",
    "sh -c 'echo x > linked/by-a-script'",
    "cd packages/app && touch here && cd ../..",
    "rm -r node_modules/app",
];

/// Refused commands, and the target that each error names; empty if the link cannot be followed.
const REFUSED: &[(&str, &str)] = &[
    ("touch linked/y", "resolves to `/workspace/src/y`"),
    ("cp src/file linked/z", "resolves to `/workspace/src/z`"),
    ("echo x > link", "resolves to `/workspace/src/file`"),
    ("echo x > hooks/pre-commit", "resolves to `/workspace/.git/hooks/pre-commit`"),
    ("touch out/x", "resolves to `/tmp/x`"),
    ("touch house/new", "resolves to `/home/agent/new`"),
    ("touch dangling", "resolves to `/workspace/nowhere`"),
    ("cd linked && touch there", "resolves to `/workspace/src/there`"),
];

async fn outcome(client: &Client, session_id: &str, command: &str) -> v1::Cause {
    let spec = v1::ExecutionSpec {
        command: command.to_owned(),
        session_id: session_id.to_owned(),
        ..Default::default()
    };
    let story = run(client, spec).await.map_err(|error| format!("{command}: {error:?}")).unwrap();
    story.end.unwrap().result.unwrap().cause.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn usual_work_among_links_runs_and_what_writes_through_one_is_told_the_real_name() {
    let profiles = vec![("work".to_owned(), PROFILE.to_owned())];
    let site = Site::with(Extras { profiles, ..Extras::default() });
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let request = v1::SessionServiceCreateRequest {
        profile: "work".to_owned(),
        mode: v1::Mode::AcceptEdits.into(),
        ..Default::default()
    };
    let session_id = client.create_session(request).await.unwrap().session_id;
    let mut wrong = Vec::new();
    for command in SETUP {
        let made = outcome(&client, &session_id, command).await;
        assert!(
            matches!(&made.detail, Some(Detail::Exited(exited)) if exited.code == 0),
            "{command}: {made:?}"
        );
    }
    for (command, real) in REFUSED {
        let cause = outcome(&client, &session_id, command).await;
        if cause.code() != v1::CauseCode::Refused || !cause.message.contains(real) {
            wrong.push(format!("not refused: {command}: {cause:?}"));
        }
    }
    for command in RUNS {
        let cause = outcome(&client, &session_id, command).await;
        let code = cause.detail.as_ref().map(|detail| format!("{detail:?}")).unwrap_or_default();
        if cause.code() != v1::CauseCode::Exited || !code.contains("code: 0") {
            wrong.push(format!("does not run: {command}: {cause:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
