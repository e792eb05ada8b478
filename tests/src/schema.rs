//! The contract from its descriptors: every method, and every field of every request at any depth.

use std::collections::BTreeMap;

use airlock_proto::FILE_DESCRIPTOR_SET;
use prost::Message as _;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

/// One method.
#[derive(Debug, Clone)]
pub struct Method {
    /// The path of a request: `/package.Service/Method`.
    pub path: String,
    /// The full name of the request type, with a leading dot.
    pub request: String,
    /// The full name of the response type.
    pub response: String,
    /// Whether the response is a stream.
    pub streams: bool,
}

/// One field of a request.
#[derive(Debug, Clone)]
pub struct Field {
    /// The path from the request, such as `spec.timeout.seconds`.
    pub path: String,
    /// The field numbers from the request to this field.
    pub numbers: Vec<u32>,
    /// The type.
    pub kind: Type,
    /// The type name of a message or enum.
    pub type_name: String,
    /// Whether it can occur several times; also true for a map.
    pub repeated: bool,
    /// Whether it is a map.
    pub map: bool,
}

/// The content of a field.
#[derive(Debug, Clone)]
pub enum Filled {
    /// A text, bytes, or a message.
    Bytes(Vec<u8>),
    /// A number.
    Number(u64),
    /// The field is absent.
    Nothing,
}

/// All messages and methods.
#[derive(Debug)]
pub struct Schema {
    messages: BTreeMap<String, DescriptorProto>,
    /// The methods of the contract.
    pub methods: Vec<Method>,
}

impl Schema {
    /// Returns the schema of the contract.
    ///
    /// # Panics
    /// If the descriptors cannot be read.
    #[must_use]
    pub fn of_the_contract() -> Self {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let mut schema = Self { messages: BTreeMap::new(), methods: Vec::new() };
        for file in set.file {
            let package = file.package().to_owned();
            for message in &file.message_type {
                schema.enter(&format!(".{package}"), message);
            }
            // A server calls the methods of hooks, and does not serve them.
            for service in file.service.iter().filter(|_| package != "airlock.hooks.v1") {
                for method in &service.method {
                    schema.methods.push(Method {
                        path: format!("/{package}.{}/{}", service.name(), method.name()),
                        request: method.input_type().to_owned(),
                        response: method.output_type().to_owned(),
                        streams: method.server_streaming(),
                    });
                }
            }
        }
        assert!(schema.methods.len() > 10, "the contract has methods");
        schema
    }

    fn enter(&mut self, outer: &str, message: &DescriptorProto) {
        let name = format!("{outer}.{}", message.name());
        for nested in &message.nested_type {
            self.enter(&name, nested);
        }
        self.messages.insert(name, message.clone());
    }

    /// Returns the methods for clients.
    pub fn public(&self) -> impl Iterator<Item = &Method> {
        self.methods.iter().filter(|method| method.path.starts_with("/airlock.v1."))
    }

    /// Returns every field of a message at any depth, including those that contain others.
    ///
    /// # Panics
    /// If messages are recursive.
    #[must_use]
    pub fn fields(&self, message: &str) -> Vec<Field> {
        let mut found = Vec::new();
        self.collect(message, "", &[], &mut found);
        found
    }

    fn collect(&self, message: &str, above: &str, numbers: &[u32], found: &mut Vec<Field>) {
        assert!(numbers.len() < 16, "{message} contains itself");
        let descriptor = self.messages.get(message).unwrap_or_else(|| panic!("{message} does not exist"));
        for field in &descriptor.field {
            let path =
                if above.is_empty() { field.name().to_owned() } else { format!("{above}.{}", field.name()) };
            let number = u32::try_from(field.number()).unwrap();
            let numbers = [numbers, &[number]].concat();
            found.push(Field {
                path: path.clone(),
                numbers: numbers.clone(),
                kind: field.r#type(),
                type_name: field.type_name().to_owned(),
                repeated: field.label() == Label::Repeated,
                map: self.is_map(field),
            });
            if field.r#type() == Type::Message {
                self.collect(field.type_name(), &path, &numbers, found);
            }
        }
    }

    /// Returns a message with content in every field at any depth. `round` selects the alternative of each oneof;
    /// lists have one entry. `value` returns the content of text, bytes and enum fields.
    ///
    /// # Panics
    /// If messages are recursive.
    #[must_use]
    pub fn filled(
        &self,
        message: &str,
        round: usize,
        value: &dyn Fn(&FieldDescriptorProto) -> Filled,
    ) -> Vec<u8> {
        let descriptor = self.messages.get(message).unwrap_or_else(|| panic!("{message} does not exist"));
        let mut encoded = Vec::new();
        for field in &descriptor.field {
            let of_choice = |other: &&FieldDescriptorProto| other.oneof_index == field.oneof_index;
            let choice: Vec<_> = descriptor.field.iter().filter(of_choice).collect();
            let chosen = round.checked_rem(choice.len()).and_then(|at| choice.get(at));
            let is_chosen = chosen.is_some_and(|chosen| chosen.number() == field.number());
            if field.oneof_index.is_some() && !is_chosen {
                continue;
            }
            let number = u32::try_from(field.number()).unwrap();
            let filled = match field.r#type() {
                Type::Message => Filled::Bytes(self.filled(field.type_name(), round, value)),
                Type::String | Type::Bytes | Type::Enum => value(field),
                _ => Filled::Number(1),
            };
            encoded.extend(match filled {
                Filled::Bytes(bytes) => wrapped(&[number], &bytes),
                Filled::Number(value) => [tag(number, 0), varint(value)].concat(),
                Filled::Nothing => Vec::new(),
            });
        }
        encoded
    }

    fn is_map(&self, field: &FieldDescriptorProto) -> bool {
        let options = self.messages.get(field.type_name()).and_then(|message| message.options.as_ref());
        options.is_some_and(prost_types::MessageOptions::map_entry)
    }
}

/// Returns the encoding of a message that contains `value` (a tag and its content) at the end of the path `way`.
#[must_use]
pub fn wrapped(way: &[u32], value: &[u8]) -> Vec<u8> {
    way.iter().rev().fold(value.to_vec(), |inner, number| {
        let mut outer = tag(*number, 2);
        outer.extend(varint(inner.len() as u64));
        outer.extend(inner);
        outer
    })
}

/// Returns the tag of a field.
#[must_use]
pub fn tag(number: u32, wire_type: u8) -> Vec<u8> {
    varint(u64::from(number) << 3 | u64::from(wire_type))
}

/// Returns a number as a varint.
#[must_use]
pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
