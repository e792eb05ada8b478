//! Tests of file operations with a simulated runner: success, hostile clients, invalid responses of runners,
//! and the end of an exchange.

use std::time::Duration;

use airlock_domain::{
    DownloadStarted, Downloaded, ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeOrder,
    ExchangeToRunner, FileFormat, ToRunner, Uploaded,
};
use airlock_proto::{
    runner_v1::{self as wire, exchange_request::Message},
    v1::{self, file_service_download_response::Part as Down, file_service_upload_request::Part},
};
use bytes::Bytes;
use futures::stream;
use prost::Message as _;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::{
    PATIENCE,
    edge::{
        exchange::{Line, Stage, by, chunk, info},
        raw::{Outcome, framed, send},
        world::World,
    },
};

const END: ExchangeToRunner = ExchangeToRunner::End { close: false };
const READY: ExchangeFromRunner = ExchangeFromRunner::Ready { offset: 0 };

type Messages = Vec<v1::FileServiceUploadRequest>;

fn list(session: &str, page_token: &str) -> v1::FileServiceListRequest {
    v1::FileServiceListRequest {
        session_id: session.to_owned(),
        page: Some(v1::PageRequest { page_size: 0, page_token: page_token.to_owned() }),
        ..Default::default()
    }
}

/// Returns the outcome of an upload of these messages, which the server refuses without the runner.
async fn refusal(stage: &Stage, token: &str, messages: Messages) -> Outcome {
    let upload = stage.files.clone();
    let call = async move { upload.clone().upload(by(token, stream::iter(messages))).await };
    timeout(PATIENCE, call).await.unwrap().unwrap_err().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_up_and_down_and_are_listed() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let messages = vec![stage.header("mine"), chunk(0, b"abc".to_vec()), chunk(3, b"def".to_vec())];
    let mut files = stage.files.clone();
    let call = tokio::spawn(async move { files.upload(by("executor", stream::iter(messages))).await });
    let (mut line, order) = stage.line().await;
    assert!(matches!(&order, ExchangeOrder::Upload(order) if order.transfer_id == "mine"), "{order:?}");
    line.say(READY).await;
    let mut bytes = Vec::new();
    while let Some(ExchangeToRunner::Chunk { data, .. }) = line.hear().await.unwrap() {
        bytes.extend(data);
    }
    assert_eq!(bytes, b"abcdef");
    line.say(ExchangeFromRunner::Uploaded(Uploaded { received: 6, files: 1, ..Uploaded::default() })).await;
    let answer = call.await.unwrap().unwrap().into_inner();
    assert_eq!((answer.transfer_id.as_str(), answer.received, answer.files), ("mine", 6, 1));

    let request = v1::FileServiceDownloadRequest { session_id: stage.session.clone(), ..Default::default() };
    let mut files = stage.files.clone();
    let call = tokio::spawn(async move { files.download(by("executor", request)).await });
    let (line, _) = stage.line().await;
    let started = DownloadStarted { format: FileFormat::Tar, info: info("/workspace") };
    line.say(ExchangeFromRunner::DownloadStarted(started)).await;
    line.say(ExchangeFromRunner::Chunk { offset: 0, data: Bytes::from_static(b"tar") }).await;
    let done = Downloaded {
        size: 3,
        sha256: [1; 32],
        files: 1,
        directories: 0,
        links: 0,
        skipped: Vec::new(),
        skipped_total: 0,
    };
    line.say(ExchangeFromRunner::Downloaded(done)).await;
    let mut parts = call.await.unwrap().unwrap().into_inner();
    let mut kinds = Vec::new();
    while let Some(part) = parts.message().await.unwrap() {
        kinds.push(part.part.unwrap());
    }
    assert!(matches!(&kinds[..], [Down::Header(_), Down::Chunk(_), Down::Done(_)]), "{kinds:?}");

    let mut files = stage.files.clone();
    let request = list(&stage.session, "");
    let call = tokio::spawn(async move { files.list(by("executor", request)).await });
    let (line, _) = stage.line().await;
    line.say(ExchangeFromRunner::Files { files: vec![info("/workspace/a.bin")], more: true }).await;
    let page = call.await.unwrap().unwrap().into_inner();
    assert_eq!(page.files[0].path, "/workspace/a.bin");
    let outcome: Outcome = {
        let other =
            v1::FileServiceListRequest { recursive: true, ..list(&stage.session, &page.next_page_token) };
        stage.files.clone().list(by("executor", other)).await.unwrap_err().into()
    };
    assert_eq!(outcome.fields, ["page.page_token"]);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_uploads_are_refused_and_told_why() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    // Errors in the first message.
    let table: [(Messages, &str); 4] = [
        (vec![], "header"),
        (vec![chunk(0, b"abc".to_vec())], "header"),
        (vec![v1::FileServiceUploadRequest { part: None }], "header"),
        (
            vec![v1::FileServiceUploadRequest { part: Some(Part::Header(v1::UploadHeader::default())) }],
            "header.session_id",
        ),
    ];
    for (messages, field) in table {
        let outcome = refusal(&stage, "executor", messages).await;
        assert!(outcome.is(Code::InvalidArgument, "INVALID_REQUEST"), "{outcome:?}");
        assert_eq!(outcome.fields[0], field);
    }
    // Errors in later messages.
    let table: [(Messages, &str); 5] = [
        (vec![stage.header("")], "header"),
        (vec![chunk(0, vec![0; 256 * 1024 + 1])], "chunk.data"),
        (vec![chunk(0, b"abc".to_vec()), chunk(2, b"d".to_vec())], "chunk.offset"),
        (vec![chunk(0, b"abc".to_vec()), chunk(u64::MAX, b"d".to_vec())], "chunk.offset"),
        (vec![v1::FileServiceUploadRequest { part: None }], "chunk"),
    ];
    for (more, field) in table {
        let messages = [vec![stage.header("")], more].concat();
        let mut files = stage.files.clone();
        // The stream never ends, so the response must arrive before its end.
        let endless = stream::iter(messages).chain_pending();
        let call = tokio::spawn(async move { files.upload(by("executor", endless)).await });
        let (line, _) = stage.line().await;
        line.say(READY).await;
        let outcome: Outcome = timeout(PATIENCE, call).await.unwrap().unwrap().unwrap_err().into();
        assert!(outcome.is(Code::InvalidArgument, "INVALID_REQUEST"), "{field}: {outcome:?}");
        assert_eq!(outcome.fields, [field]);
        assert!(!line.rest().await.contains(&END), "{field}: an incomplete upload is not accepted");
    }
    world.server.shut_down().await;
}

