//! Requests that violate the form of the contract: every field of every method with a wrong wire type,
//! excessive lengths, invalid UTF-8, unknown enum values, garbage, frames of the wrong size. Unreadable
//! requests get INVALID_ARGUMENT with the reason MALFORMED_MESSAGE or MESSAGE_TOO_LARGE. A retry cannot
//! succeed, so the code is neither INTERNAL (tonic's own choice) nor one that clients retry.

use std::time::Duration;

use airlock_domain::limits::MESSAGE_BYTES;
use airlock_proto::v1;
use airlock_tests::{
    raw::{Answer, Connection, frame, framed},
    reader::spec,
    schema::{Field, Method, Schema, tag, varint, wrapped},
};
use bytes::Bytes;
use prost::Message as _;
use prost_types::field_descriptor_proto::Type;
use tokio::task::JoinHandle;
use tonic::Code;

use crate::hostile::fixture::Fixture;

const ATTACH: &str = "/airlock.v1.ExecutionService/Attach";
const GET: &str = "/airlock.v1.SessionService/Get";

/// A view of a running command on the attacked connection, which must survive.
struct Witness {
    id: String,
    story: JoinHandle<Result<Answer, String>>,
}

impl Witness {
    async fn new(fixture: &Fixture, connection: &Connection) -> Self {
        let long = Some(prost_types::Duration { seconds: 1800, nanos: 0 });
        let sleeps = v1::ExecutionSpec { timeout: long, ..spec("sleep 3600") };
        let id = fixture.client.start(sleeps).await.unwrap().execution_id;
        let request = v1::ExecutionServiceAttachRequest { execution_id: id.clone(), from: None };
        let mut call =
            connection.begin(ATTACH, &[("authorization", fixture.agent().as_bytes())]).await.unwrap();
        call.body.send_data(frame(&request.encode_to_vec()), true).unwrap();
        Self { id, story: tokio::spawn(call.answer_within(Duration::from_secs(3600))) }
    }

    async fn ends_unharmed(self, fixture: &Fixture) {
        fixture.client.cancel(&self.id).await.unwrap();
        let answer = self.story.await.unwrap().unwrap();
        assert_eq!(answer.status.code(), Code::Ok, "{:?}", answer.status);
        let last =
            v1::ExecutionServiceAttachResponse::decode(answer.messages.last().unwrap().clone()).unwrap();
        let last = last.event.unwrap().event.unwrap();
        assert!(matches!(last, v1::event::Event::Finished(_)), "the view ended: {last:?}");
    }
}

/// Returns values that the field cannot have, with their tags.
fn wrong_values(field: &Field) -> Vec<(String, Vec<u8>)> {
    let number = *field.numbers.last().unwrap();
    let payloads = [vec![1], vec![0; 8], vec![1, 0x41], tag(number, 4), vec![], vec![0; 4], vec![], vec![]];
    let fits = |wire_type: u8| match field.kind {
        Type::String | Type::Bytes | Type::Message => wire_type == 2,
        Type::Int32 | Type::Int64 | Type::Uint32 | Type::Uint64 | Type::Bool | Type::Enum => {
            wire_type == 0 || wire_type == 2 && field.repeated
        }
        other => panic!("{}: no case for {other:?}", field.path),
    };
    let mut values: Vec<_> = (0..8u8)
        .zip(payloads)
        .filter(|(wire_type, _)| !fits(*wire_type))
        .map(|(wire_type, payload)| {
            (format!("wire type {wire_type}"), [tag(number, wire_type), payload].concat())
        })
        .collect();
    values.push(("a tag alone".to_owned(), tag(number, if fits(2) { 2 } else { 0 })));
    if fits(2) {
        let over = [tag(number, 2), varint(100), vec![0x41; 3]].concat();
        values.push(("a length that runs over".to_owned(), over));
        let huge = [tag(number, 2), varint(u64::MAX), vec![0x41; 3]].concat();
        values.push(("a length beyond all".to_owned(), huge));
    } else {
        values.push(("a number without an end".to_owned(), [tag(number, 0), vec![0xff; 11]].concat()));
    }
    if field.kind == Type::String {
        values.push(("text that is none".to_owned(), [tag(number, 2), varint(2), vec![0xff, 0xfe]].concat()));
    }
    values
}

