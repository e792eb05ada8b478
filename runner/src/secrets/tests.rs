//! Tests that streams in any pieces give the same result as the whole text. Also tests how many bytes of a secret can
//! pass.

use std::io::Write as _;

use aho_corasick::{AhoCorasick, MatchKind};
use proptest::prelude::*;

use super::*;

fn redactor(values: &[Vec<u8>]) -> Redactor {
    let tagged = |(index, value)| (format!("[secret S{index}]"), Vec::as_slice(value));
    let pairs: Vec<(String, &[u8])> = values.iter().enumerate().map(tagged).collect();
    Redactor::new(Arc::new(patterns(&pairs).unwrap()))
}

/// Sends `pieces`. Returns the output after each, and the rest.
fn send(values: &[Vec<u8>], pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut redactor = redactor(values);
    let mut all = Vec::new();
    for piece in pieces {
        let mut out = Vec::new();
        redactor.push(piece, &mut out);
        all.push(out);
    }
    let mut rest = Vec::new();
    redactor.finish(&mut rest);
    all.push(rest);
    all
}

fn one(values: &[&[u8]], pieces: &[&[u8]]) -> String {
    let values: Vec<Vec<u8>> = values.iter().map(|value| value.to_vec()).collect();
    String::from_utf8(send(&values, pieces).concat()).unwrap()
}

#[test]
fn a_secret_is_replaced_wherever_it_is_cut() {
    assert_eq!(one(&[b"hunter22"], &[b"a hunter22 b"]), "a [secret S0] b");
    for cut in 1..8 {
        let (first, second) = b"hunter22".split_at(cut);
        let expected =
            if cut < 4 { format!("{}[secret S0]", &"hunter22"[..cut]) } else { "[secret S0]".to_owned() };
        assert_eq!(one(&[b"hunter22"], &[first, second]), expected, "{cut}");
    }
    let bytes: Vec<&[u8]> = b"x hunter22hunter22 y".chunks(1).collect();
    assert_eq!(one(&[b"hunter22"], &bytes), "x hun[secret S0]hun[secret S0] y");
}

#[test]
fn of_several_the_leftmost_and_then_the_longest_counts() {
    let both: [&[u8]; 2] = [b"abcdefgh", b"abcdefghij"];
    assert_eq!(one(&both, &[b"abcdefgh", b"ij."]), "[secret S1].");
    assert_eq!(one(&both, &[b"abcdefgh", b"ix."]), "[secret S0]ix.");
    assert_eq!(one(&both, &[b"abcdefgh"]), "[secret S0]", "no further bytes can follow the end");
    assert_eq!(one(&[b"bcdefghi", b"abcdefghijk"], &[b"abcdefghi", b"jx"]), "a[secret S0]jx");
}

#[test]
fn what_begins_no_secret_passes_at_once_and_what_does_is_held_until_it_ends() {
    let values = [b"hunter22".to_vec()];
    let out = send(&values, &[b"pass: hun", b"t", b"ing"]);
    assert_eq!(out, [b"pass: hun".to_vec(), vec![], b"ting".to_vec(), vec![]]);
    let out = send(&values, &[b"hunthunte"]);
    assert_eq!(out, [b"hunt".to_vec(), b"hunte".to_vec()]);
}

#[test]
fn repeated_prefixes_hold_back_no_more_than_one_secret() {
    let value = [vec![b'a'; 4000], b"b".to_vec()].concat();
    let mut it = redactor(std::slice::from_ref(&value));
    let mut out = Vec::new();
    for _ in 0..256 {
        it.push(&[b'a'; 4096], &mut out);
    }
    assert_eq!(out.len(), (1 << 20) - 4000, "the last bytes may still begin the secret");
    it.push(b"b", &mut out);
    it.finish(&mut out);
    assert!(out.ends_with(b"aaaa[secret S0]"));
    assert_eq!(out.len(), (1 << 20) - 4000 + b"[secret S0]".len());
}

/// Finds the secrets in the whole text: start, end, index.
fn found(values: &[Vec<u8>], text: &[u8]) -> Vec<(usize, usize, usize)> {
    let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values).unwrap();
    finder.find_iter(text).map(|one| (one.start(), one.end(), one.pattern().as_usize())).collect()
}

