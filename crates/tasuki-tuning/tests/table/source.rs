//! The code uses what is in the table, and has no constants of tuning beside it.

use tasuki_tuning::constants;
use tasuki_tuning::variables::variables;

use crate::workspace::{File, files, sources, without_tests};

/// Whether a file uses a constant by its path, or imports it from its group.
fn uses(file: &File, group: &str, name: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let path = format!("{group}::{name}");
    let by_path = file.text.match_indices(&path).any(|(at, found)| is_end(&file.text[at + found.len()..]));
    let list = format!("tasuki_tuning::{group}::{{");
    let mut imports = file.text.split(&list).skip(1).filter_map(|rest| rest.split('}').next());
    by_path || imports.any(|names| names.split([',', ' ']).any(|one| one == name))
}

#[test]
fn every_constant_of_the_table_is_used() {
    let mut sources = sources();
    sources.retain(|file| !file.path.starts_with("crates/tasuki-tuning/"));
    for constant in constants() {
        let used = sources.iter().any(|file| uses(file, constant.group, constant.name));
        assert!(used, "{} is used nowhere", constant.full_name());
    }
}

/// The crates whose constants are in the table.
const DONE: [&str; 11] = [
    "tasuki-bulk",
    "tasuki-capi",
    "tasuki-engine",
    "tasuki-frames",
    "tasuki-link",
    "tasuki-msg",
    "tasuki-ofi",
    "tasuki-proto",
    "tasuki-rate",
    "tasuki-ring",
    "tasuki-wire",
];

/// Numbers in these files that are no tuning, and why: all of a file (`*`), or one constant.
const EXCEPTIONS: [(&str, &str, &str); 58] = [
    ("tasuki-bulk/src/control.rs", "*", "the format of control messages"),
    ("tasuki-bulk/src/round.rs", "PACKETS_MAX", "bounded by the format of a control message"),
    ("tasuki-bulk/src/round.rs", "STEP", "part of the code: both ends compute lengths with it"),
    ("tasuki-capi/src/address.rs", "TEXT_LEN", "follows from the format of addresses"),
    ("tasuki-capi/src/post.rs", "PIECES_MAX", "the kernel's UIO_MAXIOV, which tasuki.h promises"),
    ("tasuki-capi/src/types.rs", "*", "the ABI of tasuki.h"),
    ("tasuki-engine/src/address.rs", "*", "the format of addresses"),
    ("tasuki-engine/src/engine/operations.rs", "EACH_MAX", "follows from the format of a statistics page"),
    ("tasuki-engine/src/messages/control.rs", "CONTROL_TAG", "a tag"),
    ("tasuki-engine/src/net/pace.rs", "NOT_PAYLOAD", "follows from the wire format"),
    ("tasuki-engine/src/net/rails.rs", "ROUTED", "a rail's number"),
    ("tasuki-engine/src/net/rails.rs", "UDP_IPV4_HEADERS", "the headers of IPv4 and UDP"),
    ("tasuki-engine/src/net/readiness.rs", "LINK_STATES", "an identifier"),
    ("tasuki-engine/src/net/rx.rs", "KNOCK_LEN", "the format of knocks"),
    ("tasuki-engine/src/rendezvous/keys.rs", "*", "the format of keys"),
    ("tasuki-engine/src/rendezvous/stream/record.rs", "*", "the format of records"),
    ("tasuki-engine/src/rendezvous/stream/control.rs", "*", "the format of control messages"),
    ("tasuki-engine/src/rma/mod.rs", "*", "tags and verdicts"),
    ("tasuki-engine/src/rma/request.rs", "*", "the format of requests"),
    ("tasuki-engine/src/shm/control.rs", "*", "the layout of records"),
    ("tasuki-engine/src/shm/kernel_copy.rs", "COMPARED", "what processors compare of addresses"),
    ("tasuki-engine/src/shm/kernel_copy.rs", "SLOW_BEYOND", "what processors compare of addresses"),
    ("tasuki-engine/src/shm/record.rs", "*", "the layout of records"),
    ("tasuki-link/src/broker/protocol.rs", "*", "the format of requests and answers"),
    ("tasuki-link/src/control.rs", "*", "the kernel's layout of control messages"),
    ("tasuki-link/src/queue.rs", "SEGMENTS_MAX", "the kernel's UDP_MAX_SEGMENTS"),
    ("tasuki-link/src/queue.rs", "BATCH_BYTES_MAX", "the largest datagram of IP"),
    ("tasuki-link/src/raw.rs", "*", "the format of Ethernet frames"),
    ("tasuki-link/src/raw_filter.rs", "*", "identifiers of the kernel's filters"),
    ("tasuki-link/src/receive.rs", "CONTROL_BYTES", "follows from the kernel's layout of control messages"),
    ("tasuki-link/src/refusal.rs", "QUOTE_MAX", "the length of a knock, which refusals quote"),
    ("tasuki-link/src/socket.rs", "DROPS", "the kernel's place of a number"),
    ("tasuki-msg/src/index.rs", "NIL", "a mark"),
    ("tasuki-msg/src/outstanding.rs", "PLACES_MAX", "bounds a list that is made only while nothing moves"),
    ("tasuki-msg/src/posted.rs", "SOLE", "a mark"),
    ("tasuki-msg/src/slab.rs", "END", "a mark"),
    ("tasuki-ofi/src/provider.rs", "LOADERS", "part of the code: each has a function of its own"),
    ("tasuki-ofi/src/abi/consts.rs", "*", "the ABI of libfabric"),
    ("tasuki-ofi/src/ep/bind.rs", "COUNTED", "a set of flags"),
    ("tasuki-ofi/src/ep/complete.rs", "INJECTED", "a mark: the address of nothing"),
    ("tasuki-ofi/src/ep/peers.rs", "NONE", "a mark"),
    ("tasuki-ofi/src/front.rs", "VERSION", "the ABI of libfabric"),
    ("tasuki-ofi/src/limits.rs", "*", "what the provider promises to programs, which size tables by it"),
    ("tasuki-ofi/src/object/mr.rs", "RAW_KEY", "the size of a key"),
    ("tasuki-proto/src/conn.rs", "FIRST_CHANGE", "the first number of a count"),
    ("tasuki-proto/src/path.rs", "LAST_RESORT", "a rail's number"),
    ("tasuki-proto/src/tx_packet.rs", "*", "follow from the wire format"),
    ("tasuki-rate/src/paper.rs", "*", "what the ATM paper states"),
    ("tasuki-rate/src/tank.rs", "PER_BYTE", "a unit"),
    ("tasuki-ring/src/dual_copy/words.rs", "*", "the layout of the words that both ends write"),
    ("tasuki-ring/src/layout.rs", "*", "the layout of segments"),
    ("tasuki-ring/src/stats_page/encoding.rs", "*", "the layout of a statistics page"),
    ("tasuki-ring/src/stats_page/layout.rs", "*", "the layout of a statistics page"),
    ("tasuki-ring/src/stats_page/words.rs", "*", "follow from the layout of a statistics page"),
    ("tasuki-wire/src/cable.rs", "*", "the wire format"),
    ("tasuki-wire/src/cursor.rs", "*", "the wire format"),
    ("tasuki-wire/src/header.rs", "*", "the wire format"),
    ("tasuki-wire/src/limits.rs", "*", "the wire format"),
];

