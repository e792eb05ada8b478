//! `airlock logs`.

mod show;

use clap::Args;

use super::{
    Failure, args,
    connect::Connect,
    follow::{ViewOptions, follow},
};
use airlock_client::{
    Client, From, Selection,
    v1::{OutputSearch, OutputStream},
};
use show::Show;

/// The exit code of a search without a match, as in grep.
const NO_MATCH: u8 = 1;
/// The number of matches per request. Further requests follow while there are more matches.
const MATCHES: u32 = airlock_domain::limits::MATCHES_MAX;

/// Show the output of an execution, running or ended: all of it or a part.
///
/// Bytes are written as the command wrote them. Without options both streams are shown, each on its own
/// stream here. With an option that selects a part, standard output is shown, or with --stderr a separate
/// standard error. Output that is no longer held is reported on standard error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'seq 1 1000')\n  airlock wait $id\n  airlock logs --tail 3 $id\n  airlock logs --range 0-20 $id\n  airlock logs --grep '^9+$' -n $id\n  airlock logs --grep 500 -F -C 2 $id\n  airlock logs --follow $id | tail -n 1\n\nExit codes: 0 success; 1 if --grep found no match, or on failure; 2 for wrong usage; 130 if Ctrl-C ended\n--follow."
)]
pub(super) struct Logs {
    #[command(flatten)]
    connect: Connect,
    /// Continue with new output until the command ends; Ctrl-C ends the view, not the command.
    #[arg(short, long, conflicts_with_all = ["head", "range", "grep", "stderr", "offsets"])]
    follow: bool,
    /// Show the first lines, or with --bytes the first bytes.
    #[arg(long, value_name = "COUNT", value_parser = args::number, conflicts_with_all = ["tail", "range", "grep"])]
    head: Option<u64>,
    /// Show the last lines, or with --bytes the last bytes.
    #[arg(long, value_name = "COUNT", value_parser = args::number, conflicts_with_all = ["range", "grep"])]
    tail: Option<u64>,
    /// Show the bytes from offset FROM up to, but without, offset TO; FROM- extends to the end.
    #[arg(long, value_name = "FROM-TO", value_parser = range, conflicts_with = "grep")]
    range: Option<Selection>,
    /// Let --head and --tail count bytes.
    #[arg(long)]
    bytes: bool,
    /// Show the lines that match a regular expression.
    #[arg(long, value_name = "PATTERN")]
    grep: Option<String>,
    #[command(flatten)]
    search: Search,
    /// Show standard error, if it was kept separate (`run --separate-stderr`)
    #[arg(long)]
    stderr: bool,
    /// Start every line with the offset of its first byte, as `grep -b` does.
    #[arg(long)]
    offsets: bool,
    /// Print JSON lines instead of the output.
    #[arg(long, conflicts_with = "offsets")]
    json: bool,
    /// The execution.
    #[arg(value_name = "ID")]
    id: String,
}

/// The options of a search, with grep's names.
#[derive(Debug, Clone, Args)]
struct Search {
    /// Treat the pattern as plain text.
    #[arg(short = 'F', long, requires = "grep")]
    fixed_strings: bool,
    /// Ignore upper and lower case.
    #[arg(short, long, requires = "grep")]
    ignore_case: bool,
    /// Show the lines that do not match.
    #[arg(short = 'v', long, requires = "grep")]
    invert_match: bool,
    /// Start every line with its number.
    #[arg(short = 'n', long, requires = "grep")]
    line_number: bool,
    /// The number of lines to show after each match.
    #[arg(short = 'A', long, value_name = "COUNT", requires = "grep", value_parser = context)]
    after_context: Option<u32>,
    /// The number of lines to show before each match.
    #[arg(short = 'B', long, value_name = "COUNT", requires = "grep", value_parser = context)]
    before_context: Option<u32>,
    /// The number of lines to show before and after each match.
    #[arg(short = 'C', long, value_name = "COUNT", requires = "grep", value_parser = context)]
    context: Option<u32>,
    /// Stop after this number of matches.
    #[arg(short, long, value_name = "COUNT", requires = "grep", value_parser = args::count::<u64>)]
    max_count: Option<u64>,
}