/// Adds a stream that never ends.
trait ChainPending: Sized + futures::Stream {
    fn chain_pending(self) -> impl futures::Stream<Item = Self::Item> + Send + 'static
    where
        Self: Send + 'static,
        Self::Item: Send,
    {
        futures::StreamExt::chain(self, stream::pending())
    }
}

impl<S: futures::Stream> ChainPending for S {}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_others_and_closed_ones_have_no_files() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let session_id = stage.session.clone();
    let outcome = refusal(&stage, "stranger", vec![stage.header("")]).await;
    assert!(outcome.is(Code::NotFound, "NOT_FOUND"), "{outcome:?}");
    let stat = v1::FileServiceStatRequest { session_id: session_id.clone(), ..Default::default() };
    let download = v1::FileServiceDownloadRequest { session_id: session_id.clone(), ..Default::default() };
    let diff = v1::FileServiceDiffRequest { session_id: session_id.clone(), ..Default::default() };
    let mut files = stage.files.clone();
    let outcomes: [Status; 4] = [
        files.stat(by("stranger", stat.clone())).await.unwrap_err(),
        files.download(by("stranger", download)).await.unwrap_err(),
        files.list(by("stranger", list(&session_id, ""))).await.unwrap_err(),
        files.diff(by("stranger", diff)).await.unwrap_err(),
    ];
    for status in outcomes {
        assert_eq!(status.code(), Code::NotFound, "{status:?}");
    }
    // An approver may read the changes, but no other files.
    assert_eq!(files.stat(by("approver", stat.clone())).await.unwrap_err().code(), Code::PermissionDenied);

    let mut sessions = v1::session_service_client::SessionServiceClient::new(world.plain());
    let close = by("executor", v1::SessionServiceCloseRequest { session_id });
    let closing = tokio::spawn(async move { sessions.close(close).await });
    // The simulated runner does not respond, which is not required here.
    let asked = stage.link.order().await;
    assert!(matches!(asked, ToRunner::CloseSession { .. }), "{asked:?}");
    let outcome: Outcome = files.stat(by("executor", stat)).await.unwrap_err().into();
    assert!(outcome.is(Code::FailedPrecondition, "SESSION_CLOSED"), "{outcome:?}");
    closing.abort();
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_whose_client_is_cut_off_is_never_complete_and_one_that_ends_is() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    for round in 0..20 {
        let is_cut = round % 2 == 0;
        let (client, messages) = mpsc::channel(4);
        client.send(stage.header("")).await.unwrap();
        client.send(chunk(0, b"abc".to_vec())).await.unwrap();
        let mut files = stage.files.clone();
        let call =
            tokio::spawn(async move { files.upload(by("executor", ReceiverStream::new(messages))).await });
        let (mut line, _) = stage.line().await;
        line.say(READY).await;
        assert!(matches!(line.hear().await.unwrap(), Some(ExchangeToRunner::Chunk { .. })));
        if is_cut {
            call.abort();
            assert_eq!(line.rest().await, [], "round {round}");
        } else {
            drop(client);
            assert_eq!(line.hear().await.unwrap(), Some(END), "round {round}");
            let uploaded = Uploaded { received: 3, ..Uploaded::default() };
            line.say(ExchangeFromRunner::Uploaded(uploaded)).await;
            assert_eq!(call.await.unwrap().unwrap().into_inner().received, 3);
        }
    }
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_ends_in_the_middle_of_a_message_is_not_complete() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let whole = [stage.header(""), chunk(0, b"abc".to_vec())].map(|message| framed(&message.encode_to_vec()));
    let next = framed(&chunk(3, b"def".to_vec()).encode_to_vec());
    for cut_at in 1..next.len() {
        let body = Bytes::from([&whole[0][..], &whole[1], &next[..cut_at]].concat());
        let channel = world.plain();
        let path = "/airlock.v1.FileService/Upload";
        let call = tokio::spawn(async move { send(&channel, path, Some("Bearer executor"), body).await });
        let (mut line, _) = stage.line().await;
        line.say(READY).await;
        assert!(matches!(line.hear().await.unwrap(), Some(ExchangeToRunner::Chunk { .. })));
        assert_eq!(line.rest().await, [], "{cut_at}");
        let outcome = call.await.unwrap();
        assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{cut_at}: {outcome:?}");
    }
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_upload_goes_as_far_as_its_runner_lets_it() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let size = 128 * 1024;
    let endless = (0u64..).map(move |index| chunk(index * size, vec![1; 128 * 1024]));
    let messages = stream::iter([stage.header("")].into_iter().chain(endless));
    let mut files = stage.files.clone();
    let call = tokio::spawn(async move { files.upload(by("executor", messages)).await });
    let (mut line, _) = stage.line().await;
    line.say(READY).await;
    for _ in 0..40 {
        assert!(matches!(line.hear().await.unwrap(), Some(ExchangeToRunner::Chunk { .. })));
    }
    line.say(ExchangeFromRunner::Failed(ExchangeFailed {
        failure: ExchangeFailure::Exhausted { limit: "transfers.bytes".to_owned(), value: 5 << 20 },
        reason: "LIMIT_REACHED".to_owned(),
        message: "\u{1b}[31mtoo much".to_owned(),
    }))
    .await;
    let status = timeout(PATIENCE, call).await.unwrap().unwrap().unwrap_err();
    let info = status.get_details_error_info().unwrap();
    assert_eq!(
        (status.code(), info.metadata["limit"].as_str()),
        (Code::ResourceExhausted, "transfers.bytes")
    );
    assert_eq!(status.message(), "\\u{1b}[31mtoo much");
    assert!(!line.rest().await.contains(&END));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_that_nobody_reads_holds_up_its_runner_and_nobody_else() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let request = v1::FileServiceDownloadRequest { session_id: stage.session.clone(), ..Default::default() };
    let mut files = stage.files.clone();
    let call = tokio::spawn(async move { files.download(by("executor", request)).await });
    let (line, _) = stage.line().await;
    let started = DownloadStarted { format: FileFormat::File, info: info("/workspace/a") };
    line.say(ExchangeFromRunner::DownloadStarted(started)).await;
    let unread = call.await.unwrap().unwrap().into_inner();
    let mut sent = 0u64;
    let data = Bytes::from(vec![7; 256 * 1024]);
    loop {
        let chunk = ExchangeFromRunner::Chunk { offset: sent, data: data.clone() };
        // The windows of four transports fill up, and then no more data is accepted.
        if timeout(Duration::from_secs(2), line.say(chunk)).await.is_err() {
            break;
        }
        sent += data.len() as u64;
        assert!(sent < 64 << 20, "{sent} bytes were requested for a client that reads none");
    }

    let mut others = v1::file_service_client::FileServiceClient::new(world.plain());
    let stat = v1::FileServiceStatRequest { session_id: stage.session.clone(), ..Default::default() };
    let call = tokio::spawn(async move { others.stat(by("executor", stat)).await });
    let (second, _) = stage.line().await;
    second.say(ExchangeFromRunner::File(info("/workspace"))).await;
    call.await.unwrap().unwrap();

    drop(unread);
    assert_eq!(line.rest().await, []);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_not_of_the_contract_is_told_so_and_its_client_nothing_of_it() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let long = v1::FileChunk { offset: 0, data: vec![0; 256 * 1024 + 1].into() };
    let messages = [
        None,
        Some(Message::Chunk(long)),
        Some(Message::File(v1::FileInfo::default())),
        Some(Message::Downloaded(v1::DownloadDone::default())),
    ];
    for message in messages {
        let stat = v1::FileServiceStatRequest { session_id: stage.session.clone(), ..Default::default() };
        let mut files = stage.files.clone();
        let call = tokio::spawn(async move { files.stat(by("executor", stat)).await });
        let (mut line, _) = stage.line().await;
        line.say.send(wire::ExchangeRequest { message }).await.unwrap();
        let status = call.await.unwrap().unwrap_err();
        assert!(status.message().starts_with("internal error"), "{status:?}");
        let outcome: Outcome = line.hear().await.unwrap_err().into();
        assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{outcome:?}");
    }
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_needs_its_own_ticket() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let guess = Line::open(world.certified("runner-1"), "runner-1", "guess".to_owned()).await;
    let outcome: Outcome = guess.err().unwrap().into();
    assert!(outcome.is(Code::FailedPrecondition, "TICKET_UNKNOWN"), "{outcome:?}");

    let stat = v1::FileServiceStatRequest { session_id: stage.session.clone(), ..Default::default() };
    let mut files = stage.files.clone();
    let call = tokio::spawn(async move { files.stat(by("executor", stat)).await });
    let ticket = stage.ticket().await;
    let stolen = Line::open(world.certified("runners"), "a", ticket.clone()).await;
    let outcome: Outcome = stolen.err().unwrap().into();
    assert!(outcome.is(Code::PermissionDenied, "TICKET_OF_ANOTHER"), "{outcome:?}");
    let posed = Line::open(world.certified("runners"), "runner-1", ticket.clone()).await;
    let outcome: Outcome = posed.err().unwrap().into();
    assert!(outcome.is(Code::PermissionDenied, "FORBIDDEN"), "{outcome:?}");

    let line = Line::open(world.certified("runner-1"), "runner-1", ticket).await.unwrap();
    line.say(ExchangeFromRunner::File(info("/workspace"))).await;
    call.await.unwrap().unwrap();
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_a_limit_one_is_told_which_and_when_to_try_again() {
    let world = World::with("[limits]\nexchanges_per_tenant = 1\n").await;
    let mut stage = Stage::set(&world).await;
    let stat = v1::FileServiceStatRequest { session_id: stage.session.clone(), ..Default::default() };
    let (mut files, request) = (stage.files.clone(), stat.clone());
    let call = tokio::spawn(async move { files.stat(by("executor", request)).await });
    let (line, _) = stage.line().await;
    let status = stage.files.clone().stat(by("executor", stat)).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.get_details_error_info().unwrap().metadata["limit"], "exchanges_per_tenant");
    assert!(status.get_details_retry_info().is_some());
    drop(line);
    assert_eq!(call.await.unwrap().unwrap_err().code(), Code::Unavailable);

    world.server.shut_down().await;

    // A runner that does not connect.
    let world = World::with("[limits]\nexchange_open_wait = \"200ms\"\n").await;
    let stage = Stage::set(&world).await;
    let stat = v1::FileServiceStatRequest { session_id: stage.session.clone(), ..Default::default() };
    let outcome: Outcome = stage.files.clone().stat(by("executor", stat)).await.unwrap_err().into();
    assert!(outcome.is(Code::Unavailable, "RUNNER_UNREACHABLE"), "{outcome:?}");
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_says_how_an_upload_goes_on() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let messages = stream::iter([stage.header("mine"), chunk(0, b"abc".to_vec())]).chain_pending();
    let mut files = stage.files.clone();
    let call = tokio::spawn(async move { files.upload(by("executor", messages)).await });
    let (mut line, _) = stage.line().await;
    line.say(READY).await;
    assert!(matches!(line.hear().await.unwrap(), Some(ExchangeToRunner::Chunk { .. })));
    let stop = tokio::spawn(world.server.shut_down());
    let status = timeout(PATIENCE, call).await.unwrap().unwrap().unwrap_err();
    assert_eq!(status.get_details_error_info().unwrap().reason, "SHUTTING_DOWN");
    assert!(status.message().contains("transfer_id"), "{status:?}");
    assert_eq!(line.rest().await, []);
    timeout(PATIENCE, stop).await.unwrap().unwrap();
}
