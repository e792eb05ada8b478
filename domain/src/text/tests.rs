//! Tests of cleaned text: escapes, progress bars and invalid UTF-8.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn assert_clean(raw: &[u8], expected: &str) {
    assert_eq!(clean(raw, 1 << 20).as_deref(), Some(expected), "{}", raw.escape_ascii());
}

#[test]
fn escapes_and_controls_are_gone() {
    assert_clean(b"plain\ntext\n", "plain\ntext\n");
    assert_clean(b"no end", "no end");
    assert_clean(b"\x1b[1;31mred\x1b[0m and \x1b[38;5;9mmore\x1b[m\n", "red and more\n");
    assert_clean(b"\x1b]0;a title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "text link\n");
    assert_clean(b"\x1bPq#0\x1b\\sixel \x1b[?25lhidden\x1b[?25h\x1b(B\x1b=\n", "sixel hidden\n");
    assert_clean(b"bell\x07 nul\0 vt\x0b ff\x0c del\x7f tab\t.\n", "bell nul vt ff del tab\t.\n");
    assert_clean("caf\u{e9} \u{4e16}\u{754c}\n".as_bytes(), "caf\u{e9} \u{4e16}\u{754c}\n");
    assert_clean(b"bad \xff\xfe, cut \xe4\xb8", "bad \u{fffd}\u{fffd}, cut ");
}

#[test]
fn of_a_progress_bar_its_last_state_is_left() {
    assert_clean(b"  1%\r 50%\r100%\ndone\n", "100%\ndone\n");
    assert_clean(b"longer line\rshort\n", "shortr line\n");
    assert_clean(b"longer line\r\x1b[Kshort\n", "short\n");
    assert_clean(b"longer line\x1b[2K\rshort\n", "short\n");
    assert_clean(b"dos\r\nlines\r\n", "dos\nlines\n");
    assert_clean(b"pasx\x08sword\n", "password\n");
    assert_clean(b"\x08\x08start\n", "start\n");
    assert_clean(b"man: b\x08bo\x08ol\x08ld\n", "man: bold\n");
    assert_clean(b"abcdef\x1b[3D\x1b[P\n", "abcef\n");
    assert_clean(b"a\x1b[5Gb\x1b[2Cc\n", "a   b  c\n");
}

#[test]
fn bars_of_several_lines_are_drawn_over() {
    assert_clean(b"one: 10%\ntwo: 10%\n\x1b[2Aone: 99%\ntwo: 99%\nend\n", "one: 99%\ntwo: 99%\nend\n");
    assert_clean(b"a\nb\nc\n\x1b[3A\x1b[Jall gone\n", "all gone\n");
    assert_clean(b"\x1b[9999Atop\x1b[9999Bdown\n", "topdown\n");
}

#[test]
fn more_than_the_limit_is_no_text_and_stops_early() {
    assert_eq!(clean(b"12345", 5).as_deref(), Some("12345"));
    assert_eq!(clean(b"123456", 5), None);
    let mut cleaner = Cleaner::new(10);
    for _ in 0..100_000 {
        // Each line has hundreds of columns.
        cleaner.push(b"\x1b[65535Gx\n");
    }
    assert!(cleaner.screen.held() < 256 * 1024, "{}", cleaner.screen.held());
    assert_eq!(cleaner.finish(), None);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_the_same_text_without_controls(
        bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'\r'), Just(b'\n'), Just(b'A'), Just(b'9')],
            0..300,
        ),
        cut in 0_usize..300,
    ) {
        let whole = clean(&bytes, 1 << 20).unwrap();
        prop_assert!(whole.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{:?}", whole);
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let mut cleaner = Cleaner::new(1 << 20);
        cleaner.push(first);
        cleaner.push(second);
        prop_assert_eq!(cleaner.finish().unwrap(), whole);
    }

    #[test]
    fn text_without_controls_stays_as_it_is(text in "[ -~\u{a1}-\u{2ff}\n]{0,300}") {
        prop_assert_eq!(clean(text.as_bytes(), 1 << 20).unwrap(), text);
    }
}
