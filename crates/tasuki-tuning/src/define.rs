//! The macro that defines constants and their records in one place.

/// Defines groups of constants, each a public module, and `GROUPS`, their records.
///
/// An entry is
///
/// ```text
/// /// The meaning, which is the documentation of the constant, too.
/// NAME: TYPE = DEFAULT, "UNIT";
/// why "one or two sentences";
/// gain "what was measured, and where that is written";        (only if somebody has)
/// measure "ANOTHER VALUE", HOW "ARGUMENTS";
/// adr NUMBER;                                                 (only if there is a decision)
/// ```
///
/// TYPE is an unsigned integer, `f64` or `Duration` (told in nanoseconds). HOW is one of
///
/// * `two_hosts`, `one_host`, `oversubscribed`: a paired benchmark on two hosts with a processor each, inside
///   one host, or with four ranks on two processors; the arguments are rows of `tasuki bench mpi`;
/// * `bench`: a paired benchmark with all its arguments;
/// * `test`: a test that fails with the other value; the arguments are those of `cargo test --release`;
/// * `virtual_time`: a test that simulates a network and prints figures, which change; likewise;
/// * `cost`: a test that measures time and prints it, which changes; likewise;
/// * `simulation`: a simulation whose figures change; the arguments are those of `cargo run --release`;
/// * `bound`: no test and no benchmark shows a difference to the other value; the argument says what happens
///   there, as the end of "With the other value".
macro_rules! tuning {
    ($(
        $(#[doc = $about:literal])+
        pub mod $group:ident {$(
            $(#[doc = $meaning:literal])+
            $name:ident: $type:ident = $default:expr, $unit:literal;
            why $why:literal;
            $(gain $gain:literal;)?
            measure $other:literal, $how:ident $args:literal;
            $(adr $adr:literal;)?
        )+}
    )+) => {
        $(
            $(#[doc = $about])+
            pub mod $group {
                #[allow(unused_imports, reason = "not every group has durations")]
                use std::time::Duration;

                $(
                    $(#[doc = $meaning])+
                    ///
                    #[doc = concat!("Unit: ", $unit, ". ", $why)]
                    pub const $name: $type = tuning!(
                        @value $type,
                        option_env!(concat!("TASUKI_TUNING_", stringify!($group), "_", stringify!($name))),
                        $default
                    );
                )+

                /// The records of this group.
                pub(crate) const RECORDS: &[$crate::Constant] = &[$($crate::Constant {
                    group: stringify!($group),
                    name: stringify!($name),
                    default: tuning!(@record $type, $default),
                    value: tuning!(@record $type, $name),
                    unit: $unit,
                    meaning: concat!($($meaning),+).trim_ascii(),
                    why: $why,
                    gain: concat!("" $(, $gain)?),
                    measure: tuning!(@measure $how, $other, $args),
                    adr: 0 $(+ $adr)?,
                }),+];
            }
        )+

        /// The groups of this file.
        pub(crate) const GROUPS: &[$crate::Group] = &[$($crate::Group {
            name: stringify!($group),
            about: concat!($($about),+).trim_ascii(),
            constants: $group::RECORDS,
        }),+];
    };
    (@value f64, $told:expr, $default:expr) => { $crate::constant::told_ratio($told, $default) };
    (@value Duration, $told:expr, $default:expr) => {
        Duration::from_nanos($crate::constant::told($told, ($default).as_nanos() as u64, u64::MAX))
    };
    (@value $type:ident, $told:expr, $default:expr) => {
        $crate::constant::told($told, ($default) as u64, $type::MAX as u64) as $type
    };
    (@record f64, $value:expr) => { $crate::Value::Real($value) };
    (@record Duration, $value:expr) => { $crate::Value::Integer(($value).as_nanos() as u64) };
    (@record $type:ident, $value:expr) => { $crate::Value::Integer(($value) as u64) };
    (@measure two_hosts, $other:literal, $args:literal) => {
        tuning!(@measure bench, $other, concat!("--shape full:2 --unshaped --mpi mpich-5.0 ", $args))
    };
    (@measure one_host, $other:literal, $args:literal) => {
        tuning!(@measure bench, $other,
            concat!("--shape full:2 --unshaped --one-host --mpi mpich-5.0 ", $args))
    };
    (@measure oversubscribed, $other:literal, $args:literal) => {
        tuning!(@measure bench, $other, concat!("--shape full:4 --unshaped --mpi mpich-5.0 ", $args))
    };
    (@measure bench, $other:literal, $args:expr) => {
        $crate::Measure::Bench { other: $other, args: $args }
    };
    (@measure test, $other:literal, $args:literal) => {
        $crate::Measure::Test { other: $other, command: concat!("cargo test --release ", $args) }
    };
    (@measure virtual_time, $other:literal, $args:literal) => {
        $crate::Measure::Figures {
            other: $other,
            command: concat!("cargo test --release ", $args, " -- --nocapture --test-threads=1"),
        }
    };
    (@measure cost, $other:literal, $args:literal) => {
        $crate::Measure::Figures {
            other: $other,
            command: concat!("cargo test --release ", $args, " -- --ignored --nocapture"),
        }
    };
    (@measure bound, $other:literal, $then:literal) => {
        $crate::Measure::Bound { other: $other, then: $then }
    };
    (@measure simulation, $other:literal, $args:literal) => {
        $crate::Measure::Figures { other: $other, command: concat!("cargo run --release ", $args) }
    };
}
