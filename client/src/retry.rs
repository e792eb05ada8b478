//! Retries: bounded, growing pauses with jitter, up to the time limits of `Patience`.

use std::{error::Error, future::Future, time::Duration};

use airlock_backoff::Backoff;
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint};

use super::ClientError;

/// The number of attempts for a connection that is cut while it is established.
const CUT_TRIES: usize = 4;
/// A connection that lasted this long counts as a success.
const HELD: Duration = Duration::from_secs(1);

/// The attempts since the last success.
#[derive(Debug, Clone)]
pub(super) struct Retries {
    backoff: Backoff,
    since: Option<Instant>,
}

impl Retries {
    pub(super) fn new(patience: &Patience) -> Self {
        Self { backoff: Backoff::new(patience.backoff_first, patience.backoff_max), since: None }
    }

    /// Records a success: the next pause is the shortest again.
    pub(super) fn reset(&mut self) {
        self.backoff.reset();
        self.since = None;
    }

    /// Records that a connection that was open since `began` has broken. If it lasted long enough, it
    /// counts as a success, even without data.
    pub(super) fn held_since(&mut self, began: Instant) {
        if began.elapsed() >= HELD {
            self.reset();
        }
    }

    /// Returns the pause after `error`, or `None` if no attempt has succeeded for `patience`.
    pub(super) fn pause(&mut self, error: &ClientError, patience: Duration) -> Option<Duration> {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        let left = patience.checked_sub(now.duration_since(since))?;
        let pause = self.backoff.jittered_step().max(error.retry_after().unwrap_or_default());
        Some(pause.min(self.backoff.max()).min(left.max(self.backoff.first())))
    }

    /// Pauses if `error` may pass. Returns the error if a retry is not permitted, or if no attempt has succeeded for
    /// `patience`.
    ///
    /// # Errors
    /// Returns `error` itself.
    pub(super) async fn outlast(
        &mut self,
        error: ClientError,
        patience: Duration,
    ) -> Result<(), ClientError> {
        if !error.is_passing() {
            return Err(error);
        }
        match self.pause(&error, patience) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return Err(error),
        }
        Ok(())
    }
}

/// Connects. An attempt that is cut while the connection is established is repeated. An unreachable
/// server is an error at once.
///
/// # Errors
/// The last error.
pub(super) async fn connected(
    endpoint: &Endpoint,
    patience: &Patience,
) -> Result<Channel, tonic::transport::Error> {
    let mut backoff = Backoff::new(patience.backoff_first, patience.backoff_max);
    for _ in 0..CUT_TRIES {
        match endpoint.connect().await {
            Err(error) if was_cut(&error) => tokio::time::sleep(backoff.jittered_step()).await,
            other => return other,
        }
    }
    endpoint.connect().await
}

fn was_cut(error: &tonic::transport::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let sources = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
    let kinds = sources.filter_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    kinds
        .into_iter()
        .any(|kind| matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof))
}

/// Repeats a call that is safe to repeat, until it succeeds, fails permanently, or reaches its time limit.
///
/// # Errors
/// The last error of `call`.
pub(super) async fn retrying<T, F, Fut>(patience: &Patience, mut call: F) -> Result<T, ClientError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, ClientError>>,
{
    let mut retries = Retries::new(patience);
    loop {
        match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => retries.outlast(error, patience.call).await?,
        }
    }
}

/// The times for which a client retries without success, and its pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// The time for a call or for the start of a command.
    pub call: Duration,
    /// The time for a view of an execution, since its last event or keepalive.
    pub view: Duration,
    /// The time for a download or an output reader that receives nothing new on an open connection. It must be longer
    /// than the server's wait for its runner.
    pub silence: Duration,
    /// The pause before the first retry; it doubles with each retry.
    pub backoff_first: Duration,
    /// The longest pause between two attempts.
    pub backoff_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(20),
            view: Duration::from_secs(120),
            silence: Duration::from_secs(600),
            backoff_first: Duration::from_millis(50),
            backoff_max: Duration::from_secs(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> ClientError {
        ClientError::Transport { address: "here".to_owned(), message: "cut".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_and_pauses_stay_bounded() {
        let patience = Patience::default();
        let began = Instant::now();
        let mut tries = 0_u32;
        let result: Result<(), _> = retrying(&patience, || {
            tries += 1;
            async { Err(broken()) }
        })
        .await;
        assert!(result.is_err());
        let took = began.elapsed();
        assert!(took >= patience.call && took <= patience.call + patience.backoff_max);
        assert!((8..40).contains(&tries), "{tries} tries");
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_hold_for_a_while_are_made_again_for_ever() {
        let patience = Patience::default();
        let tries = async |held: Duration| {
            let mut retries = Retries::new(&patience);
            for round in 0..1000 {
                let began = Instant::now();
                tokio::time::sleep(held).await;
                retries.held_since(began);
                if retries.outlast(broken(), patience.view).await.is_err() {
                    return round;
                }
            }
            1000
        };
        assert_eq!(tries(Duration::from_millis(1900)).await, 1000);
        assert!(tries(Duration::from_millis(10)).await < 100);
    }

    #[tokio::test]
    async fn a_connection_that_is_cut_while_it_is_made_is_made_again() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let tls = tonic::transport::ClientTlsConfig::new().domain_name("localhost");
        let endpoint = Endpoint::from_shared(address).unwrap().tls_config(tls).unwrap();
        let patience = Patience { backoff_first: Duration::from_millis(1), ..Patience::default() };
        let cutting = tokio::spawn(async move {
            for _ in 0..=CUT_TRIES {
                drop(listener.accept().await.unwrap());
            }
        });
        assert!(connected(&endpoint, &patience).await.is_err());
        tokio::time::timeout(Duration::from_secs(10), cutting).await.unwrap().unwrap();
        // The port is closed now, which is not a cut connection, so there is no second attempt.
        assert!(!was_cut(&endpoint.connect().await.unwrap_err()));
    }

    #[tokio::test(start_paused = true)]
    async fn stops_at_the_first_lasting_error() {
        let mut tries = 0;
        let result: Result<(), _> = retrying(&Patience::default(), || {
            tries += 1;
            async { Err(ClientError::Settings("no".to_owned())) }
        })
        .await;
        assert!(matches!(result, Err(ClientError::Settings(_))));
        assert_eq!(tries, 1);
    }
}
