//! End-to-end tests of approvals: a server, a runner, an agent that asks, and people who answer, each with their
//! own credentials. The presentation of a command is tested in `cli`.

#![expect(clippy::unwrap_used, reason = "a test")]

mod edits;

use airlock_client::{
    Client, ClientError,
    v1::{self, approval_service_decide_request as decide},
};
use airlock_tests::{
    process::Process,
    reader::{cause, ended, exit_code, replay, run, spec_in},
    site::{Extras, PATIENCE, Site, sha256},
};
use nix::sys::signal::Signal;

/// A profile that runs sandboxed commands and asks about scripts.
const ASKS: &str =
    "name = \"asks\"\nextends = \"sandboxed\"\n[policy]\nask = [\"Bash(bash x.sh)\", \"Bash(./x.sh)\"]\n";
/// A profile with approvals that expire at once.
const BRIEF: &str = "name = \"brief\"\nextends = \"strict\"\n[approvals]\nvalid_for = \"1s\"\n";
/// A profile that runs sandboxed commands and asks about sed.
const EDITS: &str = "name = \"edits\"\nextends = \"sandboxed\"\n[policy]\nask = [\"Bash(sed:*)\"]\n";
const SHARED: &str = "name = \"shared\"\nextends = \"strict\"\n[approvals]\nremember = \"tenant\"\n";

const BOB: &str = "bobs-own-token-of-the-test-which-is-long-enough";
const EVE: &str = "eves-own-token-of-the-test-which-is-long-enough";

struct Fixture {
    agent: Client,
    bob: Client,
    eve: Client,
    server: Process,
    runner: Process,
    site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let identity = |name: &str, tenant: &str, token: &str| {
            format!(
                "[[identity]]\nname = \"{name}\"\ntenant = \"{tenant}\"\nroles = [\"approver\"]\n\
                 match = {{ token_sha256 = \"{}\" }}\n",
                sha256(token.as_bytes())
            )
        };
        let server_tables = identity("bob", "acme", BOB) + &identity("eve", "other", EVE);
        let profiles = [("asks", ASKS), ("brief", BRIEF), ("shared", SHARED), ("edits", EDITS)];
        let profiles = profiles.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
        let site = Site::with(Extras { server_tables, profiles, ..Extras::default() });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let agent = site.ready().await;
        let [bob, eve] = [BOB, EVE].map(|token| Client::connect_lazy(site.settings_with(token)).unwrap());
        Self { agent, bob, eve, server, runner, site }
    }

    async fn session(&self, profile: &str) -> String {
        let request = v1::SessionServiceCreateRequest { profile: profile.to_owned(), ..Default::default() };
        self.agent.create_session(request).await.unwrap().session_id
    }

    /// Runs a command that needs no approval.
    async fn does(&self, session: &str, command: &str) {
        let story = run(&self.agent, spec_in(session, command)).await.unwrap();
        assert_eq!(story.exit_code(), Some(0), "{command}: {:?}", story.end);
    }

    /// Starts a command that needs an approval.
    async fn asks(&self, session: &str, command: &str) -> (String, v1::Approval) {
        let spec = v1::ExecutionSpec { on_ask: v1::OnAsk::Wait.into(), ..spec_in(session, command) };
        let execution = self.agent.start(spec).await.unwrap();
        assert_eq!(execution.state(), v1::ExecutionState::PendingApproval, "{command}");
        // A short approval can expire before it is read.
        let states = vec![v1::ApprovalState::Open.into(), v1::ApprovalState::Expired.into()];
        let filter = v1::ApprovalFilter { states, ..Default::default() };
        let approval = self.approval(&execution.execution_id, filter).await.unwrap();
        (execution.execution_id, approval)
    }

    /// Returns the open approval of an execution.
    async fn open(&self, execution: &str) -> Option<v1::Approval> {
        self.approval(execution, v1::ApprovalFilter::default()).await
    }

    async fn approval(&self, execution: &str, filter: v1::ApprovalFilter) -> Option<v1::Approval> {
        let request = v1::ApprovalServiceListRequest { filter: Some(filter), page: None };
        let list = self.bob.approvals(request).await.unwrap();
        list.approvals.into_iter().find(|approval| approval.execution_id == execution)
    }

    /// Waits for the next approval of an execution after `before`.
    async fn asked_again(&self, execution: &str, before: &v1::Approval) -> v1::Approval {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let open = self.open(execution).await;
            if let Some(next) = open.filter(|open| open.approval_id != before.approval_id) {
                return next;
            }
            let now = self.agent.execution(execution).await.unwrap();
            assert!(tokio::time::Instant::now() < deadline, "the question was not repeated: {now:?}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    async fn answers(
        &self,
        approval: &v1::Approval,
        answer: decide::Answer,
    ) -> Result<v1::Approval, ClientError> {
        let request = v1::ApprovalServiceDecideRequest {
            approval_id: approval.approval_id.clone(),
            binding: approval.binding.clone(),
            answer: Some(answer),
        };
        self.bob.decide(request).await
    }

    async fn ended(&self, execution: &str) -> v1::Execution {
        ended(&self.agent, execution).await
    }

    async fn output(&self, execution: &str) -> String {
        let story = replay(&self.agent, execution).await.unwrap();
        String::from_utf8(story.stdout).unwrap()
    }
}

