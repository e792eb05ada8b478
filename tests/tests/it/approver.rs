//! Tests of an approver at a terminal, which tmux simulates: pages, resizing between pages, keys without an effect,
//! remembered answers, and reasons that reach the agent.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;

use airlock_client::{Client, v1};
use airlock_tests::{
    desk::Airlock,
    process::Process,
    reader::{ended as end_of, exit_code},
    site::{Extras, Site, sha256},
    tmux::Screen,
};

/// The token of a person who may approve the requests of others.
const APPROVER: &str = "the-token-of-a-person-that-is-long-enough";
const SHARED: &str = "name = \"shared\"\nextends = \"strict\"\n[approvals]\nremember = \"tenant\"\n";
const MORE: &str = "Enter for the next page";
const QUESTION: &str = "allow it once? [y/N]";
const SIZE: (u16, u16) = (180, 30);

struct Place {
    site: Site,
    agent: Client,
    session: String,
    _server: Process,
    _runner: Process,
}

impl Place {
    async fn new() -> Self {
        let hash = sha256(APPROVER.as_bytes());
        let site = Site::with(Extras {
            server_tables: format!(
                "[[identity]]\nname = \"person\"\ntenant = \"acme\"\nroles = [\"approver\"]\nmatch = {{ token_sha256 = \"{hash}\" }}\n"
            ),
            profiles: vec![("shared".to_owned(), SHARED.to_owned())],
            ..Extras::default()
        });
        fs::write(site.path().join("approver"), APPROVER).unwrap();
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let agent = site.ready().await;
        let session = session(&agent).await;
        Self { site, agent, session, _server: server, _runner: runner }
    }

    /// Returns a screen for the approver.
    fn screen(&self) -> Screen {
        let screen = Screen::new(&Airlock::at(&self.site), self.site.path(), SIZE);
        screen.line("export AIRLOCK_TOKEN_FILE=approver PS1='code $? here> '");
        ended(&screen, 0);
        screen.clear();
        screen
    }

