//! Tests of sorting flags, against a naive reader that takes one word after the other.

use proptest::prelude::*;

use super::*;
use crate::decision::Span;

const fn flag(names: &'static [&'static str], takes: Takes) -> Flag {
    Flag { names, takes, values: &[], refused: None }
}

static OPTIONS: Options = Options {
    flags: &[
        flag(&["a", "all"], Takes::Nothing),
        flag(&["k", "key"], Takes::Value),
        flag(&["keep"], Takes::Nothing),
        flag(&["U", "color"], Takes::Optional),
        flag(&["arg"], Takes::Pair),
        Flag { names: &["style"], takes: Takes::Value, values: &["long", "short"], refused: None },
        Flag { names: &["o", "output"], takes: Takes::Nothing, values: &[], refused: Some("writes") },
    ],
    short: &[(b'U', 3), (b'a', 0), (b'k', 1), (b'o', 6)],
    long: &[("all", 0), ("arg", 4), ("color", 3), ("keep", 2), ("key", 1), ("output", 6), ("style", 5)],
    number: true,
    operand_ends_flags: false,
    one_dash: false,
};

const WORDS: &[&str] = &[
    "-a",
    "-aa",
    "-ak",
    "-akv",
    "-k",
    "-kv",
    "-ka",
    "-U",
    "-U5",
    "-aU5",
    "-5",
    "-12",
    "-a5",
    "-z",
    "-az",
    "-o",
    "-ao",
    "-ox",
    "-ko",
    "--all",
    "--al",
    "--a",
    "--all=x",
    "--key",
    "--key=v",
    "--key=",
    "--ke",
    "--keep",
    "--k",
    "--color",
    "--color=x",
    "--c",
    "--arg",
    "--arg=x",
    "--style",
    "--style=long",
    "--style=x",
    "--st=short",
    "--output",
    "--outp",
    "--o=x",
    "--nosuch",
    "--=",
    "--",
    "-",
    "",
    "x",
    "v w",
    "long",
    "a-o",
];

/// Words that are understood in every position.
const GOOD: &[&str] = &[
    "-a",
    "-aa",
    "-k",
    "-kv",
    "-U5",
    "-5",
    "--all",
    "--key",
    "--key=v",
    "--color",
    "--arg",
    "--style=long",
    "-",
    "x",
    "--",
];