fn once() -> decide::Answer {
    decide::Answer::AllowOnce(decide::AllowOnce {})
}

fn remembered(scope: v1::RuleScope) -> decide::Answer {
    decide::Answer::AllowAndRemember(decide::AllowAndRemember { scope: scope.into(), rules: Vec::new() })
}

fn reason_of(error: &ClientError) -> String {
    format!("{error:?}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_allowed_once_runs_once_and_a_denial_has_a_reason() {
    let fixture = Fixture::new().await;
    let session = fixture.session("strict").await;
    let command = "echo ran >> ran.txt; cat ran.txt";
    let (execution, approval) = fixture.asks(&session, command).await;
    let own = v1::ApprovalServiceDecideRequest {
        approval_id: approval.approval_id.clone(),
        binding: approval.binding.clone(),
        answer: Some(once()),
    };
    let refused = reason_of(&fixture.agent.decide(own.clone()).await.unwrap_err());
    assert!(refused.contains("PermissionDenied"), "the caller's own request: {refused}");
    let unseen = fixture.eve.approvals(v1::ApprovalServiceListRequest::default()).await.unwrap();
    assert!(unseen.approvals.is_empty(), "another tenant sees no approval");
    let refused = reason_of(&fixture.eve.decide(own.clone()).await.unwrap_err());
    assert!(refused.contains("NotFound"), "{refused}");
    let other = v1::ApprovalServiceDecideRequest { binding: vec![0; 32].into(), ..own };
    let refused = reason_of(&fixture.bob.decide(other).await.unwrap_err());
    assert!(refused.contains("BINDING_MISMATCH"), "{refused}");

    let (one, two) = tokio::join!(fixture.answers(&approval, once()), fixture.answers(&approval, once()));
    assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "exactly one wins: {one:?} {two:?}");
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0));
    assert_eq!(fixture.output(&execution).await, "ran\n", "once");

    let (second, approval) = fixture.asks(&session, command).await;
    let deny = decide::Answer::Deny(decide::Deny { reason: "once is enough".to_owned() });
    fixture.answers(&approval, deny).await.unwrap();
    let ended = fixture.ended(&second).await;
    assert_eq!(cause(&ended), v1::CauseCode::Denied);
    assert!(format!("{:?}", ended.result).contains("once is enough"), "the agent sees why: {ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_answer_applies_in_its_scope() {
    let fixture = Fixture::new().await;
    let [here, there] = [fixture.session("shared").await, fixture.session("shared").await];
    let command = "touch made.txt";
    let (execution, approval) = fixture.asks(&here, command).await;
    let suggested = approval.decision.clone().unwrap().suggested_rules;
    fixture.answers(&approval, remembered(v1::RuleScope::Session)).await.unwrap();
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0));
    fixture.does(&here, command).await;
    let asked = run(&fixture.agent, spec_in(&there, command)).await.unwrap_err();
    assert!(reason_of(&asked).contains("APPROVAL_REQUIRED"), "another session still asks: {asked:?}");

    let (execution, approval) = fixture.asks(&there, command).await;
    fixture.answers(&approval, remembered(v1::RuleScope::Tenant)).await.unwrap();
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0));
    let third = fixture.session("shared").await;
    fixture.does(&third, command).await;

    let rules = fixture.bob.rules(v1::ApprovalServiceListRulesRequest::default()).await.unwrap().rules;
    let texts: Vec<_> = rules.iter().map(|rule| (rule.rule.clone(), rule.scope())).collect();
    let rule = suggested.first().unwrap().clone();
    assert_eq!(texts, [(rule.clone(), v1::RuleScope::Session), (rule, v1::RuleScope::Tenant)]);
    fixture.bob.remove_rule(&rules.last().unwrap().rule_id).await.unwrap();
    let asked = run(&fixture.agent, spec_in(&third, command)).await.unwrap_err();
    assert!(reason_of(&asked).contains("APPROVAL_REQUIRED"), "removed: {asked:?}");
    assert!(
        fixture.eve.rules(v1::ApprovalServiceListRulesRequest::default()).await.unwrap().rules.is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_changed_between_question_and_start_is_asked_about_again() {
    let fixture = Fixture::new().await;
    for (change, expected) in [
        ("echo 'echo two' > x.sh", "two\n"),
        ("echo 'echo other' > other; rm x.sh; ln -s other x.sh", "other\n"),
        ("rm x.sh; mkdir kept; echo 'echo late' > kept/late; mv kept/late x.sh", "late\n"),
    ] {
        let session = fixture.session("asks").await;
        fixture.does(&session, "echo 'echo one' > x.sh").await;
        let (execution, approval) = fixture.asks(&session, "bash x.sh").await;
        let file = approval.files.first().unwrap();
        assert_eq!((file.state(), file.path()), (v1::BoundFileState::Digest, &b"/workspace/x.sh"[..]));
        assert_eq!(sha256(b"echo one\n"), file.sha256.iter().map(|b| format!("{b:02x}")).collect::<String>());
        fixture.does(&session, change).await;
        fixture.answers(&approval, once()).await.unwrap();
        let again = fixture.asked_again(&execution, &approval).await;
        assert_eq!(again.decision.as_ref().unwrap().reasons.first().unwrap().code, "files_changed");
        assert_ne!(again.files, approval.files);
        fixture.answers(&again, once()).await.unwrap();
        assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0), "{change}");
        assert_eq!(fixture.output(&execution).await, expected, "{change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_gone_asks_again_and_one_that_is_back_does_not() {
    let fixture = Fixture::new().await;
    let session = fixture.session("asks").await;
    fixture.does(&session, "echo 'echo one' > x.sh").await;
    let (execution, approval) = fixture.asks(&session, "bash x.sh").await;
    fixture.does(&session, "mv x.sh kept").await;
    fixture.answers(&approval, once()).await.unwrap();
    let again = fixture.asked_again(&execution, &approval).await;
    assert_eq!(again.files.first().unwrap().state(), v1::BoundFileState::Absent);
    fixture.agent.cancel(&execution).await.unwrap();

    fixture.does(&session, "mv kept x.sh").await;
    let (execution, approval) = fixture.asks(&session, "bash x.sh").await;
    fixture.does(&session, "echo 'echo two' > x.sh").await;
    fixture.does(&session, "echo 'echo one' > x.sh").await;
    fixture.answers(&approval, once()).await.unwrap();
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0));
    assert_eq!(fixture.output(&execution).await, "one\n", "the same contents are approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_outlives_its_server_and_an_answer_waits_for_its_runner() {
    let mut fixture = Fixture::new().await;
    let session = fixture.session("strict").await;
    let (execution, approval) = fixture.asks(&session, "touch made; ls").await;
    fixture.server.signal(Signal::SIGKILL);
    assert!(fixture.server.wait(PATIENCE).is_some());
    fixture.server = fixture.site.server(&[]);
    fixture.site.ready().await;
    let stands = fixture.open(&execution).await.unwrap();
    assert_eq!(stands, approval);

    fixture.runner.signal(Signal::SIGKILL);
    assert!(fixture.runner.wait(PATIENCE).is_some());
    fixture.answers(&approval, once()).await.unwrap();
    let waits = fixture.agent.execution(&execution).await.unwrap();
    assert_ne!(waits.state(), v1::ExecutionState::Finished);
    fixture.runner = fixture.site.runner(&[]);
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0));
    assert_eq!(fixture.output(&execution).await, "made\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_ends_when_it_expires_or_its_session_closes() {
    let fixture = Fixture::new().await;
    let brief = fixture.session("brief").await;
    let (execution, approval) = fixture.asks(&brief, "touch x").await;
    assert_eq!(cause(&fixture.ended(&execution).await), v1::CauseCode::ApprovalExpired);
    let refused = reason_of(&fixture.answers(&approval, once()).await.unwrap_err());
    assert!(refused.contains("APPROVAL_NOT_OPEN"), "{refused}");

    let session = fixture.session("strict").await;
    let (execution, approval) = fixture.asks(&session, "touch x").await;
    fixture.agent.close_session(&session).await.unwrap();
    assert_eq!(cause(&fixture.ended(&execution).await), v1::CauseCode::Cancelled);
    let refused = reason_of(&fixture.answers(&approval, once()).await.unwrap_err());
    assert!(refused.contains("APPROVAL_NOT_OPEN") && refused.contains("withdrawn"), "{refused}");
}
