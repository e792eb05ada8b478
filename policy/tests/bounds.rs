//! The worst text of each construct is answered in bounded time.

use std::time::{Duration, Instant};

use airlock_policy::{Profile, Request, Verdict, decide, limits};

/// Generous, because tests run unoptimised and beside others; the benchmark is strict.
const LIMIT: Duration = Duration::from_secs(3);

/// What hostile texts repeat.
const PARTS: &[&str] = &[
    "$[",
    "<<a\n",
    "((",
    "$(",
    "`",
    "{",
    "{a,b}",
    "[",
    "[[ ",
    "\"",
    "'",
    "\\",
    "\\\n",
    "$'\\x41'",
    "${x:-",
    "$((",
    "<(",
    ">(",
    "if ",
    "while ",
    "for x in ",
    "case x in ",
    "f() { ",
    "! ",
    "a|",
    "a&&",
    "a;",
    "a ",
    ">x ",
    "<x ",
    "{a..z}",
    "{1..9}{1..9}",
    "x=1 ",
    "x=(",
    "time ",
    "xargs ",
    "env ",
    "sudo ",
    "*",
    "?(a",
    "#\n",
    "\n",
    "\t",
    "\r",
    "\u{a0}",
    "\0",
    "\u{202e}",
    "-",
    "--x ",
    "=~ ",
    "a[",
    "a[1]=",
    "${a[",
    "eval ",
    "\"$(",
    "\"${x:-\"",
    "<<'a'\n",
    "<<-a\n",
    "<<<a ",
    "$\"",
    "function f ",
    "coproc ",
    "]] ",
    ")",
    "}",
    "))",
    "sh -c 'sh -c ",
    "find -exec ",
    "a{",
    ",}",
    "{,",
    "& ",
    "|& ",
    ";;",
    "esac ",
    "done ",
];

fn repeated(part: &str, length: usize) -> String {
    part.repeat(length / part.len())
}

#[test]
fn hostile_text_of_every_construct_is_answered_in_time() {
    let profile = Profile::builtin("strict").unwrap();
    for part in PARTS {
        for length in [limits::MAX_PARSED_BYTES, limits::MAX_COMMAND_BYTES] {
            let text = repeated(part, length);
            let begun = Instant::now();
            let decision = decide(&Request::bash(text.as_bytes()), &profile);
            let took = begun.elapsed();
            assert!(took < LIMIT, "{part:?} of {length} bytes took {took:?}");
            assert!(length < limits::MAX_COMMAND_BYTES || decision.verdict != Verdict::Allow);
        }
    }
}

#[test]
fn a_text_over_the_limit_is_denied() {
    let profile = Profile::builtin("sandboxed").unwrap();
    let text = vec![b'a'; limits::MAX_COMMAND_BYTES + 1];
    let decision = decide(&Request::bash(&text), &profile);
    assert_eq!(decision.verdict, Verdict::Deny);
    assert_eq!(decision.reasons[0].code, "too_long");
}