/// Returns the number of bytes that must be held back after `text`: those that a secret can still include.
fn must_be_held(values: &[Vec<u8>], text: &[u8], from: usize) -> usize {
    (from..text.len())
        .find(|start| {
            values.iter().any(|value| value.len() > text.len() - start && value.starts_with(&text[*start..]))
        })
        .map_or(0, |start| text.len() - start)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_pieces_give_the_whole_texts_replacement(
        values in proptest::collection::vec(proptest::collection::vec(b'a'..=b'c', 8..14), 1..5),
        // Secrets, prefixes of secrets, and noise.
        parts in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..15, 0_usize..3), 0..20),
        cuts in proptest::collection::vec(1_usize..9, 1..12),
    ) {
        let mut values = values;
        values.sort();
        values.dedup();
        let prefix = [values[0].clone(), b"ab".to_vec()].concat();
        values.push(prefix);
        values.dedup();
        let mut text = Vec::new();
        for (which, length, noise) in &parts {
            let value = which.get(&values);
            text.extend_from_slice(&value[..(*length).min(value.len())]);
            text.extend_from_slice(&b"xab"[..*noise]);
        }
        let mut pieces: Vec<&[u8]> = Vec::new();
        let (mut rest, mut sizes) = (text.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, later) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            pieces.push(piece);
            rest = later;
        }
        let out = send(&values, &pieces);
        // Equal to the replacement in the whole text, except that up to three bytes of a secret may precede its tag.
        let all = out.concat();
        let (mut at, mut read) = (0, 0);
        for (start, end, which) in found(&values, &text) {
            prop_assert_eq!(&all[read..read + start - at], &text[at..start]);
            read += start - at;
            let tag = format!("[secret S{which}]");
            let leaked = (0..=3).find(|n| all[read..].starts_with(&text[start..start + n]) && all[read + n..].starts_with(tag.as_bytes()));
            prop_assert!(leaked.is_some(), "{:?} in {:?}", String::from_utf8_lossy(&text), String::from_utf8_lossy(&all));
            read += leaked.unwrap() + tag.len();
            at = end;
        }
        prop_assert_eq!(&all[read..], &text[at..]);
        // In one piece, no byte of a secret passes.
        let at_once = send(&values, &[&text]).concat();
        let mut expected = Vec::new();
        let mut at = 0;
        for (start, end, which) in found(&values, &text) {
            expected.extend_from_slice(&text[at..start]);
            write!(expected, "[secret S{which}]").unwrap();
            at = end;
        }
        expected.extend_from_slice(&text[at..]);
        prop_assert_eq!(at_once, expected);
    }

    #[test]
    fn no_more_is_held_back_than_may_become_a_secret(
        values in proptest::collection::vec(proptest::collection::vec(b'a'..=b'b', 8..12), 1..4),
        text in proptest::collection::vec(b'a'..=b'b', 0..60),
    ) {
        let mut it = redactor(&values);
        for end in 1..=text.len() {
            let mut out = Vec::new();
            it.push(&text[end - 1..end], &mut out);
            let so_far = &text[..end];
            let settled = found(&values, so_far).last().map_or(0, |(_, end, _)| *end);
            // A complete secret that may grow into a longer one is held as well.
            let most = must_be_held(&values, so_far, 0).max(must_be_held(&values, so_far, settled));
            let held = it.held();
            prop_assert!(held <= most, "{held} of {most} after {:?}", String::from_utf8_lossy(so_far));
            prop_assert!(held == 0 || most >= 4);
        }
    }
}

#[test]
fn values_come_from_files_and_variables_and_errors_do_not_tell_them() {
    let directory = tempfile::tempdir().unwrap();
    let files = |path: std::path::PathBuf| SecretsConfig {
        files: BTreeMap::from([("TOKEN".to_owned(), path)]),
        ..SecretsConfig::default()
    };
    let file = |name: &str, text: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        files(path)
    };
    let env = |variable: &str| SecretsConfig {
        env: BTreeMap::from([("TOKEN".to_owned(), variable.to_owned())]),
        ..SecretsConfig::default()
    };
    let secrets = Secrets::load(&file("ends", b"hunter22\n")).unwrap();
    assert_eq!(secrets.0["TOKEN"], b"hunter22");
    assert!(!format!("{secrets:?}").contains("hunter22"));
    assert!(secrets.replacer(&["TOKEN".to_owned()]).unwrap().is_some());
    assert!(secrets.replacer(&[]).unwrap().is_none());
    let missing = secrets.replacer(&["OTHER".to_owned()]).unwrap_err();
    assert_eq!(missing, "this runner has no secret `OTHER`");
    assert!(secrets.replacer(&vec!["TOKEN".to_owned(); SECRETS + 1]).is_err());

    let said = |config: &SecretsConfig| Secrets::load(config).unwrap_err().to_string();
    assert_eq!(said(&file("short", b"hunter2\n")), "the secret `TOKEN` has 7 bytes; give it 8 to 8192");
    assert!(said(&file("long", &[b'x'; SECRET_BYTES_MAX + 9])).contains("8 to 8192"));
    assert!(said(&files(directory.path().join("gone"))).contains("cannot be read"));
    assert!(said(&env("AIRLOCK_NO_SUCH_VARIABLE")).contains("not set"));
    assert_eq!(Secrets::load(&env("PATH")).unwrap().0.len(), 1);
}