/// The flags with their values, the operands, and whether all was understood.
type Read = (Vec<(&'static str, Option<String>)>, Vec<String>, bool);

fn words(texts: &[&str]) -> Vec<Word> {
    texts.iter().map(|text| Word::known(text.as_bytes(), Span::default())).collect()
}

fn sorted(texts: &[&str]) -> Read {
    let sorted = sort(&words(texts), &OPTIONS);
    let text = |word: Word| String::from_utf8(word.text.unwrap()).unwrap();
    let flags = sorted.flags.into_iter().map(|given| (given.flag.names[0], given.value.map(text)));
    let operands = sorted.operands.into_iter().map(|index| texts[index].to_owned());
    (flags.collect(), operands.collect(), sorted.troubles.is_empty())
}

/// Reads words from the front, as the help text describes them.
fn reference(texts: &[&str]) -> Read {
    let mut rest: Vec<String> = texts.iter().map(|text| (*text).to_owned()).rev().collect();
    let mut read: Read = (Vec::new(), Vec::new(), true);
    while let Some(word) = rest.pop() {
        match word.as_str() {
            "--" => read.1.extend(std::mem::take(&mut rest).into_iter().rev()),
            "-" => read.1.push(word),
            long if long.starts_with("--") => read.2 &= long_flag(&long[2..], &mut rest, &mut read.0),
            short if short.starts_with('-') => read.2 &= short_flags(&short[1..], &mut rest, &mut read.0),
            _ => read.1.push(word),
        }
    }
    read
}

fn long_flag(text: &str, rest: &mut Vec<String>, out: &mut Vec<(&'static str, Option<String>)>) -> bool {
    let (name, value) =
        text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let known = ["all", "arg", "color", "keep", "key", "output", "style"];
    let meant: Vec<&str> = match known.contains(&name) {
        true => vec![name],
        false => known.into_iter().filter(|known| !name.is_empty() && known.starts_with(name)).collect(),
    };
    match (meant.as_slice(), value) {
        (["all"], None) => out.push(("a", None)),
        (["keep"], None) => out.push(("keep", None)),
        (["color"], value) => out.push(("U", value)),
        (["key"], value) => return valued("k", value, rest, out),
        (["style"], value) => {
            let understood = valued("style", value, rest, out);
            let style = out.last().and_then(|(_, value)| value.clone());
            return understood && matches!(style.as_deref(), Some("long" | "short"));
        }
        (["arg"], None) => {
            let first = rest.pop();
            let second = rest.pop();
            out.push(("arg", second.clone().filter(|_| first.is_some())));
            return second.is_some();
        }
        _ => return false,
    }
    true
}

/// Takes a value after the flag. A value that could be a refused flag is suspect.
fn valued(
    name: &'static str,
    value: Option<String>,
    rest: &mut Vec<String>,
    out: &mut Vec<(&'static str, Option<String>)>,
) -> bool {
    let attached = value.is_some();
    let taken = value.or_else(|| rest.pop());
    let suspect = !attached
        && taken.as_deref().is_some_and(|text| match text.strip_prefix("--") {
            Some(long) => {
                let name = long.split('=').next().unwrap();
                !name.is_empty() && "output".starts_with(name)
            }
            None => text.starts_with('-') && text.contains('o'),
        });
    out.push((name, taken));
    !suspect
}

fn short_flags(cluster: &str, rest: &mut Vec<String>, out: &mut Vec<(&'static str, Option<String>)>) -> bool {
    if cluster.bytes().all(|byte| byte.is_ascii_digit()) {
        out.push(("NUM", None));
        return true;
    }
    for (at, letter) in cluster.char_indices() {
        let behind = Some(cluster[at + 1..].to_owned()).filter(|behind| !behind.is_empty());
        match letter {
            'a' => out.push(("a", None)),
            'U' => {
                out.push(("U", behind));
                return true;
            }
            'k' => return valued("k", behind, rest, out),
            digit if digit.is_ascii_digit() => out.push(("NUM", None)),
            _ => return false,
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn words_are_sorted_as_a_naive_reader_sorts_them(
        texts in proptest::collection::vec(proptest::sample::select(WORDS), 0..7)
    ) {
        prop_assert_eq!(sorted(&texts), reference(&texts));
    }

    #[test]
    fn no_word_that_an_unknown_one_becomes_is_a_refused_flag(
        before in proptest::collection::vec(proptest::sample::select(GOOD), 0..4),
        after in proptest::collection::vec(proptest::sample::select(GOOD), 0..4),
        lead in proptest::sample::select(&["", "x", "-", "--o", "./"][..]),
        rest in proptest::sample::select(&["", "o", "-output", "x", "a"][..]),
    ) {
        let mut unknown = words(&before);
        unknown.push(Word { lead: lead.into(), ..Word::unknown(true, Span::default()) });
        unknown.extend(words(&after));
        if !sort(&unknown, &OPTIONS).troubles.is_empty() {
            return Ok(());
        }
        let becomes = format!("{lead}{rest}");
        let texts: Vec<&str> = before.iter().copied().chain([becomes.as_str()]).chain(after.iter().copied()).collect();
        let troubles = sort(&words(&texts), &OPTIONS).troubles;
        let refused = troubles.iter().any(|(trouble, _)| matches!(trouble, FlagProblem::Refused(_)));
        prop_assert!(!refused || before.last().is_some_and(|last| takes_next(last)), "{:?}: {:?}", texts, troubles);
    }
}

/// Reports whether the word takes the next one as its value unconditionally.
fn takes_next(word: &str) -> bool {
    matches!(word, "-k" | "-ak" | "--key" | "--arg" | "--style")
}

#[test]
fn a_name_of_several_letters_with_one_dash_is_no_cluster() {
    static XXD: Options = Options {
        flags: &[flag(&["p", "-ps"], Takes::Nothing), flag(&["s"], Takes::Value)],
        short: &[(b'p', 0), (b's', 1)],
        long: &[("-ps", 0)],
        number: false,
        operand_ends_flags: false,
        one_dash: false,
    };
    let given = words(&["-ps", "in"]);
    let sorted = sort(&given, &XXD);
    assert_eq!((sorted.flags.len(), sorted.operands), (1, vec![1]));
    let cluster = sort(&words(&["-pp", "-sx"]), &XXD);
    assert_eq!((cluster.flags.len(), cluster.operands.len()), (3, 0));
}
