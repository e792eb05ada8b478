//! A server that responds to every call with misleading content in every field: in texts, names, paths, IDs and enum
//! values, or in an error and its details. It uses hand-written HTTP/2, so its own libraries do not check its messages.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use airlock_tests::{
    raw::frame,
    schema::{Filled, Method, Schema},
};
use bytes::Bytes;
use h2::server::{SendResponse, handshake};
use http::{HeaderMap, Response};
use prost_types::{FieldDescriptorProto, field_descriptor_proto::Type};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// Misleading text: a terminal command, C1 controls, direction marks, zero-width characters, a tag character, a word of
/// two scripts, a combining accent, a right-to-left letter, and text that looks like an escape.
pub(crate) const HOSTILE: &str =
    "x\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{200b}\u{e0041}c\u{430}t\u{2066}\n\ry\u{301}\u{5d0}\u{7f}\\u{a}";

/// The number of responses to one method per command. Then it receives a permanent error, because a command may retry
/// such responses forever.
const ANSWERS: u32 = 3;

/// The kind of lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lies {
    /// In responses. The number selects enum values and alternatives.
    Answers(usize),
    /// In errors.
    Errors,
}

pub(crate) struct LyingServer {
    pub(crate) address: SocketAddr,
    contract: Arc<Contract>,
    task: JoinHandle<()>,
}

impl Drop for LyingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LyingServer {
    pub(crate) async fn start(lies: Lies) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let contract = Arc::new(Contract::new(lies));
        let own = Arc::clone(&contract);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let contract = Arc::clone(&own);
                tokio::spawn(async move {
                    let Ok(mut connection) = handshake(stream).await else { return };
                    while let Some(Ok((request, mut respond))) = connection.accept().await {
                        // The client may have disconnected.
                        let _ = contract.answer(request.uri().path(), &mut respond);
                    }
                });
            }
        });
        Self { address, contract, task }
    }

    /// Starts the counts for another command.
    pub(crate) fn next_command(&self) {
        self.contract.answered.lock().unwrap().clear();
    }
}

struct Contract {
    schema: Schema,
    methods: HashMap<String, Method>,
    lies: Lies,
    /// The number of responses by path.
    answered: Mutex<HashMap<String, u32>>,
}

impl Contract {
    fn new(lies: Lies) -> Self {
        let schema = Schema::of_the_contract();
        let methods = schema.public().map(|method| (method.path.clone(), method.clone())).collect();
        Self { schema, methods, lies, answered: Mutex::default() }
    }

    fn answer(&self, path: &str, respond: &mut SendResponse<Bytes>) -> Result<(), h2::Error> {
        let mut head = Response::new(());
        head.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
        let mut answered = self.answered.lock().unwrap();
        let times = answered.entry(path.to_owned()).or_default();
        *times += 1;
        let method = self.methods.get(path).filter(|_| *times <= ANSWERS);
        let (Lies::Answers(round), Some(method)) = (self.lies, method) else {
            error().add_header(head.headers_mut()).unwrap();
            return respond.send_response(head, true).map(drop);
        };
        let mut body = respond.send_response(head, false)?;
        // A stream contains each alternative in turn.
        let rounds = if method.streams { round..round + 8 } else { round..round + 1 };
        for round in rounds {
            let message = self.schema.filled(&method.response, round, &|field| filled(field, round));
            body.send_data(frame(&message), false)?;
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", "0".parse().unwrap());
        body.send_trailers(trailers)
    }
}

fn filled(field: &FieldDescriptorProto, round: usize) -> Filled {
    match (field.r#type(), field.name()) {
        // A list ends.
        (_, "next_page_token") => Filled::Nothing,
        // The output of the command is passed on unchanged.
        (Type::Bytes, "data") => Filled::Bytes(b"plain\n".to_vec()),
        (Type::Bytes, _) => Filled::Bytes([HOSTILE.as_bytes(), b"\xff\xfe"].concat()),
        (Type::Enum, _) => Filled::Number(u64::try_from(round).unwrap() + 1),
        _ => Filled::Bytes(HOSTILE.as_bytes().to_vec()),
    }
}

fn error() -> Status {
    let mut details = ErrorDetails::new();
    details.set_error_info(HOSTILE, HOSTILE, [(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    details.add_bad_request_violation(HOSTILE, HOSTILE);
    details.add_bad_request_violation(HOSTILE, HOSTILE);
    Status::with_error_details(Code::FailedPrecondition, HOSTILE, details)
}
