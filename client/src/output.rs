//! Parts of an execution's output. After a broken connection, reading continues at the same position
//! without losing or repeating a byte.

use bytes::Bytes;
use tokio::time::Instant;
use tonic::Streaming;

use super::{
    Client, ClientError, OutputPiece, Selection,
    connection::{ANSWER_BYTES, Connection, OPEN_TIMEOUT},
    retry::Retries,
    search::SearchPosition,
    v1::{
        self, ExecutionServiceReadOutputRequest, ExecutionServiceReadOutputResponse, OutputEdge, OutputRange,
        execution_service_client::ExecutionServiceClient,
        execution_service_read_output_request::Selection as WireSelection,
        execution_service_read_output_response::Part, output_edge::Amount,
    },
};

/// A reader of one part of one output stream.
#[derive(Debug)]
pub struct OutputReader {
    connection: Connection,
    execution_id: String,
    stream: v1::OutputStream,
    position: Position,
    view: Option<Streaming<ExecutionServiceReadOutputResponse>>,
    /// The time of the last new data or of the last new view.
    since: Instant,
    retries: Retries,
    finished: bool,
}

impl Client {
    /// Reads a part of an execution's output, live or stored, as it is now. Nothing is sent before the
    /// first [`OutputReader::next`]; dropping the reader ends the request.
    #[must_use]
    pub fn read_output(
        &self,
        execution_id: impl Into<String>,
        stream: v1::OutputStream,
        selection: Selection,
    ) -> OutputReader {
        OutputReader {
            connection: self.connection.clone(),
            execution_id: execution_id.into(),
            stream,
            position: Position::of(selection),
            view: None,
            since: Instant::now(),
            retries: Retries::new(&self.connection.patience()),
            finished: false,
        }
    }
}

impl OutputReader {
    /// Returns the next piece, or `None` after [`OutputPiece::Done`]. Cancel-safe.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] if the server refuses the request, [`ClientError::Transport`] if no data arrives
    /// within `Patience::call` or `Patience::silence`.
    pub async fn next(&mut self) -> Result<Option<OutputPiece>, ClientError> {
        while !self.finished {
            match self.step().await {
                Ok(Some(piece)) => {
                    self.retries.reset();
                    self.since = Instant::now();
                    self.finished = matches!(piece, OutputPiece::Done(_));
                    return Ok(Some(piece));
                }
                Ok(None) => {}
                Err(error) => {
                    self.view = None;
                    self.position.cut();
                    self.retries.outlast(error, self.connection.patience().call).await?;
                }
            }
        }
        Ok(None)
    }

    async fn step(&mut self) -> Result<Option<OutputPiece>, ClientError> {
        if self.view.is_none() {
            self.view = Some(self.open().await?);
            self.since = Instant::now();
        }
        let Some(view) = &mut self.view else {
            return Ok(None);
        };
        let Some(message) = self.connection.heard(view, self.since).await? else {
            return Err(self.connection.transport("the output ended before it was complete"));
        };
        let piece = match message.part {
            Some(part) => self.position.admit(part).map_err(|what| self.connection.contract(what))?,
            None => None,
        };
        if self.position.has_all() {
            self.view = None;
        }
        Ok(piece)
    }

    async fn open(&mut self) -> Result<Streaming<ExecutionServiceReadOutputResponse>, ClientError> {
        let request = ExecutionServiceReadOutputRequest {
            execution_id: self.execution_id.clone(),
            stream: self.stream.into(),
            selection: self.position.request(),
        };
        let mut client =
            ExecutionServiceClient::new(self.connection.views()).max_decoding_message_size(ANSWER_BYTES);
        match tokio::time::timeout(OPEN_TIMEOUT, client.read_output(request)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.connection.error(&status)),
            Err(_) => Err(self.connection.transport("the output did not start in time")),
        }
    }
}

/// The position of a reader.
#[derive(Debug)]
enum Position {
    Bytes(BytesPosition),
    Search(SearchPosition),
}

impl Position {
    fn of(selection: Selection) -> Self {
        match selection {
            Selection::Search(search) => Self::Search(SearchPosition::new(search)),
            other => Self::Bytes(BytesPosition::new(&other)),
        }
    }

    fn request(&mut self) -> Option<WireSelection> {
        match self {
            Self::Bytes(position) => position.request(),
            Self::Search(position) => Some(WireSelection::Search(position.request())),
        }
    }

    fn admit(&mut self, part: Part) -> Result<Option<OutputPiece>, &'static str> {
        match self {
            Self::Bytes(position) => position.admit(part),
            Self::Search(position) => position.admit(part),
        }
    }

    fn cut(&mut self) {
        if let Self::Search(position) = self {
            position.cut();
        }
    }

    /// Reports whether all pieces except the last one have arrived, and the open view will not deliver the last one in
    /// time.
    fn has_all(&mut self) -> bool {
        match self {
            Self::Bytes(position) => position.wants_end(),
            Self::Search(_) => false,
        }
    }
}

/// The amount that remains to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    ToTheEnd,
    Bytes(u64),
    Lines(u64),
}