/// Files of frame and record formats, of which every number is a part of the format.
const FORMATS: [&str; 5] = [
    "tasuki-wire/src/discovery.rs",
    "tasuki-wire/src/drop_reason.rs",
    "tasuki-wire/src/frame.rs",
    "tasuki-wire/src/message.rs",
    "tasuki-wire/src/rails.rs",
];

/// Whether a type is that of a number, a duration, or a range of them.
fn is_numeric(kind: &str) -> bool {
    let types =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "i128", "isize", "f32", "f64", "Duration"];
    let kind = kind.trim_start_matches("std::").trim_start_matches("ops::").trim_start_matches("time::");
    match kind.split_once('<') {
        Some((range, of)) => range.starts_with("Range") && is_numeric(of.trim_end_matches('>')),
        None => types.contains(&kind),
    }
}

/// The numbers, durations and ranges that a text defines: name and type.
fn numbers(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for line in without_tests(text).lines() {
        let mut words = line.trim_start().splitn(2, "const ");
        let (before, Some(definition)) = (words.next().unwrap_or_default(), words.next()) else { continue };
        let Some((name, rest)) = definition.split_once(": ") else { continue };
        let kind = rest.split([' ', ';']).next().unwrap_or_default();
        if (before.is_empty() || before.starts_with("pub")) && is_numeric(kind) {
            found.push((name, kind));
        }
    }
    found
}

