//! Tests of reads of output by a client: while the command runs, and after the output is stored.

use airlock_domain::{StartJob, ToRunner};
use airlock_proto::v1::{
    self, ExecutionServiceReadOutputRequest, execution_service_client::ExecutionServiceClient,
    execution_service_read_output_request::Selection, execution_service_read_output_response::Part,
    output_edge::Amount,
};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt as _;

use crate::edge::{
    runner::{Link, OUTPUT, link_up},
    world::World,
};

async fn read(
    world: &World,
    token: &str,
    id: &str,
    selection: Option<Selection>,
) -> Result<Vec<Part>, Status> {
    let execution_id = id.to_owned();
    let mut request = Request::new(ExecutionServiceReadOutputRequest { execution_id, stream: 0, selection });
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    let mut answer = ExecutionServiceClient::new(world.plain()).read_output(request).await?.into_inner();
    let mut parts = Vec::new();
    while let Some(part) = answer.message().await? {
        parts.push(part.part.unwrap());
    }
    Ok(parts)
}

fn range(offset: u64, length: u64) -> Option<Selection> {
    Some(Selection::Range(v1::OutputRange { offset, length }))
}

fn search(pattern: &str) -> Option<Selection> {
    Some(Selection::Search(v1::OutputSearch { pattern: pattern.to_owned(), ..Default::default() }))
}

/// Ends the command and lets the server store its output.
async fn store(link: &mut Link, job: &StartJob) {
    link.ended(job, 0).await;
    loop {
        match link.order().await {
            ToRunner::OpenOutput { execution_id, ticket } => link.push(execution_id, ticket).await,
            ToRunner::ForgetJob { .. } => return,
            _ => {}
        }
    }
}

/// Checks the reads that return the same for live and stored output.
async fn check(world: &World, id: &str) {
    let total = OUTPUT.len() as u64;
    let parts = read(world, "executor", id, None).await.unwrap();
    let [Part::Output(output), Part::Done(done)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((output.offset, &output.data[..], output.stream()), (0, OUTPUT, v1::OutputStream::Stdout));
    let end = v1::OutputDone { next_offset: total, total, complete: true, matches: 0, more: false };
    assert_eq!(*done, end);

    let parts = read(world, "auditor", id, range(6, 4)).await.unwrap();
    let [Part::Output(output), Part::Done(done)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((output.offset, &output.data[..], done.next_offset), (6, &b"from"[..], 10));

    let tail = Some(Selection::Tail(v1::OutputEdge { amount: Some(Amount::Bytes(7)) }));
    let parts = read(world, "executor", id, tail).await.unwrap();
    let [Part::Output(output), Part::Done(_)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(&output.data[..], b"runner\n");

    let parts = read(world, "executor", id, search("r[ou]")).await.unwrap();
    let [Part::Line(line), Part::Done(done)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((&line.data[..], line.number, line.context), (&b"hello from the runner"[..], 1, false));
    let spans: Vec<(u32, u32)> = line.matches.iter().map(|span| (span.start, span.end)).collect();
    assert_eq!((spans, done.matches), (vec![(7, 9), (15, 17)], 1));

    let status = read(world, "executor", id, range(total + 1, 0)).await.unwrap_err();
    let info = status.get_details_error_info().unwrap();
    assert_eq!((status.code(), info.reason.as_str()), (Code::OutOfRange, "OFFSET_PAST_END"));
    assert_eq!(info.metadata.get("end"), Some(&total.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_read_and_searched_while_it_is_live_and_when_it_is_stored() {
    let world = World::new().await;
    let mut link = link_up(&world).await;
    let spec = v1::ExecutionSpec { command: "pwd".into(), ..Default::default() };
    let (_stream, job) = link.run(&world, spec, None).await;
    let id = job.execution_id.to_string();
    {
        let serve = async {
            loop {
                if let ToRunner::OpenOutput { execution_id, ticket } = link.order().await {
                    link.push(execution_id, ticket).await;
                }
            }
        };
        tokio::select! {
            () = check(&world, &id) => {}
            () = serve => {}
        }
    }
    store(&mut link, &job).await;
    drop(link);
    check(&world, &id).await;

    let status = read(&world, "executor", &id, search("a(b")).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let violations = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!(violations[0].field, "search.pattern");
    assert_eq!(read(&world, "stranger", &id, None).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(read(&world, "approver", &id, None).await.unwrap_err().code(), Code::PermissionDenied);
    world.server.shut_down().await;
}