    /// Runs the approver's command without a terminal.
    fn approver(&self, words: &[&str]) -> String {
        let output =
            Airlock::at(&self.site).command(words).env("AIRLOCK_TOKEN_FILE", "approver").output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Starts a command that needs an approval, and returns its execution.
    async fn asks(&self, session: &str, command: &str) -> v1::Execution {
        let spec = v1::ExecutionSpec {
            command: command.to_owned(),
            session_id: session.to_owned(),
            on_ask: v1::OnAsk::Wait.into(),
            ..Default::default()
        };
        let execution = self.agent.start(spec).await.unwrap();
        assert_eq!(execution.state(), v1::ExecutionState::PendingApproval, "{command}");
        execution
    }

    async fn now(&self, id: &str) -> v1::Execution {
        self.agent.execution(id).await.unwrap()
    }

    async fn exit_code(&self, id: &str) -> Option<i32> {
        exit_code(&end_of(&self.agent, id).await)
    }
}

/// Waits until the approver's shell shows its prompt with this exit code.
fn ended(screen: &Screen, code: u8) {
    let prompt = format!("code {code} here>");
    screen
        .wait(&prompt, |shown| shown.trim_end().lines().last().is_some_and(|line| line.trim_end() == prompt));
}

async fn session(agent: &Client) -> String {
    let request = v1::SessionServiceCreateRequest { profile: "shared".to_owned(), ..Default::default() };
    agent.create_session(request).await.unwrap().session_id
}

/// Returns a command with numbered lines that needs several pages.
fn long() -> String {
    let lines: Vec<String> = (0..60).map(|line| format!("echo line-{line:02}")).collect();
    lines.join("\n") + "\ntouch done"
}

#[tokio::test(flavor = "multi_thread")]
async fn allow_is_offered_after_the_last_page_and_nowhere_before() {
    let place = Place::new().await;
    let asked = place.asks(&place.session, &long()).await;
    let screen = place.screen();
    screen.line(&format!("airlock approve {}", asked.execution_id));
    let mut seen = String::new();
    for _ in 0..20 {
        screen.wait("a page or the question", |shown| shown.contains(MORE) || shown.contains(QUESTION));
        let shown = screen.shown();
        seen.push_str(&shown);
        if shown.contains(QUESTION) {
            break;
        }
        // A key that was typed at a page does not answer the question.
        screen.text("y");
        screen.clear_and(&["Enter"]);
    }
    for line in (0..60).map(|line| format!("echo line-{line:02}")).chain(["touch done".to_owned()]) {
        assert!(seen.contains(&line), "`{line}` was shown:\n{seen}");
    }
    assert_eq!(place.now(&asked.execution_id).await.state(), v1::ExecutionState::PendingApproval);
    screen.line("y");
    screen.see("allowed once");
    ended(&screen, 0);
    assert_eq!(place.exit_code(&asked.execution_id).await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_shown_again_where_the_terminal_changed_under_it() {
    let place = Place::new().await;
    let asked = place.asks(&place.session, &long()).await;
    let screen = place.screen();
    screen.line(&format!("airlock approve {}", asked.execution_id));
    screen.see(MORE);
    let told = |shown: &str| shown.lines().rev().find(|line| line.contains(MORE)).unwrap().trim().to_owned();
    let first = told(&screen.shown());
    screen.resize(80, 10);
    screen.clear_and(&["Enter"]);
    screen.wait("a shorter page", |shown| shown.contains(MORE) && told(shown) != first);
    let shown = screen.shown();
    assert!(
        shown.lines().next().unwrap().starts_with("approval "),
        "from where the last one began:\n{shown}"
    );
    // Resizing during the question shows the last page again, and then the question.
    for _ in 0..40 {
        screen.wait("a page or the question", |shown| shown.contains(MORE) || shown.contains(QUESTION));
        if screen.shown().contains(QUESTION) {
            break;
        }
        screen.clear_and(&["Enter"]);
    }
    screen.resize(80, 8);
    screen.text("y");
    screen.clear_and(&["Enter"]);
    screen.wait("it asks again", |shown| shown.contains(MORE) || shown.contains(QUESTION));
    assert_eq!(place.now(&asked.execution_id).await.state(), v1::ExecutionState::PendingApproval);
    screen.keys(&["C-c"]);
    ended(&screen, 130);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_the_end_of_the_input_and_anything_but_yes_decide_nothing() {
    let place = Place::new().await;
    let asked = place.asks(&place.session, "touch a").await;
    let paged = place.asks(&place.session, &long()).await;
    let screen = place.screen();
    for (id, keys, code) in [
        (&asked, "C-c", 130),
        (&paged, "C-c", 130),
        (&asked, "C-d", 1),
        (&paged, "C-d", 1),
        (&asked, "Enter", 1),
        (&paged, "q", 1),
        (&asked, "n", 1),
    ] {
        screen.line(&format!("airlock approve {}", id.execution_id));
        screen.wait("it asks", |shown| shown.contains(MORE) || shown.contains(QUESTION));
        screen.keys(&[keys]);
        if keys.len() == 1 {
            screen.keys(&["Enter"]);
        }
        ended(&screen, code);
        assert_eq!(place.now(&id.execution_id).await.state(), v1::ExecutionState::PendingApproval, "{keys}");
        screen.clear();
    }
    // Input that was typed before the question does not answer it.
    let waits = "echo it waits; until [ -e go ]; do sleep 0.1; done";
    screen.line(&format!("{waits}; airlock approve {}", asked.execution_id));
    // The shell has released the terminal by then, so the terminal echoes the input.
    screen.see_line("it waits");
    screen.line("y");
    screen.see_line("y");
    fs::write(place.site.path().join("go"), "").unwrap();
    screen.see(QUESTION);
    screen.keys(&["Enter"]);
    ended(&screen, 1);
    assert_eq!(place.now(&asked.execution_id).await.state(), v1::ExecutionState::PendingApproval);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_rule_needs_no_approver_until_it_is_removed() {
    let place = Place::new().await;
    let screen = place.screen();
    let other = session(&place.agent).await;
    for (scope, elsewhere) in [("session", &place.session), ("tenant", &other)] {
        let command = format!("touch {scope}");
        let asked = place.asks(&place.session, &command).await;
        screen.line(&format!("airlock approve --remember {scope} {}", asked.execution_id));
        screen.see("rules cover in ");
        screen.line("y");
        screen.see("allowed, and remembered");
        assert_eq!(place.exit_code(&asked.execution_id).await, Some(0));
        // The second execution needs no approval.
        let spec = |session: &str| v1::ExecutionSpec {
            command: command.clone(),
            session_id: session.to_owned(),
            ..Default::default()
        };
        let again = place.agent.start(spec(elsewhere)).await.unwrap();
        assert_eq!(place.exit_code(&again.execution_id).await, Some(0), "{scope}");
        screen.clear();
        screen.line("airlock rules list");
        screen.see(&format!("Bash({command})"));
        let rule = screen.shown().lines().find(|line| line.contains(&command)).unwrap().to_owned();
        assert!(rule.contains(scope) && rule.contains("person"), "{rule}");
        let id = rule.split_whitespace().next().unwrap();
        screen.line(&format!("airlock rules remove {id}"));
        screen.see(&format!("removed: Bash({command})"));
        screen.clear();
        // From then on it needs an approval again.
        place.agent.start(spec(elsewhere)).await.unwrap_err();
        assert_eq!(place.approver(&["rules", "list", "--quiet"]), "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_sees_why_it_was_denied() {
    let place = Place::new().await;
    let agent = Screen::new(&Airlock::at(&place.site), place.site.path(), SIZE);
    agent.line(&format!("airlock run --on-ask wait -s {} -- 'touch a'; echo \"code $?\"", place.session));
    agent.see("answer with: airlock approve ");
    let id = place.approver(&["approve", "--quiet"]);
    let screen = place.screen();
    screen
        .line(&format!("airlock approve --deny --reason \"$(printf 'not on a Friday\\e]0;owned\\a')\" {id}"));
    screen.see("denied: ");
    agent.see("not on a Friday\\u{1b}]0;owned\\u{7}");
    agent.see_line("code 125");
}