/// Constants that are neither in the table nor among the exceptions.
fn left_outside(sources: &[File]) -> Vec<String> {
    let mut left = Vec::new();
    for file in sources {
        let Some(path) = file.path.strip_prefix("crates/") else { continue };
        let done = DONE.iter().any(|name| path.starts_with(&format!("{name}/")));
        if !done || path.ends_with("tests.rs") || FORMATS.contains(&path) {
            continue;
        }
        let is_excepted = |name: &str| {
            EXCEPTIONS.iter().any(|(at, which, _)| *at == path && (*which == "*" || *which == name))
        };
        let other = numbers(&file.text).into_iter().filter(|(name, _)| !is_excepted(name));
        left.extend(other.map(|(name, kind)| format!("{path}: {name}: {kind}")));
    }
    left
}

#[test]
fn no_constant_of_tuning_is_left_outside_of_the_table() {
    let left = left_outside(&sources());
    assert!(
        left.is_empty(),
        "{left:?}: these belong into crates/tasuki-tuning/src/table, or into the exceptions of this test \
         with a reason"
    );
}

#[test]
fn a_constant_that_is_planted_outside_of_the_table_is_found() {
    let planted = "\
        const PAUSE_NS: u64 = 7;\n    pub(super) const NAP: std::time::Duration = Duration::from_millis(1);\n\
        const SLOW: Range<u64> = 1..32;\npub const FAST: std::ops::RangeInclusive<f64> = 0.5..=2.0;\n\
        const NAME: &str = \"7\";\nconst fn seven() -> u64 { 7 }\nlet seven: u64 = 7;\n\
        #[cfg(test)]\nmod tests {\n    const OF_TESTS: u64 = 7;\n}\n";
    let found = |path: &str| left_outside(&[File { path: path.into(), text: planted.into() }]);
    let names = ["PAUSE_NS: u64", "NAP: std::time::Duration", "SLOW: Range<u64>"];
    let names = names.into_iter().chain(["FAST: std::ops::RangeInclusive<f64>"]);
    let expected: Vec<String> = names.map(|name| format!("tasuki-engine/src/x.rs: {name}")).collect();
    assert_eq!(found("crates/tasuki-engine/src/x.rs"), expected);
    for path in ["topo/src/x.rs", "engine/src/x/tests.rs", "wire/src/frame.rs", "wire/src/header.rs"] {
        assert!(found(&format!("crates/tasuki-{path}")).is_empty(), "{path}");
    }
}

#[test]
fn exceptions_are_needed() {
    for (path, which, reason) in EXCEPTIONS {
        let text = crate::workspace::read(&format!("crates/{path}"));
        let numbers = numbers(&text);
        let needed = numbers.iter().any(|(name, _)| which == "*" || which == *name);
        assert!(needed && !reason.is_empty(), "{path}: {which}");
    }
}

/// The text between quotes that is the name of a variable, and nothing else.
fn quoted_variables(text: &str) -> impl Iterator<Item = &str> {
    let legal = |c: char| c.is_ascii_uppercase() || c == '_';
    text.split('"').filter(move |part| {
        part.strip_prefix("TASUKI_").is_some_and(|rest| !rest.is_empty() && rest.chars().all(legal))
    })
}

#[test]
fn every_variable_that_the_code_names_is_in_the_list() {
    // Only test builds read these: they stand below `#[cfg(feature = "crash-points")]`, and the law `hooks`
    // of tasuki-tidy demands that they do.
    let test_builds = ["TASUKI_APPLY_STOP_AFTER", "TASUKI_UNDO_STOP_AFTER"];
    // Tests use these alone.
    let tests_alone = [
        "TASUKI_TESTKIT_NEVER_SET",
        "TASUKI_TEST",
        "TASUKI_TUNING_",
        "TASUKI_NO_SUCH",
        "TASUKI_PROCESS_TEST_ROLE",
    ];
    let mut all = files("crates", &[".rs", ".c", ".h"]);
    all.extend(files("scripts", &[""]));
    all.retain(|file| !file.path.contains("/tasuki-capi/") && !file.path.contains("/tasuki-tuning/"));
    let is_known = |name: &str| {
        tests_alone.contains(&name)
            || name.starts_with("TASUKI_TEST_")
            || test_builds.contains(&name)
            || variables().any(|variable| variable.name == name)
    };
    let mut missing = Vec::new();
    for file in &all {
        let names = quoted_variables(&file.text).filter(|name| !is_known(name));
        missing.extend(names.map(|name| format!("{}: {name}", file.path)));
    }
    assert!(missing.is_empty(), "{missing:?}: not in crates/tasuki-tuning/src/variables");
}
