//! Tests of the client against a real hook over TLS.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_control::hooks::{HookQuestion, HookReply, HookReport, Hooks as _};
use airlock_domain::{
    Cause, ExecutionId, ExecutionResult, ExecutionState, HookBinding, HookOutcome, HookedExecution, Mode,
    SessionId, Shell, limits::HOOK_REASON_BYTES,
};
use airlock_proto::hooks_v1::HookOpinion;
use airlock_store::record::Micros;
use prost::Message as _;
use tokio::time::{Instant, timeout};

use crate::{
    BreakerState, HookClients, HookObserver, HookOptions, Method, TlsFiles, answer,
    call::Lane,
    testing::{NAME, TestAnswer, TestHook},
};

/// How long a test waits for an expected event. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(60);
/// A timeout that a test lets expire.
const SHORT: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Observed {
    outcomes: Mutex<Vec<(Method, HookOutcome)>>,
    states: Mutex<Vec<BreakerState>>,
}

impl HookObserver for Observed {
    fn called(&self, _: &str, method: Method, outcome: HookOutcome, _: Duration) {
        self.outcomes.lock().unwrap().push((method, outcome));
    }

    fn breaker(&self, _: &str, method: Method, state: BreakerState) {
        if method == Method::PreExecute {
            self.states.lock().unwrap().push(state);
        }
    }
}

fn options(hook: &TestHook) -> HookOptions {
    HookOptions {
        address: hook.address(),
        tls: Some(TlsFiles {
            ca: hook.file("ca.pem"),
            identity: Some((hook.file("client.pem"), hook.file("client.key"))),
            server_name: Some(NAME.to_owned()),
        }),
        timeout: PATIENCE,
        in_flight: 16,
        breaker_failures: 1000,
        breaker_wait: PATIENCE,
    }
}

fn clients(options: HookOptions) -> (HookClients, Arc<Observed>) {
    let observed = Arc::new(Observed::default());
    let observer: Arc<dyn HookObserver> = observed.clone();
    let clients = HookClients::new(BTreeMap::from([("guard".to_owned(), options)]), &observer).unwrap();
    (clients, observed)
}

fn execution(tenant: &str) -> HookedExecution {
    HookedExecution {
        execution_id: ExecutionId::new(),
        session_id: SessionId::new(),
        tenant: tenant.to_owned(),
        principal: "ann".to_owned(),
        profile: "hooked".to_owned(),
        mode: Mode::Default,
        command: b"make \xff".to_vec(),
        shell: Shell::Bash,
        directory: b"/workspace".to_vec(),
        description: "builds".to_owned(),
        background: false,
        unsandboxed: false,
        env_names: vec!["CC".to_owned()],
    }
}

fn question() -> HookQuestion {
    HookQuestion {
        execution: execution("t"),
        decision: Vec::new(),
        binding: HookBinding([7; 32]),
        allow_has_effect: true,
    }
}

