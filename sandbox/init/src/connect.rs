//! Connects standard input and output to a host through the proxy of the execution, for ssh's `ProxyCommand`. Runs
//! inside a sandbox, as a part of a command.
//!
//! Must not write to its descriptors anything but the bytes of the connection, and messages to standard error.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use airlock_init::wire::PROXY_VARIABLE;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The maximum length of the proxy's answer before the connection, and of its explanation of a refusal.
const MAX_ANSWER: usize = 8 << 10;
/// The bytes that are read at once.
const BUFFER: usize = 32 << 10;
/// The timeout for the proxy's answer. It exceeds the time in which a person can answer a question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(900);

/// Connects, transfers bytes until the host closes the connection, and returns the exit code.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> ExitCode {
    let (host, port) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match connect(&host, &port).and_then(transfer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let shown: String = error.to_string().chars().filter(|c| !c.is_control()).collect();
            let _ = writeln!(io::stderr(), "airlock: cannot connect to `{host}`, port `{port}`: {shown}");
            ExitCode::FAILURE
        }
    }
}

fn connect(host: &str, port: &str) -> io::Result<TcpStream> {
    let target = target(host, port).ok_or_else(|| io::Error::other("usage: connect HOST PORT"))?;
    let proxy = std::env::var(PROXY_VARIABLE).map_err(|_| io::Error::other("this command has no network"))?;
    let (credential, address) =
        parts(&proxy).ok_or_else(|| io::Error::other(format!("`{PROXY_VARIABLE}` does not name a proxy")))?;
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let credential = STANDARD.encode(credential);
    write!(
        stream,
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {credential}\r\n\r\n"
    )?;
    let head = head(&mut stream)?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "200" {
        stream.set_read_timeout(None)?;
        return Ok(stream);
    }
    let mut reason = String::new();
    stream.take(MAX_ANSWER as u64).read_to_string(&mut reason)?;
    Err(io::Error::other(if reason.is_empty() { head } else { reason }))
}

/// Returns the target of the request. `None` if it could add a line or a word to it.
fn target(host: &str, port: &str) -> Option<String> {
    let plain = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
    let port = port.parse::<u16>().ok().filter(|_| plain)?;
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

/// Returns the credential and the address of a proxy's URL. The address is numeric, so no name is resolved.
fn parts(proxy: &str) -> Option<(&str, SocketAddr)> {
    let (credential, address) = proxy.strip_prefix("http://")?.split_once('@')?;
    Some((credential, address.parse().ok()?))
}

/// Reads the head of an answer, and not one byte of what follows. Returns its first line.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if head.len() >= MAX_ANSWER || stream.read(&mut byte)? == 0 {
            return Err(io::Error::other("the proxy did not answer"));
        }
        head.extend(byte);
    }
    let text = String::from_utf8_lossy(&head);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Transfers bytes in both directions until the host closes the connection.
fn transfer(stream: TcpStream) -> io::Result<()> {
    let mut up = stream.try_clone()?;
    thread::Builder::new().spawn(move || {
        let _ = copy(&mut io::stdin(), &mut up);
        let _ = up.shutdown(Shutdown::Write);
    })?;
    let mut down = stream;
    // The standard output has a buffer that waits for a line.
    let mut output = std::fs::File::from(std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?);
    copy(&mut down, &mut output)
}

/// Copies to the end. `io::copy` would use splice(2), which locks the pipe of the output while it waits for the host.
/// ssh could then not read what is in the pipe already, and both sides would wait for each other.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            count => to.write_all(buffer.get(..count).unwrap_or_default())?,
        }
    }
}
