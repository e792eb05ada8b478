//! A session on a simulated runner, and the runner's side of exchanges.

use std::{pin::pin, time::Duration};

use airlock_domain::{
    ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, FileInfo, FileType, FromRunner, SessionPhase,
    SessionReport, SessionSnapshot, ToRunner,
};
use airlock_proto::{
    runner_v1::{ExchangeRequest, ExchangeResponse, runner_link_client::RunnerLinkClient},
    v1::{
        self, file_service_client::FileServiceClient, file_service_upload_request::Part,
        session_service_client::SessionServiceClient,
    },
};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Status, Streaming, transport::Channel};

use crate::{
    PATIENCE,
    edge::{
        runner::{Link, link_up},
        world::World,
    },
};

/// Returns a request of the identity with this token.
pub(crate) fn by<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

/// A linked runner with a session of tenant `one`.
pub(crate) struct Stage {
    pub(crate) link: Link,
    pub(crate) session: String,
    /// The runner's connections.
    channel: Channel,
    /// The client of the file service.
    pub(crate) files: FileServiceClient<Channel>,
}

/// The runner's side of an exchange.
pub(crate) struct Line {
    pub(crate) say: mpsc::Sender<ExchangeRequest>,
    heard: Streaming<ExchangeResponse>,
}

impl Stage {
    pub(crate) async fn set(world: &World) -> Self {
        let mut link = link_up(world).await;
        let session = loop {
            let mut client = SessionServiceClient::new(world.plain());
            let create = client.create(by("executor", v1::SessionServiceCreateRequest::default()));
            let (mut create, mut answer) = (pin!(create), pin!(open_session(&mut link)));
            let created = tokio::select! {
                created = &mut create => created,
                () = &mut answer => create.await,
            };
            match created {
                Ok(created) => break created.into_inner().session.unwrap().session_id,
                // The server does not have the runner's link yet.
                Err(status) if status.code() == Code::Unavailable => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(status) => panic!("{status:?}"),
            }
        };
        let files = FileServiceClient::new(world.plain());
        Self { link, session, channel: world.certified("runner-1"), files }
    }

    /// Opens the next exchange as the runner, and returns its order.
    pub(crate) async fn line(&mut self) -> (Line, ExchangeOrder) {
        let ticket = self.ticket().await;
        let mut line = Line::open(self.channel.clone(), "runner-1", ticket).await.unwrap();
        match line.hear().await.unwrap() {
            Some(ExchangeToRunner::Order(order)) => (line, order),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn ticket(&mut self) -> String {
        loop {
            match self.link.order().await {
                ToRunner::OpenExchange { ticket } => return ticket,
                // Requested by the view of a command.
                ToRunner::OpenOutput { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns the header of an upload of one file.
    pub(crate) fn header(&self, transfer_id: &str) -> v1::FileServiceUploadRequest {
        let header = v1::UploadHeader {
            session_id: self.session.clone(),
            transfer_id: transfer_id.to_owned(),
            path: "a.bin".into(),
            format: v1::FileFormat::File.into(),
            ..Default::default()
        };
        v1::FileServiceUploadRequest { part: Some(Part::Header(header)) }
    }
}

/// Opens the session that is requested next.
async fn open_session(link: &mut Link) {
    match link.order().await {
        ToRunner::OpenSession { session_id, .. } => {
            let phase = SessionPhase::Open {
                directory: b"/workspace".to_vec(),
                snapshot: SessionSnapshot::default(),
            };
            link.tell(FromRunner::Session(SessionReport { session_id, phase })).await;
        }
        other => panic!("{other:?}"),
    }
}

impl Line {
    pub(crate) async fn open(channel: Channel, runner: &str, ticket: String) -> Result<Self, Status> {
        let (say, said) = mpsc::channel(1);
        let hello = ExchangeFromRunner::Hello { runner_id: runner.parse().unwrap(), ticket };
        say.send(hello.into()).await.unwrap();
        let heard = RunnerLinkClient::new(channel).exchange(ReceiverStream::new(said)).await?.into_inner();
        Ok(Self { say, heard })
    }

    pub(crate) async fn say(&self, message: ExchangeFromRunner) {
        self.say.send(message.into()).await.unwrap();
    }

    /// Returns the next message of the server, or `None` after the end of the exchange.
    pub(crate) async fn hear(&mut self) -> Result<Option<ExchangeToRunner>, Status> {
        let message = timeout(PATIENCE, self.heard.message()).await.unwrap()?;
        Ok(message.map(|message| message.try_into().unwrap()))
    }

    /// Returns all further messages of the server.
    pub(crate) async fn rest(mut self) -> Vec<ExchangeToRunner> {
        let mut rest = Vec::new();
        while let Ok(Some(message)) = self.hear().await {
            rest.push(message);
        }
        rest
    }
}

pub(crate) fn chunk(offset: u64, data: Vec<u8>) -> v1::FileServiceUploadRequest {
    v1::FileServiceUploadRequest { part: Some(Part::Chunk(v1::FileChunk { offset, data: data.into() })) }
}

pub(crate) fn info(path: &str) -> FileInfo {
    FileInfo {
        path: path.as_bytes().to_vec(),
        file_type: FileType::Regular,
        size: 3,
        mode: 0o644,
        modified_micros: 1_000_000,
        link_target: Vec::new(),
    }
}
