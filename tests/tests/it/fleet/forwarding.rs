//! A server without a link to a runner forwards requests by one hop to a server that has one.

use std::{io::Cursor, time::Duration};

use airlock_client::{
    Client, From, OutputPiece, Progress, Selection,
    v1::{self, approval_service_decide_request as decide, event::Event as Kind},
};
use airlock_tests::{
    fleet::{Fleet, Timers, runner_name},
    process::Process,
    reader::{Story, cause, close, ended, exit_code, replay, run, running, spec, spec_in},
};
use bytes::Bytes;

/// Two servers; only the first has a link to the runner.
struct Fixture {
    near: Client,
    far: Client,
    processes: Vec<Process>,
    /// The last field, so that its directory is removed after the processes have ended.
    fleet: Fleet,
}

impl Fixture {
    async fn new() -> Self {
        let fleet = Fleet::new(2, &[&[0]], Timers::Patient);
        let processes = vec![fleet.server(0, &[]), fleet.server(1, &[]), fleet.runner(0)];
        let near = fleet.ready(0, 1).await;
        let far = fleet.ready(1, 1).await;
        Self { near, far, fleet, processes }
    }

    async fn session(&self) -> String {
        let request = v1::SessionServiceCreateRequest { profile: "demo".to_owned(), ..Default::default() };
        self.far.create_session(request).await.unwrap().session_id
    }
}

