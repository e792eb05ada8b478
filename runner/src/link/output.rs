//! Output streams. They use separate connections, so that output does not delay the control stream. They end with their
//! link.

use std::{collections::VecDeque, sync::Arc};

use airlock_domain::{ExecutionId, PushFromRunner, PushToRunner};
use airlock_proto::runner_v1::{PushOutputRequest, runner_link_client::RunnerLinkClient};
use futures::{FutureExt, StreamExt};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

use super::endpoint::EndpointSource;
use crate::{
    push::{PushEnd, serve},
    services::Services,
};

/// The number of chunks between the spool and the connection.
const CHUNKS: usize = 4;

/// The number of connections for a link's output streams. One connection carries some hundred streams.
const CONNECTIONS: usize = 4;

/// The output streams of one link.
pub(super) struct Outputs {
    services: Arc<Services>,
    endpoints: Arc<EndpointSource>,
    /// The endpoint version with which the channels were created.
    version: u64,
    channels: VecDeque<Channel>,
    streams: JoinSet<()>,
}

impl Outputs {
    /// Creates an empty set. The first streams connect. Needs a runtime.
    pub(super) fn new(services: &Arc<Services>, endpoints: &Arc<EndpointSource>) -> Self {
        let (endpoint, version) = endpoints.endpoint();
        let channels = (0..CONNECTIONS).map(|_| endpoint.connect_lazy()).collect();
        Self {
            services: Arc::clone(services),
            endpoints: Arc::clone(endpoints),
            version,
            channels,
            streams: JoinSet::new(),
        }
    }

    /// Returns a connection with the current certificates. Streams on older connections continue there.
    fn channel(&mut self) -> Option<Channel> {
        let (endpoint, version) = self.endpoints.endpoint();
        if version != self.version {
            self.version = version;
            self.channels = (0..CONNECTIONS).map(|_| endpoint.connect_lazy()).collect();
        }
        self.channels.rotate_left(1);
        self.channels.front().cloned()
    }

    /// Opens a stream that the server asked for, within `limits.output_streams`.
    pub(super) fn open(&mut self, id: ExecutionId, ticket: String) {
        while self.streams.join_next().now_or_never().flatten().is_some() {}
        let limit = usize::try_from(self.services.config.limits.output_streams).unwrap_or(usize::MAX);
        if self.streams.len() >= limit {
            tracing::warn!(execution = %id, "the server requests more streams than `limits.output_streams`");
            return;
        }
        let Some(channel) = self.channel() else { return };
        let client = RunnerLinkClient::new(channel);
        let services = Arc::clone(&self.services);
        self.streams.spawn(async move {
            if let Err(error) = push(&services, client, id, ticket).await {
                tracing::info!(execution = %id, %error, "an output stream ended");
            }
        });
    }
}

/// The error with which an output stream ended.
#[derive(Debug, thiserror::Error)]
enum OutputEnd {
    #[error("the server refused it: {0}")]
    Refused(Box<tonic::Status>),
    #[error(transparent)]
    Push(PushEnd),
}

async fn push(
    services: &Services,
    mut client: RunnerLinkClient<Channel>,
    execution_id: ExecutionId,
    ticket: String,
) -> Result<(), OutputEnd> {
    let spool = services.jobs.output(&execution_id);
    let (outgoing, queue) = mpsc::channel::<PushFromRunner>(CHUNKS);
    let missing = spool.is_none();
    let hello =
        PushFromRunner::Hello { runner_id: services.identity.id.clone(), execution_id, ticket, missing };
    // Cannot fail: the queue is empty and its receiver exists.
    let _ = outgoing.try_send(hello);
    let Some(spool) = spool else {
        drop(outgoing);
        let requests = ReceiverStream::new(queue).map(PushOutputRequest::from);
        let answer = client.push_output(requests).await.map_err(|s| OutputEnd::Refused(Box::new(s)))?;
        let mut answer = answer.into_inner();
        while let Ok(Some(_)) = answer.message().await {}
        return Ok(());
    };
    let requests = ReceiverStream::new(queue).map(PushOutputRequest::from);
    let answer = client.push_output(requests).await.map_err(|s| OutputEnd::Refused(Box::new(s)))?;
    // An invalid message or a broken connection ends the stream.
    let reads = answer
        .into_inner()
        .map(|message| PushToRunner::try_from(message.ok()?).ok())
        .take_while(|message| std::future::ready(message.is_some()))
        .filter_map(std::future::ready);
    match serve(spool, Box::pin(reads), outgoing).await {
        PushEnd::Closed | PushEnd::Removed => Ok(()),
        end => Err(OutputEnd::Push(end)),
    }
}
