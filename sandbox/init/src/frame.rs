//! Messages over a unix stream socket: a length, JSON, and the descriptors that belong to the message.
//!
//! Must not trust the other end: lengths and numbers of descriptors are bounded.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recv, recvmsg, send, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The maximum length of a message in bytes. The longest command fits, even in its longest encoding.
pub const MAX_FRAME: usize = 4 << 20;
/// The maximum number of descriptors per message.
pub const MAX_FDS: usize = 8;

/// The reason why a message could not be sent or read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other end closed the socket.
    #[error("the other end closed the socket")]
    Closed,
    /// The message is longer than [`MAX_FRAME`].
    #[error("the message has {0} bytes, the limit is {MAX_FRAME}")]
    TooLong(usize),
    /// A message of another type was expected.
    #[error("unexpected message")]
    Unexpected,
    /// No message arrived within the socket's timeout.
    #[error("no answer in time")]
    TimedOut,
    /// The socket failed.
    #[error("socket: {0}")]
    Socket(#[source] Errno),
    /// The message could not be parsed.
    #[error("malformed message: {0}")]
    Malformed(#[source] serde_json::Error),
}

impl From<Errno> for FrameError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::PIPE | Errno::CONNRESET => Self::Closed,
            Errno::AGAIN => Self::TimedOut,
            other => Self::Socket(other),
        }
    }
}

/// Sends one message. The other end receives duplicates of `fds`.
///
/// # Errors
///
/// See [`FrameError`]. A part of the message may have been sent.
pub fn send_frame<T: Serialize>(
    socket: BorrowedFd<'_>,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> Result<(), FrameError> {
    let body = serde_json::to_vec(message).map_err(FrameError::Malformed)?;
    let length = u32::try_from(body.len()).map_err(|_| FrameError::TooLong(body.len()))?;
    if body.len() > MAX_FRAME {
        return Err(FrameError::TooLong(body.len()));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(FrameError::Socket(Errno::NOBUFS));
    }
    let header = length.to_le_bytes();
    let sent = retry(|| sendmsg(socket, &[IoSlice::new(&header)], &mut ancillary, SendFlags::NOSIGNAL))?;
    send_all(socket, header.get(sent..).unwrap_or_default())?;
    send_all(socket, &body)
}

/// Reads one message and its descriptors, which are close-on-exec.
///
/// # Errors
///
/// See [`FrameError`].
pub fn recv_frame<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> Result<(T, Vec<OwnedFd>), FrameError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut header = [0; 4];
    let got = retry(|| {
        let mut slices = [IoSliceMut::new(&mut header)];
        recvmsg(socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?
    .bytes;
    if got == 0 {
        return Err(FrameError::Closed);
    }
    let fds = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    recv_exact(socket, header.get_mut(got..).unwrap_or_default())?;
    let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    if length > MAX_FRAME {
        return Err(FrameError::TooLong(length));
    }
    let mut body = vec![0; length];
    recv_exact(socket, &mut body)?;
    let message = serde_json::from_slice(&body).map_err(FrameError::Malformed)?;
    Ok((message, fds))
}

fn send_all(socket: BorrowedFd<'_>, mut rest: &[u8]) -> Result<(), FrameError> {
    while !rest.is_empty() {
        let sent = retry(|| send(socket, rest, SendFlags::NOSIGNAL))?;
        rest = rest.get(sent..).unwrap_or_default();
    }
    Ok(())
}

fn recv_exact(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<(), FrameError> {
    let mut rest = buffer;
    while !rest.is_empty() {
        let (got, _) = retry(|| recv(socket, &mut *rest, RecvFlags::empty()))?;
        if got == 0 {
            return Err(FrameError::Closed);
        }
        rest = rest.get_mut(got..).unwrap_or_default();
    }
    Ok(())
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, FrameError> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other.map_err(FrameError::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;
    use crate::wire::{Fault, Report, Step};

    fn pair() -> (UnixStream, UnixStream) {
        UnixStream::pair().unwrap()
    }

    fn report(cause: &str) -> Report {
        Report::Failed { step: Step::Message, fault: Fault::Other, cause: cause.to_owned() }
    }

    #[test]
    fn messages_arrive_whole_and_in_order() {
        let (ours, theirs) = pair();
        let long = "é".repeat(500_000);
        let sender = std::thread::spawn(move || {
            for cause in ["first", &long, "", "last"] {
                send_frame(ours.as_fd(), &report(cause), &[]).unwrap();
            }
        });
        let mut got = Vec::new();
        while let Ok((Report::Failed { cause, .. }, fds)) = recv_frame(theirs.as_fd()) {
            assert!(fds.is_empty());
            got.push(cause.len());
        }
        sender.join().unwrap();
        assert_eq!(got, [5, 1_000_000, 0, 4]);
    }

    #[test]
    fn descriptors_arrive_with_their_message_and_are_close_on_exec() {
        let (ours, theirs) = pair();
        let (mut read, write) = std::io::pipe().unwrap();
        send_frame(ours.as_fd(), &report("none"), &[]).unwrap();
        send_frame(ours.as_fd(), &report("one"), &[write.as_fd()]).unwrap();
        drop(write);
        let (_, none): (Report, _) = recv_frame(theirs.as_fd()).unwrap();
        assert!(none.is_empty());
        let (_, one): (Report, _) = recv_frame(theirs.as_fd()).unwrap();
        let [fd] = <[OwnedFd; 1]>::try_from(one).unwrap();
        let flags = rustix::io::fcntl_getfd(&fd).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        File::from(fd).write_all(b"through").unwrap();
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn what_is_too_long_cut_short_or_nonsense_is_an_error() {
        let raw = |bytes: &[u8]| {
            let (mut ours, theirs) = pair();
            ours.write_all(bytes).unwrap();
            drop(ours);
            recv_frame::<Report>(theirs.as_fd()).unwrap_err()
        };
        assert!(matches!(raw(b""), FrameError::Closed));
        assert!(matches!(raw(&[1]), FrameError::Closed));
        assert!(matches!(raw(&[9, 0, 0, 0, b'{']), FrameError::Closed));
        assert!(matches!(raw(&[255, 255, 255, 255]), FrameError::TooLong(4_294_967_295)));
        assert!(matches!(raw(&[2, 0, 0, 0, b'{', b'}']), FrameError::Malformed(_)));
    }

    #[test]
    fn silence_and_a_closed_socket_are_told_apart() {
        let (ours, theirs) = pair();
        theirs.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        assert!(matches!(recv_frame::<Report>(theirs.as_fd()), Err(FrameError::TimedOut)));
        drop(theirs);
        let error = send_frame(ours.as_fd(), &report("late"), &[]).unwrap_err();
        assert!(matches!(error, FrameError::Closed));
    }
}
