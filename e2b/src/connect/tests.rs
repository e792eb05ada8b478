//! Tests of the protocol: cut, invalid and hostile messages.

use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::{Value, json};

use super::*;
use crate::body::boxed;

fn headers(kind: &str) -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())])
}

/// Returns the messages of a body that arrives in pieces of this size.
async fn read(bytes: &[u8], size: usize) -> Result<Vec<Value>, Kind> {
    let pieces: Vec<_> = bytes
        .chunks(size)
        .map(|piece| Ok::<_, io::Error>(Frame::data(Bytes::copy_from_slice(piece))))
        .collect();
    let body = boxed(StreamBody::new(futures::stream::iter(pieces)));
    let mut messages = Messages::new(&headers(STREAM), body).map_err(|refusal| refusal.kind)?;
    let mut found = Vec::new();
    while let Some(message) = messages.next().await.map_err(|refusal| refusal.kind)? {
        found.push(message);
    }
    Ok(found)
}

#[tokio::test]
async fn messages_are_the_same_however_they_are_cut() {
    let (one, two) = (json!({"a": 1}), json!({"b": "x".repeat(100)}));
    let whole = [envelope(0, &one).unwrap(), envelope(0, &two).unwrap()].concat();
    for size in [1, 3, 5, 7, whole.len()] {
        assert_eq!(read(&whole, size).await.unwrap(), [one.clone(), two.clone()], "pieces of {size} bytes");
    }
    let ended =
        [envelope(0, &one).unwrap(), envelope(END, &json!({})).unwrap(), Bytes::from("rest")].concat();
    assert_eq!(read(&ended, 4).await.unwrap(), [one], "nothing after the end");
    for end in 1..whole.len() - 1 {
        let cut = whole.get(..end).unwrap();
        let complete = end == envelope(0, &json!({"a": 1})).unwrap().len();
        assert_eq!(read(cut, 9).await.is_ok(), complete, "cut after {end} bytes");
    }
}

#[tokio::test]
async fn hostile_messages_are_errors() {
    let with =
        |flags: u8, length: u32, text: &[u8]| [&[flags], length.to_be_bytes().as_slice(), text].concat();
    for (what, bytes, kind) in [
        ("4 GiB", with(0, u32::MAX, b""), Kind::TooLarge),
        ("compressed", with(COMPRESSED, 2, b"{}"), Kind::Unsupported),
        ("no JSON", with(0, 1, b"{"), Kind::Invalid),
        ("no UTF-8", with(0, 2, b"\xff\xff"), Kind::Invalid),
        ("no end", with(0, 9, b"{}"), Kind::Invalid),
    ] {
        assert_eq!(read(&bytes, 2).await.unwrap_err(), kind, "{what}");
    }
    // Random bytes give messages or errors.
    let mut bytes = vec![0; 64];
    for _ in 0..2000 {
        getrandom::fill(&mut bytes).unwrap();
        // Small lengths reach the content more often.
        bytes.iter_mut().take(4).for_each(|byte| *byte %= 2);
        let _ = read(&bytes, 16).await;
    }
}

#[test]
fn other_encodings_and_deadlines_are_refused() {
    assert_eq!(of_type(&headers("application/proto"), UNARY).unwrap_err().kind, Kind::Unsupported);
    assert!(of_type(&headers("Application/JSON; charset=utf-8"), UNARY).is_ok());
    let mut packed = headers(UNARY);
    packed.insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
    assert_eq!(of_type(&packed, UNARY).unwrap_err().kind, Kind::Unsupported);
    let timeout =
        |text: &str| HeaderMap::from_iter([("connect-timeout-ms".parse().unwrap(), text.parse().unwrap())]);
    assert_eq!(deadline(&timeout("1500")).unwrap(), Some(Duration::from_millis(1500)));
    assert_eq!(deadline(&HeaderMap::new()).unwrap(), None);
    for wrong in ["-1", "1.5", "99999999999", "x", ""] {
        assert_eq!(deadline(&timeout(wrong)).unwrap_err().kind, Kind::Invalid, "{wrong}");
    }
}
