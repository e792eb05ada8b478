//! Requests for parts of an output. A pattern is compiled here, so that an invalid one is reported as an
//! invalid field.

use airlock_control::api::ApiError;
use airlock_domain::{ExecutionId, OutputStream, limits};
use airlock_output::stream::{Amount, Pattern, ReadOutput, Search, Selection};
use airlock_proto::v1::{
    self, execution_service_read_output_request::Selection as Wire, output_edge::Amount as WireAmount,
};

use super::checker::Checker;

/// The default number of lines of a head or tail.
const LINES_DEFAULT: u64 = 10;

/// Validates ReadOutput. Returns the execution and the part to read.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn read_output(
    request: v1::ExecutionServiceReadOutputRequest,
) -> Result<(ExecutionId, ReadOutput), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("execution_id", &request.execution_id);
    let stream = checker.choice::<v1::OutputStream, _>("stream", request.stream);
    let stream = stream.unwrap_or(OutputStream::Stdout);
    let selection = match request.selection {
        None => Some(Selection::Range { offset: 0, length: None }),
        Some(Wire::Range(v1::OutputRange { offset, length })) => {
            Some(Selection::Range { offset, length: (length > 0).then_some(length) })
        }
        Some(Wire::Head(edge)) => Some(Selection::Head(checker.amount("head.lines", &edge))),
        Some(Wire::Tail(edge)) => Some(Selection::Tail(checker.amount("tail.lines", &edge))),
        Some(Wire::Search(search)) => checker.search(&search).map(Selection::Search),
    };
    let request = selection.map(|selection| ReadOutput { stream, selection });
    checker.finish(id.zip(request))
}

impl Checker {
    fn amount(&mut self, field: &str, edge: &v1::OutputEdge) -> Amount {
        match edge.amount {
            None => Amount::Lines(LINES_DEFAULT),
            Some(WireAmount::Bytes(bytes)) => Amount::Bytes(bytes),
            Some(WireAmount::Lines(lines)) => {
                if lines > limits::EDGE_LINES {
                    let most = limits::EDGE_LINES;
                    self.bad(field, format!("is {lines}, at most {most}; read a range for more"));
                }
                Amount::Lines(lines)
            }
        }
    }

    fn search(&mut self, search: &v1::OutputSearch) -> Option<Search> {
        let pattern = self.pattern("search.pattern", search);
        for (field, lines) in [("search.before", search.before), ("search.after", search.after)] {
            if lines > limits::CONTEXT_LINES {
                self.bad(field, format!("is {lines}, at most {}", limits::CONTEXT_LINES));
            }
        }
        let max_matches = match search.max_matches {
            0 => limits::MATCHES_DEFAULT,
            matches => matches,
        };
        if max_matches > limits::MATCHES_MAX {
            let most = limits::MATCHES_MAX;
            let cure = "continue from `done.next_offset` for more";
            self.bad("search.max_matches", format!("is {max_matches}, at most {most}; {cure}"));
        }
        let v1::OutputSearch { invert, before, after, offset, .. } = *search;
        Some(Search { pattern: pattern?, invert, before, after, max_matches, offset })
    }

    fn pattern(&mut self, field: &str, search: &v1::OutputSearch) -> Option<Pattern> {
        let text = search.pattern.as_str();
        let problem = if text.is_empty() {
            "is missing; `^` matches every line".to_owned()
        } else if text.len() > limits::PATTERN_BYTES {
            format!("has {} bytes, at most {}", text.len(), limits::PATTERN_BYTES)
        } else if text.contains('\n') {
            "contains a newline; the pattern matches single lines without it".to_owned()
        } else {
            match Pattern::new(text, search.fixed, search.ignore_case) {
                Ok(pattern) => return Some(pattern),
                Err(error) => error.to_string(),
            }
        };
        self.bad(field, problem);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(selection: Option<Wire>) -> v1::ExecutionServiceReadOutputRequest {
        let execution_id = ExecutionId::new().to_string();
        v1::ExecutionServiceReadOutputRequest { execution_id, stream: 0, selection }
    }

    fn selection(selection: Option<Wire>) -> Selection {
        read_output(request(selection)).unwrap().1.selection
    }

    fn problems(request: v1::ExecutionServiceReadOutputRequest) -> Vec<(String, String)> {
        let Err(ApiError::Invalid(violations)) = read_output(request) else {
            panic!("the value was accepted")
        };
        violations.into_iter().map(|bad| (bad.field, bad.description)).collect()
    }

    #[test]
    fn what_is_left_out_has_its_meaning() {
        assert!(matches!(selection(None), Selection::Range { offset: 0, length: None }));
        let range = Wire::Range(v1::OutputRange { offset: 5, length: 0 });
        assert!(matches!(selection(Some(range)), Selection::Range { offset: 5, length: None }));
        let edge = v1::OutputEdge { amount: None };
        assert!(matches!(selection(Some(Wire::Tail(edge))), Selection::Tail(Amount::Lines(10))));
        let none = v1::OutputEdge { amount: Some(WireAmount::Lines(0)) };
        assert!(matches!(selection(Some(Wire::Head(none))), Selection::Head(Amount::Lines(0))));
        let search = v1::OutputSearch { pattern: "x".to_owned(), ..Default::default() };
        let Selection::Search(search) = selection(Some(Wire::Search(search))) else { panic!("a search") };
        assert_eq!((search.max_matches, search.offset, search.before), (1000, 0, 0));
    }

    #[test]
    fn every_bad_field_of_a_search_is_told_at_once() {
        let search = v1::OutputSearch {
            pattern: "(".to_owned(),
            before: 101,
            after: u32::MAX,
            max_matches: 100_001,
            ..Default::default()
        };
        let request = v1::ExecutionServiceReadOutputRequest {
            execution_id: "nothing".to_owned(),
            stream: 9,
            selection: Some(Wire::Search(search)),
        };
        let fields: Vec<String> = problems(request).into_iter().map(|(field, _)| field).collect();
        let expected = [
            "execution_id",
            "stream",
            "search.pattern",
            "search.before",
            "search.after",
            "search.max_matches",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn a_bad_pattern_says_what_and_how_else() {
        let describe = |pattern: &str| {
            let search = v1::OutputSearch { pattern: pattern.to_owned(), ..Default::default() };
            let problems = problems(request(Some(Wire::Search(search))));
            let [(field, description)] = &problems[..] else { panic!("{problems:?}") };
            assert_eq!(field, "search.pattern");
            description.clone()
        };
        assert!(describe("a(b").contains("unclosed group, at byte 1; set `fixed`"));
        assert!(describe("(?=a)").contains("look-around"));
        assert!(describe("").contains("is missing"));
        assert!(describe("a\nb").contains("newline"));
        assert!(describe(&"x".repeat(1025)).contains("1025 bytes, at most 1024"));
        assert!(describe("((x{100}){100}){100}").contains("too large"));
        let lines = v1::OutputEdge { amount: Some(WireAmount::Lines(1_000_001)) };
        let [(field, _)] = &problems(request(Some(Wire::Tail(lines))))[..] else { panic!("one") };
        assert_eq!(field, "tail.lines");
    }
}
