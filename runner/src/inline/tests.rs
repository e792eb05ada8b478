//! Tests of inline output for streams of each kind, and of bounded memory for any length.

use airlock_domain::{
    ExecutionId, ImageKind,
    limits::{HINT_BYTES, HINTS, IMAGES},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::spool::Spools;

const CAP: u64 = 8 << 20;

/// Creates a spool with these pieces in its stdout.
fn spool_of(pieces: &[&[u8]], cap: u64, limit: u32) -> (TempDir, std::sync::Arc<JobSpool>) {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), 1 << 40).unwrap();
    let (spool, mut writers) = spools.create(ExecutionId::new(), cap, false, limit).unwrap();
    for piece in pieces {
        writers.stdout.write(piece).unwrap();
    }
    (dir, spool)
}

fn told(bytes: &[u8]) -> InlineOutput {
    let (_dir, spool) = spool_of(&[bytes], CAP, 30_000);
    of(&spool).unwrap()
}

#[test]
fn what_fits_is_whole_and_clean() {
    let it = told(b"\x1b[32mok\x1b[0m\n 10%\r 99%\nlast");
    let expected = InlineText {
        text: "ok\n 99%\nlast".to_owned(),
        whole: true,
        total_bytes: 26,
        total_lines: Some(3),
        truncated_bytes: 0,
        invalid_utf8: false,
    };
    assert_eq!(it, InlineOutput { stdout: expected, ..InlineOutput::default() });
    assert_eq!(told(b"").stdout, InlineText { whole: true, total_lines: Some(0), ..InlineText::default() });
    assert_eq!(told(&[b'x'; 30_000]).stdout.text.len(), 30_000);
    // Lines that overwrite each other result in a short text.
    let bar: String = (0..20_000).map(|step| format!("\r{step:>10} of 20000")).collect();
    let it = told(bar.as_bytes()).stdout;
    assert_eq!((it.text.as_str(), it.whole), ("     19999 of 20000", true));
}

#[test]
fn of_more_there_is_a_head_and_a_tail_and_the_count_of_what_is_between() {
    let text: String = (1..=20_000).map(|line| format!("line {line}\n")).collect();
    let it = told(text.as_bytes()).stdout;
    assert!(!it.whole && it.text.len() < 5_200, "{}", it.text.len());
    assert_eq!((it.total_bytes, it.total_lines), (text.len() as u64, Some(20_000)));
    let mark = format!("[... {} bytes truncated ...]\n", it.truncated_bytes);
    let (head, tail) = it.text.split_once(&mark).unwrap();
    assert!(
        text.starts_with(head) && head.ends_with('\n') && text.ends_with(tail) && tail.starts_with("line ")
    );
    assert_eq!((head.len() + tail.len()) as u64 + it.truncated_bytes, text.len() as u64);

    let (_dir, spool) = spool_of(&[text.as_bytes()], CAP, 150_000);
    assert!(!of(&spool).unwrap().stdout.whole);
    let (_dir, spool) = spool_of(&[&text.as_bytes()[..150_000]], CAP, 150_000);
    assert_eq!(of(&spool).unwrap().stdout.text, text[..150_000]);
    let (_dir, spool) = spool_of(&[b"three"], CAP, 4);
    let it = of(&spool).unwrap().stdout;
    assert_eq!(
        (it.text.as_str(), it.whole, it.truncated_bytes),
        ("three", false, 0),
        "head and tail contain the whole stream"
    );
}

#[test]
fn one_line_without_an_end_is_cut_between_characters() {
    let text = "\u{20ac}".repeat(100_000);
    let it = told(text.as_bytes()).stdout;
    assert!(!it.text.contains('\u{fffd}') && !it.invalid_utf8);
    assert_eq!(it.total_lines, Some(1));
}

#[test]
fn what_the_spool_cut_is_counted() {
    let text: String = (0..10_000).map(|line| format!("{line:>9}\n")).collect();
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), 1 << 40).unwrap();
    let id = ExecutionId::new();
    let (spool, mut writers) = spools.create(id, 16 << 10, false, 30_000).unwrap();
    writers.stdout.write(text.as_bytes()).unwrap();
    drop(writers);
    let it = of(&spool).unwrap().stdout;
    assert_eq!((it.total_bytes, it.total_lines, it.whole), (100_000, Some(10_000), false));
    let shown =
        it.text.len() as u64 - format!("[... {} bytes truncated ...]\n", it.truncated_bytes).len() as u64;
    assert_eq!(shown + it.truncated_bytes, 100_000);
    spool.keep_inline(&of(&spool).unwrap()).unwrap();
    // After a restart the number of lines in the gap is unknown.
    let again = Spools::open(dir.path(), 1 << 40).unwrap().find(&id).unwrap();
    assert_eq!(of(&again).unwrap().stdout, InlineText { total_lines: None, ..it.clone() });
    assert_eq!(again.inline().unwrap().stdout, it, "the kept bytes are found");
}

#[test]
fn bytes_that_are_no_text_are_marked() {
    assert!(told(b"a\xffb").stdout.invalid_utf8);
    assert!(told(b"cut \xe4\xb8").stdout.invalid_utf8);
    assert!(!told("caf\u{e9}\n".as_bytes()).stdout.invalid_utf8);
    let all: Vec<u8> = (0..=255).collect();
    assert!(told(&all).stdout.invalid_utf8);
}

