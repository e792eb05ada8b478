//! The relay of a tunnel's bytes. An idle tunnel has no buffer. A busy one has a pipe, through which the kernel moves
//! the bytes without a copy in this process.

mod pipe;

use std::io;

use rustix::net::Shutdown;
use tokio::{net::TcpStream, sync::Semaphore, task::coop};

use self::pipe::{Moved, Pipe, within};
use crate::report::Meter;

/// The buffer of one direction while bytes arrive. A direction that fills it is busy.
const BUFFER: usize = 8 * 1024;

/// Why a direction stopped copying.
enum Copied {
    /// No more bytes have arrived.
    Quiet,
    /// The buffer was filled.
    Busy,
    /// The sender has ended the direction.
    Ended,
}

/// Relays bytes until both sides have ended their direction. Sends `early` to the target first.
///
/// # Errors
///
/// Fails if one side breaks the connection, or if a direction has more bytes than the meter permits.
pub(crate) async fn relay(
    client: &TcpStream,
    target: &TcpStream,
    early: Vec<u8>,
    meter: &Meter,
    pipes: &Semaphore,
) -> io::Result<()> {
    within(meter.up(early.len()))?;
    write_all(target, &early).await?;
    drop(early);
    tokio::try_join!(
        pump(client, target, |bytes| meter.up(bytes), pipes),
        pump(target, client, |bytes| meter.down(bytes), pipes),
    )?;
    Ok(())
}

async fn pump(
    from: &TcpStream,
    to: &TcpStream,
    count: impl Fn(usize) -> bool,
    pipes: &Semaphore,
) -> io::Result<()> {
    let mut can_move = true;
    loop {
        from.readable().await?;
        match copy(from, to, &count).await? {
            Copied::Quiet => {}
            Copied::Ended => break,
            Copied::Busy if can_move => {
                let Some(pipe) = Pipe::new(pipes) else { continue };
                match pipe.run(from, to, &count).await? {
                    Moved::Quiet => {}
                    Moved::Ended => break,
                    Moved::Unsupported => can_move = false,
                }
            }
            Copied::Busy => {}
        }
    }
    Ok(rustix::net::shutdown(to, Shutdown::Write)?)
}

/// Copies what has arrived. The buffer exists only during the call.
async fn copy(from: &TcpStream, to: &TcpStream, count: &impl Fn(usize) -> bool) -> io::Result<Copied> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.try_read(&mut buffer) {
            Ok(0) => return Ok(Copied::Ended),
            Ok(bytes) => {
                within(count(bytes))?;
                write_all(to, buffer.get(..bytes).unwrap_or_default()).await?;
                if bytes >= BUFFER {
                    return Ok(Copied::Busy);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Copied::Quiet),
            Err(error) => return Err(error),
        }
        coop::consume_budget().await;
    }
}

async fn write_all(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
