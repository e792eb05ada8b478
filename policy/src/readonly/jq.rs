//! jq and yq programs: looked through for names that read the environment or other
//! files. Strings are data, but what is interpolated into them is not.

use super::{PathWord, Proof, Refusal};
use crate::decision::Span;
use crate::parse::Word;

/// What each jq name does is in the comment of its line.
const JQ: &[&[u8]] = &[
    // Where the input comes from.
    b"input_filename",
    // The environment.
    b"env",
    b"ENV",
    // Write elsewhere than standard output.
    b"debug",
    b"stderr",
    // Other files, and what is in them.
    b"import",
    b"include",
    b"modulemeta",
    b"get_search_list",
    // Introspection, and what never was but is tried.
    b"builtins",
    b"system",
    b"input_line_number",
    b"__prog_args",
];

const YQ: &[&[u8]] = &[
    b"load",
    b"load_str",
    b"load_xml",
    b"load_props",
    b"load_base64",
    b"loadstr",
    b"env",
    b"strenv",
    b"envsubst",
    b"eval",
    b"system",
];

pub(super) fn check_jq(operands: &[&Word], span: Span) -> Proof {
    let Some(program) = operands.first() else {
        return Err(Refusal::new("jq_system_function", "jq lacks its program", span));
    };
    let code = "jq_system_function";
    let outside = operands.iter().skip(1).any(|file| super::looks_like_path(file));
    if outside {
        check(program, &[b"input", b"inputs"], code)?;
    }
    check(program, JQ, code)
}

/// yq takes a subcommand, an expression and files in this order, each optional.
pub(super) fn check_yq(operands: &[&Word]) -> Proof {
    let mut paths = Vec::new();
    let is_command =
        |word: &&&Word| matches!(word.text.as_deref(), Some(b"eval" | b"e" | b"eval-all" | b"ea"));
    let skip = usize::from(operands.first().filter(is_command).is_some());
    for word in operands.iter().skip(skip) {
        paths.extend(check(word, YQ, "yq_function")?);
        if super::looks_like_path(word) && !word.lead.starts_with(b".") {
            paths.push(PathWord::read(word));
        }
    }
    Ok(paths)
}

fn check(word: &Word, refused: &[&[u8]], code: &'static str) -> Proof {
    match word.text.as_deref().and_then(|text| find(text, refused)) {
        None if word.text.is_some() => Ok(Vec::new()),
        Some(name) => {
            let message = format!("the program uses `{}`", String::from_utf8_lossy(&name));
            Err(Refusal::new(code, message, word.span))
        }
        None => Err(Refusal::new(code, "the program is not known", word.span)),
    }
}

/// The first refused name outside strings and field names.
fn find(text: &[u8], refused: &[&[u8]]) -> Option<Vec<u8>> {
    // Depths of parentheses at which an interpolation opened.
    let mut interpolations: Vec<usize> = Vec::new();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut rest = text;
    let mut before = b' ';
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if in_string {
            match byte {
                b'"' => in_string = false,
                b'\\' => {
                    if tail.first() == Some(&b'(') {
                        interpolations.push(depth);
                        depth += 1;
                        in_string = false;
                    }
                    rest = tail.get(1..).unwrap_or_default();
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            // Versions differ on where a comment ends, and a quote in it opens no string.
            b'#' => return Some(vec![b'#']),
            b'(' => depth += 1,
            b')' => {
                depth = depth.saturating_sub(1);
                if interpolations.last() == Some(&depth) {
                    interpolations.pop();
                    in_string = true;
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let length = tail.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                let mut name = vec![byte];
                name.extend_from_slice(tail.get(..length).unwrap_or_default());
                rest = tail.get(length..).unwrap_or_default();
                let is_key = before == b'.' || rest.first() == Some(&b':');
                if !is_key && refused.contains(&name.as_slice()) {
                    return Some(name);
                }
            }
            _ => {}
        }
        before = byte;
    }
    None
}
