//! What agents usually do in folders with links, the whole way over gRPC: what runs, and what is refused because
//! its name is not where it leads.

#![expect(clippy::unwrap_used, reason = "a test")]

use airlock_cli::client::{Client, v1};
use airlock_tests::{
    reader::run,
    site::{Extras, Site},
};

/// Rules for programs by name, as people write them.
const PROFILE: &str = "name = \"work\"\nextends = \"sandboxed\"\n[policy]\n\
    allow = [\"Bash(python3:*)\", \"Bash(env:*)\", \"Bash(git:*)\"]\n";

/// A workspace as package managers and people leave them.
const SETUP: &str = r#"set -e
mkdir -p src node_modules/.bin node_modules/tool venv/bin packages/app .git/hooks
echo 'print("ran")' > src/x.py; echo a > src/file
printf '#!/bin/sh\necho ran\n' > node_modules/tool/cli; chmod +x node_modules/tool/cli
ln -s ../tool/cli node_modules/.bin/tool
ln -s /usr/bin/python3 venv/bin/python3
ln -s ../packages/app node_modules/app
ln -s src linked; ln -s src/file link; ln -s src/file doomed; ln -s .git/hooks hooks; ln -s /tmp out
ln -s src moved; ln -s /home/agent house; ln -s nowhere dangling
"#;

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

/// And where each says that it leads; nothing for what cannot be followed.
const REFUSED: &[(&str, &str)] = &[
    ("touch linked/y", "leads to `/workspace/src/y`"),
    ("cp src/file linked/z", "leads to `/workspace/src/z`"),
    ("echo x > link", "leads to `/workspace/src/file`"),
    ("echo x > hooks/pre-commit", "leads to `/workspace/.git/hooks/pre-commit`"),
    ("touch out/x", "leads to `/tmp/x`"),
    ("touch house/.bashrc", "leads to `/home/agent/.bashrc`"),
    ("touch dangling", "leads to `/workspace/nowhere`"),
    ("cd linked && touch there", "leads to `/workspace/src/there`"),
];

async fn outcome(client: &Client, session_id: &str, command: &str) -> v1::Cause {
    let spec = v1::ExecutionSpec {
        command: command.as_bytes().to_vec().into(),
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
    let made = outcome(&client, &session_id, &format!("sh -c '{}'", SETUP.replace('\'', r"'\''"))).await;
    assert_eq!(made.code(), v1::CauseCode::Exited, "{made:?}");
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
