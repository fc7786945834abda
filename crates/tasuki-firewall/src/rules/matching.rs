//! Whether an expression of nftables matches a packet: yes, no, or nobody knows without more than is known.

use super::{Chain, Ruleset, walk::Packet};
use serde_json::Value;
use std::net::Ipv4Addr;

/// Yes, no, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Yes,
    No,
    Unknown,
}

impl Match {
    fn of(is: bool) -> Self {
        if is { Self::Yes } else { Self::No }
    }

    fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, Self::No) => Self::No,
            _ => Self::Unknown,
        }
    }
}

/// What is known of a field of the packet.
#[derive(Clone, Debug)]
enum Field {
    Name(String),
    Number(u64),
    Address(Ipv4Addr),
    /// The packet has no such field.
    Absent,
    Unknown,
}

/// Whether a `match` statement holds for a packet.
pub fn holds(statement: &Value, packet: &Packet, chain: &Chain, ruleset: &Ruleset) -> Match {
    let (Some(left), Some(right)) = (statement.get("left"), statement.get("right")) else {
        return Match::Unknown;
    };
    let field = field(left, packet);
    let number = |right: &Value| right.as_u64();
    match (statement.get("op").and_then(Value::as_str), &field) {
        (_, Field::Absent) => Match::No,
        (Some("==" | "in") | None, _) => is_among(&field, right, chain, ruleset),
        (Some("!="), _) => is_among(&field, right, chain, ruleset).not(),
        (Some(op), Field::Number(value)) => match (op, number(right)) {
            ("<", Some(limit)) => Match::of(*value < limit),
            (">", Some(limit)) => Match::of(*value > limit),
            ("<=", Some(limit)) => Match::of(*value <= limit),
            (">=", Some(limit)) => Match::of(*value >= limit),
            _ => Match::Unknown,
        },
        _ => Match::Unknown,
    }
}

/// Whether the field that `key` names has this value.
pub fn equals(key: &Value, value: &Value, packet: &Packet, chain: &Chain, ruleset: &Ruleset) -> Match {
    match field(key, packet) {
        Field::Absent => Match::No,
        field => is_among(&field, value, chain, ruleset),
    }
}

fn field(left: &Value, packet: &Packet) -> Field {
    let name = |name: &Option<String>| name.clone().map_or(Field::Unknown, Field::Name);
    if let Some(key) = left.pointer("/meta/key").and_then(Value::as_str) {
        return match key {
            "iif" | "iifname" => name(&packet.comes_by),
            "oif" | "oifname" => name(&packet.leaves_by),
            "l4proto" => Field::Name(packet.protocol().into()),
            "nfproto" => Field::Name("ipv4".into()),
            "protocol" => Field::Name("ip".into()),
            "pkttype" => Field::Name("host".into()),
            _ => Field::Unknown,
        };
    }
    if left.pointer("/ct/key").and_then(Value::as_str) == Some("state") {
        return Field::Name("new".into());
    }
    let part = |key: &str| left.pointer(key).and_then(Value::as_str);
    match (part("/payload/protocol"), part("/payload/field")) {
        (Some("ip"), Some("saddr")) => Field::Address(packet.from),
        (Some("ip"), Some("daddr")) => Field::Address(packet.to),
        (Some("ip"), Some("protocol")) => Field::Name(packet.protocol().into()),
        (Some(protocol), Some("dport")) if protocol == packet.protocol() || protocol == "th" => {
            Field::Number(packet.port.into())
        }
        (Some(protocol), Some(_))
            if protocol == packet.protocol() || protocol == "th" || protocol == "ip" =>
        {
            Field::Unknown
        }
        (Some("ether"), _) | (None, _) => Field::Unknown,
        (Some(_), _) => Field::Absent,
    }
}

fn is_among(field: &Field, right: &Value, chain: &Chain, ruleset: &Ruleset) -> Match {
    let any = |values: &[Value]| {
        values.iter().fold(Match::No, |so_far, value| so_far.or(is_among(field, value, chain, ruleset)))
    };
    match right {
        Value::Array(values) => any(values),
        Value::Object(object) => {
            if let Some(values) = object.get("set").and_then(Value::as_array) {
                any(values)
            } else if let Some(value) = object.get("elem").and_then(|element| element.get("val")) {
                is_among(field, value, chain, ruleset)
            } else {
                is_within(field, right)
            }
        }
        Value::String(text) => match text.strip_prefix('@') {
            Some(name) => ruleset.set(chain, name).map_or(Match::Unknown, any),
            None => is_text(field, text),
        },
        Value::Number(number) => match field {
            Field::Number(value) => Match::of(number.as_u64() == Some(*value)),
            _ => Match::Unknown,
        },
        _ => Match::Unknown,
    }
}

fn is_text(field: &Field, text: &str) -> Match {
    match field {
        Field::Name(name) => Match::of(match text.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == text,
        }),
        Field::Address(address) => match text.parse::<Ipv4Addr>() {
            Ok(other) => Match::of(*address == other),
            Err(_) => Match::Unknown,
        },
        Field::Number(_) | Field::Absent | Field::Unknown => Match::Unknown,
    }
}

/// Whether the field is in a range or in the network of a prefix.
fn is_within(field: &Field, right: &Value) -> Match {
    let address = |value: Option<&Value>| value?.as_str()?.parse::<Ipv4Addr>().ok();
    let range = (right.pointer("/range/0"), right.pointer("/range/1"));
    match field {
        Field::Number(value) => match (range.0.and_then(Value::as_u64), range.1.and_then(Value::as_u64)) {
            (Some(low), Some(high)) => Match::of((low..=high).contains(value)),
            _ => Match::Unknown,
        },
        Field::Address(value) => {
            let length = right.pointer("/prefix/len").and_then(Value::as_u64);
            match (address(right.pointer("/prefix/addr")), length, address(range.0), address(range.1)) {
                (Some(net), Some(length @ 0..=32), ..) => {
                    let mask = u32::MAX.checked_shl(32 - length as u32).unwrap_or(0);
                    Match::of(u32::from(*value) & mask == u32::from(net) & mask)
                }
                (_, _, Some(low), Some(high)) => Match::of((low..=high).contains(value)),
                _ => Match::Unknown,
            }
        }
        _ => Match::Unknown,
    }
}
