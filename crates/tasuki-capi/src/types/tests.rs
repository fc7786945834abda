//! The structures and numbers of the headers, as a C compiler sees them, are those of this crate.

use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::code::CODES;
use tasuki_shared::Counters;

/// Adds size and fields of a structure of C to a list of numbers.
macro_rules! layout {
    ($all:ident, $c:literal, $rust:ty, $($field:ident),*) => {
        $all.push((concat!("sizeof(", $c, ")").to_owned(), size_of::<$rust>() as i64));
        $($all.push((
            concat!("offsetof(", $c, ", ", stringify!($field), ")").to_owned(),
            offset_of!($rust, $field) as i64,
        ));)*
    };
}

/// Every number of the header that this crate uses, as `expression value`.
fn numbers() -> Vec<(String, i64)> {
    let mut all = Vec::new();
    layout!(
        all,
        "tasuki_options",
        RawOptions,
        size,
        identity,
        rails,
        pool_bytes,
        peer_bytes,
        expected_peers,
        linger_ms,
        shm,
        stats,
        dump,
        reserved
    );
    layout!(
        all,
        "tasuki_message",
        RawMessage,
        peer,
        flags,
        tag,
        ignore,
        data,
        iov,
        iov_count,
        min_free,
        context
    );
    layout!(all, "tasuki_found", RawFound, source, flags, tag, data, len, claim);
    layout!(
        all,
        "tasuki_completion",
        RawCompletion,
        context,
        kind,
        status,
        peer,
        flags,
        tag,
        data,
        bytes,
        len,
        total
    );
    let mut add = |name: &str, value: i64| all.push((name.to_owned(), value));
    add("TASUKI_ANY_SOURCE", ANY_SOURCE.into());
    add("TASUKI_ADDRESS_LEN", tasuki_engine::Address::LEN as i64);
    add("TASUKI_ADDRESS_TEXT_LEN", 2 * tasuki_engine::Address::LEN as i64 + 1);
    for (name, value) in [
        ("INJECT", INJECT),
        ("QUIET", QUIET),
        ("DELIVERY", DELIVERY),
        ("TAGGED", TAGGED),
        ("DATA", DATA),
        ("MULTI", MULTI),
        ("LAST", LAST),
    ] {
        add(&format!("TASUKI_{name}"), value.into());
    }
    add("TASUKI_SEND", SEND.into());
    add("TASUKI_RECV", RECV.into());
    add("TASUKI_PUT", PUT.into());
    add("TASUKI_GET", GET.into());
    all
}

/// The codes of errors.
fn code_numbers() -> Vec<(String, i64)> {
    CODES.iter().map(|(code, name, _)| (name.to_string_lossy().into_owned(), *code as i64)).collect()
}

/// Those of `tasuki_shared.h`: its counters are words in this order.
fn shared_numbers() -> Vec<(String, i64)> {
    let counters = [
        ("wanted_read", offset_of!(Counters, wanted_read)),
        ("wanted_write", offset_of!(Counters, wanted_write)),
        ("installed", offset_of!(Counters, installed)),
        ("fresh", offset_of!(Counters, fresh)),
        ("dropped", offset_of!(Counters, dropped)),
        ("deferred", offset_of!(Counters, deferred)),
        ("sent", offset_of!(Counters, sent)),
        ("messages", offset_of!(Counters, messages)),
    ];
    let field = |(name, at)| (format!("offsetof(tasuki_shared_counters, {name})"), at as i64);
    let mut all: Vec<_> = counters.map(field).into();
    all.push(("sizeof(tasuki_shared_counters)".into(), size_of::<Counters>() as i64));
    all.push(("TASUKI_SHARED_PAGE".into(), tasuki_shared::PAGE as i64));
    all
}

/// Those of `tasuki_checkpoint.h`.
fn checkpoint_numbers() -> Vec<(String, i64)> {
    let mut all = Vec::new();
    layout!(
        all,
        "tasuki_checkpoint_group",
        RawCheckpointGroup,
        rank,
        size,
        context,
        gather,
        exchange,
        release
    );
    layout!(
        all,
        "tasuki_checkpoint_options",
        RawCheckpointOptions,
        size,
        folder,
        host,
        every_seconds,
        failures_seconds,
        copies,
        keep
    );
    layout!(
        all,
        "tasuki_checkpoint_counters",
        RawCheckpointCounters,
        epoch,
        saved,
        failed,
        bytes,
        copied,
        last_us,
        all_us,
        aim_us
    );
    all
}

#[test]
fn the_header_says_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let mut source = String::new();
    for header in ["stdio.h", "tasuki_shared.h", "tasuki_checkpoint.h"] {
        source += &format!("#include <{header}>\n");
    }
    source += "int main(void) {\n";
    let expected = [numbers(), code_numbers(), shared_numbers(), checkpoint_numbers()].concat();
    for (expression, _) in &expected {
        source += &format!("printf(\"%lld\\n\", (long long)({expression}));\n");
    }
    source += "return 0;\n}\n";
    let (file, program) = (folder.path().join("numbers.c"), folder.path().join("numbers"));
    std::fs::write(&file, source).expect("the program is written");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut compile = Command::new("cc");
    compile
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include)
        .arg(&file)
        .arg("-o")
        .arg(&program);
    assert!(compile.status().expect("cc runs").success());
    let output = Command::new(&program).output().expect("the program runs").stdout;
    let output = String::from_utf8(output).expect("text");
    let said: Vec<(String, i64)> = expected
        .iter()
        .zip(output.lines())
        .map(|((expression, _), value)| (expression.clone(), value.parse().expect("a number")))
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn the_version_is_that_of_the_header() {
    let header = include_str!("../../include/tasuki.h");
    assert!(header.contains(&format!("#define TASUKI_VERSION \"{}\"", env!("CARGO_PKG_VERSION"))));
}
