//! A reader of one execution at a limited rate, until the test removes the limit. It uses the HTTP/2 flow-control
//! window: the server may not send more than the reader has released.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use airlock_client::{
    Credentials,
    v1::{Event, ExecutionServiceAttachRequest, ExecutionServiceAttachResponse},
};
use bytes::{Buf as _, BytesMut};
use h2::RecvStream;
use prost::Message as _;
use tokio::{sync::watch, task::JoinHandle, time::sleep};

use crate::{
    raw::{Connection, frame, tls},
    reader::Story,
    site::Site,
};

const ATTACH: &str = "/airlock.v1.ExecutionService/Attach";
/// The size of a gRPC message's prefix: a flag and the length.
const HEAD: usize = 5;

/// The reader.
#[derive(Debug)]
pub struct Trickle {
    hurry: watch::Sender<bool>,
    taken: Arc<AtomicUsize>,
    task: JoinHandle<Story>,
}

impl Trickle {
    /// Reads an execution from its beginning at `rate` bytes per second after the first window of 64 KiB.
    ///
    /// # Panics
    /// If the server refuses it.
    pub async fn attach(site: &Site, id: &str, rate: usize) -> Self {
        let connection = Connection::open(site.address, tls(&site.pki.ca(), None)).await.unwrap();
        let Credentials::Token(token) = site.settings().credentials else { panic!("the agent has a token") };
        let bearer = format!("Bearer {token}");
        let mut call = connection.begin(ATTACH, &[("authorization", bearer.as_bytes())]).await.unwrap();
        let request = ExecutionServiceAttachRequest { execution_id: id.to_owned(), ..Default::default() };
        call.body.send_data(frame(&request.encode_to_vec()), true).unwrap();
        let (_body, answer) = call.head().await.unwrap();
        let (hurry, hurried) = watch::channel(false);
        let taken = Arc::new(AtomicUsize::default());
        let body = Body { stream: answer.into_body(), rate, hurried, taken: Arc::clone(&taken) };
        let task = tokio::spawn(async move {
            let _open = connection;
            body.read().await
        });
        Self { hurry, taken, task }
    }

    /// Returns the number of bytes so far.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Reports whether it still reads.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        !self.task.is_finished()
    }

    /// Reads the rest without a limit.
    ///
    /// # Panics
    /// If the view broke.
    pub async fn hurry(self) -> Story {
        self.hurry.send_replace(true);
        self.task.await.unwrap()
    }
}

struct Body {
    stream: RecvStream,
    rate: usize,
    hurried: watch::Receiver<bool>,
    taken: Arc<AtomicUsize>,
}

impl Body {
    async fn read(mut self) -> Story {
        let (mut story, mut bytes) = (Story::default(), BytesMut::new());
        while let Some(data) = self.stream.data().await {
            let data = data.unwrap();
            bytes.extend_from_slice(&data);
            while let Some(event) = take_event(&mut bytes) {
                story.take(event);
            }
            self.release(data.len()).await;
        }
        story
    }

    /// Releases this number of bytes to the server, at the rate.
    async fn release(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let hurried = *self.hurried.borrow();
            let now = if hurried { bytes } else { bytes.min(self.rate / 10) };
            if !hurried {
                tokio::select! {
                    () = sleep(Duration::from_millis(100)) => {}
                    changed = self.hurried.changed() => drop(changed),
                }
            }
            self.stream.flow_control().release_capacity(now).unwrap();
            self.taken.fetch_add(now, Ordering::Relaxed);
            bytes -= now;
        }
    }
}

/// Removes and returns the next complete message.
fn take_event(bytes: &mut BytesMut) -> Option<Event> {
    let length = bytes.get(1..HEAD)?.try_into().map(u32::from_be_bytes).ok()? as usize;
    if bytes.len() < HEAD + length {
        return None;
    }
    bytes.advance(HEAD);
    let message = bytes.split_to(length).freeze();
    ExecutionServiceAttachResponse::decode(message).unwrap().event
}
