//! Marks what looks like a line of Airlock's own in the output, where both go to the same place: a terminal, or a pipe
//! that standard output and standard error share. Elsewhere the output is exact, and nothing can be confused with it.

use std::{
    borrow::Cow,
    fs::File,
    io,
    os::{fd::AsFd, unix::fs::MetadataExt as _},
};

use crate::render::text::Marker;

/// The marks of both streams; none where the output is to be exact.
#[derive(Debug)]
pub(super) struct Marks(Option<[Marker; 2]>);

impl Marks {
    /// Marks if `wanted`, and standard output and standard error lead to the same place.
    pub(super) fn new(wanted: bool) -> Self {
        let one_place =
            || matches!((place(io::stdout()), place(io::stderr())), (Ok(out), Ok(err)) if out == err);
        Self((wanted && one_place()).then(Default::default))
    }

    /// The next bytes of a stream, as they are to be shown.
    pub(super) fn push<'a>(&mut self, data: &'a [u8], is_stdout: bool) -> Cow<'a, [u8]> {
        match &mut self.0 {
            None => Cow::Borrowed(data),
            Some([stdout, _]) if is_stdout => Cow::Owned(stdout.push(data)),
            Some([_, stderr]) => Cow::Owned(stderr.push(data)),
        }
    }

    /// What is left of each stream, and whether it is standard output's.
    pub(super) fn finish(&mut self) -> Vec<(Vec<u8>, bool)> {
        let Some([stdout, stderr]) = &mut self.0 else { return Vec::new() };
        vec![(stdout.finish(), true), (stderr.finish(), false)]
    }
}

/// The device and the file that a stream leads to.
fn place(stream: impl AsFd) -> io::Result<(u64, u64)> {
    let file = File::from(stream.as_fd().try_clone_to_owned()?).metadata()?;
    Ok((file.dev(), file.ino()))
}
