//! Tests that every text in the client contract has a `string` field, and that no text is lost in conversion.

use proptest::prelude::*;
use prost::Message as _;
use prost_types::{
    DescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

use super::*;
use crate::FILE_DESCRIPTOR_SET;

/// Fields of type bytes that hold no text: opaque values, digests and data.
const BINARY: &[&str] = &[
    "after_sha256",
    "before_sha256",
    "binding",
    "cursor",
    "data",
    "policy_version",
    "profile_sha256",
    "sha256",
    "snapshot_sha256",
];

/// Returns every field of the given messages as `Message.field`, with its type. For a map, the type is that
/// of the values.
fn fields(messages: &[DescriptorProto]) -> Vec<(String, Type, bool)> {
    let mut found = Vec::new();
    for message in messages {
        let is_entry = message.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry);
        for field in message.field.iter().filter(|_| !is_entry) {
            let entry = message.nested_type.iter().find(|nested| {
                field.label() == Label::Repeated
                    && field.type_name().rsplit('.').next() == Some(nested.name())
                    && nested.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry)
            });
            let value = entry.and_then(|entry| entry.field.iter().find(|field| field.name() == "value"));
            let kind = value.map_or(field.r#type(), |value| value.r#type());
            found.push((format!("{}.{}", message.name(), field.name()), kind, entry.is_some()));
        }
        found.extend(fields(&message.nested_type));
    }
    found
}

#[test]
fn all_text_of_clients_is_string_with_a_twin() {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let files = set.file.iter().filter(|file| file.package() == "airlock.v1");
    let fields: Vec<_> = files.flat_map(|file| fields(&file.message_type)).collect();
    let mut twins = 0;
    for (name, kind, is_map) in fields.iter().filter(|(_, kind, _)| *kind == Type::Bytes) {
        let field = name.rsplit('.').next().unwrap();
        if BINARY.contains(&field) {
            continue;
        }
        let text = name.strip_suffix("_bytes");
        assert!(
            text.is_some_and(|text| fields.contains(&(text.to_owned(), Type::String, *is_map))),
            "`{name}` is of type {kind:?}, which JSON writes as base64: make it a string with a twin \
             `{field}_bytes`, or add it to BINARY if it holds no text"
        );
        twins += 1;
    }
    assert!(twins > 20, "{twins} twins were found");
}

#[test]
fn a_text_in_both_fields_is_refused_even_where_they_agree() {
    assert_eq!(join("date".to_owned(), Bytes::from_static(b"rm x")), Err(BothSet));
    assert_eq!(join("date".to_owned(), Bytes::from_static(b"date")), Err(BothSet));
    assert_eq!(join(String::new(), Bytes::new()), Ok(Bytes::new()));
    let texts = BTreeMap::from([("A".to_owned(), "1".to_owned()), ("B".to_owned(), String::new())]);
    let bytes = BTreeMap::from([("B".to_owned(), Bytes::from_static(b"2"))]);
    assert_eq!(join_maps(texts, bytes).1, ["B"]);
}

#[test]
fn a_word_is_empty_or_unknown() {
    assert_eq!(v1::Word::known("").bytes(), Some(&b""[..]));
    assert_eq!(v1::Word::known(&b"\xff"[..]).bytes(), Some(&b"\xff"[..]));
    assert_eq!(v1::Word::default().bytes(), None);
}

/// Generates byte strings. About half of them are UTF-8.
fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes)]
}

proptest! {
    #[test]
    fn a_text_is_the_same_after_the_wire(bytes in text()) {
        let (text, twin) = split(bytes.clone());
        prop_assert_eq!(text.is_empty() && !bytes.is_empty(), str::from_utf8(&bytes).is_err());
        prop_assert_eq!(shown(&text, &twin), &bytes[..]);
        prop_assert_eq!(join(text, twin).unwrap(), Bytes::from(bytes));
    }

    #[test]
    fn an_environment_is_the_same_after_the_wire(
        env in prop::collection::btree_map("[A-C]{1,2}", text().prop_map(Bytes::from), 0..8)
    ) {
        let (texts, twins) = split_map(env.clone());
        prop_assert_eq!(join_maps(texts, twins), (env, Vec::new()));
    }
}
