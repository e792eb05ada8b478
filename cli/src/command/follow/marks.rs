//! Marks output that looks like a line from Airlock. This applies only if standard output and standard error go to the
//! same place: a terminal or a shared pipe. Otherwise the output is exact and cannot be confused with notes.

use std::{
    borrow::Cow,
    fs::File,
    io,
    os::{fd::AsFd, unix::fs::MetadataExt as _},
};

use crate::render::text::Marker;

/// The markers of both streams, or `None` if the output must be exact.
#[derive(Debug)]
pub(super) struct Marks(Option<[Marker; 2]>);

impl Marks {
    /// Creates markers if `wanted` and if standard output and standard error go to the same place.
    pub(super) fn new(wanted: bool) -> Self {
        let one_place =
            || matches!((place(io::stdout()), place(io::stderr())), (Ok(out), Ok(err)) if out == err);
        Self((wanted && one_place()).then(Default::default))
    }

    /// Returns the next bytes of a stream in the form to show.
    pub(super) fn push<'a>(&mut self, data: &'a [u8], is_stdout: bool) -> Cow<'a, [u8]> {
        match &mut self.0 {
            None => Cow::Borrowed(data),
            Some([stdout, _]) if is_stdout => Cow::Owned(stdout.push(data)),
            Some([_, stderr]) => Cow::Owned(stderr.push(data)),
        }
    }

    /// Returns the rest of each stream, and whether it belongs to standard output.
    pub(super) fn finish(&mut self) -> Vec<(Vec<u8>, bool)> {
        let Some([stdout, stderr]) = &mut self.0 else { return Vec::new() };
        vec![(stdout.finish(), true), (stderr.finish(), false)]
    }
}

/// Returns the device and inode that a stream refers to.
fn place(stream: impl AsFd) -> io::Result<(u64, u64)> {
    let file = File::from(stream.as_fd().try_clone_to_owned()?).metadata()?;
    Ok((file.dev(), file.ino()))
}