#[test]
fn hints_are_taken_out_and_kept_whole() {
    let it = told(b"a\n  <airlock-hint kind=\"x\"/>\r\n<claude-code-hint v=\"1\" />\nb <airlock-hint/>\n<airlock-hints/>\n<airlock-hint>\n");
    assert_eq!(it.hints, ["<airlock-hint kind=\"x\"/>", "<claude-code-hint v=\"1\" />"]);
    assert_eq!(it.stdout.text, "a\nb <airlock-hint/>\n<airlock-hints/>\n<airlock-hint>\n");
    assert_eq!(it.stdout.total_lines, Some(6));

    let most = format!("<airlock-hint {}/>", "x".repeat(HINT_BYTES - 16));
    let over = format!("<airlock-hint {}/>", "x".repeat(HINT_BYTES - 15));
    let it = told(format!("{over}\n{most}").as_bytes());
    assert_eq!((it.hints.as_slice(), it.stdout.text), (&[most][..], format!("{over}\n")));

    let many: String = (0..100).map(|n| format!("<airlock-hint n=\"{n}\"/>\n")).collect();
    let it = told(many.as_bytes());
    assert_eq!(
        (it.hints.len(), it.stdout.text.lines().count()),
        (HINTS, 100 - HINTS),
        "the other lines stay"
    );
}

fn png(width: u32, height: u32, length: usize) -> Vec<u8> {
    let mut image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    image.extend(width.to_be_bytes());
    image.extend(height.to_be_bytes());
    image.resize(length, 7);
    image
}

#[test]
fn images_are_recognised_by_their_first_bytes() {
    let it = told(&png(640, 480, 5_000));
    let image =
        Brief { offset: 0, kind: ImageKind::Png, bytes: 5_000, pixels: Some((640, 480)), data_uri: false };
    assert_eq!(brief(&it), [image]);
    assert_eq!((it.stdout.text.as_str(), it.stdout.whole, it.stdout.truncated_bytes), ("", false, 5_000));
    for (bytes, kind, pixels) in [
        (&b"GIF89a\x02\0\x03\0 and more of it"[..], ImageKind::Gif, Some((2, 3))),
        (b"\xff\xd8\xff\xe0 no more of it to see", ImageKind::Jpeg, None),
        (b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x01\0\0\x02\0\0....", ImageKind::Webp, Some((2, 3))),
    ] {
        let found = brief(&told(bytes));
        assert_eq!((found[0].kind, found[0].pixels), (kind, pixels));
    }
    assert!(told(b"plain text, and \x89PNG\r\n\x1a\n later").images.is_empty());
}

#[derive(Debug, PartialEq)]
struct Brief {
    offset: u64,
    kind: ImageKind,
    bytes: u64,
    pixels: Option<(u32, u32)>,
    data_uri: bool,
}

fn brief(it: &InlineOutput) -> Vec<Brief> {
    let brief = |one: &airlock_domain::OutputImage| Brief {
        offset: one.offset,
        kind: one.kind,
        bytes: one.bytes,
        pixels: one.pixels,
        data_uri: one.data_uri,
    };
    it.images.iter().map(brief).collect()
}

#[test]
fn images_in_data_uris_are_found_wherever_they_are_and_are_bounded() {
    for length in [100, 101, 102, 700_000] {
        let uri = format!("data:image/png;base64,{}", STANDARD.encode(png(3, 4, length)));
        let text = format!("see <img src=\"{uri}\"> and data:image/gif;base64,bm90IG9uZSBhdCBhbGw=\n");
        let found = brief(&told(text.as_bytes()));
        let image = Brief {
            offset: 14,
            kind: ImageKind::Png,
            bytes: length as u64,
            pixels: Some((3, 4)),
            data_uri: true,
        };
        assert_eq!(found, [image], "{length}");
    }
    let uri = format!(
        "data:image/webp;charset=x;base64,{}\n",
        STANDARD.encode(b"GIF89a\x02\0\x03\0 and more of it")
    );
    assert_eq!(brief(&told(uri.as_bytes()))[0].kind, ImageKind::Gif, "by its bytes, not by its name");
    assert_eq!(told(uri.repeat(100).as_bytes()).images.len(), IMAGES);
    let open = "data:image/png;base64,".repeat(50_000);
    assert!(told(open.as_bytes()).images.is_empty());
}

#[test]
fn images_that_lie_about_themselves_do_no_harm() {
    for kind in [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF89a", b"RIFF\xff\xff\xff\xffWEBP"] {
        for length in 0..64 {
            for fill in [0, 1, 0x7f, 0xff] {
                let mut image = kind.to_vec();
                image.resize(kind.len() + length, fill);
                told(&image);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn how_it_is_cut_into_pieces_makes_no_difference(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("<airlock-hint a=\"1\"/>".as_bytes()),
                Just("\n".as_bytes()),
                Just("data:image/png;base64,".as_bytes()),
                Just("iVBORw0KGgoAAAANSUhEUgAAAAMAAAAECAYAAAA=".as_bytes()),
                Just("\u{20ac}".as_bytes()),
                Just("text ".as_bytes()),
                Just("<claude-code-hint/>".as_bytes()),
                Just(&b"\xff"[..]),
            ],
            0..40,
        ),
        size in 1_usize..50,
    ) {
        let all = parts.concat();
        let whole = told(&all);
        // The same input in pieces of any size gives the same result.
        let (mut hints, mut images) = (Vec::new(), Vec::new());
        let mut utf8 = Utf8::default();
        {
            let mut collect = Hints::new(&mut hints);
            let mut find = Images::new(OutputStream::Stdout, all.len() as u64, &mut images);
            for (index, piece) in all.chunks(size).enumerate() {
                collect.take(piece);
                find.take((index * size) as u64, piece);
                utf8.take(piece);
            }
            collect.end();
            find.end();
        }
        prop_assert_eq!(&hints, &whole.hints);
        prop_assert_eq!(&images, &whole.images);
        prop_assert_eq!(utf8.is_invalid(), std::str::from_utf8(&all).is_err());
    }
}
