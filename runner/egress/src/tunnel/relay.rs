//! The relay of a tunnel's bytes. An idle tunnel has no buffer, and only some busy ones have a large buffer.

use std::io;

use tokio::{
    io::AsyncWriteExt,
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::{Semaphore, SemaphorePermit},
};

use crate::report::Meter;

/// The buffer of one direction while bytes arrive.
const SMALL: usize = 8 * 1024;
/// The buffer of a direction that has filled a small one.
const LARGE: usize = 64 * 1024;

/// Relays bytes until both sides have ended their direction. Sends `early` to the target first.
///
/// # Errors
///
/// Fails if one side breaks the connection, or if a direction has more bytes than the meter permits.
pub(crate) async fn relay(
    client: &mut TcpStream,
    target: &mut TcpStream,
    early: Vec<u8>,
    meter: &Meter,
    large: &Semaphore,
) -> io::Result<()> {
    let (from_client, to_client) = client.split();
    let (from_target, mut to_target) = target.split();
    within(meter.up(early.len()))?;
    to_target.write_all(&early).await?;
    drop(early);
    tokio::try_join!(
        pump(from_client, to_target, |bytes| meter.up(bytes), large),
        pump(from_target, to_client, |bytes| meter.down(bytes), large),
    )?;
    Ok(())
}

async fn pump(
    from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    count: impl Fn(usize) -> bool,
    large: &Semaphore,
) -> io::Result<()> {
    let mut is_busy = false;
    loop {
        from.readable().await?;
        // The buffer exists only while there are bytes.
        let mut buffer = Buffer::new(is_busy, large);
        loop {
            match from.try_read(&mut buffer.bytes) {
                Ok(0) => return to.shutdown().await,
                Ok(bytes) => {
                    within(count(bytes))?;
                    to.write_all(buffer.bytes.get(..bytes).unwrap_or_default()).await?;
                    is_busy = bytes >= SMALL;
                    if is_busy && buffer.permit.is_none() {
                        buffer = Buffer::new(is_busy, large);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
    }
}

/// The buffer of one direction.
struct Buffer<'a> {
    bytes: Vec<u8>,
    /// Permits the size of a large buffer.
    permit: Option<SemaphorePermit<'a>>,
}

impl<'a> Buffer<'a> {
    fn new(is_busy: bool, large: &'a Semaphore) -> Self {
        let permit = if is_busy { large.try_acquire().ok() } else { None };
        let size = if permit.is_some() { LARGE } else { SMALL };
        Self { bytes: vec![0; size], permit }
    }
}

fn within(counted: bool) -> io::Result<()> {
    if counted { Ok(()) } else { Err(io::ErrorKind::QuotaExceeded.into()) }
}
