//! SOCKS5 (RFC 1928) with a user name and password (RFC 1929), and only its command CONNECT.
//!
//! The code is Airlock's own: the maintained crate for tokio, `fast-socks5`, logs the bytes of every password.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use airlock_network::{Host, Target};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time,
};

use crate::{
    connection::Protocol,
    open::{Execution, Failure, NotOpened, Opened},
    report::Report,
};

const VERSION: u8 = 5;
const PASSWORD_VERSION: u8 = 1;
const METHOD_PASSWORD: u8 = 2;
const METHOD_NONE: u8 = 0xff;
const COMMAND_CONNECT: u8 = 1;
const ADDRESS_V4: u8 = 1;
const ADDRESS_NAME: u8 = 3;
const ADDRESS_V6: u8 = 4;

/// The code of a reply.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Reply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    TimedOut = 6,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

/// Serves the handshake. Returns the connection to the target, or `None` if the client got a negative answer.
///
/// # Errors
///
/// Fails if the client sends anything else than SOCKS5, closes, or is too slow.
pub(crate) async fn serve(stream: &mut TcpStream, execution: &Arc<Execution>) -> io::Result<Option<Opened>> {
    let target = match time::timeout(execution.limits().head, request(stream, execution)).await?? {
        Ok(target) => target,
        Err(answer) => {
            stream.write_all(&answer).await?;
            return Ok(None);
        }
    };
    let (host, port) = target;
    let host = match Host::parse(&host) {
        Ok(host) => host,
        Err(error) => {
            let events = execution.access.events.clone();
            Report::invalid(&host, &error.to_string(), Protocol::Socks5, events);
            stream.write_all(&reply(Reply::NotAllowed)).await?;
            return Ok(None);
        }
    };
    match execution.open(Target { host, port }, Protocol::Socks5, closed(stream)).await {
        Ok(opened) => {
            stream.write_all(&reply(Reply::Succeeded)).await?;
            Ok(Some(opened))
        }
        Err(problem) => {
            stream.write_all(&reply(code(&problem))).await?;
            Ok(None)
        }
    }
}

/// Ends when the client has closed the connection. A client that has sent more is not watched.
async fn closed(stream: &TcpStream) {
    if !matches!(stream.peek(&mut [0]).await, Ok(0) | Err(_)) {
        std::future::pending::<()>().await;
    }
}

/// Reads everything up to the target. The inner error is the answer to a client that gets no connection.
async fn request(
    stream: &mut TcpStream,
    execution: &Execution,
) -> io::Result<Result<(String, u16), Vec<u8>>> {
    let [version, count] = read(stream).await?;
    expect(version, VERSION)?;
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&METHOD_PASSWORD) {
        return Ok(Err(vec![VERSION, METHOD_NONE]));
    }
    stream.write_all(&[VERSION, METHOD_PASSWORD]).await?;

    let [version] = read(stream).await?;
    expect(version, PASSWORD_VERSION)?;
    let _user = field(stream).await?;
    let password = field(stream).await?;
    if !execution.access.token.matches(&password) {
        return Ok(Err(vec![PASSWORD_VERSION, 1]));
    }
    stream.write_all(&[PASSWORD_VERSION, 0]).await?;

    let [version, command, _reserved, kind] = read(stream).await?;
    expect(version, VERSION)?;
    let host = match kind {
        ADDRESS_V4 => Ipv4Addr::from(read::<4>(stream).await?).to_string(),
        ADDRESS_V6 => Ipv6Addr::from(read::<16>(stream).await?).to_string(),
        ADDRESS_NAME => match String::from_utf8(field(stream).await?) {
            Ok(name) => name,
            Err(_) => return Ok(Err(reply(Reply::NotAllowed))),
        },
        _ => return Ok(Err(reply(Reply::AddressNotSupported))),
    };
    let port = u16::from_be_bytes(read(stream).await?);
    if command != COMMAND_CONNECT {
        return Ok(Err(reply(Reply::CommandNotSupported)));
    }
    Ok(Ok((host, port)))
}

async fn read<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Reads a field that begins with its length.
async fn field(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let [length] = read(stream).await?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn expect(given: u8, expected: u8) -> io::Result<()> {
    if given == expected { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Encodes a reply. The proxy does not tell the address that it is bound to.
fn reply(code: Reply) -> Vec<u8> {
    vec![VERSION, code as u8, 0, ADDRESS_V4, 0, 0, 0, 0, 0, 0]
}

fn code(problem: &NotOpened) -> Reply {
    match problem {
        NotOpened::Refused(_) => Reply::NotAllowed,
        NotOpened::Failed(Failure::ConnectionRefused) => Reply::ConnectionRefused,
        NotOpened::Failed(Failure::ConnectTimeout) => Reply::TimedOut,
        NotOpened::Failed(
            Failure::Resolve | Failure::ResolveTimeout | Failure::Unreachable | Failure::Upstream,
        ) => Reply::HostUnreachable,
        NotOpened::Failed(Failure::Answer | Failure::Tls | Failure::Encoded) => Reply::Failure,
    }
}