#[derive(Debug)]
struct BytesPosition {
    first: Option<WireSelection>,
    /// The offset of the next byte; `None` before the first byte of a tail.
    at: Option<u64>,
    left: Left,
    /// Whether data was returned, so that the rest must be requested as a range.
    moved: bool,
    view: ViewOf,
}

/// The request that the open view answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ViewOf {
    /// The whole selection.
    First,
    /// The rest of the selection.
    Rest,
    /// Only the closing piece.
    End,
}

impl BytesPosition {
    fn new(selection: &Selection) -> Self {
        let head = |amount| Some(WireSelection::Head(OutputEdge { amount: Some(amount) }));
        let tail = |amount| Some(WireSelection::Tail(OutputEdge { amount: Some(amount) }));
        let (first, at, left) = match *selection {
            Selection::Range { offset, length } => {
                let left = if length == 0 { Left::ToTheEnd } else { Left::Bytes(length) };
                (range(offset, length), Some(offset), left)
            }
            Selection::HeadBytes(count) => (head(Amount::Bytes(count)), Some(0), Left::Bytes(count)),
            Selection::HeadLines(count) => (head(Amount::Lines(count)), Some(0), Left::Lines(count)),
            Selection::TailBytes(count) => (tail(Amount::Bytes(count)), None, Left::ToTheEnd),
            Selection::TailLines(count) => (tail(Amount::Lines(count)), None, Left::ToTheEnd),
            Selection::All | Selection::Search(_) => (None, Some(0), Left::ToTheEnd),
        };
        Self { first, at, left, moved: false, view: ViewOf::First }
    }

    fn request(&mut self) -> Option<WireSelection> {
        let Some(at) = self.at.filter(|_| self.moved) else {
            self.view = ViewOf::First;
            return self.first.clone();
        };
        self.view = ViewOf::Rest;
        match self.left {
            Left::Bytes(0) | Left::Lines(0) => {
                self.view = ViewOf::End;
                range(at, 1)
            }
            Left::Bytes(count) => range(at, count),
            Left::Lines(_) | Left::ToTheEnd => range(at, 0),
        }
    }

    fn wants_end(&self) -> bool {
        self.view == ViewOf::Rest && self.left == Left::Lines(0)
    }

    fn admit(&mut self, part: Part) -> Result<Option<OutputPiece>, &'static str> {
        match part {
            Part::Done(mut done) => {
                if let (ViewOf::End, Some(at)) = (self.view, self.at) {
                    done.next_offset = at;
                }
                Ok(Some(OutputPiece::Done(done)))
            }
            Part::Line(_) => Err("it sent lines where bytes were requested"),
            Part::Output(_) | Part::Gap(_) if self.view == ViewOf::End => Ok(None),
            Part::Output(output) => {
                let (start, have) = self.place_of(output.offset)?;
                let have = usize::try_from(have).unwrap_or(usize::MAX).min(output.data.len());
                let data = self.wanted(&output.data.slice(have..));
                if data.is_empty() {
                    return Ok(None);
                }
                self.move_to(
                    start.checked_add(data.len() as u64).ok_or("it sent bytes past the largest offset")?,
                );
                Ok(Some(OutputPiece::Bytes { offset: start, data }))
            }
            Part::Gap(gap) => {
                let (from, _) = self.place_of(gap.from)?;
                if gap.to <= from {
                    return Ok(None);
                }
                if let Left::Bytes(left) = &mut self.left {
                    *left = left.saturating_sub(gap.to - from);
                }
                self.move_to(gap.to);
                Ok(Some(OutputPiece::Gap { from, to: gap.to }))
            }
        }
    }

    /// Returns the first offset in a piece at `offset` that the reader does not have, and the number of bytes before
    /// it.
    fn place_of(&self, offset: u64) -> Result<(u64, u64), &'static str> {
        let start = self.at.unwrap_or(offset);
        let have = start.checked_sub(offset).ok_or("it skipped bytes without reporting a gap")?;
        Ok((start, have))
    }

    fn move_to(&mut self, at: u64) {
        self.at = Some(at);
        self.moved = true;
    }

    /// Returns the part of `data` that still belongs to the request.
    fn wanted(&mut self, data: &Bytes) -> Bytes {
        let length = match &mut self.left {
            Left::ToTheEnd => data.len(),
            Left::Bytes(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(data.len());
                *left -= length as u64;
                length
            }
            Left::Lines(left) => {
                let mut length = 0;
                for line in data.split_inclusive(|byte| *byte == b'\n') {
                    if *left == 0 {
                        break;
                    }
                    length += line.len();
                    *left -= u64::from(line.ends_with(b"\n"));
                }
                length
            }
        };
        data.slice(..length)
    }
}

fn range(offset: u64, length: u64) -> Option<WireSelection> {
    Some(WireSelection::Range(OutputRange { offset, length }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_past_the_last_offset_are_refused() {
        let mut position = BytesPosition::new(&Selection::TailBytes(10));
        let output = v1::Output { offset: u64::MAX, data: Bytes::from_static(b"xy"), ..Default::default() };
        assert!(position.admit(Part::Output(output)).is_err());
    }
}