impl Logs {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        if self.bytes && self.head.is_none() && self.tail.is_none() {
            return Err(Failure::usage("--bytes applies to --head and --tail; add one of them"));
        }
        if let Some(pattern) = self.grep.as_deref().filter(|_| !self.search.fixed_strings) {
            check_pattern(pattern)?;
        }
        let client = self.connect.client().await?;
        if self.follow {
            return self.followed(&client).await;
        }
        if let Some(pattern) = &self.grep {
            return self.searched(&client, pattern).await;
        }
        let chosen = self.selection();
        let streams: &[_] = match (&chosen, self.stderr) {
            (_, true) => &[OutputStream::Stderr],
            (None, false) if self.has_stderr(&client).await? => &[OutputStream::Stdout, OutputStream::Stderr],
            (_, false) => &[OutputStream::Stdout],
        };
        for stream in streams {
            self.part(&client, *stream, chosen.clone().unwrap_or(Selection::All)).await?;
        }
        Ok(0)
    }

    /// Reports whether standard error was kept separate.
    async fn has_stderr(&self, client: &Client) -> Result<bool, Failure> {
        Ok(client.execution(&self.id).await?.separate_stderr)
    }

    fn selection(&self) -> Option<Selection> {
        match (self.head, self.tail, self.bytes) {
            (Some(count), _, true) => Some(Selection::HeadBytes(count)),
            (Some(count), _, false) => Some(Selection::HeadLines(count)),
            (None, Some(count), true) => Some(Selection::TailBytes(count)),
            (None, Some(count), false) => Some(Selection::TailLines(count)),
            (None, None, _) => self.range.clone(),
        }
    }

    /// Shows a part of a stream, and returns the offset after it.
    async fn part(&self, client: &Client, stream: OutputStream, what: Selection) -> Result<u64, Failure> {
        let mut show = Show::new(stream, self.stderr, self.json, self.offsets);
        let mut reader = client.read_output(self.id.as_str(), stream, what);
        let mut end = 0;
        while let Some(piece) = reader.next().await? {
            if let Some(done) = show.piece(&piece).await? {
                end = done.next_offset;
            }
        }
        Ok(end)
    }

    async fn followed(&self, client: &Client) -> Result<u8, Failure> {
        let from = match self.selection() {
            Some(tail) => {
                let stdout = self.part(client, OutputStream::Stdout, tail.clone()).await?;
                let stderr = match self.has_stderr(client).await? {
                    true => self.part(client, OutputStream::Stderr, tail).await?,
                    false => 0,
                };
                From::Offsets { stdout, stderr }
            }
            None => From::Beginning,
        };
        let options = ViewOptions {
            json: self.json,
            log: true,
            dev: self.connect.dev_directory(),
            ..ViewOptions::default()
        };
        follow(client, client.attach(self.id.as_str(), from), options).await
    }

    async fn searched(&self, client: &Client, pattern: &str) -> Result<u8, Failure> {
        let stream = if self.stderr { OutputStream::Stderr } else { OutputStream::Stdout };
        let mut show = Show::new(stream, self.stderr, self.json, self.offsets)
            .lines(self.search.line_number, self.search.shows_context());
        let (mut left, mut offset, mut matches) = (self.search.max_count.unwrap_or(u64::MAX), 0, 0);
        loop {
            let search = self.search.wire(pattern, left, offset);
            let mut reader = client.read_output(self.id.as_str(), stream, Selection::Search(search));
            let mut more = false;
            while let Some(piece) = reader.next().await? {
                if let Some(done) = show.piece(&piece).await? {
                    (left, offset, more) = (left.saturating_sub(done.matches), done.next_offset, done.more);
                    matches += done.matches;
                }
            }
            if !more || left == 0 {
                return Ok(if matches == 0 { NO_MATCH } else { 0 });
            }
        }
    }
}

impl Search {
    fn shows_context(&self) -> bool {
        [self.after_context, self.before_context, self.context].iter().any(|count| count.unwrap_or(0) > 0)
    }

    fn wire(&self, pattern: &str, left: u64, offset: u64) -> OutputSearch {
        let both = self.context.unwrap_or(0);
        OutputSearch {
            pattern: pattern.to_owned(),
            fixed: self.fixed_strings,
            ignore_case: self.ignore_case,
            invert: self.invert_match,
            before: self.before_context.unwrap_or(both),
            after: self.after_context.unwrap_or(both),
            max_matches: u32::try_from(left).unwrap_or(MATCHES).min(MATCHES),
            offset,
        }
    }
}

fn context(text: &str) -> Result<u32, String> {
    const MOST: u32 = airlock_domain::limits::CONTEXT_LINES;
    let number = text.parse().ok().filter(|number| *number <= MOST);
    number.ok_or_else(|| format!("expected a whole number of at most {MOST}"))
}

/// Parses `FROM-TO` or `FROM-`.
fn range(text: &str) -> Result<Selection, String> {
    const FORM: &str = "expected FROM-TO, such as 0-4096, or FROM- for the rest";
    let (from, to) = text.split_once('-').ok_or(FORM)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| FORM);
    let offset = number(from)?;
    if to.is_empty() {
        return Ok(Selection::Range { offset, length: 0 });
    }
    let to = number(to)?;
    match to.checked_sub(offset) {
        Some(0) => {
            Err(format!("the range is empty: TO is the offset after the last byte, at least {}", offset + 1))
        }
        Some(length) => Ok(Selection::Range { offset, length }),
        None => Err(format!("the range ends before it begins; did you mean {to}-{offset}?")),
    }
}

/// Checks a pattern before the request, so that the error can point at the wrong part.
fn check_pattern(pattern: &str) -> Result<(), Failure> {
    match regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(format!(
            "--grep: the pattern is not a regular expression; for plain text, add -F\n{error}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_or_refused() {
        assert_eq!(range("5-9"), Ok(Selection::Range { offset: 5, length: 4 }));
        assert_eq!(range("5-"), Ok(Selection::Range { offset: 5, length: 0 }));
        for (bad, says) in [
            ("9-5", "did you mean 5-9"),
            ("5-5", "at least 6"),
            ("5", "FROM-TO"),
            ("-5", "FROM-TO"),
            ("a-b", "FROM-TO"),
        ] {
            assert!(range(bad).unwrap_err().contains(says), "{bad}");
        }
    }

    #[test]
    fn a_bad_pattern_is_pointed_at() {
        assert!(check_pattern("a(b|c)*\\d").is_ok());
        let error = check_pattern("a(b").unwrap_err();
        assert!(error.message().contains("    a(b\n     ^\n"), "{}", error.message());
        assert!(error.message().contains("unclosed group"), "{}", error.message());
    }
}
