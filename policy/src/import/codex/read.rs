//! Reads calls with named arguments, as in Starlark: `name(key = "text", list = ["a", ["b", "c"]])`. Total, and linear in
//! the size of the text.

use serde_json::Value;

/// The deepest nesting of lists.
const MOST_NESTING: usize = 4;

/// A call.
pub(super) struct Call {
    /// The line, from 1.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) arguments: Vec<(String, Value)>,
}

/// A line that is not a part of a call.
pub(super) struct Rest {
    /// The line, from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

impl Call {
    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.argument(name).and_then(Value::as_str)
    }
}

/// Returns the calls of a text, and the first line of each part that is none.
pub(super) fn calls(text: &str) -> Vec<Result<Call, Rest>> {
    let mut reader = Reader { text, at: 0, line: 1 };
    let mut found = Vec::new();
    loop {
        reader.skip_blanks();
        if reader.rest().is_empty() {
            return found;
        }
        let (at, line) = (reader.at, reader.line);
        found.push(reader.call().map(|(name, arguments)| Call { line, name, arguments }).ok_or_else(|| {
            // The search goes on behind the line in which the problem is.
            let first = text.get(at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
            reader.skip_line();
            Rest { line, text: first.chars().take(80).collect() }
        }));
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(wanted);
        if is_next {
            self.take();
        }
        is_next
    }

    fn skip_line(&mut self) {
        while self.take().is_some_and(|c| c != '\n') {}
    }

    fn skip_blanks(&mut self) {
        while let Some(next) = self.rest().chars().next() {
            match next {
                '#' => self.skip_line(),
                c if c.is_whitespace() => drop(self.take()),
                _ => return,
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest.get(..end).filter(|name| !name.is_empty())?;
        self.at += end;
        Some(name.to_owned())
    }

    fn call(&mut self) -> Option<(String, Vec<(String, Value)>)> {
        let name = self.name()?;
        let mut arguments = Vec::new();
        if !self.accept('(') {
            return None;
        }
        while !self.accept(')') {
            let key = self.name()?;
            if !self.accept('=') {
                return None;
            }
            arguments.push((key, self.value(MOST_NESTING)?));
            if !self.accept(',') && !self.rest().starts_with(')') {
                return None;
            }
        }
        Some((name, arguments))
    }

    fn value(&mut self, nesting: usize) -> Option<Value> {
        self.skip_blanks();
        match self.rest().chars().next()? {
            '[' => self.list(nesting.checked_sub(1)?),
            '"' | '\'' => self.string().map(Value::String),
            _ => match self.name()?.as_str() {
                "True" => Some(Value::Bool(true)),
                "False" => Some(Value::Bool(false)),
                "None" => Some(Value::Null),
                _ => None,
            },
        }
    }

    fn list(&mut self, nesting: usize) -> Option<Value> {
        self.take();
        let mut values = Vec::new();
        while !self.accept(']') {
            values.push(self.value(nesting)?);
            if !self.accept(',') && !self.rest().starts_with(']') {
                return None;
            }
        }
        Some(Value::Array(values))
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.take()?;
        let mut out = String::new();
        loop {
            match self.take()? {
                end if end == quote => return Some(out),
                '\n' => return None,
                '\\' => out.push(match self.take()? {
                    'n' => '\n',
                    't' => '\t',
                    c @ ('\\' | '"' | '\'') => c,
                    _ => return None,
                }),
                c => out.push(c),
            }
        }
    }
}
