//! Tests of frames: messages arrive completely and in order, and invalid ones are refused.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;
use crate::wire::{Report, Step};

fn pair() -> (UnixStream, UnixStream) {
    UnixStream::pair().unwrap()
}

fn report(cause: &str) -> Report {
    Report::Failed { step: Step::Message, cause: cause.to_owned() }
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