async fn ask(clients: &HookClients) -> HookReply {
    timeout(PATIENCE, clients.before("guard", &question())).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opinion_arrives_with_its_reason_and_the_question_says_what_it_is_about() {
    let hook = TestHook::start();
    let (clients, observed) = clients(options(&hook));
    for (opinion, outcome) in [
        (HookOpinion::None, HookOutcome::None),
        (HookOpinion::Allow, HookOutcome::Allow),
        (HookOpinion::Ask, HookOutcome::Ask),
        (HookOpinion::Deny, HookOutcome::Deny),
    ] {
        hook.answers(opinion);
        let expected = HookReply { outcome, reason: "the test says so".to_owned() };
        assert_eq!(ask(&clients).await, expected);
        assert_eq!(observed.outcomes.lock().unwrap().pop(), Some((Method::PreExecute, outcome)));
    }
    let asked = hook.questions().pop().unwrap();
    assert_eq!((asked.hook.as_str(), &asked.binding[..]), ("guard", &[7; 32][..]));
    assert!(asked.allow_has_effect && asked.deadline.is_some());
    let about = asked.execution.unwrap();
    assert_eq!((about.command.as_str(), &about.command_bytes[..]), ("", &b"make \xff"[..]));
    assert_eq!((about.principal.as_str(), about.env_names), ("ann", vec!["CC".to_owned()]));
    assert_eq!(clients.before("other", &question()).await.outcome, HookOutcome::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_an_outcome_of_its_own() {
    let hook = TestHook::start();
    let (clients, _) = clients(HookOptions { breaker_failures: 1, ..options(&hook) });
    let allow = |reason: String| TestAnswer::Opinion(HookOpinion::Allow.into(), reason);
    for answer in [
        TestAnswer::Opinion(HookOpinion::Unspecified.into(), String::new()),
        TestAnswer::Opinion(77, String::new()),
        TestAnswer::Opinion(-1, String::new()),
        TestAnswer::OtherQuestion,
        allow("x".repeat(HOOK_REASON_BYTES + 1)),
        allow("x".repeat(1 << 20)),
        allow("two\nlines".to_owned()),
        allow("\u{1b}[2J".to_owned()),
        allow("two\u{2028}lines".to_owned()),
    ] {
        hook.answers(answer.clone());
        assert_eq!(ask(&clients).await.outcome, HookOutcome::Invalid, "{answer:?}");
    }
    hook.answers(allow("x".repeat(HOOK_REASON_BYTES)));
    assert_eq!(ask(&clients).await.outcome, HookOutcome::Allow, "nonsense does not open the breaker");
}

#[test]
fn bytes_that_are_no_message_are_invalid() {
    let good = airlock_proto::hooks_v1::PreExecuteResponse {
        binding: vec![7; 32].into(),
        opinion: HookOpinion::Allow.into(),
        reason: "ok".to_owned(),
    };
    let good = good.encode_to_vec();
    assert_eq!(answer::checked(&question(), &good).outcome, HookOutcome::Allow);
    let mut not_text = good.clone();
    *not_text.last_mut().unwrap() = 0xff;
    let cut = good.get(..good.len() - 1).unwrap();
    for bytes in [&not_text[..], cut, &[][..], &b"nonsense"[..]] {
        assert_eq!(answer::checked(&question(), bytes).outcome, HookOutcome::Invalid, "{bytes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_after_the_deadline_does_not_count() {
    let hook = TestHook::start();
    let (clients, _) = clients(HookOptions { timeout: SHORT, ..options(&hook) });
    hook.answers(TestAnswer::Hold);
    assert_eq!(ask(&clients).await.outcome, HookOutcome::Timeout);
    hook.answers(HookOpinion::Allow);
    hook.answers(TestAnswer::Hold);
    assert_eq!(ask(&clients).await.outcome, HookOutcome::Timeout, "it answers no later question");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_and_a_hook_that_is_down_are_unavailable() {
    let hook = TestHook::start();
    let (clients, _) = clients(options(&hook));
    hook.answers(TestAnswer::Fail);
    let reply = ask(&clients).await;
    assert_eq!(reply.outcome, HookOutcome::Unavailable);
    assert!(!reply.reason.contains("the test says so"), "text of the hook's status is not shown");
    let gone = TestHook::start();
    gone.stop();
    let (clients, _) = self::clients(options(&gone));
    assert_eq!(ask(&clients).await.outcome, HookOutcome::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_right_certificates_are_accepted() {
    let hook = TestHook::start();
    hook.answers(HookOpinion::Allow);
    let right = options(&hook);
    let tls = |change: &dyn Fn(&mut TlsFiles)| {
        let mut files = right.tls.clone().unwrap();
        change(&mut files);
        HookOptions { tls: Some(files), ..right.clone() }
    };
    for (what, wrong) in [
        ("another authority", tls(&|files| files.ca = hook.file("other.pem"))),
        ("another name", tls(&|files| files.server_name = Some("other.test".to_owned()))),
        ("no client certificate", tls(&|files| files.identity = None)),
        (
            "plain text",
            HookOptions { address: right.address.replace("https", "http"), tls: None, ..right.clone() },
        ),
    ] {
        let asked = hook.questions().len();
        assert_eq!(ask(&clients(wrong).0).await.outcome, HookOutcome::Unavailable, "{what}");
        assert_eq!(hook.questions().len(), asked, "{what}");
    }
    assert_eq!(ask(&clients(right).0).await.outcome, HookOutcome::Allow);
}

#[tokio::test(flavor = "multi_thread")]
async fn renewed_files_are_used_and_broken_ones_are_not() {
    let hook = TestHook::start();
    let (clients, _) = clients(options(&hook));
    assert_eq!(ask(&clients).await.outcome, HookOutcome::None);
    let good = std::fs::read(hook.file("ca.pem")).unwrap();
    std::fs::write(hook.file("ca.pem"), std::fs::read(hook.file("other.pem")).unwrap()).unwrap();
    clients.renew("guard").unwrap();
    assert_eq!(ask(&clients).await.outcome, HookOutcome::Unavailable);
    std::fs::write(hook.file("ca.pem"), good).unwrap();
    clients.renew("guard").unwrap();
    std::fs::remove_file(hook.file("client.key")).unwrap();
    assert!(clients.renew("guard").unwrap_err().contains("client.key"));
    assert_eq!(ask(&clients).await.outcome, HookOutcome::None, "the last valid files are used");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_limit_wait_for_their_turn_and_are_busy_at_the_deadline() {
    let hook = TestHook::start();
    let limited = HookOptions { in_flight: 2, ..options(&hook) };
    let (patient, _) = clients(limited.clone());
    hook.answers(TestAnswer::Hold);
    let held: Vec<_> = (0..6)
        .map(|_| {
            let clients = patient.clone();
            tokio::spawn(async move { ask(&clients).await })
        })
        .collect();
    timeout(PATIENCE, hook.until_asked(2)).await.unwrap();
    hook.answers(HookOpinion::Allow);
    for call in held {
        assert_eq!(call.await.unwrap().outcome, HookOutcome::Allow);
    }
    let lane = Lane::new("guard", Method::PreExecute, &limited, Arc::new(Observed::default()));
    let deadline = Instant::now() + PATIENCE;
    let held = [lane.begin("t", deadline).await, lane.begin("u", deadline).await].map(Result::unwrap);
    let busy = lane.begin("v", Instant::now() + SHORT).await.err().unwrap();
    assert_eq!(busy.outcome, HookOutcome::Busy);
    drop(held);
    assert!(lane.begin("v", Instant::now() + PATIENCE).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_breaker_stops_calls_and_one_call_closes_it() {
    let hook = TestHook::start();
    let (clients, observed) =
        clients(HookOptions { breaker_failures: 3, breaker_wait: SHORT, ..options(&hook) });
    hook.answers(TestAnswer::Fail);
    for _ in 0..3 {
        assert_eq!(ask(&clients).await.outcome, HookOutcome::Unavailable);
    }
    let asked = hook.questions().len();
    let refused = ask(&clients).await;
    if hook.questions().len() == asked {
        assert!(refused.reason.contains("3 calls in a row failed"), "{}", refused.reason);
    }
    hook.answers(HookOpinion::Allow);
    let closed = async {
        while ask(&clients).await.outcome != HookOutcome::Allow {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, closed).await.unwrap();
    let states = observed.states.lock().unwrap().clone();
    assert_eq!(states.get(..2), Some(&[BreakerState::Closed, BreakerState::Open][..]));
    assert_eq!(states.get(states.len() - 2..), Some(&[BreakerState::HalfOpen, BreakerState::Closed][..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_breaker_refuses_at_once() {
    let hook = TestHook::start();
    let (clients, _) = clients(HookOptions { breaker_failures: 1, ..options(&hook) });
    hook.answers(TestAnswer::Fail);
    assert_eq!(ask(&clients).await.outcome, HookOutcome::Unavailable);
    hook.answers(HookOpinion::Allow);
    let refused = ask(&clients).await;
    assert_eq!((refused.outcome, hook.questions().len()), (HookOutcome::Unavailable, 1));
    assert!(refused.reason.contains("1 calls in a row failed"), "{}", refused.reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_confirmed_or_fails_and_does_not_open_the_breaker_of_questions() {
    let hook = TestHook::start();
    let (clients, observed) = clients(HookOptions { breaker_failures: 1, ..options(&hook) });
    let report = HookReport {
        execution: execution("t"),
        decision: Vec::new(),
        state: ExecutionState::Finished,
        result: ExecutionResult::not_started(Cause::QueueExpired),
        attempt: 3,
        finished: Micros(1_500_000),
    };
    clients.after("guard", &report).await.unwrap();
    let sent = hook.reports().pop().unwrap();
    assert_eq!((sent.attempt, sent.finished.unwrap().nanos), (3, 500_000_000));
    hook.answers(TestAnswer::Fail);
    let failed = clients.after("guard", &report).await.unwrap_err();
    assert_eq!(failed.outcome, HookOutcome::Unavailable);
    let outcomes = observed.outcomes.lock().unwrap().clone();
    assert_eq!(
        outcomes,
        [(Method::PostExecute, HookOutcome::None), (Method::PostExecute, HookOutcome::Unavailable)]
    );
    hook.answers(HookOpinion::Allow);
    assert_eq!(ask(&clients).await.outcome, HookOutcome::Allow);
}
