//! A runner that violates the protocol of the link, uses another version, or reports executions of
//! others. It changes only its own executions, and receives the reason for the end of its link.

use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    runner_v1::{self as wire, JobPhase, connect_request::Message as Up},
    v1,
};
use airlock_tests::reader::{ended, exit_code, running, spec, spec_in};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::hostile::{
    fake_runner::{FakeRunner, channel, connect, exited, hello},
    fixture::Fixture,
};

fn reason(status: &Status) -> String {
    status.get_error_details().error_info().map(|info| info.reason.clone()).unwrap_or_default()
}

async fn refused(fixture: &Fixture, first: Vec<Option<Up>>) -> Status {
    let channel = channel(fixture, &fixture.site.pki.issue("runner-2", &[])).await;
    match connect(channel, first).await {
        Err(status) => status,
        Ok(runner) => runner.end().await,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_of_another_version_is_told_both_versions() {
    let fixture = Fixture::new().await;
    for version in [0, LINK_PROTOCOL_VERSION + 1, LINK_PROTOCOL_VERSION + 100, u32::MAX] {
        // The rest of its Hello may have an unknown form.
        for runner_id in ["runner-2", ""] {
            let hello = wire::Hello { protocol_version: version, ..hello(runner_id) };
            let status = refused(&fixture, vec![Some(Up::Hello(hello))]).await;
            assert_eq!(status.code(), Code::FailedPrecondition, "{version}: {status:?}");
            let details = status.get_error_details();
            let info = details.error_info().unwrap();
            assert_eq!((info.reason.as_str(), info.domain.as_str()), ("PROTOCOL_VERSION", "airlock"));
            assert_eq!(info.metadata["yours"], version.to_string());
            assert_eq!(info.metadata["supported"], LINK_PROTOCOL_VERSION.to_string());
            assert!(status.message().contains(&version.to_string()), "{status:?}");
        }
    }
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_does_not_begin_with_one_hello_of_its_own_ends() {
    let fixture = Fixture::new().await;
    let good = || Some(Up::Hello(hello("runner-2")));
    let with = |change: fn(&mut wire::Hello)| {
        let mut hello = hello("runner-2");
        change(&mut hello);
        vec![Some(Up::Hello(hello))]
    };
    let beat = || Some(Up::Heartbeat(wire::Heartbeat { clock_ms: 1, running: 0 }));
    let malformed = (Code::InvalidArgument, "MALFORMED_MESSAGE");
    let forbidden = (Code::PermissionDenied, "FORBIDDEN");
    let job = |job: wire::JobReport| vec![good(), Some(Up::Job(job))];
    let session = |session: wire::SessionReport| vec![good(), Some(Up::Session(session))];
    let id = || "01900000-0000-7000-8000-000000000000".to_owned();
    let cases = vec![
        ("a heartbeat first", vec![beat()], malformed),
        ("reconciled first", vec![Some(Up::Reconciled(wire::Reconciled {}))], malformed),
        ("an empty message", vec![None], malformed),
        ("another's id", vec![Some(Up::Hello(hello("runner-1")))], forbidden),
        ("an id of nobody", vec![Some(Up::Hello(hello("runner-3")))], forbidden),
        ("no id", with(|hello| hello.runner_id.clear()), malformed),
        ("an id that is none", with(|hello| hello.runner_id = "../runner-2".to_owned()), malformed),
        ("a long id", with(|hello| hello.runner_id = "r".repeat(64)), malformed),
        ("no epoch", with(|hello| hello.epoch.clear()), malformed),
        ("an epoch that is none", with(|hello| hello.epoch = "x".repeat(36)), malformed),
        ("two of them", vec![good(), good()], malformed),
        ("an empty message later", vec![good(), None], malformed),
        ("a job of no id", job(wire::JobReport::default()), malformed),
        (
            "a job of no phase",
            job(wire::JobReport { execution_id: id(), epoch: id(), ..Default::default() }),
            malformed,
        ),
        (
            "an end without a result",
            job(wire::JobReport {
                execution_id: id(),
                epoch: id(),
                phase: JobPhase::Ended.into(),
                ..Default::default()
            }),
            malformed,
        ),
        ("a session of no id", session(wire::SessionReport { phase: 1, ..Default::default() }), malformed),
        (
            "a session of no phase",
            session(wire::SessionReport { session_id: id(), ..Default::default() }),
            malformed,
        ),
    ];
    for (what, first, (code, expected)) in cases {
        let status = refused(&fixture, first).await;
        assert_eq!((status.code(), reason(&status).as_str()), (code, expected), "{what}: {status:?}");
    }
    // A runner that sends nothing receives an error in time.
    let status = refused(&fixture, vec![]).await;
    assert_eq!(
        (status.code(), reason(&status).as_str()),
        (Code::InvalidArgument, "MALFORMED_MESSAGE"),
        "{status:?}"
    );
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_of_excess_does_not_keep_others_from_being_listed() {
    let fixture = Fixture::new().await;
    let excess: [fn(&mut wire::Hello); 5] = [
        |hello| hello.version = "v".repeat(900_000),
        |hello| hello.bases = (0..20_000).map(|index| format!("base-{index:030}")).collect(),
        |hello| hello.labels = (0..20_000).map(|index| (format!("k{index}"), "v".repeat(30))).collect(),
        |hello| {
            let detail = "d".repeat(900);
            let one = v1::Capability { name: "n".to_owned(), enforced: true, detail };
            hello.capabilities = vec![one; 1000];
        },
        |hello| hello.shells = (0..20_000).map(|index| (format!("s{index}"), "v".repeat(30))).collect(),
    ];
    for change in excess {
        let mut hello = hello("runner-2");
        change(&mut hello);
        let channel = channel(&fixture, &fixture.site.pki.issue("runner-2", &[])).await;
        let link =
            connect(channel, vec![Some(Up::Hello(hello)), Some(Up::Reconciled(wire::Reconciled {}))]).await;
        let list =
            fixture.client.admin().runners(v1::AdminServiceListRunnersRequest::default()).await.unwrap();
        assert!(list.runners.iter().any(|runner| runner.runner_id == "runner-1"), "the others are listed");
        drop(link);
        fixture.alone_with_its_runner().await;
        fixture.runs_on().await;
    }
}

/// Starts a command on the honest runner that waits for a file.
async fn waiting(fixture: &Fixture) -> (String, v1::Execution) {
    let session =
        fixture.client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;
    let command = "touch begun; until test -e go; do sleep 0.1; done; echo the truth; exit 3";
    let execution = fixture.client.start(spec_in(&session, command)).await.unwrap();
    let now = running(&fixture.client, &execution.execution_id).await;
    assert_eq!(now.runner_id, "runner-1");
    (session, now)
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_what_was_given_to_another_change_nothing() {
    let fixture = Fixture::new().await;
    let (session, execution) = waiting(&fixture).await;
    let id = execution.execution_id.as_str();
    let queued = fixture.client.start(spec_in(&session, "echo behind > it")).await.unwrap().execution_id;
    let mut thief = FakeRunner::linked(&fixture).await;
    for (id, attempts) in [(id, [execution.attempt, 0, 2, u32::MAX]), (queued.as_str(), [0, 1, 2, u32::MAX])]
    {
        for attempt in attempts {
            use JobPhase::{Accepted, Ended, Lost, Refused, Running};
            for phase in [Accepted, Running, Refused, Lost, Ended] {
                thief.say(Up::Job(thief.report(id, attempt, phase))).await;
            }
        }
    }
    for phase in [wire::SessionPhase::Closed, wire::SessionPhase::Failed, wire::SessionPhase::Open] {
        let report = wire::SessionReport {
            session_id: session.clone(),
            phase: phase.into(),
            reason: "disk".to_owned(),
            message: "gone".to_owned(),
            directory: "/workspace/elsewhere".into(),
            ..Default::default()
        };
        thief.say(Up::Session(report)).await;
    }
    // A report of an unknown execution does not create it.
    let unknown = thief.is_heard().await;
    assert!(fixture.client.execution(&unknown).await.is_err());

    let now = fixture.client.execution(id).await.unwrap();
    assert_eq!((now.state(), now.version), (execution.state(), execution.version), "{now:?}");
    assert_eq!(
        (now.runner_id.as_str(), now.attempt, now.link()),
        ("runner-1", execution.attempt, v1::LinkState::Connected)
    );
    let behind = fixture.client.execution(&queued).await.unwrap();
    assert_eq!((behind.state(), behind.runner_id.as_str()), (v1::ExecutionState::Queued, ""), "{behind:?}");
    let open = fixture.client.session(&session).await.unwrap();
    assert_eq!((open.state(), &open.directory[..]), (v1::SessionState::Open, "/workspace"));

    // The correct result arrives.
    let go = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, "touch go") };
    fixture.client.start(go).await.unwrap();
    let end = ended(&fixture.client, id).await;
    assert_eq!(exit_code(&end), Some(3), "{end:?}");
    assert_eq!(exit_code(&ended(&fixture.client, &queued).await), Some(0));
    drop(thief);
    fixture.alone_with_its_runner().await;
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_other_attempts_and_epochs_of_its_own_job_change_nothing() {
    let fixture = Fixture::new().await;
    let mut runner = FakeRunner::linked(&fixture).await;
    let spec = v1::ExecutionSpec { base: "only-here".to_owned(), ..spec("true") };
    let id = fixture.client.start(spec).await.unwrap().execution_id;
    let job = runner.takes_one().await;
    assert_eq!(job.execution_id, id);
    running(&fixture.client, &id).await;
    // An accepted job can no longer be refused. Reports with another attempt or another epoch do not apply.
    let other_epoch = |phase| wire::JobReport {
        epoch: "11111111-1111-4111-8111-111111111111".to_owned(),
        ..runner.report(&id, job.attempt, phase)
    };
    for report in [
        runner.report(&id, job.attempt, JobPhase::Refused),
        runner.report(&id, job.attempt, JobPhase::Accepted),
        runner.report(&id, 0, JobPhase::Ended),
        runner.report(&id, 0, JobPhase::Lost),
        other_epoch(JobPhase::Ended),
        other_epoch(JobPhase::Lost),
        other_epoch(JobPhase::Running),
    ] {
        runner.say(Up::Job(report)).await;
    }
    runner.is_heard().await;
    let now = fixture.client.execution(&id).await.unwrap();
    assert_eq!(now.state(), v1::ExecutionState::Running, "{now:?}");

    // The first result is accepted, and a second one does not replace it.
    let result = Some(exited(5, 0));
    runner.say(Up::Job(wire::JobReport { result, ..runner.report(&id, job.attempt, JobPhase::Ended) })).await;
    let end = ended(&fixture.client, &id).await;
    assert_eq!(exit_code(&end), Some(5), "{end:?}");
    runner.say(Up::Job(runner.report(&id, job.attempt, JobPhase::Ended))).await;
    runner.say(Up::Job(runner.report(&id, job.attempt, JobPhase::Running))).await;
    runner.is_heard().await;
    let after = fixture.client.execution(&id).await.unwrap();
    assert_eq!((exit_code(&after), after.version), (Some(5), end.version), "{after:?}");
    drop(runner);
    fixture.alone_with_its_runner().await;
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_extremes_are_kept_or_cut_and_shown() {
    let fixture = Fixture::new().await;
    let mut runner = FakeRunner::linked(&fixture).await;
    let far = Some(prost_types::Duration { seconds: 315_576_000_000, nanos: 999_999_999 });
    let message = "m".repeat(200_000);
    let sandbox = v1::cause::SandboxFailed { step: "s".repeat(200_000), hint: "h\0\u{1b}[2J".repeat(10_000) };
    let results: Vec<v1::Result> = vec![
        v1::Result {
            cpu_time: far,
            run_time: far,
            peak_memory: u64::MAX,
            stdout_cut_bytes: u64::MAX,
            ..exited(255, u64::MAX)
        },
        v1::Result { directory: "/".repeat(100_000), ..exited(255, 0) },
        v1::Result {
            cause: Some(v1::Cause {
                code: v1::CauseCode::SandboxFailed.into(),
                message,
                detail: Some(v1::cause::Detail::SandboxFailed(sandbox)),
            }),
            ..exited(0, 0)
        },
    ];
    for result in results {
        let spec = v1::ExecutionSpec { base: "only-here".to_owned(), ..spec("true") };
        let id = fixture.client.start(spec).await.unwrap().execution_id;
        let job = runner.takes_one().await;
        let report =
            wire::JobReport { result: Some(result), ..runner.report(&id, job.attempt, JobPhase::Ended) };
        runner.say(Up::Job(report)).await;
        ended(&fixture.client, &id).await;
        let list = fixture.client.executions(v1::ExecutionServiceListRequest::default()).await.unwrap();
        assert!(list.executions.iter().any(|one| one.execution_id == id), "and is listed");
    }
    drop(runner);
    fixture.alone_with_its_runner().await;
    fixture.runs_on().await;
}