/// Sends every field of a method's request in every wrong form, and returns their number.
async fn every_wrong_value(
    schema: &Schema,
    method: &Method,
    connection: &Connection,
    headers: &[(&str, &[u8])],
) -> usize {
    let mut count = 0;
    for field in schema.fields(&method.request) {
        let way = &field.numbers[..field.numbers.len() - 1];
        for (what, value) in wrong_values(&field) {
            let place = format!("{} {}: {what}", method.path, field.path);
            let body = frame(&wrapped(way, &value));
            let answer = connection.call(&method.path, headers, body).await;
            let answer = answer.unwrap_or_else(|error| panic!("{place}: {error}"));
            let got = (answer.status.code(), answer.reason());
            assert_eq!(
                got,
                (Code::InvalidArgument, "MALFORMED_MESSAGE".to_owned()),
                "{place}: {:?}",
                answer.status
            );
            count += 1;
        }
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_every_method_in_every_wrong_form_is_refused_and_no_other_stream_is_harmed() {
    let fixture = Fixture::new().await;
    let schema = Schema::of_the_contract();
    let connection = fixture.connect().await;
    let witness = Witness::new(&fixture, &connection).await;
    let agent = fixture.agent();
    let mut count = 0;
    for method in schema.public() {
        count +=
            every_wrong_value(&schema, method, &connection, &[("authorization", agent.as_bytes())]).await;
    }
    assert!(count > 1000, "{count} cases");
    witness.ends_unharmed(&fixture).await;
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_the_runners_methods_in_every_wrong_form_is_refused() {
    let fixture = Fixture::new().await;
    let schema = Schema::of_the_contract();
    let pair = fixture.site.pki.issue("runner-2", &[]);
    let connection = fixture.connect_with(&pair).await.unwrap();
    let mut count = 0;
    for method in schema.methods.iter().filter(|method| method.path.contains("RunnerLink")) {
        count += every_wrong_value(&schema, method, &connection, &[]).await;
    }
    assert!(count > 300, "{count} cases");
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_number_of_an_enum_names_its_field() {
    let fixture = Fixture::new().await;
    let schema = Schema::of_the_contract();
    let connection = fixture.connect().await;
    let mut count = 0;
    for method in schema.public() {
        for field in schema.fields(&method.request).iter().filter(|field| field.kind == Type::Enum) {
            for number in [99u64, u64::MAX, i32::MAX.unsigned_abs().into()] {
                let (last, way) = field.numbers.split_last().unwrap();
                let message = wrapped(way, &[tag(*last, 0), varint(number)].concat());
                let answer =
                    crate::hostile::fixture::call(&connection, &method.path, &fixture.agent(), &message)
                        .await;
                let path = if field.repeated { format!("{}[0]", field.path) } else { field.path.clone() };
                assert_eq!(
                    answer.status.code(),
                    Code::InvalidArgument,
                    "{} {path}: {:?}",
                    method.path,
                    answer.status
                );
                let found = answer.violations();
                assert!(found.iter().any(|(bad, _)| *bad == path), "{} {path}: {found:?}", method.path);
                count += 1;
            }
        }
    }
    assert!(count >= 3 * 10, "{count} cases");
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_ignored() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let execution = fixture.finished().await;
    let get = v1::ExecutionServiceGetRequest { execution_id: execution.execution_id.clone(), view: 2 };
    let list = v1::ExecutionServiceListRequest {
        page: Some(v1::PageRequest { page_size: 1, page_token: String::new() }),
        ..Default::default()
    };
    let check = v1::PolicyServiceCheckRequest { command: "ls".into(), ..Default::default() };
    let requests = [
        ("/airlock.v1.ExecutionService/Get", get.encode_to_vec()),
        (ATTACH, get.execution_id_alone()),
        ("/airlock.v1.ExecutionService/Wait", get.execution_id_alone()),
        ("/airlock.v1.ExecutionService/Cancel", get.execution_id_alone()),
        ("/airlock.v1.ExecutionService/List", list.encode_to_vec()),
        ("/airlock.v1.PolicyService/Check", check.encode_to_vec()),
        ("/airlock.v1.AdminService/ListRunners", Vec::new()),
    ];
    let unknown = [
        [tag(1000, 0), varint(7)].concat(),
        [tag(1001, 1), vec![0; 8]].concat(),
        [tag(1002, 2), varint(3), vec![0xff; 3]].concat(),
        [tag(1003, 5), vec![0; 4]].concat(),
        [tag(1004, 3), tag(1, 0), varint(1), tag(1004, 4)].concat(),
        [tag(536_870_911, 0), varint(1)].concat(),
    ];
    for (path, request) in requests {
        let plain = crate::hostile::fixture::call(&connection, path, &fixture.agent(), &request).await;
        assert_eq!(plain.status.code(), Code::Ok, "control: {path}: {:?}", plain.status);
        let with = [unknown.concat(), request, unknown.concat()].concat();
        let answer = crate::hostile::fixture::call(&connection, path, &fixture.agent(), &with).await;
        assert_eq!(answer.status.code(), Code::Ok, "{path}: {:?}", answer.status);
        assert_eq!(answer.messages.len(), plain.messages.len(), "{path}");
    }
    fixture.runs_on().await;
}

trait Alone {
    fn execution_id_alone(&self) -> Vec<u8>;
}

impl Alone for v1::ExecutionServiceGetRequest {
    fn execution_id_alone(&self) -> Vec<u8> {
        v1::ExecutionServiceCancelRequest { execution_id: self.execution_id.clone() }.encode_to_vec()
    }
}

/// Returns pseudo-random bytes that depend only on the seed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[3]
    });
    next.take(length).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_gets_an_answer_and_breaks_nothing() {
    let fixture = Fixture::new().await;
    let schema = Schema::of_the_contract();
    let connection = fixture.connect().await;
    let witness = Witness::new(&fixture, &connection).await;
    let mut refused = 0;
    for (index, method) in (0u64..).zip(schema.public()) {
        for length in [1, 2, 3, 7, 31, 200, 5000] {
            let message = noise(index * 1000 + length, usize::try_from(length).unwrap());
            if method.path.ends_with("/Watch") && v1::ExecutionServiceWatchRequest::decode(&*message).is_ok()
            {
                // A message of unknown fields only: a watch of everything, which does not end.
                continue;
            }
            let answer =
                crate::hostile::fixture::call(&connection, &method.path, &fixture.agent(), &message).await;
            let code = answer.status.code();
            // Some noise is a valid message of unknown fields. No noise causes a server error.
            let faults =
                [Code::Internal, Code::Unknown, Code::Unavailable, Code::DataLoss, Code::DeadlineExceeded];
            assert!(!faults.contains(&code), "{}, {length} bytes: {:?}", method.path, answer.status);
            refused += usize::from(code == Code::InvalidArgument);
        }
        // A hundred thousand nested groups must not be parsed recursively.
        let nested = tag(2000, 3).repeat(100_000);
        let answer =
            crate::hostile::fixture::call(&connection, &method.path, &fixture.agent(), &nested).await;
        assert_eq!(answer.reason(), "MALFORMED_MESSAGE", "{}: {:?}", method.path, answer.status);
    }
    assert!(refused > 60, "{refused} refused");
    witness.ends_unharmed(&fixture).await;
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_the_wrong_size_or_kind_are_refused() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let witness = Witness::new(&fixture, &connection).await;
    let id = v1::SessionServiceGetRequest { session_id: "00000000-0000-7000-8000-000000000000".to_owned() }
        .encode_to_vec();
    let length = u32::try_from(id.len()).unwrap();
    let too_large = MESSAGE_BYTES + 1;
    let padding = too_large - 2 - varint(too_large as u64).len();
    let large = [tag(1000, 2), varint(padding as u64), vec![0; padding]].concat();
    let invalid = |reason: &str| (Code::InvalidArgument, reason.to_owned());
    let cases: Vec<(&str, Bytes, (Code, String))> = vec![
        ("control", frame(&id), (Code::NotFound, "NOT_FOUND".to_owned())),
        ("a message over the limit", frame(&large), invalid("MESSAGE_TOO_LARGE")),
        ("a length of four GiB", framed(0, u32::MAX, &id), invalid("MESSAGE_TOO_LARGE")),
        ("half a message", framed(0, length, &id[..5]), invalid("MALFORMED_MESSAGE")),
        ("half a frame's head", frame(&id).slice(..3), invalid("MALFORMED_MESSAGE")),
        ("no message at all", Bytes::new(), invalid("MALFORMED_MESSAGE")),
        ("compressed without saying how", framed(1, length, &id), invalid("MALFORMED_MESSAGE")),
        ("an unknown flag", framed(7, length, &id), invalid("MALFORMED_MESSAGE")),
    ];
    let agent = fixture.agent();
    for (what, body, expected) in cases {
        let answer = connection.call(GET, &[("authorization", agent.as_bytes())], body).await;
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((answer.status.code(), answer.reason()), expected, "{what}: {:?}", answer.status);
    }
    let gzip: [(&str, &[u8]); 2] = [("authorization", agent.as_bytes()), ("grpc-encoding", b"gzip")];
    let answer = connection.call(GET, &gzip, framed(1, length, &id)).await.unwrap();
    assert_eq!((answer.status.code(), answer.reason()), (Code::Unimplemented, "UNIMPLEMENTED".to_owned()));
    let other: [(&str, &[u8]); 2] =
        [("authorization", agent.as_bytes()), ("content-type", b"application/json")];
    let answer = connection.call(GET, &other, frame(&id)).await.unwrap();
    assert!(answer.http == 415 || answer.status.code() != Code::Ok, "{answer:?}");
    for path in ["/airlock.v1.SessionService/Nothing", "/nothing", "/", "/airlock.v1.SessionService/Get/"] {
        let answer = connection.call(path, &[("authorization", agent.as_bytes())], frame(&id)).await.unwrap();
        assert_eq!(
            (answer.status.code(), answer.reason()),
            (Code::Unimplemented, "UNIMPLEMENTED".to_owned()),
            "{path}"
        );
    }
    witness.ends_unharmed(&fixture).await;
    fixture.runs_on().await;
}