async fn output(client: &Client, id: &str, selection: Selection) -> Vec<u8> {
    let mut reader = client.read_output(id, v1::OutputStream::Stdout, selection);
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next().await.unwrap() {
        if let OutputPiece::Bytes { data, .. } = piece {
            bytes.extend_from_slice(&data);
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_through_a_server_without_a_link_and_every_server_tells_the_same_of_it() {
    let fixture = Fixture::new().await;
    let session = fixture.session().await;
    let story = run(&fixture.far, spec_in(&session, "seq 1 200000")).await.unwrap();
    assert_eq!(story.exit_code(), Some(0), "{:?}", story.end);
    let expected: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(story.stdout == expected.as_bytes(), "{} bytes", story.stdout.len());
    let id = story.end.unwrap().execution_id;
    for client in [&fixture.near, &fixture.far] {
        let again = replay(client, &id).await.unwrap();
        assert!(again.stdout == expected.as_bytes(), "{} bytes", again.stdout.len());
        assert_eq!(ended(client, &id).await.execution_id, id);
        let listed = client.executions(v1::ExecutionServiceListRequest::default()).await.unwrap();
        assert!(listed.executions.iter().any(|execution| execution.execution_id == id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_across_two_servers_follows_live_and_is_gone_on_with_anywhere() {
    let fixture = Fixture::new().await;
    let session = fixture.session().await;
    let started =
        fixture.near.start(spec_in(&session, "for i in $(seq 1 400); do echo line $i; sleep 0.01; done"));
    let id = started.await.unwrap().execution_id;
    let expected: Vec<u8> = (1..=400).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    // One part is read at one server, and the rest from the cursor at the other. At the same time, all of it is read at
    // both.
    let whole = tokio::join!(replay(&fixture.far, &id), replay(&fixture.near, &id), async {
        let (mut bytes, mut events, mut turn) = (Vec::new(), fixture.far.attach(&id, From::Beginning), 0);
        loop {
            let Some(event) = events.next().await.unwrap() else { return bytes };
            if let Some(Kind::Output(output)) = event.event {
                assert_eq!(output.offset, bytes.len() as u64, "neither lost nor repeated");
                bytes.extend_from_slice(&output.data);
                turn += 1;
                let client = if turn % 2 == 0 { &fixture.far } else { &fixture.near };
                events = client.attach(&id, events.position());
            }
        }
    });
    assert!(whole.0.unwrap().stdout == expected);
    assert!(whole.1.unwrap().stdout == expected);
    assert!(whole.2 == expected);
    assert_eq!(output(&fixture.far, &id, Selection::TailBytes(9)).await, b"line 400\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stands_still_across_two_servers_holds_up_nobody() {
    let fixture = Fixture::new().await;
    let session = fixture.session().await;
    let started = fixture.far.start(spec_in(&session, "seq 1 5500000; sleep 1000"));
    let id = started.await.unwrap().execution_id;
    let (mut still, mut story) = (fixture.far.attach(&id, From::Beginning), Story::default());
    while story.stdout.is_empty() {
        story.take(still.next().await.unwrap().unwrap());
    }
    // Through the same two servers: other output, input, and a cancel.
    let beside =
        run(&fixture.far, v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, "seq 1 100000") });
    assert_eq!(beside.await.unwrap().exit_code(), Some(0));
    assert_eq!(output(&fixture.far, &id, Selection::HeadBytes(4)).await, b"1\n2\n");
    fixture.far.cancel(&id).await.unwrap();
    let ended = ended(&fixture.far, &id).await;
    assert_eq!(cause(&ended), v1::CauseCode::Cancelled);
    while let Some(event) = still.next().await.unwrap() {
        story.take(event);
    }
    assert_eq!(cause(&story.end.unwrap()), v1::CauseCode::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn input_signals_and_the_background_reach_a_command_through_another_server() {
    let fixture = Fixture::new().await;
    let session = fixture.session().await;
    let reading = v1::ExecutionSpec { stdin: true, ..spec_in(&session, "wc -c") };
    let id = fixture.near.start(reading).await.unwrap().execution_id;
    running(&fixture.far, &id).await;
    let text = vec![b'x'; 300_000];
    let written = fixture.far.write_stdin(&id, 0, &mut text.as_slice()).await.unwrap();
    assert_eq!(written.accepted, 300_000);
    let story = replay(&fixture.far, &id).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&story.stdout).trim(), "300000");

    let id = fixture.far.start(spec_in(&session, "sleep 1000")).await.unwrap().execution_id;
    running(&fixture.far, &id).await;
    fixture.far.detach(&id).await.unwrap();
    fixture.far.signal(&id, v1::Signal::Int).await.unwrap();
    let ended = ended(&fixture.far, &id).await;
    assert!(matches!(cause(&ended), v1::CauseCode::Signaled | v1::CauseCode::Exited), "{ended:?}");
    assert_ne!(exit_code(&ended), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_through_another_server_both_ways() {
    let fixture = Fixture::new().await;
    let session = fixture.session().await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let header = v1::UploadHeader {
        session_id: session.clone(),
        path: "in.bin".into(),
        format: v1::FileFormat::File.into(),
        ..Default::default()
    };
    fixture.far.upload(header, &mut Cursor::new(&bytes), &Progress::default()).await.unwrap();
    assert_eq!(fixture.far.stat(&session, b"in.bin").await.unwrap().size, 3_000_000);
    let story = run(&fixture.near, spec_in(&session, "cp in.bin out.bin && wc -c < out.bin")).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&story.stdout).trim(), "3000000");
    let to = fixture.fleet.path().join("out.bin");
    fixture.far.download_file(&session, b"out.bin", &to, &Progress::default()).await.unwrap();
    assert!(std::fs::read(&to).unwrap() == bytes);
    let files = v1::FileServiceListRequest { session_id: session.clone(), ..Default::default() };
    assert_eq!(fixture.far.files(files).await.unwrap().files.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_and_answers_count_at_every_server() {
    let fixture = Fixture::new().await;
    let session = fixture.session().await;
    let mut watch = fixture.near.watch("", Bytes::new());
    assert!(watch.next().await.unwrap().execution.is_none(), "it stands");
    let asked = v1::ExecutionSpec { on_ask: v1::OnAsk::Wait.into(), ..spec_in(&session, "make --version") };
    let execution = fixture.far.start(asked).await.unwrap();
    assert_eq!(execution.state(), v1::ExecutionState::PendingApproval);
    let lead = fixture.fleet.lead(0);
    let open = lead.approvals(v1::ApprovalServiceListRequest::default()).await.unwrap().approvals;
    let [approval] = open.as_slice() else { panic!("{open:?}") };
    let answer = decide::Answer::AllowOnce(decide::AllowOnce {});
    let request = v1::ApprovalServiceDecideRequest {
        approval_id: approval.approval_id.clone(),
        binding: approval.binding.clone(),
        answer: Some(answer),
    };
    lead.decide(request).await.unwrap();
    let ended = ended(&fixture.far, &execution.execution_id).await;
    assert_eq!(ended.state(), v1::ExecutionState::Finished, "{ended:?}");
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        let event = watch.next().await.unwrap();
        assert_eq!(event.execution.as_ref().unwrap().execution_id, execution.execution_id);
        kinds.push(event.kind());
    }
    assert_eq!(kinds, [v1::WatchKind::Started, v1::WatchKind::Finished]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_is_drained_through_another_server_and_nothing_else_is_given_it() {
    let fixture = Fixture::new().await;
    let session = fixture.session().await;
    let name = runner_name(0);
    let drained = fixture.far.admin().drain_runner(&name, false).await.unwrap();
    assert_eq!(drained.state(), v1::RunnerState::Draining);
    let patience = airlock_client::Patience { call: Duration::ZERO, ..Default::default() };
    let hasty = fixture.fleet.client_with(&[1], patience);
    let refused = hasty.start(spec_in(&session, "true")).await.unwrap_err();
    assert_eq!(refused.rejection().unwrap().reason, "RUNNER_DRAINING");
    let none = hasty.start(spec("true")).await.unwrap_err();
    assert_eq!(none.rejection().unwrap().reason, "NO_RUNNER");
    let back = fixture.far.admin().drain_runner(&name, true).await.unwrap();
    assert_eq!(back.state(), v1::RunnerState::Connected);
    assert_eq!(run(&fixture.far, spec_in(&session, "true")).await.unwrap().exit_code(), Some(0));
    close(&fixture.far, &session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_no_server_reaches_is_unavailable_with_a_time_to_come_back() {
    let mut fixture = Fixture::new().await;
    let session = fixture.session().await;
    let id = fixture.far.start(spec_in(&session, "sleep 1000")).await.unwrap().execution_id;
    running(&fixture.far, &id).await;
    fixture.processes.remove(0).kill();
    let patience = airlock_client::Patience { call: Duration::ZERO, ..Default::default() };
    let hasty = fixture.fleet.client_with(&[1], patience);
    let refused = hasty.signal(&id, v1::Signal::Int).await.unwrap_err();
    let rejection = refused.rejection().unwrap();
    assert_eq!((rejection.code, rejection.reason.as_str()), (tonic::Code::Unavailable, "RUNNER_UNREACHABLE"));
    assert!(rejection.retry_after.is_some());
}
