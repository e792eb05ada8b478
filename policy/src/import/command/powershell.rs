//! Converts the quotes and escapes of PowerShell to those of bash, which Airlock's rules use.

pub(super) fn as_bash(text: &str) -> Result<String, String> {
    let unfinished = || "the text has an unclosed quote or an incomplete escape".to_owned();
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push_str("\\\\"),
            '`' => {
                out.push('\\');
                out.push(chars.next().ok_or_else(unfinished)?);
            }
            '\'' | '"' => {
                out.push('"');
                loop {
                    match chars.next().ok_or_else(unfinished)? {
                        end if end == c && chars.peek() == Some(&c) => {
                            chars.next();
                            quoted(&mut out, c);
                        }
                        end if end == c => break,
                        '`' if c == '"' => quoted(&mut out, chars.next().ok_or_else(unfinished)?),
                        '$' if c == '"' => out.push('$'),
                        '*' => out.push('*'),
                        other => quoted(&mut out, other),
                    }
                }
                out.push('"');
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

/// Adds a character inside double quotes.
fn quoted(out: &mut String, c: char) {
    if matches!(c, '"' | '\\' | '$' | '`') {
        out.push('\\');
    }
    out.push(c);
}
